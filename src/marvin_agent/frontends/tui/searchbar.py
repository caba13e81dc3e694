"""A line to search in the conversation."""

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from marvin_agent.frontends.tui.conversation.view import ConversationView

PAUSE = 0.1
"""Seconds without a key, after which it is searched."""


class SearchBar(Horizontal):
    """Hidden until it is opened. Enter goes up to the match before, Shift+Enter or Down to the next, Esc closes."""

    DEFAULT_CSS = """
    SearchBar {
        display: none; height: 1; padding: 0 1;
        & Input { border: none; height: 1; padding: 0; width: 1fr; background: transparent; }
        & Input:focus { border: none; }
        & Static { width: auto; color: $text-muted; }
        &.-open { display: block; }
    }
    """

    def __init__(self, conversation: ConversationView) -> None:
        super().__init__(id="searchbar")
        self._conversation = conversation
        self._field = Input(placeholder="search the conversation", compact=True)
        self._found = Static("", markup=False)
        self._soon: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static("search: ", markup=False)
        yield self._field
        yield self._found

    def open(self) -> None:
        self.add_class("-open")
        # At once, for the keys that were typed right behind the one that opens it.
        self.screen.set_focus(self._field)

    def close(self) -> None:
        if self._soon:
            self._soon.stop()
            self._soon = None
        self.remove_class("-open")
        self._conversation.end_search()
        self.screen.set_focus(self.screen.query_one("#prompt"))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self._soon:
            self._soon.stop()
        self._soon = self.set_timer(PAUSE, self._search)

    def _search(self) -> None:
        """Look for what stands in the field, once the typing pauses: a long conversation takes a moment."""
        if self._soon:
            self._soon.stop()
            self._soon = None
        self._show(self._conversation.search(self._field.value))

    @on(Input.Submitted)
    def _again(self, event: Input.Submitted) -> None:
        event.stop()
        if self._soon:
            self._search()
        else:
            self._show(self._conversation.search_previous())

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "escape":
                self.close()
            case "down" | "shift+enter":
                self._show(self._conversation.search_next())
            case "up":
                self._show(self._conversation.search_previous())
            case _:
                return
        event.stop()
        event.prevent_default()

    def _show(self, found: tuple[int, int]) -> None:
        at, count = found
        text = f"{at} of {count}" if count else "not found" if self._field.value else ""
        self._found.update(Content(f" {text} · Enter up · ↓ down · Esc closes" if text else ""))
