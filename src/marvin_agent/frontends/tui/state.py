"""What the header and the footer show, gathered from the engine's events."""

import time
from collections.abc import Sequence

from marvin_agent.agent import events as out
from marvin_agent.llm.thinking import clamp
from marvin_agent.llm.values import Model, TextDelta, ThinkingDelta, ThinkingLevel, ToolCallDelta
from marvin_agent.messages import AssistantMessage, Usage
from marvin_agent.text import one_line


class State:
    """Changed by `hear` and nobody else but the setters of the app."""

    def __init__(self) -> None:
        self.activity = "starting"
        """What the agent does now; empty when it is idle."""
        self.since = time.monotonic()
        self.model = ""
        self.thinking = ""
        self.context_tokens = 0
        self.context_limit = 0
        self.tokens = 0
        self.cost = 0.0
        self._before = (0, 0.0)
        """What the session had used when it was opened, less what the engine had spent before."""
        self.branch = ""
        self.queue: tuple[tuple[str, str], ...] = ()
        """What waits: `steer` or `follow-up`, and the text."""
        self.waiting: out.HookWaiting | None = None
        self.skip_key = "F8"
        """What skips the hook that is waited for."""
        self.more_below = False
        """Whether the reader is not at the end of the conversation."""
        self.end_key = "Ctrl+End"
        """What leads there."""
        self.statuses: dict[str, str] = {}
        """Texts of hooks by key."""
        self._tools: dict[str, str] = {}
        self._in_run = False
        self._leaving = False

    @property
    def busy(self) -> bool:
        return bool(self.activity)

    def hear(self, event: out.EngineEvent) -> None:
        """Take over what an event says."""
        match event:
            case out.AgentStarted() | out.TurnStarted():
                self._in_run = True
                self._do("waiting for the model")
            case out.MessageGrew(delta=ThinkingDelta()):
                self._do("thinking")
            case out.MessageGrew(delta=TextDelta()):
                self._do("answering")
            case out.MessageGrew(delta=ToolCallDelta(name=name)):
                self._do(f"writing a call of {one_line(name, 30)}" if name else "writing a tool call")
            case out.MessageEnded(message=AssistantMessage() as message):
                self.show_context(message)
            case out.ToolStarted():
                self._tools[event.tool_call_id] = one_line(event.tool_name, 30)
                self._running()
            case out.ToolEnded():
                self._tools.pop(event.tool_call_id, None)
                self._running()
            case out.RetryStarted():
                self._do(f"retry {event.attempt}/{event.max_attempts} in {event.delay_ms / 1000:.0f} s")
            case out.RetryEnded():
                self._do("waiting for the model")
            case out.CompactionStarted():
                self._do("compacting")
            case out.CompactionEnded():
                self._do("working" if self._in_run else "")
            case out.AgentSettled():
                self._in_run = False
                # The agent is done, what the user runs himself perhaps not.
                self._tools = {key: name for key, name in self._tools.items() if key.startswith(out.CALL_OF_USER)}
                self._running()
            case out.QueueChanged():
                steering = [("steer", text) for text in event.steering]
                self.queue = (*steering, *[("follow-up", text) for text in event.follow_up])
            case out.HookWaiting():
                self.waiting = event if event.hook else None
            case out.SessionChanged():
                self.context_tokens = 0
            case _:
                pass

    def open(self, answers: Sequence[AssistantMessage], spent: Usage | None) -> None:
        """A session is shown: all answers that it has, and what the engine spent on others before."""
        used = [message.usage for message in answers if message.usage]
        tokens, cost = (spent.total_tokens, spent.cost.total) if spent else (0, 0.0)
        self._before = sum(one.total_tokens for one in used) - tokens, sum(one.cost.total for one in used) - cost
        self.show_spent(spent)

    def show_spent(self, spent: Usage | None) -> None:
        """What all model calls of the engine have used by now, those of compactions and hooks too."""
        tokens, cost = (spent.total_tokens, spent.cost.total) if spent else (0, 0.0)
        # Adding up and taking away again leaves crumbs, which would be shown as a cost.
        self.tokens, self.cost = self._before[0] + tokens, round(self._before[1] + cost, 9)

    def show_context(self, message: AssistantMessage) -> None:
        """How much of the context an answer found filled."""
        if message.usage:
            self.context_tokens = message.usage.total_tokens

    def show_model(self, model: Model, thinking: ThinkingLevel) -> None:
        """The model as it is now, and the level that it thinks at."""
        self.model, self.context_limit = model.ref, model.context_window
        self.thinking, _ = clamp(model, thinking)

    def begin(self, activity: str) -> None:
        self._do(activity)

    def leave(self) -> None:
        """The program ends: nothing that ends with it takes that off the screen."""
        self._do("leaving, Ctrl+C at once")
        self._leaving = True

    def _running(self) -> None:
        names = list(self._tools.values())
        idle = "working" if self._in_run else ""
        self._do(f"running {names[0]}" if len(names) == 1 else f"running {len(names)} tools" if names else idle)

    def _do(self, activity: str) -> None:
        if activity != self.activity and not self._leaving:
            if not self.activity or not activity:
                self.since = time.monotonic()
            self.activity = activity
