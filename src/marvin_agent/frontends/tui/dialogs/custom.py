"""A widget that a hook brings, until it says that it is done."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.hooks.account import describe

if TYPE_CHECKING:
    from marvin_agent.frontends.tui.app import MarvinApp


class CustomDialog(Dialog[Any]):
    """`factory(done)` gives a Textual widget; `done(value)` ends the dialog, from any thread."""

    KEYS = "Esc closes"

    def __init__(self, factory: Callable[[Callable[[Any], object]], Any]) -> None:
        super().__init__("")
        self._factory = factory
        self.problem = ""
        """Why the widget could not be shown."""

    def compose(self) -> ComposeResult:
        app = cast("MarvinApp", self.app)
        try:
            widget = self._factory(lambda value: app.call_later(self._done, value))
            if not isinstance(widget, Widget):
                raise TypeError(f"custom() needs a function that gives a Textual widget, not {type(widget).__name__}")
        except Exception as error:
            self._failed(error)
            return
        app.guests.welcome(widget, self._failed)
        box = Vertical(widget, id="box")
        box.border_title = Content(self.asker)
        box.border_subtitle = Content(self.KEYS)
        yield box

    def _failed(self, error: Exception) -> None:
        self.problem = f"the widget failed: {describe(error)}"
        # Not now: it may be about to be painted.
        self.app.call_later(self._done, None)

    def _done(self, value: Any) -> None:
        if self.app.screen is self:
            self.dismiss(value)
