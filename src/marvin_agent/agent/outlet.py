"""The channel from the engine to its frontends: everybody who subscribed gets every event, in order."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator

from marvin_agent.agent.events import EngineEvent, HookFailed, MessageGrew, Notice
from marvin_agent.llm.values import ToolCallDelta

EARLY = 100
"""How many notices are kept for a reader that comes later."""
JOIN_BEYOND = 64
"""How many events may wait for a slow reader before deltas of one part are joined."""


class Subscription:
    """One reader's view of the channel."""

    def __init__(self, *, deltas: bool) -> None:
        self.deltas = deltas
        self._waiting: deque[EngineEvent] = deque()
        self._news = asyncio.Event()
        self._closed = False

    def put(self, event: EngineEvent) -> None:
        waiting = self._waiting
        if len(waiting) > JOIN_BEYOND and (joined := _join(waiting[-1], event)):
            waiting[-1] = joined
        else:
            waiting.append(event)
        self._news.set()

    def close(self) -> None:
        """No more events; those that wait are still delivered."""
        self._closed = True
        self._news.set()

    async def events(self) -> AsyncGenerator[EngineEvent, None]:
        waiting = self._waiting
        while True:
            while waiting:
                yield waiting.popleft()
            if self._closed:
                return
            self._news.clear()
            await self._news.wait()


class Outlet:
    """Where the engine emits."""

    def __init__(self) -> None:
        self._readers: list[Subscription] = []
        self._unheard: deque[EngineEvent] = deque(maxlen=EARLY)
        """What went wrong before anybody read: hooks are loaded before there is a frontend. For the first reader."""

    @property
    def wants_deltas(self) -> bool:
        """Whether anybody shows messages while they grow."""
        return any(reader.deltas for reader in self._readers)

    def subscribe(self, *, deltas: bool = True) -> Subscription:
        """Begin to read. Who does not show messages while they grow says so: then nobody builds the deltas."""
        reader = Subscription(deltas=deltas)
        while self._unheard:
            reader.put(self._unheard.popleft())
        self._readers.append(reader)
        return reader

    def leave(self, reader: Subscription) -> None:
        reader.close()
        self._readers.remove(reader)

    def emit(self, event: EngineEvent) -> None:
        if not self._readers and isinstance(event, Notice | HookFailed):
            self._unheard.append(event)
        for reader in self._readers:
            reader.put(event)

    def close(self) -> None:
        for reader in self._readers:
            reader.close()


def _join(last: EngineEvent, event: EngineEvent) -> EngineEvent | None:
    if not (isinstance(last, MessageGrew) and isinstance(event, MessageGrew)):
        return None
    a, b = last.delta, event.delta
    if type(a) is not type(b) or a.index != b.index:
        return None
    if isinstance(a, ToolCallDelta):
        return MessageGrew(delta=ToolCallDelta(index=a.index, id=a.id, name=a.name, text=a.text + b.text))
    return MessageGrew(delta=type(a)(index=a.index, text=a.text + b.text))
