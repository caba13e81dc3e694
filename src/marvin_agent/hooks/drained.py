"""Drained events: they hold nothing up, keep their order, and are finished before the run settles."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from marvin_agent.hooks.payload import Event

LIMIT = 10.0
"""Seconds that the rest of them may take."""


class Drained:
    """Delivers events one after the other. Lives on the hook loop."""

    def __init__(self, deliver: Callable[[Event], Coroutine[Any, Any, None]]) -> None:
        self._deliver = deliver
        self._waiting: deque[Event] = deque()
        self._now: Event | None = None
        self._work: asyncio.Task[None] | None = None

    def put(self, event: Event) -> None:
        if not (self._waiting and _joined(self._waiting[-1], event)):
            self._waiting.append(event)
        self._see_to_it()

    def _see_to_it(self) -> None:
        # A hook may have cancelled the work, with all else that it found.
        if self._waiting and (self._work is None or self._work.done()):
            self._work = asyncio.get_running_loop().create_task(self._work_off())

    async def _work_off(self) -> None:
        while self._waiting:
            self._now = self._waiting.popleft()
            await self._deliver(self._now)

    async def finish(self, limit: float) -> list[Event]:
        """Wait until all are delivered; gives those that were not after the limit, and drops them."""
        loop = asyncio.get_running_loop()
        until = loop.time() + limit
        self._see_to_it()
        while (work := self._work) and not work.done():
            await asyncio.wait({work}, timeout=max(0.0, until - loop.time()))
            if not work.done():
                break
            self._see_to_it()
        if work is None or work.done() or self._now is None:
            return []
        left = [self._now, *self._waiting]
        self._waiting.clear()
        work.cancel()
        return left


def _joined(last: Event, event: Event) -> bool:
    """Join a stream delta to one that still waits, when both are more of the same part."""
    if last.type != "message.update" or event.type != "message.update":
        return False
    a, b = vars(last)["delta"], vars(event)["delta"]
    if any(a.get(key) != b.get(key) for key in ("type", "index", "id")):
        return False
    vars(last)["delta"] = {**a, "text": a["text"] + b["text"]}
    vars(last)["message"] = vars(event)["message"]
    return True
