"""Deadlines of handlers, and their clock: it stands still while the handler waits for a person."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from marvin_agent.hooks.registry import Handler


class Clock:
    """Counts the seconds that a handler has used of its limit (None: unlimited). Lives on the hook loop."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self._used = 0.0
        self._since = time.monotonic()
        self._standing = 0
        self._moves: asyncio.Event | None = None
        """Set when time passes again; made when it first stands still, which few handlers make it do."""

    @property
    def used(self) -> float:
        return self._used + (time.monotonic() - self._since if not self._standing else 0.0)

    @contextmanager
    def standing(self) -> Iterator[None]:
        """No time passes inside."""
        if not self._standing:
            self._used = self.used
            self._moves = asyncio.Event()
        self._standing += 1
        try:
            yield
        finally:
            self._standing -= 1
            if not self._standing:
                self._since = time.monotonic()
                if self._moves:
                    self._moves.set()

    async def outlasts(self, task: "asyncio.Task[object]") -> bool:
        """Wait for the task; False when the limit was reached first."""
        while not task.done():
            if self.limit is None:
                await asyncio.wait({task})
            elif self._standing and self._moves:
                resumed = asyncio.ensure_future(self._moves.wait())
                await asyncio.wait({task, resumed}, return_when=asyncio.FIRST_COMPLETED)
                resumed.cancel()
            else:
                left = self.limit - self.used
                if left <= 0:
                    return False
                await asyncio.wait({task}, timeout=left)
        return True


class Limits:
    """Deadlines in seconds; `person` says whether somebody is there to answer a gate's question."""

    def __init__(self, handler: float = 30.0, gate: float = 600.0, *, person: bool = False) -> None:
        self.handler = handler
        self.gate = gate
        self.person = person

    def of(self, handler: Handler) -> float | None:
        if handler.timeout is not None:
            return handler.timeout or None
        if handler.spec.limit is not None:
            return handler.spec.limit
        if handler.spec.gate:
            return None if self.person else self.gate
        return self.handler or None
