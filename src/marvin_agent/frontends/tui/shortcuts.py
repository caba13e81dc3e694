"""Keys that hooks registered: run in the hook's name, and reported when the key is taken."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from marvin_agent.errors import MarvinError
from marvin_agent.frontends.tui.keys import shown
from marvin_agent.hooks.command import run_command

if TYPE_CHECKING:
    from marvin_agent.frontends.tui.app import MarvinApp

EDITOR_KEYS = frozenset(
    [
        "up",
        "down",
        "left",
        "right",
        "enter",
        "tab",
        "backspace",
        "delete",
        "home",
        "end",
        "ctrl+j",
        "ctrl+a",
        "ctrl+e",
        "ctrl+k",
        "ctrl+u",
        "ctrl+w",
        "ctrl+d",
        "ctrl+f",
        "ctrl+x",
        "ctrl+v",
        "ctrl+z",
        "ctrl+y",
        "ctrl+q",
        "shift+enter",
        "alt+enter",
        "alt+up",
    ]
)


class Shortcuts:
    """The keys of hooks by their name in Textual."""

    def __init__(self, app: "MarvinApp") -> None:
        self._app = app
        self._keys: dict[str, tuple[Any, str]] = {}

    def __call__(self) -> dict[str, str]:
        """Each key with its hook, for the help."""
        return {key: hook for key, (_, hook) in self._keys.items()}

    def take(self, given: Mapping[str, tuple[Any, str]], taken: Mapping[str, str]) -> list[str]:
        """Use the keys of hooks; a line for each that cannot be used."""
        problems = []
        self._keys = {}
        for key, (handler, hook) in given.items():
            name = normal(key)
            if owner := taken.get(name) or (name in EDITOR_KEYS and "the editor"):
                problems.append(f"{hook}: the key {shown(name)} is taken by {owner}; its shortcut does not work")
            else:
                self._keys[name] = (handler, hook)
        return problems

    def press(self, key: str) -> bool:
        """Run the shortcut of a key, if it has one."""
        if key not in self._keys:
            return False
        self._app.run_worker(self._run(key), name=f"shortcut {key}")
        return True

    async def _run(self, key: str) -> None:
        engine = self._app.engine
        handler, hook_id = self._keys[key]
        if engine is None:
            return
        hook = next((hook for hook in engine.hooks.registry.hooks if hook.id == hook_id), None)
        if hook is None:
            return

        # A shortcut is a command without words behind it.
        def function(_: str, ctx: Any) -> Any:
            return handler(ctx)

        try:
            await run_command(engine.hooks.loop, engine.side, hook, key, function, "")
        except MarvinError as error:
            self._app.tell(error.show(), "error", hook_id)


def normal(key: str) -> str:
    """A key as Textual calls it: `Ctrl-K` is `ctrl+k`."""
    return key.strip().lower().replace("-", "+").replace("control+", "ctrl+").replace("meta+", "alt+")
