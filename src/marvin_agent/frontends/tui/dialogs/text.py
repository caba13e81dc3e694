"""Asking for a longer text, and showing one."""

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static, TextArea

from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.frontends.tui.pastes import harmless
from marvin_agent.text import printable


class TextDialog(Dialog[str]):
    """An editor; Ctrl+S gives its text."""

    DEFAULT_CSS = "TextDialog TextArea { height: 14; max-height: 60%; background: transparent; }"
    KEYS = "Ctrl+S done · Esc cancels"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "done", "Done", show=False, priority=True)]

    def __init__(self, title: str, text: str) -> None:
        super().__init__(title)
        self._text = harmless(text)

    def parts(self) -> list[Any]:
        return [TextArea(self._text, show_line_numbers=False, highlight_cursor_line=False, compact=True)]

    def on_mount(self) -> None:
        editor = self.query_one(TextArea)
        editor.focus()
        editor.move_cursor(editor.document.end)

    def action_done(self) -> None:
        self.dismiss(self.query_one(TextArea).text)


Facts = Sequence[tuple[str, str]]
"""Names with what there is to say of them, as two columns."""


class ShowDialog(Dialog[None]):
    """A text to read. It is content when marvin made it; any other, and the texts of facts, are shown as they are."""

    DEFAULT_CSS = "ShowDialog .text { max-height: 70vh; }"
    KEYS = "Esc closes"

    def __init__(self, title: str, text: str | Content | Facts) -> None:
        super().__init__(title)
        self._text: Content | Table
        match text:
            case Content():
                self._text = text
            case str():
                self._text = Content(printable(text))
            case facts:
                self._text = columns(facts)

    def parts(self) -> list[Any]:
        return [VerticalScroll(Static(self._text), classes="text")]

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def too_early(self) -> bool:
        return False  # it asks nothing

    def on_key(self, event: events.Key) -> None:
        if event.key in ("enter", "q", "f1"):
            event.stop()
            self.dismiss(None)


def columns(facts: Facts) -> Table:
    """Two columns, each wrapped for itself."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", max_width=30)
    table.add_column(overflow="fold")
    for name, text in facts:
        table.add_row(Text(printable(name)), Text(printable(text)))
    return table
