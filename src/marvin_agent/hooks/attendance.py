"""Attending to hooks from outside their loop: saying who is waited for, and noticing when the loop is lost.

A hook that blocks the hook loop cannot be reached by anything on that loop. So whoever waits for something there
attends to it on the loop that he waits on.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from marvin_agent.hooks.loop import HookLoop
from marvin_agent.hooks.registry import Hook
from marvin_agent.hooks.running import Running

T = TypeVar("T")
PATIENCE = 1.0
"""Seconds before the user is told who is waited for; also how often the loop is looked at after that."""


class LoopLost(Exception):
    """The hook loop does not answer; `hook` is the one that blocks it, when it can be told, and `event` in what."""

    def __init__(self, hook: Hook | None, place: str, event: str | None = None) -> None:
        super().__init__(f"blocks the hook loop at {place}")
        self.hook = hook
        self.place = place
        self.event = event


class Attendance:
    """One wait under attendance. `running` is set on the hook loop as handlers come and go.

    `lost` says who blocks the loop and where, given the seconds that it has not answered for; None while it may.
    """

    def __init__(
        self,
        loop: HookLoop,
        waiting: Callable[[Running, str], None],
        over: Callable[[], None],
        lost: Callable[[float], LoopLost | None],
    ) -> None:
        self.loop = loop
        self._waiting = waiting
        self._over = over
        self._lost = lost
        self.running: Running | None = None
        self._told: Running | None = None
        self._asked: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def attend(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine function on the hook loop. Raises LoopLost."""
        work = self.loop.submit(function)
        self._look_later(work)
        try:
            return await work
        finally:
            assert self._timer
            self._timer.cancel()
            if self._told:
                self._over()

    def _look_later(self, work: "asyncio.Future[Any]") -> None:
        self._timer = work.get_loop().call_later(PATIENCE, self._look_now, work)

    def _look_now(self, work: "asyncio.Future[Any]") -> None:
        self._look_later(work)
        try:
            self._look()
        except LoopLost as lost:
            if not work.done():
                work.set_exception(lost)

    def _look(self) -> None:
        running = self.running
        if running and running is not self._told and time.monotonic() - running.since >= PATIENCE * 0.9:
            self._told = running
            self._waiting(running, running.where())
        if self._asked is None:
            self._asked = time.monotonic()
            if not self.loop.post(self._answer):
                raise LoopLost(None, "its end")
            return
        if lost := self._lost(time.monotonic() - self._asked):
            raise lost

    def _answer(self) -> None:
        self._asked = None
