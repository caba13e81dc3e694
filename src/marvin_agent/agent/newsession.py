"""A session that a hook fills before it begins: what its `setup(session)` writes, kept until all of it is there."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Raw

from marvin_agent.errors import HookError, SessionError
from marvin_agent.hooks.account import describe
from marvin_agent.hooks.calling import call
from marvin_agent.hooks.forms import accept
from marvin_agent.hooks.registry import Hook
from marvin_agent.messages import clean, raw
from marvin_agent.session.store import Session

if TYPE_CHECKING:
    from marvin_agent.agent.engine import Engine

Write: TypeAlias = Callable[[Session], object]


def custom_entry(custom_type: Any, data: Any) -> tuple[str, Raw]:
    """The entry that a hook wants to store, as JSON. Raises HookError where it is given."""
    if not isinstance(custom_type, str) or not custom_type:
        raise HookError(f"append_entry: custom_type is a text, not {custom_type!r}")
    try:
        return clean(custom_type), raw(data)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise HookError(f"append_entry: the data is not JSON: {error}") from None


class NewSession:
    """What `setup(session)` receives. Wrong values are errors where they are given."""

    def __init__(self, *, kept: bool) -> None:
        self._kept = kept
        self._notes: list[Write] = []

    def append_message(self, message: Any) -> None:
        """Store a message, for the model too: the engine's own value or its JSON form."""
        made = accept("Message")(message)
        self._notes.append(lambda session: session.append_message(made))

    def append_entry(self, custom_type: str, data: Any = None) -> None:
        """Store data, not for the model. Raises with --no-session."""
        if not self._kept:
            raise SessionError("append_entry: this run keeps no session (--no-session), so nothing can be stored")
        kind, made = custom_entry(custom_type, data)
        self._notes.append(lambda session: session.append_custom(kind, made))

    def write(self, session: Session) -> None:
        """Put everything into the session."""
        for note in self._notes:
            note(session)


async def written_by(setup: Callable[[Any], Any], hook: Hook | None, engine: "Engine") -> Write:
    """Run a hook's `setup(session)` as hooks run, and give what writes the outcome. Raises HookError when it fails."""
    session = NewSession(kept=engine.session.path is not None)
    dispatcher = engine.hooks.dispatcher
    loop = dispatcher.loop

    def work() -> Coroutine[Any, Any, Any]:
        return loop.owned(call(setup, lambda ctx: setup(session), None, loop), hook)

    try:
        await asyncio.wait_for(dispatcher.attended(work, "a new session's setup"), engine.setup.hook_timeout or None)
    except Exception as error:
        name = hook.id if hook else "a hook"
        raise HookError(f"there is no new session: the setup that {name} gave failed: {describe(error)}") from error
    return session.write
