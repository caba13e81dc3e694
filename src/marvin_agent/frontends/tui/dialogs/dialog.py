"""What all dialogs have in common: their place, and a moment in which typing on does not answer them."""

import time
from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from marvin_agent.text import printable

T = TypeVar("T")
GRACE = 0.4
"""Seconds without a key before a dialog listens."""


class Dialog(ModalScreen[T], Generic[T]):
    """A question. Its result is None when it was cancelled."""

    DEFAULT_CSS = """
    Dialog {
        align: center bottom; background: $background 40%;
        &:ansi { background: transparent; }
        & #box {
            width: 100%; height: auto; max-height: 80%; padding: 0 1; background: $surface; border: round $warning;
            border-title-color: $text-warning; border-title-style: bold; border-subtitle-color: $text-muted;
            &:ansi { background: ansi_default; }
        }
        & Input { border: round $border-blurred; background: transparent; height: 3; }
        & Input:focus { border: round $border; }
        & .text { height: auto; max-height: 100%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel", show=False)]
    AUTO_FOCUS = "*"
    KEYS = "Enter answers · Esc cancels"

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self._last_key = time.monotonic()
        self._listening = False

    def compose(self) -> ComposeResult:
        box = Vertical(*self.parts(), id="box")
        box.border_title = Content(printable(self._title))
        box.border_subtitle = Content(self.KEYS)
        yield box

    def parts(self) -> list[Static]:
        """What stands in the box."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self._last_key = time.monotonic()

    @property
    def listens(self) -> bool:
        """Whether a key that comes now is meant for it."""
        return self._listening or time.monotonic() - self._last_key >= GRACE

    def too_early(self) -> bool:
        """Whether a key that came was meant for what was in front before. Asked once for each key."""
        self._listening = self.listens
        # Whoever types on has not looked up yet.
        self._last_key = time.monotonic()
        return not self._listening

    def action_cancel(self) -> None:
        self.dismiss(None)
