"""The text of a file, edited so that all that is not replaced stays as it was, line endings included."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

import msgspec

from marvin_agent.tools.encoding import Encoding, line_end


class Replaced(msgspec.Struct, frozen=True):
    """A part of a text and what takes its place; both with plain newlines."""

    start: int
    end: int
    new: str


class StoredText:
    """A text as it is stored, and as a model sees it: with plain newlines."""

    __slots__ = ("_starts", "_stored", "encoding", "text")

    def __init__(self, stored: str, encoding: Encoding) -> None:
        self._stored = stored
        self.encoding = encoding
        self.text = stored.replace("\r\n", "\n")
        # Where each line starts in either form, to get from one to the other.
        lines = stored.split("\n")
        mixed = len(self.text) != len(stored)
        self._starts = _starts(lines) if mixed else None

    def replace(self, spans: Sequence[Replaced]) -> str:
        """The stored text with these parts replaced. New lines end like those that they replace, else like most."""
        most = line_end(self._stored)
        pieces = []
        at = 0
        for span in sorted(spans, key=lambda span: span.start):
            replaced = self._stored[self._place(span.start) : self._place(span.end)]
            ending = line_end(replaced) if "\n" in replaced else most
            # What a model repeats around a change is not changed, its line endings included.
            start, end, new = _changed(self.text, span)
            pieces += [self._stored[at : self._place(start)], new.replace("\n", ending)]
            at = self._place(end)
        return "".join([*pieces, self._stored[at:]])

    def _place(self, seen: int) -> int:
        if self._starts is None:
            return seen
        seen_starts, stored_starts = self._starts
        line = bisect_right(seen_starts, seen) - 1
        return stored_starts[line] + seen - seen_starts[line]


def _changed(text: str, span: Replaced) -> tuple[int, int, str]:
    """Of a replacement, what differs: where it starts and ends, and what takes its place."""
    old, new = text[span.start : span.end], span.new
    shorter = min(len(old), len(new))
    before = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    rest = shorter - before
    after = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    return span.start + before, span.end - after, new[before : len(new) - after]


def _starts(lines: Sequence[str]) -> tuple[list[int], list[int]]:
    stored = [0, *accumulate(len(line) + 1 for line in lines)]
    seen = [0, *accumulate(len(line) + (not line.endswith("\r")) for line in lines[:-1])]
    return seen, stored
