"""Colours: Textual's themes, the terminal's own sixteen colours, and the user's as JSON files."""

import os
from collections.abc import Callable
from typing import Any

import msgspec
from textual.app import App
from textual.color import Color, ColorParseError
from textual.theme import Theme

from marvin_agent.errors import MarvinError
from marvin_agent.jsonfile import read_json

SHORT = {"ansi": "ansi-dark", "dark": "textual-dark", "light": "textual-light"}
COLOURS = frozenset(
    ("primary", "secondary", "warning", "error", "success", "accent", "foreground", "background", "surface", "panel")
)


class ThemeFile(msgspec.Struct, forbid_unknown_fields=True):
    """What a file in `themes` says."""

    primary: str
    secondary: str | None = None
    warning: str | None = None
    error: str | None = None
    success: str | None = None
    accent: str | None = None
    foreground: str | None = None
    background: str | None = None
    surface: str | None = None
    panel: str | None = None
    dark: bool = True


class Themes:
    """The app's colours: a theme that was chosen, or one that goes with the terminal."""

    def __init__(self, app: App[Any], directory: str, notify: Callable[[str], None]) -> None:
        self._app = app
        self._directory = directory
        self._notify = notify
        self._wanted = "auto"
        self._light: bool | None = None
        """What the terminal said of itself."""

    def take(self, wanted: str) -> None:
        """Register the user's themes and use the one that is wanted; what is wrong with them is told."""
        problems = register_themes(self._app, self._directory)
        name = self._following() if wanted == "auto" else SHORT.get(wanted, wanted)
        if name not in self._app.available_themes:
            problems.append(f"there is no theme {wanted!r}; /theme shows those that there are")
            wanted, name = "auto", self._following()
        self._wanted, self._app.theme = wanted, name
        for problem in problems:
            self._notify(problem)

    def hear(self, *, light: bool) -> None:
        """The terminal has said whether it is light."""
        self._light = light
        if self._wanted == "auto":
            self._app.theme = self._following()

    def _following(self) -> str:
        light = self._light
        if light is None:
            light = os.environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")
        return SHORT["light" if light else "dark"]


def register_themes(app: App[Any], directory: str) -> list[str]:
    """Read the themes of a directory; what is wrong with them."""
    problems = []
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(".json"))
    except OSError:
        return []
    for file in names:
        try:
            app.register_theme(read_theme(os.path.join(directory, file)))
        except (MarvinError, msgspec.ValidationError, ColorParseError, OSError) as error:
            problems.append(f"themes/{file}: {error.show() if isinstance(error, MarvinError) else error}")
    return problems


def read_theme(path: str) -> Theme:
    """The theme in a file; its name is the file's. Raises what tells that it is none."""
    given = msgspec.convert(read_json(path).value, ThemeFile)
    for name in COLOURS:
        if (value := getattr(given, name)) and Color.parse(value).a < 1:
            raise msgspec.ValidationError(f"{name}: {value} is transparent, and there is nothing behind it")
    facts = {name: getattr(given, name) for name in given.__struct_fields__}
    return Theme(name=os.path.splitext(os.path.basename(path))[0], **facts)
