"""Hook points: the engine's way to fire an event. Costs a look-up when nobody listens."""

from typing import Any, Protocol, TypeVar

from marvin_agent.hooks.dispatch import Dispatcher
from marvin_agent.hooks.merge import Check
from marvin_agent.hooks.outcome import Outcome
from marvin_agent.hooks.payload import Event, Mode

E = TypeVar("E", bound=Event)


class Identity(Protocol):
    """What every event says of where it happens."""

    @property
    def session_id(self) -> str: ...

    @property
    def mode(self) -> Mode: ...


class Points:
    """Fires events with the session and mode filled in."""

    def __init__(self, dispatcher: Dispatcher, identity: Identity) -> None:
        self._dispatcher = dispatcher
        self._identity = identity

    @property
    def session_id(self) -> str:
        return self._identity.session_id

    def heard(self, event: type[Event]) -> bool:
        """Whether anybody listens: ask before building a costly payload."""
        return self._dispatcher.heard(event.type)

    async def fire(
        self, event: type[Event], /, *, origin: str = "main", check: Check | None = None, **payload: Any
    ) -> Outcome | None:
        """Send an event and wait for the outcome; None when nobody listens."""
        if not self._dispatcher.heard(event.type):
            return None
        return await self._dispatcher.dispatch(self._make(event, origin, payload), check=check)

    def tell(self, event: type[Event], /, *, origin: str = "main", **payload: Any) -> None:
        """Send a drained event."""
        if self._dispatcher.heard(event.type):
            self._dispatcher.notify(self._make(event, origin, payload))

    async def together(self, event: type[Event], /, **payload: Any) -> None:
        """Send an event to all its handlers at once."""
        if self._dispatcher.heard(event.type):
            await self._dispatcher.dispatch_together(self._make(event, "main", payload))

    async def drain(self, limit: float) -> list[str]:
        """Wait for drained events; the hooks that are still busy after so many seconds."""
        return await self._dispatcher.drain(limit)

    def closed_handler_for(self, event: type[Event], /, **payload: Any) -> bool:
        """Whether a closed handler would see this event, whose failure withholds it."""
        listening = self._dispatcher.registry.listening.get(event.type, ())
        if not any(handler.closed for handler in listening):
            return False
        made = self._make(event, "main", payload)
        return any(handler.closed and handler.wants(made) for handler in listening)

    def _make(self, event: type[Event], origin: str, payload: dict[str, Any]) -> Event:
        identity = self._identity
        return event(session_id=identity.session_id, origin=origin, mode=identity.mode, **payload)
