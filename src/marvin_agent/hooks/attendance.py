"""Attending to hooks from outside their loop: saying who is waited for, and noticing when the loop is lost.

A hook that blocks the hook loop cannot be reached by anything on that loop. So whoever waits for something there
attends to it on the loop that he waits on.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from marvin_agent.hooks.loop import HookLoop, Job
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
        rounds: "Rounds",
        waiting: Callable[[Running, str], None],
        over: Callable[[], None],
        lost: Callable[[float], LoopLost | None],
    ) -> None:
        self.loop = loop
        self._rounds = rounds
        self._waiting = waiting
        self._over = over
        self._lost = lost
        self.running: Running | None = None
        self.due = time.monotonic() + PATIENCE
        """When to look at it next."""
        self._told: Running | None = None
        self._asked: float | None = None
        self._job: Job[Any] | None = None

    async def attend(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine function on the hook loop. Raises LoopLost."""
        self._job = job = self.loop.submit(function)
        self._rounds.begin(self)
        try:
            return await job.answer()
        finally:
            self._rounds.end(self)
            if self._told:
                self._over()

    @property
    def left(self) -> bool:
        """Whether nobody waits any more."""
        return self._job is not None and self._job.left

    def look(self) -> None:
        """See whether the loop still answers, and say who is waited for."""
        self.due = time.monotonic() + PATIENCE
        try:
            self._look()
        except LoopLost as lost:
            if self._job and not self._job.future.done():
                self._job.future.set_exception(lost)

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


class Rounds:
    """Looks at the waits of one loop when they are due, with one timer for all: most are over long before."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._waits: set[Attendance] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, wait: Attendance) -> None:
        self._waits.add(wait)
        if self._timer is None:
            self._timer = self.loop.call_later(PATIENCE, self._look)

    def end(self, wait: Attendance) -> None:
        self._waits.discard(wait)

    def _look(self) -> None:
        now = time.monotonic()
        for wait in [wait for wait in self._waits if wait.due <= now]:
            wait.look()
        self._timer = None
        if self._waits:
            first = min(wait.due for wait in self._waits)
            self._timer = self.loop.call_later(max(0.0, first - time.monotonic()), self._look)
