"""A widget that a hook brings, until it says that it is done."""

from collections.abc import Callable
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from marvin_agent.frontends.tui.dialogs.dialog import Dialog


class CustomDialog(Dialog[Any]):
    """`factory(done)` gives a Textual widget; `done(value)` ends the dialog, from any thread."""

    KEYS = "Esc closes"

    def __init__(self, factory: Callable[[Callable[[Any], object]], Any]) -> None:
        super().__init__("")
        self._factory = factory
        self.problem = ""
        """Why the widget could not be shown."""

    def compose(self) -> ComposeResult:
        app = self.app
        try:
            widget = self._factory(lambda value: app.call_later(self._done, value))
        except Exception as error:
            self.problem = f"the widget could not be made: {type(error).__name__}: {error}"
            app.call_later(self._done, None)
            return
        if not isinstance(widget, Widget):
            self.problem = f"custom() needs a function that gives a Textual widget, not {type(widget).__name__}"
            app.call_later(self._done, None)
            return
        box = Vertical(widget, id="box")
        box.border_subtitle = Content(self.KEYS)
        yield box

    def on_mount(self) -> None:
        self.focus_next()

    def _done(self, value: Any) -> None:
        if self.is_current:
            self.dismiss(value)
