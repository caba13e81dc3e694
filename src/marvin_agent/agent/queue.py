"""What users and hooks say while the agent works: steering for the next step, follow-ups for when it would stop."""

from collections import deque
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from marvin_agent.messages import HookMessage, Image, text_of

Delivery: TypeAlias = Literal["steer", "follow_up"]


class Prompt(NamedTuple):
    """A message on its way into the conversation."""

    text: str
    images: tuple[Image, ...] = ()
    source: str = "user"
    """Who says it: user, rpc, acp or `hook:<id>`."""
    message: HookMessage | None = None
    """A hook's own message in place of a user's: it is stored as it is."""

    @property
    def hook(self) -> str | None:
        """The hook that says it; None for a person."""
        return self.source.removeprefix("hook:") if self.source.startswith("hook:") else None

    @property
    def shown(self) -> str:
        """The text to show while it waits."""
        return text_of(self.message.content) if self.message else self.text


class Inbox:
    """The two queues. `changed` hears of every change, to show it."""

    def __init__(self, changed: Callable[["Inbox"], None]) -> None:
        self.steering: deque[Prompt] = deque()
        self.follow_up: deque[Prompt] = deque()
        self._changed = changed

    def put(self, prompt: Prompt, delivery: Delivery) -> None:
        (self.steering if delivery == "steer" else self.follow_up).append(prompt)
        self._changed(self)

    def take_steering(self) -> tuple[Prompt, ...]:
        """All that waits: it belongs into the conversation before the next model call."""
        return self._take(self.steering, len(self.steering))

    def take_follow_up(self) -> tuple[Prompt, ...]:
        """The oldest, one at a time: each is answered by itself."""
        return self._take(self.follow_up, 1)

    def next(self) -> Prompt:
        """The prompt to begin the next run with. There must be one."""
        return self._take(self.steering or self.follow_up, 1)[0]

    def empty(self) -> tuple[Prompt, ...]:
        """Give everything back, for the editor after an abort."""
        everything = (*self.steering, *self.follow_up)
        self.steering.clear()
        self.follow_up.clear()
        if everything:
            self._changed(self)
        return everything

    def __bool__(self) -> bool:
        return bool(self.steering or self.follow_up)

    def _take(self, queue: deque[Prompt], count: int) -> tuple[Prompt, ...]:
        taken = tuple(queue.popleft() for _ in range(min(count, len(queue))))
        if taken:
            self._changed(self)
        return taken
