"""Handling an event on the hook loop: its handlers one after the other, each on a copy, under its deadline."""

import asyncio
import contextvars
import os
from collections.abc import Callable
from typing import Any, Protocol

from marvin_agent.hooks import forms
from marvin_agent.hooks.account import blame_line, describe, record_of, subject_of
from marvin_agent.hooks.attendance import Attendance
from marvin_agent.hooks.calling import call_plain
from marvin_agent.hooks.clock import Clock, Limits
from marvin_agent.hooks.eager import WAITS
from marvin_agent.hooks.exits import contained
from marvin_agent.hooks.loop import HookLoop, owner
from marvin_agent.hooks.merge import Check, merge
from marvin_agent.hooks.outcome import WITHHELD, Change, Failure, Outcome, Record, Refusal, Verdict
from marvin_agent.hooks.payload import Event
from marvin_agent.hooks.raised import traceback_of
from marvin_agent.hooks.registry import Handler
from marvin_agent.hooks.running import Running

GRACE = 1.0
"""Seconds between the cancellation of a late handler and giving it up."""
FAILURES_IN_A_ROW = 5


class News(Protocol):
    """Hears what becomes of handlers. Called on the hook loop: must return at once."""

    def failed(self, failure: Failure) -> None: ...

    def recorded(self, record: Record, event: Event) -> None: ...


class Handling:
    """Runs handlers on one hook loop."""

    def __init__(self, loop: HookLoop, limits: Limits, news: News, context: Callable[[Running], Any]) -> None:
        self._loop = loop
        self._limits = limits
        self._news = news
        self._context = context
        self.active: set[Running] = set()
        """The handlers that run now."""
        self.given_up = False
        """The loop was lost: what still ends on it counts no more."""

    async def run(
        self,
        event: Event,
        handlers: tuple[Handler, ...],
        check: Check | None = None,
        attendance: Attendance | None = None,
    ) -> Outcome:
        """Give an event to its handlers one after the other, as far as it comes."""
        outcome = Outcome(event)
        outcome.hidden = any(handler.hides for handler in handlers)
        for handler in handlers:
            if await self._one(handler, outcome, check, attendance):
                break
        return outcome

    async def run_together(self, event: Event, handlers: tuple[Handler, ...]) -> None:
        """Give an event to all its handlers at once."""
        outcome = Outcome(event)
        await asyncio.gather(*(self._one(handler, outcome, None, None) for handler in handlers))

    async def _one(
        self, handler: Handler, outcome: Outcome, check: Check | None, attendance: Attendance | None
    ) -> bool:
        """Run one handler; True when the event ends with it."""
        if handler.off or handler.hook.off:
            return False
        event = outcome.event
        subject = outcome.subject = outcome.subject or subject_of(event)
        view: Event = forms.fresh(event)
        running = Running(handler, view, Clock(self._limits.of(handler)), self._loop.thread.ident)
        if attendance:
            attendance.running = running
        ended = False
        verdict: Verdict = "ok"
        why: str | None = None
        changes: tuple[Change, ...] = ()
        try:
            returned = self._begin(running)
            if returned is WAITS:
                returned = await self._rest(running, attendance)
            if handler.spec.result and (returned is not None or view != event):
                before, standing = len(outcome.changes), outcome.standing()
                ended = merge(outcome, handler, view, returned, check)
                changes = (*outcome.changes[before:], *outcome.given_since(standing, handler.hook.id))
                verdict = "blocked" if outcome.refused else "changed" if ended or changes else "ok"
                why = outcome.refused.reason if outcome.refused else None
            handler.failures = 0
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            verdict = "skipped" if running.skipped else "timeout" if isinstance(error, TimeoutError) else "failed"
            ended = self._fail(running, outcome, error)
            why = describe(error)
        if outcome.hidden:
            changes = tuple(change._replace(before=WITHHELD, after=WITHHELD) for change in changes)
        refused = outcome.refused is not None
        self._news.recorded(record_of(running, verdict, changes, why, subject, refused=refused), event)
        return ended

    def _begin(self, running: Running) -> Any:
        """Run a handler to its end, or to where it has to wait: then this gives WAITS."""
        if self.given_up:
            raise asyncio.CancelledError("this loop was given up")
        seat = self._loop.seat("handlers")
        context = contextvars.copy_context()
        context.run(owner.set, running.hook)
        seat.task.owner = running.hook  # type: ignore[attr-defined]  # the hook loop's tasks have one
        running.task = seat.task
        self.active.add(running)
        try:
            returned = seat.begin(self._invoke(running), context)
        except BaseException as error:
            self._leave_copy()
            self._is_over(running)
            if isinstance(error, asyncio.CancelledError):
                raise _cancelled(running) from None
            raise
        self._leave_copy()
        if returned is not WAITS:
            self._is_over(running)
            if self.given_up:
                raise asyncio.CancelledError("this loop was given up while the handler blocked it")
        return returned

    async def _rest(self, running: Running, attendance: Attendance | None) -> Any:
        """What a handler that waits returns; its deadline raises TimeoutError, cancelling the run cancels it."""
        task = running.task
        assert task
        try:
            if not await self._in_time(running.clock, task, attendance):
                await self.give_up(running)
                raise TimeoutError(f"no answer within {seconds(running.clock.limit)}")
            if task.cancelled():
                raise _cancelled(running)
            return task.result()
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE)
            raise
        finally:
            self._is_over(running)
            if task.done() and not task.cancelled():
                task.exception()

    async def _in_time(self, clock: Clock, task: "asyncio.Task[Any]", attendance: Attendance | None) -> bool:
        while True:
            try:
                return await clock.outlasts(task)
            except asyncio.CancelledError:
                if attendance is None or attendance.left or self.given_up or self._loop.stopping:
                    raise
                # A hook cancels whatever it finds on its loop. Whoever waits for this event did not.
                if current := asyncio.current_task():
                    current.uncancel()

    def _leave_copy(self) -> None:
        if self._loop.is_copy:
            os._exit(1)  # before it asks the other handlers a second time

    def _is_over(self, running: Running) -> None:
        running.over = True
        running.task = None
        self.active.discard(running)

    async def _invoke(self, running: Running) -> Any:
        handler, event = running.handler, running.event
        context = self._context(running)
        if handler.is_async:
            return await contained(handler.function(event, context))

        def began(thread: int | None) -> None:
            running.thread = thread

        return await call_plain(lambda face: handler.function(event, face), context, self._loop, began)

    async def give_up(self, running: Running) -> None:
        """Cancel what is late, and go on without it when it does not end soon."""
        assert running.task
        running.over = True
        running.task.cancel()
        await asyncio.wait({running.task}, timeout=GRACE)

    def _fail(self, running: Running, outcome: Outcome, error: BaseException) -> bool:
        handler = running.handler
        reason = describe(error)
        handler.failures += 1
        failure = Failure(
            hook=handler.hook.id,
            event=handler.spec.name,
            place=blame_line(error, handler) or handler.place,
            error=reason,
            traceback=traceback_of(error),
            timed_out=isinstance(error, TimeoutError),
        )
        self._news.failed(failure)
        if handler.closed:
            outcome.refused = Refusal(handler.hook.id, failure.place, reason, failed=True)
            return True
        if handler.failures >= FAILURES_IN_A_ROW and not handler.hook.required:
            handler.off = True
            note = f"failed {FAILURES_IN_A_ROW} times in a row and is off for this session"
            self._news.failed(failure._replace(error=note, traceback=""))
        return False


def _cancelled(running: Running) -> Exception:
    """That a handler was cancelled is an error of its own, and not the cancellation of the run."""
    return TimeoutError("skipped by the user") if running.skipped else RuntimeError("it was cancelled")


def seconds(limit: float | None) -> str:
    """A limit in words."""
    return f"{limit:g} s" if limit is not None else "the limit"
