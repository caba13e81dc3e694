"""The window onto the transcript: what is visible is measured and painted, the end is followed, text is selected."""

import time
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from marvin_agent.frontends.tui.conversation.entry import Entry
from marvin_agent.frontends.tui.conversation.paint import Mark, painted
from marvin_agent.frontends.tui.conversation.palette import Palette
from marvin_agent.frontends.tui.conversation.rows import DECORATION, offset_at
from marvin_agent.frontends.tui.conversation.search import Search
from marvin_agent.frontends.tui.conversation.sections import Placed
from marvin_agent.frontends.tui.conversation.selection import Selection
from marvin_agent.frontends.tui.conversation.transcript import Place, Transcript

FRAME = 1 / 30
"""Seconds between two frames, at least: what comes faster is painted together."""
MARGINS = 2


class Viewport(ScrollView, can_focus=True):
    """Paints by lines: nothing is mounted, however long the conversation is."""

    DEFAULT_CSS = """
    Viewport {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-color: $foreground 25%;
        scrollbar-color-hover: $foreground 40%;
        scrollbar-color-active: $primary;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        &:ansi { scrollbar-color: ansi_bright_black; scrollbar-color-hover: ansi_bright_black; }
    }
    """
    ALLOW_SELECT = False  # it selects over its own texts
    FOCUS_ON_CLICK = False  # who selects or opens something goes on typing
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "next_block(-1)", "previous block", show=False),
        Binding("down", "next_block(1)", "next block", show=False),
        Binding("enter", "toggle_current", "open or close", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home", "top", "to the beginning", show=False),
        Binding("end", "bottom", "to the end", show=False),
        Binding("escape", "unmark", "select nothing", show=False),
    ]

    class Left(Message):
        """The reader has left the end, or is there again."""

        def __init__(self, at_end: bool) -> None:
            super().__init__()
            self.at_end = at_end

    def __init__(self) -> None:
        super().__init__(id="conversation")
        self.transcript = Transcript()
        self.finder: Search | None = None
        self._palette = Palette(self)
        self.selection = Selection(self.transcript)
        self.current: Entry | None = None
        self._follows = True
        self._held: tuple[Place, int] | None = None
        """Where the reader was before the window changed; it may change again, and back."""
        self._placing = False
        self._frame_waits = False
        self._painted_at = 0.0
        self._visible: list[tuple[int, Placed | None]] = []
        self._marks: dict[int, list[Mark]] = {}

    @property
    def follows(self) -> bool:
        """Whether the end is kept in view."""
        return self._follows

    @follows.setter
    def follows(self, follows: bool) -> None:
        if follows != self._follows:
            self._follows = follows
            self.post_message(self.Left(follows))

    # Frames

    def soon(self) -> None:
        """Something changed: paint a frame, but not more often than FRAME."""
        if self._frame_waits or not self.is_mounted:
            return
        self._frame_waits = True
        wait = self._painted_at + FRAME - time.monotonic()
        if wait > 0:
            self.set_timer(wait, self.frame)
        else:
            self.call_later(self.frame)

    def frame(self) -> None:
        """Measure what is new and have it painted."""
        self._frame_waits = False
        self._painted_at = time.monotonic()
        self.transcript.moved(self.transcript.first_growing())
        self._fit()
        self.refresh()

    def _fit(self) -> None:
        """Measure what is visible, and stay where the reader is."""
        width = self.size.width - MARGINS
        if width < 1 or not self.size.height:
            return
        if width != self.transcript.width:
            if not self.follows and self._held is None:
                self._held = self.reading_place()
            self.transcript.become(width)
            self.return_to(self._held)
        if self.follows:
            self._go_to_end()
        else:
            self._settle()

    def _go_to_end(self) -> None:
        transcript, rows = self.transcript, self.size.height
        while transcript.settle(transcript.height - rows, transcript.height):
            pass
        self.place(transcript.height - rows)

    def _settle(self) -> None:
        """Measure the entries in view; those that were measured before do not move on the screen."""
        transcript, rows = self.transcript, self.size.height
        if not transcript.entries:
            self.place(0)
            return
        y = self.scroll_offset.y
        index = held = transcript.at(y)
        while index < len(transcript.entries) and transcript.top(index) < y + rows:
            if transcript.entries[index].measured(transcript.width):
                held = index
                break
            index += 1
        within = transcript.top(held) - y
        while transcript.settle(y, y + rows):
            y = max(min(transcript.top(held) - within, transcript.height - rows), 0)
        self.place(y)

    def place(self, y: int) -> None:
        """Scroll to a row at once, with the size of the transcript as it is now."""
        size = Size(self.size.width, self.transcript.height)
        self._placing = True
        try:
            if size != self.virtual_size:
                # The layout of the screen does not depend on it: the scrollbar is always there.
                self.set_reactive(Widget.virtual_size, size)
                self._scroll_update(size)
            y = max(min(y, self.max_scroll_y), 0)
            self.scroll_target_y = y
            self.scroll_y = y
        finally:
            self._placing = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self._placing:
            return
        self._held = None
        self.follows = new_value >= self.max_scroll_y
        if not self.follows:
            self._settle()

    def on_mount(self) -> None:
        self.soon()

    def on_resize(self) -> None:
        self._fit()
        self.refresh()  # it was painted in the new size with the rows of the old one

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._palette.forget()

    # Painting

    def render_lines(self, crop: Region) -> list[Strip]:
        self._visible = self._look()
        self._marks = {}
        return super().render_lines(crop)

    def look(self) -> None:
        """Find out anew what is visible, for who asks for places before the next frame."""
        self._visible = self._look()

    def entry_at(self, y: int) -> Entry | None:
        """The entry in a row of the window."""
        if not 0 <= y < len(self._visible):
            return None
        index, placed = self._visible[y]
        return self.transcript.entries[index] if placed else None

    def _look(self) -> list[tuple[int, Placed | None]]:
        """The rows in view, each with its entry; None for the empty row before an entry."""
        transcript = self.transcript
        y, rows = self.scroll_offset.y, self.size.height
        visible: list[tuple[int, Placed | None]] = []
        if not transcript.entries:
            return visible
        for index in range(transcript.at(y), len(transcript.entries)):
            top = transcript.top(index)
            if top - transcript.gap(index) >= y + rows:
                break
            if transcript.gap(index) and y < top:
                visible.append((index, None))
            found = transcript.entries[index].rows(transcript.width, max(y - top, 0), y + rows - top)
            visible += [(index, placed) for placed in found]
        return visible[:rows]

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y >= len(self._visible):
            return Strip.blank(width, self._palette.style(""))
        index, placed = self._visible[y]
        if placed is None:
            return Strip.blank(width, self._palette.style(""))
        if index not in self._marks:
            self._marks[index] = self._marks_of(index)
        entry = self.transcript.entries[index]
        current = entry is self.current and self.scroll_offset.y + y == self.transcript.top(index)
        return painted(placed, self._marks[index], self._palette, width, "current" if current else "")

    def _marks_of(self, index: int) -> list[Mark]:
        marks: list[Mark] = self.finder.spans(index) if self.finder else []
        if selected := self.selection.range(index):
            marks.append((*selected, "selected"))
        return marks

    # Places

    def place_at(self, x: int, y: int) -> Place | None:
        """The place in the texts at a cell of the window, or the nearest below."""
        y = max(min(y, len(self._visible) - 1), 0)
        for index, placed in self._visible[y:]:
            if placed is not None and (offset := offset_at(placed.row, x - 1)) is not None:
                return Place(index, placed.base + offset)
            x = 0
        if not self._visible:
            return None
        last = self._visible[-1][0]
        return Place(last, len(self.transcript.entries[last].plain))

    def reading_place(self) -> tuple[Place, int] | None:
        """The first text in view, and in which row it is."""
        for row, (index, placed) in enumerate(self._look()):
            if placed is not None and (offset := offset_at(placed.row, 0)) is not None:
                return Place(index, placed.base + offset), row
        return None

    def return_to(self, anchor: tuple[Place, int] | None) -> None:
        if anchor:
            place, row = anchor
            self.place(self.row_of(place) - row)

    def row_of(self, place: Place) -> int:
        """The row in which a place in the texts is."""
        transcript = self.transcript
        entry, width = transcript.entries[place.entry], transcript.width
        height = entry.height(width)
        transcript.moved(place.entry)
        low, high = 0, height - 1
        while low < high:
            middle = (low + high + 1) // 2
            start = _start_of(entry, width, middle, high)
            if start is not None and start <= place.offset:
                low = middle
            else:
                high = middle - 1
        return transcript.top(place.entry) + low

    def reveal(self, row: int) -> None:
        """Scroll so that a row is in view, and not at its edge."""
        y, rows = self.scroll_offset.y, self.size.height
        if not y <= row < y + rows:
            self.follows, self._held = False, None
            self.place(row - rows // 3)
            self._settle()

    # Moving about

    def move(self, rows: int) -> None:
        """Scroll by some rows."""
        self.scroll_to(y=max(min(self.scroll_offset.y + rows, self.max_scroll_y), 0), animate=False)

    def action_page(self, step: int) -> None:
        self.move(step * max(self.size.height - 2, 1))

    def action_top(self) -> None:
        self.scroll_to(y=0, animate=False)

    def action_bottom(self) -> None:
        self.follows = True
        self.soon()

    def action_unmark(self) -> None:
        """Forget the selection, the current block and the search."""
        self.selection.clear()
        self.current = self.finder = None
        self.refresh()


def _start_of(entry: Entry, width: int, row: int, last: int) -> int | None:
    """Where the text of a row begins; of the first after it that has text."""
    while row <= last:
        for placed in entry.rows(width, row, row + 1):
            for piece in placed.row.pieces:
                if piece.offset != DECORATION:
                    return placed.base + piece.offset
        row += 1
    return None
