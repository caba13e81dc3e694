"""Choosing one of several: a list, with a field to search in it when it is long."""

from collections.abc import Sequence
from typing import Any

from textual import events, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, OptionList

from marvin_agent.frontends.tui.choices import Choices
from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.frontends.tui.fuzzy import score
from marvin_agent.text import one_line, revealed

LONG = 9
WIDTH = 300


class SelectDialog(Dialog[int]):
    """The result is the index of the option."""

    KEYS = "Enter chooses · Esc cancels"

    def __init__(self, title: str, options: Sequence[str], *, chosen: int = 0) -> None:
        super().__init__(title)
        self._options = list(options)
        self._shown = list(range(len(options)))
        self._chosen = chosen

    def parts(self) -> list[Any]:
        listing = Choices(self._lines(), id="list")
        parts: list[Widget] = [listing]
        if len(self._options) > LONG:
            listing.can_focus = False
            parts.insert(0, Input(placeholder="type to search", id="search"))
        return parts

    def on_mount(self) -> None:
        listing = self.query_one("#list", OptionList)
        listing.highlighted = self._chosen if self._options else None
        (self.query_one("#search") if len(self._options) > LONG else listing).focus()

    def _lines(self) -> list[tuple[str, Content]]:
        numbered = len(self._options) <= LONG
        return [
            (str(at), Content((f"{at + 1}  " if numbered else "") + one_line(revealed(self._options[at]), WIDTH)))
            for at in self._shown
        ]

    def on_key(self, event: events.Key) -> None:
        listing = self.query_one("#list", OptionList)
        if len(self._options) > LONG:
            match event.key:
                case "up":
                    listing.action_cursor_up()
                case "down":
                    listing.action_cursor_down()
                case _:
                    return
            event.stop()
        elif event.key.isdecimal() and 1 <= int(event.key) <= len(self._options):
            event.stop()
            self.dismiss(int(event.key) - 1)

    @on(Input.Changed, "#search")
    def _search(self, event: Input.Changed) -> None:
        query = event.value.lower()
        scored = [(value, at) for at, text in enumerate(self._options) if (value := score(query, text)) is not None]
        self._shown = [at for _, at in sorted(scored)] if query else list(range(len(self._options)))
        self.query_one("#list", Choices).fill(self._lines())

    @on(Input.Submitted, "#search")
    def _enter(self) -> None:
        at = self.query_one("#list", OptionList).highlighted
        if at is not None:
            self.dismiss(self._shown[at])

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown[event.option_index])
