"""Dispatch: an event goes to its handlers one after the other, on the hook loop, and comes back as an outcome."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from marvin_agent.hooks import forms
from marvin_agent.hooks.account import blame_line, contained, describe, record_of
from marvin_agent.hooks.attendance import Attendance, LoopLost
from marvin_agent.hooks.clock import Clock
from marvin_agent.hooks.eager import Begun, begin_task, take_first_step
from marvin_agent.hooks.loop import HookLoop, owner
from marvin_agent.hooks.merge import Check, merge
from marvin_agent.hooks.outcome import WITHHELD, Change, Failure, Outcome, Record, Refusal, Verdict
from marvin_agent.hooks.payload import Event
from marvin_agent.hooks.raised import traceback_of
from marvin_agent.hooks.registry import Handler, Hook, Registry
from marvin_agent.hooks.running import Running
from marvin_agent.hooks.spec import Spec

T = TypeVar("T")
SETUP = Spec("setup", (), Event, None, {}, gate=False, closed=False, drained=False, limit=None, waits_for=None)
"""What a `setup` counts as while it runs."""
GRACE = 1.0
"""Seconds between the cancellation of a late handler and giving it up."""
DRAIN_LIMIT = 10.0
FAILURES_IN_A_ROW = 5


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
        context: Callable[[Running], object],
    ) -> None:
        self.registry = registry
        self.loop = loop
        self.limits = limits
        self._watcher = watcher
        self._context = context
        self._waiting: deque[Event] = deque()
        self._pump: asyncio.Task[None] | None = None
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
        attendance = Attendance(self.loop, self._watcher.waiting, self._watcher.waited, self._executing, GRACE)
        try:
            return await attendance.attend(lambda: self._run(event, handlers, check, attendance))
        except LoopLost as lost:
            return self._without_loop(event, handlers, lost)

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

    async def attended(self, function: Callable[[], Coroutine[Any, Any, T]], hook: Hook) -> T:
        """Run a hook's `setup` under its deadline; raises TimeoutError when it is late or blocks the loop."""
        setup = Running(Handler(hook, SETUP, function), Event(), Clock(self.limits.handler), self.loop.thread.ident)
        attendance = Attendance(self.loop, self._watcher.waiting, self._watcher.waited, self._executing, GRACE)
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
            self._active.clear()
            self._watcher.lost(hook, lost.place)
            raise TimeoutError(f"setup {lost}") from None

    def hold(self, until: "asyncio.Future[None]") -> None:
        """Let events wait while the hooks are loaded again."""
        self._held = until

        def release(done: "asyncio.Future[None]") -> None:
            self._held = None

        until.add_done_callback(release)

    def move_to(self, loop: HookLoop) -> None:
        """Go on with another loop: the one before was lost."""
        self.loop = loop
        self._pump = None
        self._waiting.clear()
        self._active.clear()

    def notify(self, event: Event) -> None:
        """Send a drained event: in order, without waiting."""
        if self._those_who_want(event):
            self.loop.post(self._enqueue, event)

    async def drain(self, limit: float = DRAIN_LIMIT) -> list[str]:
        """Wait for the drained events to be through; the handlers that are still busy after the limit."""
        return await self.loop.call(lambda: self._drain(limit))

    def skip(self, running: Running) -> None:
        """The user does not want to wait for this handler any more: it counts as failed."""
        running.skipped = True
        if running.task:
            self.loop.post(running.task.cancel)

    def running(self) -> tuple[Running, ...]:
        """The handlers that run now."""
        return tuple(self._active)

    def _executing(self) -> tuple[Running, ...]:
        return tuple(running for running in tuple(self._active) if running.thread == self.loop.thread.ident)

    def _without_loop(self, event: Event, handlers: tuple[Handler, ...], lost: LoopLost) -> Outcome:
        """The outcome when the loop was lost: whoever may refuse and could not say so, refuses."""
        culprit = lost.culprit.hook if lost.culprit else None
        name = culprit.id if culprit else "unknown hook"
        failure = Failure(name, event.type, lost.place, f"{lost}; it is off for this session", "", timed_out=True)
        self._watcher.failed(failure)
        self._active.clear()
        self._watcher.lost(culprit, lost.place)
        outcome = Outcome(event)
        if closed := next((handler for handler in handlers if handler.closed), None):
            outcome.refused = Refusal(name, lost.place or closed.place, str(lost), failed=True)
        return outcome

    def _those_who_want(self, event: Event) -> tuple[Handler, ...]:
        listening = self.registry.listening.get(event.type, ())
        # What a hook itself calls does not come back to it.
        return tuple(h for h in listening if h.wants(event) and not _is_own(h.hook, event))

    # On the hook loop from here.

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
        handler = running.handler
        context = self._context(running)
        if handler.is_async:
            return await contained(handler.function(running.event, context))

        def began(thread: int | None) -> None:
            running.thread = thread

        value = await contained(self.loop.in_thread(lambda: handler.function(running.event, context), began))
        return await contained(value) if asyncio.iscoroutine(value) else value

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

    def _enqueue(self, event: Event) -> None:
        if not (self._waiting and _joined(self._waiting[-1], event)):
            self._waiting.append(event)
        if self._pump is None or self._pump.done():
            self._pump = self.loop.loop.create_task(self._work_off())

    async def _work_off(self) -> None:
        while self._waiting:
            event = self._waiting.popleft()
            await self._run(event, self._those_who_want(event))

    async def _drain(self, limit: float) -> list[str]:
        pump = self._pump
        if pump is None or pump.done():
            return []
        await asyncio.wait({pump}, timeout=limit)
        if pump.done():
            return []
        late = sorted({h.hook.id for event in self._waiting for h in self._those_who_want(event)})
        pump.cancel()
        self._waiting.clear()
        return late or ["a hook"]


def _is_own(hook: Hook, event: Event) -> bool:
    if event.origin == hook.origin and event.type != "hook.error":
        return True
    source = getattr(vars(event).get("input"), "source", None)
    return source == hook.origin


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


def _result_of(ended: "asyncio.Task[T] | Begun[T]", running: Running) -> T:
    """What a handler returned; that it was cancelled is an error of its own, and not the cancellation of the run."""
    try:
        return ended.result()
    except asyncio.CancelledError:
        raise (TimeoutError("skipped by the user") if running.skipped else RuntimeError("it was cancelled")) from None


def _seconds(limit: float | None) -> str:
    return f"{limit:g} s" if limit is not None else "the limit"
