"""The conversation as a list of entries, and where each of them stands: exactly where seen, about elsewhere."""

from bisect import bisect_right
from typing import NamedTuple

from marvin_agent.frontends.tui.conversation.entry import Entry

BUILT = 300
"""Entries that stay laid out; more are forgotten, but for those that are seen."""


class Place(NamedTuple):
    """A place in the text of an entry."""

    entry: int
    offset: int


class Transcript:
    """Entries from top to bottom, an empty row between most of them."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.width = 80
        self._tops = [0]
        """The row at which each entry begins, its empty row first, as far as counted."""
        self._built: dict[Entry, None] = {}

    def add(self, entry: Entry, index: int | None = None) -> None:
        if index is None:
            self.entries.append(entry)
        else:
            self.entries.insert(index, entry)
            self.moved(index)

    def remove_from(self, index: int) -> None:
        for entry in self.entries[index:]:
            self._built.pop(entry, None)
        del self.entries[index:]
        self.moved(index)

    def clear(self) -> None:
        self.remove_from(0)

    def moved(self, index: int) -> None:
        """The height of an entry is not what it was."""
        del self._tops[index + 1 :]

    def become(self, width: int) -> None:
        self.width = width
        self.moved(0)

    def first_growing(self) -> int:
        """The first entry that may grow; they are all near the end."""
        first, idle = len(self.entries), 0
        for index in range(len(self.entries) - 1, -1, -1):
            if self.entries[index].growing:
                first, idle = index, 0
            elif (idle := idle + 1) > 200:
                break
        return first

    def gap(self, index: int) -> int:
        """Whether an empty row is before an entry."""
        if not index:
            return 0
        entry, before = self.entries[index], self.entries[index - 1]
        return int(not entry.close_to or entry.close_to != before.close_to)

    def top(self, index: int) -> int:
        """The first row of an entry, after its gap."""
        self._count()
        return self._tops[index] + self.gap(index)

    @property
    def height(self) -> int:
        self._count()
        return self._tops[-1]

    def _count(self) -> None:
        tops, width = self._tops, self.width
        for index in range(len(tops) - 1, len(self.entries)):
            entry = self.entries[index]
            height = entry.height(width) if entry.growing else entry.guess(width)
            tops.append(tops[-1] + self.gap(index) + height)

    def at(self, row: int) -> int:
        """The entry at a row."""
        self._count()
        return max(min(bisect_right(self._tops, row) - 1, len(self.entries) - 1), 0)

    def settle(self, first: int, last: int) -> bool:
        """Measure what is between two rows; true when something is elsewhere now."""
        if not self.entries:
            return False
        moved = False
        index = self.at(first)
        while index < len(self.entries) and self._tops[index] < last:
            entry = self.entries[index]
            height = entry.height(self.width)
            if self._tops[index + 1] != self._tops[index] + self.gap(index) + height:
                self.moved(index)
                self._count()
                moved = True
            self._keep(entry)
            index += 1
        return moved

    def _keep(self, entry: Entry) -> None:
        """Remember that an entry is laid out, and forget one that was looked at long ago."""
        self._built.pop(entry, None)
        self._built[entry] = None
        if len(self._built) > BUILT:
            oldest = next(iter(self._built))
            del self._built[oldest]
            oldest.release()
