"""Completion in the prompt: a menu of commands, their arguments, or files."""

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from rich.cells import cell_len
from textual.content import Content

from marvin_agent.frontends.tui.choices import Choices
from marvin_agent.frontends.tui.filelist import FileList
from marvin_agent.frontends.tui.latest import run_latest
from marvin_agent.text import one_line

SHOWN = 50
_FILE = re.compile(r"(?:^|(?<=\s))@(\S*)$")
_COMMAND = re.compile(r"/([\w:-]*)$")
_ARGUMENT = re.compile(r"/([\w:-]+)[ ]+(.*)$")


class Item(NamedTuple):
    """One line of the menu: what is inserted, and what it means."""

    text: str
    about: str = ""
    whole: bool = False
    """Nothing has to be written behind it: Enter sends it at once."""


class Commands(Protocol):
    """Where commands and their arguments come from."""

    def matching(self, beginning: str) -> Sequence[Item]: ...

    async def arguments(self, name: str, written: str) -> Sequence[Item]: ...


class Editor(Protocol):
    """What completion needs of the editor."""

    @property
    def text(self) -> str: ...

    @property
    def cursor_location(self) -> tuple[int, int]: ...

    def replace(self, insert: str, start: tuple[int, int], end: tuple[int, int]) -> object: ...


class Menu(Choices):
    """The choices above the prompt. It never takes the focus: the keys stay with the editor."""

    DEFAULT_CSS = """
    Menu {
        display: none; max-height: 10; padding: 0 1; background: $surface; text-wrap: nowrap; text-overflow: ellipsis;
        &.-open { display: block; }
        &:ansi { background: ansi_default; }
    }
    """
    can_focus = False

    def __init__(self) -> None:
        super().__init__(id="menu")
        self.items: Sequence[Item] = ()

    def show(self, items: Sequence[Item]) -> None:
        self.items = items
        width = min(max((cell_len(item.text) for item in items), default=0), 40)
        self.fill([(str(at), _line(item, width)) for at, item in enumerate(items)])
        self.set_class(bool(items), "-open")

    def move(self, step: int) -> None:
        if self.items:
            self.highlighted = ((self.highlighted or 0) + step) % len(self.items)

    @property
    def chosen(self) -> Item | None:
        at = self.highlighted
        return self.items[at] if at is not None and at < len(self.items) else None


class Completion:
    """Follows what is typed and fills the menu."""

    def __init__(self, menu: Menu, files: FileList, commands: Commands) -> None:
        self.menu = menu
        self._files = files
        self._commands = commands
        self._span = (0, 0, 0)
        """Row, first and last column of what would be replaced."""
        self._shut = ""
        """The text for which the user closed the menu."""

    @property
    def is_open(self) -> bool:
        return bool(self.menu.items)

    def follow(self, editor: Editor) -> None:
        """The text or cursor changed."""
        row, column = editor.cursor_location
        line = editor.text.split("\n")[row][:column] if editor.text else ""
        if line and line == self._shut:
            return
        self._shut = ""
        found = self._wanted(line, row)
        if found is None:
            self._hide()
            return
        start, find = found
        run_latest(self.menu, partial(self._fill, find, (row, start, column)), "completion")

    def ask(self, editor: Editor) -> None:
        """The user asks for the menu."""
        self._shut = ""
        self.follow(editor)

    def _wanted(self, line: str, row: int) -> tuple[int, Callable[[], Awaitable[Sequence[Item]]]] | None:
        if found := _FILE.search(line):
            query = found[1]
            return found.start(), lambda: self._find_files(query)
        if row == 0 and (found := _COMMAND.match(line)) and found.end() == len(line):
            name = found[1]
            return 0, lambda: self._find_commands(name)
        if row == 0 and (found := _ARGUMENT.match(line)):
            name, written = found[1], found[2]
            return found.start(2), lambda: self._commands.arguments(name, written)
        return None

    async def _fill(self, find: Callable[[], Awaitable[Sequence[Item]]], span: tuple[int, int, int]) -> None:
        items = await find()
        # Only now: until then the menu has the items of the text before.
        self._span = span
        self.menu.show(items)

    async def _find_files(self, query: str) -> Sequence[Item]:
        return [Item(f"@{path}") for path in await self._files.find(query, SHOWN)]

    async def _find_commands(self, name: str) -> Sequence[Item]:
        return self._commands.matching(name)

    def accept(self, editor: Editor, *, send: bool) -> bool:
        """Insert what is chosen; False when it stands there already, or is to be sent and nothing is missing."""
        item = self.menu.chosen
        row, start, end = self._span
        if item is None or editor.cursor_location != (row, end):
            # Without the second: somebody types faster than the menu follows, and it is for another text.
            return False
        written = editor.text.split("\n")[row][start:end]
        self._hide()
        if written == item.text:
            return False
        # A directory is a step on the way to a file.
        ending = "" if item.text.endswith("/") else " "
        editor.replace(item.text + ending, (row, start), (row, end))
        return not (send and item.whole)

    def close(self) -> None:
        """Close the menu until the text changes."""
        self._hide()

    def _hide(self) -> None:
        self.menu.workers.cancel_group(self.menu, "completion")
        if self.menu.items:
            self.menu.show(())


def _line(item: Item, width: int) -> Content:
    name = one_line(item.text, 120)
    gap = " " * (max(width - cell_len(name), 0) + 2)
    about = one_line(item.about, 200)
    return Content.assemble(name, (gap + about, "$text-muted") if about else "")
