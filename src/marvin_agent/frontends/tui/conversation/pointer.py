"""The mouse in the conversation: dragging selects, a click opens a block, a double click takes a word."""

from textual import events
from textual.message import Message
from textual.timer import Timer

from marvin_agent.frontends.tui.conversation.entry import Entry
from marvin_agent.frontends.tui.conversation.transcript import Place
from marvin_agent.frontends.tui.conversation.viewport import Viewport

WHEEL = 3
"""Rows of a turn of the mouse wheel."""
EDGE = 0.05
"""Seconds between two scrolls while the mouse is dragged beyond an edge."""


class Pointed(Viewport):
    """A viewport that listens to the mouse."""

    class Selected(Message, namespace="conversation_view"):
        """The mouse has selected a text."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__()
        self._pressed: Place | None = None
        self._dragged = False
        self._pointer = (0, 0)
        self._edge_timer: Timer | None = None

    def toggle(self, entry: Entry) -> None:
        """Open or close an entry; its first row stays where it is."""
        if not entry.opens or entry not in self.transcript.entries:
            return
        index = self.transcript.entries.index(entry)
        top = self.transcript.top(index) - self.scroll_offset.y
        entry.toggle()
        self.selection.touched(index)
        self.transcript.moved(index)
        if 0 <= top < self.size.height:
            self._held = None
            self.place(self.transcript.top(index) - top)
        self.soon()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button != 1:
            return
        self._pressed = self.place_at(event.x, event.y)
        self._dragged = False
        self.capture_mouse()
        event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._pressed is None:
            return
        event.stop()
        self._pointer = event.x, event.y
        if not self._dragged:
            self._dragged = True
            self.selection.begin(self._pressed)
        self._reach()
        beyond = not 0 <= event.y < self.size.height
        if beyond and self._edge_timer is None:
            self._edge_timer = self.set_interval(EDGE, self._scroll_on)
        elif not beyond:
            self._stop_edge()

    def _reach(self) -> None:
        place = self.place_at(*self._pointer)
        if place:
            self.selection.reach(place)
            self.refresh()

    def _scroll_on(self) -> None:
        self.move(-1 if self._pointer[1] < 0 else 1)
        self.look()
        self._reach()

    def _stop_edge(self) -> None:
        if self._edge_timer:
            self._edge_timer.stop()
            self._edge_timer = None

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._pressed is None:
            return
        event.stop()
        self._stop_edge()
        self.release_mouse()
        self._pressed = None
        if self._dragged:
            if text := self.selection.text:
                self.post_message(self.Selected(text))
            return
        if self.selection.text:
            self.selection.clear()
            self.refresh()
            return
        entry = self.entry_at(event.y)
        if entry and entry.opens:
            self.current = entry
            self.toggle(entry)

    def on_click(self, event: events.Click) -> None:
        entry = self.entry_at(event.y)
        if event.chain == 2 and entry and not entry.opens and (place := self.place_at(event.x, event.y)):
            self.selection.word(place)
            self.refresh()
            if text := self.selection.text:
                self.post_message(self.Selected(text))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -WHEEL)

    def _wheel(self, event: events.MouseEvent, rows: int) -> None:
        event.stop()
        event.prevent_default()
        self.move(rows)
