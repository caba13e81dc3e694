"""Keys that hooks registered: run in the hook's name, and reported when the key is taken."""

import inspect
from typing import TYPE_CHECKING, Any

from marvin_agent.errors import MarvinError
from marvin_agent.frontends.tui.keys import needed_by_editor, normal, shown, taken
from marvin_agent.later import Later

if TYPE_CHECKING:
    from marvin_agent.frontends.tui.app import MarvinApp
    from marvin_agent.hooks import command
else:
    command = Later("marvin_agent.hooks.command")


class Shortcuts:
    """Asked of the hooks at each key, since hooks come and go."""

    def __init__(self, app: "MarvinApp") -> None:
        self._app = app

    def __call__(self) -> dict[str, str]:
        """Each key that works with its hook, for the help."""
        return {key: hook for key, (_, hook) in self._given().items() if not self._owner(key)}

    def conflicts(self) -> list[str]:
        """A line for each shortcut that cannot be used."""
        return [
            f"{hook}: the key {shown(key)} is taken by {owner}; its shortcut does not work"
            for key, (_, hook) in self._given().items()
            if (owner := self._owner(key))
        ]

    def _given(self) -> dict[str, tuple[Any, str]]:
        engine = self._app.engine
        return {normal(key): pair for key, pair in engine.side.shortcuts.items()} if engine else {}

    def _owner(self, key: str) -> str:
        return taken(self._app.keymap).get(key, "") or ("the editor" if needed_by_editor(key) else "")

    def press(self, key: str) -> bool:
        """Run the shortcut of a key, if it has one."""
        given = self._given()
        if key not in given or self._owner(key):
            return False
        self._app.run_worker(self._run(key, *given[key]), name=f"shortcut {key}")
        return True

    async def _run(self, key: str, handler: Any, hook_id: str) -> None:
        engine = self._app.running_engine()
        hook = next((hook for hook in engine.hooks.registry.hooks if hook.id == hook_id), None)
        if hook is None:
            return

        # A shortcut is a command without words behind it.
        def plain(_: str, ctx: Any) -> Any:
            return handler(ctx)

        async def awaited(_: str, ctx: Any) -> Any:
            return await handler(ctx)

        function = awaited if inspect.iscoroutinefunction(handler) else plain
        try:
            await command.run_command(engine.hooks.dispatcher, engine.side, hook, shown(key), function, "")
        except MarvinError as error:
            self._app.tell(error.show(), "error", hook_id)
