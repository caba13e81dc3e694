"""Attending to handlers from outside their loop: saying who is waited for, and noticing when the loop is lost.

A handler that blocks the hook loop cannot be reached by anything on that loop. So each dispatch is attended on the
loop of its caller.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from marvin_agent.hooks.loop import HookLoop
from marvin_agent.hooks.running import Running

T = TypeVar("T")
PATIENCE = 1.0
"""Seconds before the user is told who is waited for; also how often the loop is looked at after that."""


class LoopLost(Exception):
    """The hook loop does not answer; `culprit` is the handler that blocks it, when it can be told."""

    def __init__(self, culprit: Running | None, place: str) -> None:
        super().__init__(f"blocks the hook loop at {place}")
        self.culprit = culprit
        self.place = place


class Attendance:
    """One dispatch under attendance. `running` is set on the hook loop as handlers come and go."""

    def __init__(
        self,
        loop: HookLoop,
        waiting: Callable[[Running, str], None],
        over: Callable[[], None],
        active: Callable[[], tuple[Running, ...]],
        grace: float,
    ) -> None:
        self._loop = loop
        self._waiting = waiting
        self._over = over
        self._active = active
        self._grace = grace
        self.running: Running | None = None
        self._told: Running | None = None
        self._asked: float | None = None

    async def attend(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine function on the hook loop. Raises LoopLost."""
        work = self._loop.submit(function)
        try:
            while True:
                done, _ = await asyncio.wait({work}, timeout=PATIENCE)
                if done:
                    return work.result()
                self._look()
        except BaseException:
            work.cancel()
            raise
        finally:
            if self._told:
                self._over()

    def _look(self) -> None:
        running = self.running
        if running and running is not self._told and time.monotonic() - running.since >= PATIENCE * 0.9:
            self._told = running
            self._waiting(running, running.where())
        if self._asked is None:
            self._asked = time.monotonic()
            if not self._loop.post(self._answer):
                raise LoopLost(None, "its end")
            return
        culprit = next((r for r in self._active() if r.blocks_its_thread()), None)
        silent = time.monotonic() - self._asked
        limit = culprit.clock.limit if culprit else None
        if culprit and (culprit.skipped or (limit is not None and culprit.clock.used > limit + self._grace)):
            raise LoopLost(culprit, culprit.where())
        if culprit is None and silent > 60.0:
            raise LoopLost(None, "an unknown place")

    def _answer(self) -> None:
        self._asked = None
