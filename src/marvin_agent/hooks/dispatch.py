"""Dispatch: an event goes to its handlers one after the other, on the hook loop, and comes back as an outcome."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from marvin_agent.errors import HookError
from marvin_agent.hooks import forms
from marvin_agent.hooks.account import blame_line, describe, record_of
from marvin_agent.hooks.attendance import Attendance, LoopLost
from marvin_agent.hooks.calling import call_plain
from marvin_agent.hooks.clock import Clock, Limits
from marvin_agent.hooks.drained import LIMIT, Drained
from marvin_agent.hooks.eager import Begun, begin_task, take_first_step
from marvin_agent.hooks.exits import contained
from marvin_agent.hooks.loop import HookLoop, owner
from marvin_agent.hooks.merge import Check, merge
from marvin_agent.hooks.outcome import WITHHELD, Change, Failure, Outcome, Record, Refusal, Verdict
from marvin_agent.hooks.payload import Event
from marvin_agent.hooks.raised import traceback_of
from marvin_agent.hooks.registry import Handler, Hook, Registry
from marvin_agent.hooks.running import Running, blocking_hook
from marvin_agent.hooks.spec import Spec

T = TypeVar("T")
SETUP = Spec("setup", (), Event, None, {}, gate=False, closed=False, drained=False, limit=None, waits_for=None)
"""What a `setup` counts as while it runs."""
GRACE = 1.0
"""Seconds between the cancellation of a late handler and giving it up."""
NO_LIMIT = 60.0
"""Seconds that the hook loop may be silent where no deadline says so."""
FAILURES_IN_A_ROW = 5


class Watcher(Protocol):
    """Hears what happens in dispatch. Called on the hook loop: must return at once."""

    def failed(self, failure: Failure) -> None: ...

    def recorded(self, record: Record, event: Event) -> None: ...

    def waiting(self, running: Running, place: str) -> None:
        """The run has waited for this handler for a while. Called on the caller's loop, as the next one."""
        ...

    def waited(self) -> None: ...

    def lost(self, culprit: Hook | None, place: str) -> None:
        """The hook loop is blocked for good. What replaces it is this one's business."""
        ...


class Dispatcher:
    """The one way from the engine to the hooks."""

    def __init__(
        self,
        registry: Registry,
        loop: HookLoop,
        limits: Limits,
        watcher: Watcher,
        context: Callable[[Running], Any],
    ) -> None:
        self.registry = registry
        self.loop = loop
        self.limits = limits
        self._watcher = watcher
        self._context = context
        self._drained = Drained(self._deliver)
        self._active: set[Running] = set()
        self._held: asyncio.Future[None] | None = None

    def pin(self, hook: str, event: type[Event]) -> None:
        """Make a hook's handlers of an event closed for the rest of the session: it has routed once."""
        self.registry.pin(hook, event.type)

    def heard(self, name: str) -> bool:
        """Whether anybody listens; asked before an event is built."""
        return name in self.registry.listening or self._held is not None

    async def dispatch(self, event: Event, *, check: Check | None = None) -> Outcome:
        """Send an event to its handlers and wait for what they make of it."""
        if self._held:
            await asyncio.wait({self._held})
        handlers = self._those_who_want(event)
        if not handlers:
            return Outcome(event)
        attendance = self._attendance()
        try:
            return await attendance.attend(lambda: self._run(event, handlers, check, attendance))
        except LoopLost as lost:
            self._lost(attendance.loop, lost, event.type)
            return _without_loop(event, handlers, lost)

    async def dispatch_together(self, event: Event) -> None:
        """Send an event to all its handlers at once, within the row's limit: for the shutdown."""
        handlers = self._those_who_want(event)
        if not handlers:
            return
        limit = handlers[0].spec.limit
        work = asyncio.ensure_future(self.loop.call(lambda: self._run_together(event, handlers)))
        await asyncio.wait({work}, timeout=None if limit is None else limit + GRACE)
        if work.done():
            work.result()
            return
        work.cancel()
        for running in self._active:
            self._watcher.failed(
                Failure(running.hook.id, event.type, running.where(), f"no end within {_seconds(limit)}", "", True)
            )

    async def set_up(self, function: Callable[[], Coroutine[Any, Any, T]], hook: Hook) -> T:
        """Run a hook's `setup` under its deadline. Raises TimeoutError when it is late or blocks the loop, LoopLost
        when another hook does."""
        setup = Running(Handler(hook, SETUP, function), Event(), Clock(self.limits.handler), self.loop.thread.ident)
        attendance = self._attendance()
        attendance.running = setup
        setup.handler.file = hook.path

        async def bounded() -> T:
            self._active.add(setup)
            setup.task = task = asyncio.ensure_future(contained(function()))
            try:
                if not await setup.clock.outlasts(task):
                    await self._give_up(setup)
                    raise TimeoutError(f"setup did not end within {_seconds(self.limits.handler)}")
                return task.result()
            finally:
                self._active.discard(setup)

        try:
            return await attendance.attend(bounded)
        except LoopLost as lost:
            if lost.hook not in (hook, None):
                self._lost(attendance.loop, lost, SETUP.name)
                raise
            self._lose(attendance.loop, hook, lost.place)
            raise TimeoutError(f"setup {lost}") from None

    async def attended(self, function: Callable[[], Coroutine[Any, Any, T]], what: str) -> T:
        """Run on the hook loop what has no deadline of its own (a tool, a command). Raises HookError when the loop
        is lost meanwhile."""
        attendance = self._attendance()
        try:
            return await attendance.attend(function)
        except LoopLost as lost:
            self._lost(attendance.loop, lost, what)
            raise HookError(f"{lost.hook.id if lost.hook else 'a hook'} {lost}") from None

    def hold(self, until: "asyncio.Future[None]") -> None:
        """Let events wait while the hooks are loaded again."""
        self._held = until

        def release(done: "asyncio.Future[None]") -> None:
            self._held = None

        until.add_done_callback(release)

    def move_to(self, loop: HookLoop) -> None:
        """Go on with another loop: the one before was lost."""
        self.loop = loop
        self._drained = Drained(self._deliver)
        self._active.clear()

    def notify(self, event: Event) -> None:
        """Send a drained event: in order, without waiting."""
        if self._those_who_want(event):
            self.loop.post(self._drained.put, event)

    async def drain(self, limit: float = LIMIT) -> list[str]:
        """Wait for the drained events to be through; the hooks that are still busy after the limit."""
        if self._held:
            await asyncio.wait({self._held})
        try:
            left = await self.attended(lambda: self._drained.finish(limit), "the events that are left")
        except HookError:
            return []  # who it was is told
        return sorted({handler.hook.id for event in left for handler in self._those_who_want(event)})

    def skip(self, running: Running) -> None:
        """The user does not want to wait for this handler any more: it counts as failed."""
        running.skipped = True
        if running.task:
            self.loop.post(running.task.cancel)

    def running(self) -> tuple[Running, ...]:
        """The handlers that run now."""
        return tuple(self._active)

    def _attendance(self) -> Attendance:
        loop = self.loop
        return Attendance(loop, self._watcher.waiting, self._watcher.waited, lambda silent: self._blocked(loop, silent))

    def _blocked(self, loop: HookLoop, silent: float) -> LoopLost | None:
        """Who blocks a loop that has not answered for so many seconds, and where; None while he may."""
        thread = loop.thread.ident
        for running in tuple(self._active):
            if running.thread == thread and running.blocks_its_thread():
                clock = running.clock
                late = running.skipped or (clock.limit is not None and clock.used > clock.limit + GRACE)
                return LoopLost(running.hook, running.where(), running.handler.spec.name) if late else None
        if silent <= (self.limits.handler or NO_LIMIT) + GRACE:
            return None
        # A timer, a task, a tool, a command: nothing has a deadline that holds up all other hooks.
        if found := blocking_hook(self.registry.hooks, thread):
            return LoopLost(*found)
        return LoopLost(None, "an unknown place") if silent > NO_LIMIT else None

    def _lost(self, loop: HookLoop, lost: LoopLost, event: str) -> None:
        if self._lose(loop, lost.hook, lost.place):
            name = lost.hook.id if lost.hook else "unknown hook"
            error = f"{lost}; it is off for this session"
            self._watcher.failed(Failure(name, lost.event or event, lost.place, error, "", timed_out=True))

    def _lose(self, loop: HookLoop, culprit: Hook | None, place: str) -> bool:
        """Give a loop up; False when that was done already, since several may wait there."""
        if loop is not self.loop or self._held:
            return False
        self._active.clear()
        self._watcher.lost(culprit, place)
        return True

    def _those_who_want(self, event: Event) -> tuple[Handler, ...]:
        listening = self.registry.listening.get(event.type, ())
        # What a hook itself calls does not come back to it.
        return tuple(h for h in listening if h.wants(event) and not _is_own(h.hook, event))

    # On the hook loop from here.

    async def _deliver(self, event: Event) -> None:
        await self._run(event, self._those_who_want(event))

    async def _run(
        self,
        event: Event,
        handlers: tuple[Handler, ...],
        check: Check | None = None,
        attendance: Attendance | None = None,
    ) -> Outcome:
        outcome = Outcome(event)
        outcome.hidden = any(handler.hides for handler in handlers)
        for handler in handlers:
            if await self._one(handler, outcome, check, attendance):
                break
        return outcome

    async def _run_together(self, event: Event, handlers: tuple[Handler, ...]) -> None:
        outcome = Outcome(event)
        await asyncio.gather(*(self._one(handler, outcome, None, None) for handler in handlers))

    async def _one(
        self, handler: Handler, outcome: Outcome, check: Check | None, attendance: Attendance | None
    ) -> bool:
        """Run one handler; True when the event ends with it."""
        if handler.off or handler.hook.off:
            return False
        view: Event = forms.fresh(outcome.event)
        running = Running(handler, view, Clock(self.limits.of(handler)), self.loop.thread.ident)
        if attendance:
            attendance.running = running
        before, standing = len(outcome.changes), outcome.standing()
        error: BaseException | None = None
        verdict: Verdict = "ok"
        ended = False
        given: list[Change] = []
        try:
            returned = await self._call(running)
            ended = merge(outcome, handler, view, returned, check)
            handler.failures = 0
            given = outcome.given_since(standing, handler.hook.id)
            changed = ended or given or len(outcome.changes) > before
            verdict = "blocked" if outcome.refused else "changed" if changed else "ok"
        except asyncio.CancelledError:
            raise
        except BaseException as raised:
            error = raised
            verdict = "skipped" if running.skipped else "timeout" if isinstance(raised, TimeoutError) else "failed"
            ended = self._fail(running, outcome, raised)
        why = describe(error) if error else outcome.refused.reason if verdict == "blocked" and outcome.refused else None
        changes = (*outcome.changes[before:], *given)
        if outcome.hidden:
            changes = tuple(change._replace(before=WITHHELD, after=WITHHELD) for change in changes)
        self._watcher.recorded(
            record_of(running, verdict, changes, why, refused=outcome.refused is not None), outcome.event
        )
        return ended

    async def _call(self, running: Running) -> Any:
        """What the handler returns; its deadline raises TimeoutError, cancelling the run cancels it."""
        loop = asyncio.get_running_loop()
        token = owner.set(running.hook)
        try:
            begun, task, context = begin_task(self._invoke(running), loop)
        finally:
            owner.reset(token)
        running.task = task
        self._active.add(running)
        try:
            take_first_step(begun, task, context, loop)
            if begun.over:
                return _result_of(begun, running)
            if not await running.clock.outlasts(task):
                await self._give_up(running)
                raise TimeoutError(f"no answer within {_seconds(running.clock.limit)}")
            return _result_of(task, running)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE)
            raise
        finally:
            running.over = True
            self._active.discard(running)
            if task.done() and not task.cancelled():
                task.exception()

    async def _invoke(self, running: Running) -> Any:
        handler, event = running.handler, running.event
        context = self._context(running)
        if handler.is_async:
            return await contained(handler.function(event, context))

        def began(thread: int | None) -> None:
            running.thread = thread

        return await call_plain(lambda face: handler.function(event, face), context, self.loop, began)

    async def _give_up(self, running: Running) -> None:
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
        self._watcher.failed(failure)
        if handler.closed:
            outcome.refused = Refusal(handler.hook.id, failure.place, reason, failed=True)
            return True
        if handler.failures >= FAILURES_IN_A_ROW and not handler.hook.required:
            handler.off = True
            note = f"failed {FAILURES_IN_A_ROW} times in a row and is off for this session"
            self._watcher.failed(failure._replace(error=note, traceback=""))
        return False


def _without_loop(event: Event, handlers: tuple[Handler, ...], lost: LoopLost) -> Outcome:
    """The outcome when the loop was lost: whoever may refuse and could not say so, refuses."""
    outcome = Outcome(event)
    if closed := next((handler for handler in handlers if handler.closed), None):
        name = lost.hook.id if lost.hook else "unknown hook"
        outcome.refused = Refusal(name, lost.place or closed.place, str(lost), failed=True)
    return outcome


def _is_own(hook: Hook, event: Event) -> bool:
    if event.origin == hook.origin and event.type != "hook.error":
        return True
    source = getattr(vars(event).get("input"), "source", None)
    return source == hook.origin


def _result_of(ended: "asyncio.Task[T] | Begun[T]", running: Running) -> T:
    """What a handler returned; that it was cancelled is an error of its own, and not the cancellation of the run."""
    try:
        return ended.result()
    except asyncio.CancelledError:
        raise (TimeoutError("skipped by the user") if running.skipped else RuntimeError("it was cancelled")) from None


def _seconds(limit: float | None) -> str:
    return f"{limit:g} s" if limit is not None else "the limit"
