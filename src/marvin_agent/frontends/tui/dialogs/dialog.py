"""What all dialogs have in common: their place, and a moment in which typing on does not answer them."""

import time
from typing import Any, ClassVar, Generic, TypeVar

from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from marvin_agent.frontends.tui.dialogs.foreign import foreign
from marvin_agent.text import one_line, revealed

T = TypeVar("T")
TITLE = 50
GRACE = 0.4
"""Seconds without a key before a dialog listens."""


def fits(title: str) -> bool:
    """Whether the border can hold a title in a narrow terminal, too. The box shows a longer one whole."""
    return len(revealed(title)) <= TITLE and "\n" not in title


class Dialog(ModalScreen[T], Generic[T]):
    """A question. Its result is None when it was cancelled."""

    DEFAULT_CSS = """
    Dialog {
        align: center bottom; background: $background 40%;
        &:ansi { background: transparent; }
        & #box {
            width: 100%; height: auto; max-height: 80%; padding: 0 1; background: $surface; border: round $warning;
            overflow-y: auto; scrollbar-size-vertical: 1;
            border-title-color: $text-warning; border-title-style: bold; border-subtitle-color: $text-muted;
            &:ansi { background: ansi_default; }
        }
        & Input { border: round $border-blurred; background: transparent; height: 3; }
        & Input:focus { border: round $border; }
        & .text { height: auto; max-height: 45vh; scrollbar-size-vertical: 1; }
        & .foreign {
            border-left: wide $foreground 50%; padding-left: 1;
            &:ansi { border-left: wide ansi_bright_black; }
        }
        & .title { max-height: 20vh; margin-bottom: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", show=False),
        Binding("pageup", "page(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "page(1)", "Down", show=False, priority=True),
    ]
    AUTO_FOCUS = "*"
    KEYS = "Enter answers · Esc cancels"

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self.asker = ""
        """The hook that asks; empty when it is marvin itself."""
        self._last_key = float("inf")
        self._listening = False
        self._answered = False
        self.dropped = False
        """Nobody waits for the answer any more: it goes as soon as it is in front."""

    def compose(self) -> ComposeResult:
        parts = self.parts()
        if not fits(self.heading):
            parts.insert(0, VerticalScroll(Static(foreign(self._title)), classes="text foreign title"))
        box = Vertical(*parts, id="box")
        box.border_title = Content(one_line(revealed(self.heading), TITLE))
        box.border_subtitle = Content(self.keys)
        yield box

    @property
    def heading(self) -> str:
        """What is asked, behind who asks it: nobody can ask in the name of another."""
        return f"{self.asker}: {self._title}" if self.asker else self._title

    def parts(self) -> list[Any]:
        """What stands in the box."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self.call_after_refresh(self._was_seen)

    def _was_seen(self) -> None:
        # What takes long to be laid out is seen late.
        self._last_key = time.monotonic()

    def on_screen_resume(self) -> None:
        if self.dropped:
            self.dismiss(None)

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_keys)

    @property
    def keys(self) -> str:
        """The keys of the moment, as the box shows them."""
        return self.KEYS

    def _show_keys(self) -> None:
        # What is below the edge is seen by nobody who is not told.
        long = [text for text in self.query(".text") if text.max_scroll_y]
        seen, lines = sum(text.size.height for text in long), sum(text.virtual_size.height for text in long)
        more = f" · {seen} of {lines:,} lines, PgUp PgDn" if long else ""
        for box in self.query("#box"):
            box.border_subtitle = Content(self.keys + more)

    def action_page(self, step: int) -> None:
        """Scroll the text, wherever the focus is."""
        for text in self.query(".text"):
            if text.scroll_target_y < text.max_scroll_y if step > 0 else text.scroll_target_y > 0:
                text.scroll_relative(y=step * max(text.size.height - 1, 1), animate=False)
                return
        raise SkipAction

    @property
    def listens(self) -> bool:
        """Whether a key that comes now is meant for it."""
        return self._listening or time.monotonic() - self._last_key >= GRACE

    def too_early(self) -> bool:
        """Whether a key that came was meant for what was in front before. Asked once for each key."""
        self._listening = self.listens
        if self._last_key != float("inf"):
            # Whoever types on has not looked up yet.
            self._last_key = time.monotonic()
        return not self._listening

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Answer, once: keys that were typed while it was busy must not answer what comes after it."""
        if self._answered:
            return AwaitComplete()
        self._answered = True
        return super().dismiss(result)

    def action_cancel(self) -> None:
        self.dismiss(None)
