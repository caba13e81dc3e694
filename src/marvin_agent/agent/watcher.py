"""What becomes of news from the hooks: errors and decisions reach the user, the trace and `hook.error`."""

import asyncio
from collections.abc import Callable

from marvin_agent.agent.events import HookActed, HookFailed, HookWaiting
from marvin_agent.agent.outlet import Outlet
from marvin_agent.agent.points import Points
from marvin_agent.hooks import events as h
from marvin_agent.hooks.outcome import Failure, Record
from marvin_agent.hooks.payload import Event
from marvin_agent.hooks.registry import Hook
from marvin_agent.hooks.running import Running
from marvin_agent.hooks.tally import Tally


class HookNews:
    """Hears on the hook loop, speaks on the engine's."""

    def __init__(self, outlet: Outlet, home: asyncio.AbstractEventLoop) -> None:
        self._outlet = outlet
        self._home = home
        self.on_lost: Callable[[Hook | None], None] = lambda culprit: None
        """Makes a new hook loop; set once there is a hook system."""
        self.points: Points | None = None
        """Where `hook.error` is fired; set once there is a dispatcher."""
        self.tally = Tally()
        self.keep: Callable[[Record, Event], None] | None = None
        """Writes the trace, when there is one."""

    def failed(self, failure: Failure) -> None:
        self.tally.failed(failure)
        self._soon(self._failed, failure)

    def _failed(self, failure: Failure) -> None:
        self._outlet.emit(
            HookFailed(
                hook=failure.hook,
                event=failure.event,
                error=failure.error,
                place=failure.place,
                traceback=failure.traceback,
            )
        )
        if self.points and failure.event != h.HookErrorEvent.type:
            self.points.tell(
                h.HookErrorEvent,
                hook=failure.hook,
                event=failure.event,
                error=failure.error,
                traceback=failure.traceback,
            )

    def recorded(self, record: Record, event: Event) -> None:
        self.tally.add(record)
        if self.keep:
            self.keep(record, event)
        if record.verdict in ("changed", "blocked"):
            self._soon(self._acted, record)

    def _acted(self, record: Record) -> None:
        handled = any(change.field == "handled" and change.after for change in record.changes)
        self._outlet.emit(
            HookActed(
                hook=record.hook,
                event=record.event,
                verdict="handled" if handled else record.verdict,
                subject=record.subject,
                reason=record.error or "",
            )
        )

    def waiting(self, running: Running, place: str) -> None:
        self._outlet.emit(HookWaiting(hook=running.hook.id, event=running.handler.spec.name, place=place))

    def waited(self) -> None:
        self._outlet.emit(HookWaiting(hook="", event="", place=""))

    def lost(self, culprit: Hook | None, place: str) -> None:
        self.on_lost(culprit)

    def _soon(self, function: Callable[..., None], *arguments: object) -> None:
        try:
            self._home.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            return  # the engine's loop is closed: nobody is left to tell
