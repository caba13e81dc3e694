"""Dispatch: an event goes to its handlers on the hook loop, and comes back as an outcome."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from marvin_agent.errors import HookError
from marvin_agent.hooks.attendance import Attendance, LoopLost, Rounds
from marvin_agent.hooks.clock import Clock, Limits
from marvin_agent.hooks.drained import LIMIT, Drained
from marvin_agent.hooks.exits import contained
from marvin_agent.hooks.handling import GRACE, Handling, News, seconds
from marvin_agent.hooks.loop import HookLoop
from marvin_agent.hooks.merge import Check
from marvin_agent.hooks.outcome import Failure, Outcome, Refusal
from marvin_agent.hooks.payload import Event
from marvin_agent.hooks.registry import Handler, Hook, Registry
from marvin_agent.hooks.running import Running, blocking_hook
from marvin_agent.hooks.spec import Spec

T = TypeVar("T")
SETUP = Spec("setup", (), Event, None, {}, gate=False, closed=False, drained=False, limit=None, waits_for=None)
"""What a `setup` counts as while it runs."""
NO_LIMIT = 60.0
"""Seconds that the hook loop may be silent where no deadline says so."""


class Watcher(News, Protocol):
    """Hears what happens in dispatch, too."""

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
        self._handling = Handling(loop, limits, watcher, context)
        self._held: asyncio.Future[None] | None = None
        self._rounds: Rounds | None = None

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
        handling, attendance = self._handling, self._attendance()
        try:
            return await attendance.attend(lambda: handling.run(event, handlers, check, attendance))
        except LoopLost as lost:
            self._lost(attendance.loop, lost, event.type)
            return _without_loop(event, handlers, lost)

    async def dispatch_together(self, event: Event) -> None:
        """Send an event to all its handlers at once, within the row's limit: for the shutdown."""
        handlers = self._those_who_want(event)
        if not handlers:
            return
        limit = handlers[0].spec.limit
        handling = self._handling
        work = asyncio.ensure_future(self.loop.call(lambda: handling.run_together(event, handlers)))
        await asyncio.wait({work}, timeout=None if limit is None else limit + GRACE)
        if work.done():
            work.result()
            return
        work.cancel()
        for running in tuple(handling.active):
            self._watcher.failed(
                Failure(running.hook.id, event.type, running.where(), f"no end within {seconds(limit)}", "", True)
            )

    async def set_up(self, function: Callable[[], Coroutine[Any, Any, T]], hook: Hook) -> T:
        """Run a hook's `setup` under its deadline. Raises TimeoutError when it is late or blocks the loop, LoopLost
        when another hook does."""
        setup = Running(Handler(hook, SETUP, function), Event(), Clock(self.limits.handler), self.loop.thread.ident)
        handling, attendance = self._handling, self._attendance()
        attendance.running = setup
        setup.handler.file = hook.path

        async def bounded() -> T:
            handling.active.add(setup)
            setup.task = task = asyncio.ensure_future(contained(function()))
            try:
                if not await setup.clock.outlasts(task):
                    await handling.give_up(setup)
                    raise TimeoutError(f"setup did not end within {seconds(self.limits.handler)}")
                return task.result()
            finally:
                handling.active.discard(setup)

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
        self._handling = Handling(loop, self.limits, self._watcher, self._context)

    def notify(self, event: Event) -> None:
        """Send a drained event: in order, without waiting."""
        if self._those_who_want(event):
            self.loop.post(self._drained.put, event)

    async def drain(self, limit: float = LIMIT) -> list[str]:
        """Wait for the drained events to be through; the hooks that are still busy after the limit."""
        try:
            async with asyncio.timeout(limit + GRACE):
                if self._held:
                    await asyncio.wait({self._held})
                left = await self.attended(lambda: self._drained.finish(limit), "the events that are left")
        except HookError:
            return []  # who it was is told
        except TimeoutError:
            return self._blocking()  # the loop itself does not answer
        return sorted({handler.hook.id for event in left for handler in self._those_who_want(event)})

    def _blocking(self) -> list[str]:
        found = blocking_hook(self.registry.hooks, self.loop.thread.ident)
        return [found[0].id] if found else sorted({running.hook.id for running in self.running()})

    def skip(self, running: Running) -> None:
        """The user does not want to wait for this handler any more: it counts as failed."""
        running.skipped = True
        if task := running.task:
            self.loop.post(task.cancel)

    def running(self) -> tuple[Running, ...]:
        """The handlers that run now."""
        return tuple(self._handling.active)

    def _attendance(self) -> Attendance:
        loop, rounds = self.loop, self._rounds
        if rounds is None or rounds.loop is not asyncio.get_running_loop():
            rounds = self._rounds = Rounds()
        watcher = self._watcher
        return Attendance(loop, rounds, watcher.waiting, watcher.waited, lambda silent: self._blocked(loop, silent))

    def _blocked(self, loop: HookLoop, silent: float) -> LoopLost | None:
        """Who blocks a loop that has not answered for so many seconds, and where; None while he may."""
        thread = loop.thread.ident
        for running in tuple(self._handling.active):
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
        self._handling.given_up = True
        self._handling.active.clear()
        self._watcher.lost(culprit, place)
        return True

    def _those_who_want(self, event: Event) -> tuple[Handler, ...]:
        listening = self.registry.listening.get(event.type, ())
        asker = _asker(event)
        return tuple([h for h in listening if h.wants(event) and h.hook.origin != asker])

    # On the hook loop from here.

    async def _deliver(self, event: Event) -> None:
        await self._handling.run(event, self._those_who_want(event))


def _without_loop(event: Event, handlers: tuple[Handler, ...], lost: LoopLost) -> Outcome:
    """The outcome when the loop was lost: whoever may refuse and could not say so, refuses."""
    outcome = Outcome(event)
    if closed := next((handler for handler in handlers if handler.closed), None):
        name = lost.hook.id if lost.hook else "unknown hook"
        outcome.refused = Refusal(name, lost.place or closed.place, str(lost), failed=True)
    return outcome


def _asker(event: Event) -> str:
    """The origin of the hook that caused an event, empty when none did: what it calls does not come back to it."""
    origin = event.origin
    if not origin.startswith("hook:"):
        origin = getattr(vars(event).get("input"), "source", "") or ""
    return origin if origin.startswith("hook:") and event.type != "hook.error" else ""
