"""The keys of the app: one table, from which bindings, the configuration's names and the help are made."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from textual.binding import Binding
from textual.keys import Keys
from textual.widgets import TextArea


class Key(NamedTuple):
    """An action that `keybindings` in config.json can give other keys."""

    name: str
    keys: str
    about: str
    priority: bool = True
    """Whether the app gets the key before the editor does."""


KEYS: tuple[Key, ...] = (
    Key("interrupt", "escape", "stop the agent, keep what there is, queue back to the editor", False),
    Key("leave", "ctrl+c", "copy the selection; else clear the editor; twice: leave"),
    Key("cycleModel", "ctrl+p", "the next model of the list"),
    Key("cycleThinking", "shift+tab", "the next thinking level"),
    Key("openTool", "ctrl+o", "open or close the last tool call"),
    Key("showThinking", "ctrl+t", "show or fold the model's thinking"),
    Key("editor", "ctrl+g", "write in the external editor"),
    Key("skipHook", "f8", "skip the hook that is waited for"),
    Key("search", "ctrl+r", "search in the conversation"),
    Key("pageUp", "pageup", "scroll the conversation up"),
    Key("pageDown", "pagedown", "scroll the conversation down"),
    Key("top", "ctrl+home", "to the beginning of the conversation"),
    Key("bottom", "ctrl+end", "to its end"),
    Key("help", "f1", "all keys"),
)
EDITING = (
    ("Enter", "send; while the agent works: steer it"),
    ("Alt+Enter", "send when the agent is done (follow-up)"),
    ("Shift+Enter, Ctrl+J, \\ Enter", "a new line"),
    ("Up, Down", "prompts of before, at the first and last line"),
    ("Alt+Up", "take what is queued back into the editor"),
    ("Tab", "complete"),
    ("Ctrl+V", "paste an image or a text from the desktop's clipboard"),
    ("?", "in the empty editor: all keys"),
    ("/  @  !  !!", "commands, files, run a shell command, run one that the model does not see"),
)


_NAMES = {"pageup": "Page Up", "pagedown": "Page Down", "escape": "Esc"}


_NAMED = {key.value for key in Keys} - {Keys.Space.value}
"""Keys that type nothing."""
_EDITOR = {"enter", "shift+enter", "alt+enter", "ctrl+j", "tab", "alt+up", "ctrl+q"}
"""What the editor knows beside the keys of Textual's."""


def normal(key: str) -> str:
    """A key as Textual calls it: `Ctrl-K` is `ctrl+k`."""
    return key.strip().lower().replace("-", "+").replace("control+", "ctrl+").replace("meta+", "alt+")


def types(key: str) -> bool:
    """Whether a key is one that people write with."""
    *held, name = key.split("+")
    return set(held) <= {"shift"} and name not in _NAMED


def needed_by_editor(key: str) -> bool:
    """Whether the editor does something at a key."""
    known = (binding if isinstance(binding, Binding) else Binding(*binding) for binding in TextArea.BINDINGS)
    return types(key) or key in _EDITOR or any(key in binding.key.split(",") for binding in known)


def bindings() -> list[Binding]:
    """The keys as they are when nobody configured them."""
    return [Binding(k.keys, f"key('{k.name}')", k.about, show=False, priority=k.priority, id=k.name) for k in KEYS]


def configured(wanted: Mapping[str, str | Sequence[str]]) -> tuple[dict[str, str], list[str]]:
    """The keymap that the configuration asks for, and what is wrong with it."""
    keymap: dict[str, str] = {}
    problems = []
    defaults = {key.name: key.keys for key in KEYS}
    for name, given in wanted.items():
        if name not in defaults:
            problems.append(f"keybindings: there is no action {name!r}; there are {', '.join(defaults)}")
            continue
        keys = [normal(key) for key in (given.split(",") if isinstance(given, str) else given) if key.strip()]
        problems += [
            f"keybindings: {key} is for writing, and cannot be the key of {name}" for key in keys if types(key)
        ]
        keymap[name] = ",".join(key for key in keys if not types(key))
    owner: dict[str, str] = {}
    for name, keys_of in {**defaults, **keymap}.items():
        for key in filter(None, keys_of.split(",")):
            of_editor = key not in defaults.values() and needed_by_editor(key)
            if other := owner.get(key) or ("the editor" if of_editor else ""):
                problems.append(f"keybindings: {key} is the key of {other} and of {name}")
            owner[key] = name
    return keymap, problems


def taken(keymap: Mapping[str, str]) -> dict[str, str]:
    """The keys that are in use, and for what."""
    return {key: k.name for k in KEYS for key in keymap.get(k.name, k.keys).split(",")}


def help_lines(keymap: Mapping[str, str], shortcuts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Every key and what it does; `shortcuts` are those of hooks with their hook."""
    lines = [*EDITING, *((shown(keymap.get(k.name, k.keys)), k.about) for k in KEYS)]
    return lines + [(shown(key), f"of the hook {hook}") for key, hook in sorted(shortcuts.items())]


def shown(keys: str) -> str:
    """`ctrl+p` as people write it."""
    return ", ".join(
        "+".join(_NAMES.get(part) or part.capitalize() for part in key.strip().split("+")) for key in keys.split(",")
    )
