"""Yes or no, no being what Enter says."""

from typing import Any

from textual import events, on
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static

from marvin_agent.frontends.tui.choices import Choices
from marvin_agent.frontends.tui.dialogs.dialog import Dialog, fits
from marvin_agent.frontends.tui.dialogs.foreign import foreign


class ConfirmDialog(Dialog[bool]):
    DEFAULT_CSS = "ConfirmDialog .text { max-height: 40vh; }"
    KEYS = "Esc no"

    def __init__(self, title: str, message: str) -> None:
        super().__init__(title if fits(title) else "Yes or no?")
        self._message = message if fits(title) else f"{title}\n\n{message}".rstrip()

    def parts(self) -> list[Any]:
        text = VerticalScroll(Static(foreign(self._message)), classes="text foreign")
        text.display = bool(self._message)
        return [text, Choices([("yes", Content("y  Yes")), ("no", Content("n  No"))], id="list")]

    def on_mount(self) -> None:
        listing = self.query_one("#list", OptionList)
        listing.focus()
        listing.highlighted = 1

    def on_key(self, event: events.Key) -> None:
        if event.key in ("y", "n"):
            event.stop()
            self.dismiss(event.key == "y")

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id == "yes")
