"""What an entry of the conversation is laid out from: flowing lines, growing listings, and a stack of such sections."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from marvin_agent.frontends.tui.conversation.rows import (
    DECORATION,
    Line,
    Piece,
    Prefix,
    Row,
    Span,
    break_anywhere,
    prefix_width,
    wrap,
)
from marvin_agent.later import Later
from marvin_agent.text import printable

if TYPE_CHECKING:
    from marvin_agent.frontends.tui.conversation import highlight
else:
    highlight = Later("marvin_agent.frontends.tui.conversation.highlight")


class Section(Protocol):
    """Something with a plain text that can be laid out at a width."""

    @property
    def plain(self) -> str: ...

    def height(self, width: int) -> int: ...

    def rows(self, width: int, first: int, last: int) -> Sequence[Row]:
        """The rows from one to another; offsets are places in `plain`."""
        ...


class Flow:
    """Lines that do not change any more."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self.plain = "\n".join(line.text for line in lines)
        self._width = -1
        self._rows: list[Row] = []

    def height(self, width: int) -> int:
        return len(self._laid_out(width))

    def rows(self, width: int, first: int, last: int) -> Sequence[Row]:
        return self._laid_out(width)[first:last]

    def _laid_out(self, width: int) -> list[Row]:
        if width != self._width:
            rows: list[Row] = []
            offset = 0
            for line in self._lines:
                rows += wrap(line, width, offset)
                offset += len(line.text) + 1
            self._width, self._rows = width, rows
        return self._rows


class Listing:
    """Code or output that may grow: only what is new is measured, only what is seen is laid out."""

    def __init__(self, first: Prefix = (), rest: Prefix = (), *, language: str = "", style: str = "codeblock") -> None:
        self._first, self._rest = first, rest
        self._style = style
        self._highlighter = highlight.Highlighter(language) if language else None
        self.lines: list[str] = []
        self._tail = ""
        self._offsets = [0]
        """Where each line begins in the plain text; the last is where the next would."""
        self._width = -1
        self._tops = [0]
        """The row at which each line begins, as far as measured."""

    def extend(self, lines: Sequence[str], tail: str = "") -> None:
        """More whole lines, and the beginning of the next one."""
        at = self._offsets[-1]
        for line in lines:
            shown = printable(line)
            self.lines.append(shown)
            at += len(shown) + 1
            self._offsets.append(at)
        self._tail = printable(tail)

    @property
    def plain(self) -> str:
        return "\n".join((*self.lines, self._tail) if self._tail else self.lines)

    def height(self, width: int) -> int:
        self._measure(width)
        return max(self._tops[-1] + (len(self._break(self._tail)) if self._tail else 0), 1)

    def rows(self, width: int, first: int, last: int) -> Sequence[Row]:
        self._measure(width)
        rows: list[Row] = []
        index = bisect_right(self._tops, first) - 1
        top = self._tops[index]
        while top < last and index < len(self.lines):
            rows += self._line(index)[max(first - top, 0) : last - top]
            index += 1
            top = self._tops[index]
        if top < last and (self._tail or not self.lines):
            rows += self._line(len(self.lines))[max(first - top, 0) : last - top]
        return rows

    def _measure(self, width: int) -> None:
        if width != self._width:
            self._width, self._tops = width, [0]
        tops = self._tops
        room = self._room()
        for line in self.lines[len(tops) - 1 :]:
            few = len(line) <= room and line.isascii() and "\t" not in line
            tops.append(tops[-1] + (1 if few else len(self._break(line))))

    def _room(self) -> int:
        return max(self._width - max(prefix_width(self._first), prefix_width(self._rest)), 1)

    def _break(self, text: str) -> list[tuple[int, int]]:
        return break_anywhere(text, self._room())

    def _line(self, index: int) -> list[Row]:
        first = self._first if index == 0 else self._rest
        line = Line(self._spans(index), first, self._rest, hard=True, fill=self._style)
        return wrap(line, self._width, self._offsets[index])

    def _spans(self, index: int) -> tuple[Span, ...]:
        if index == len(self.lines):
            if self._highlighter:
                return self._highlighter.tail(self.lines, self._tail)
            return (Span(self._tail, self._style),)
        if self._highlighter:
            return self._highlighter.line(self.lines, index)
        return (Span(self.lines[index], self._style),)


class Part(NamedTuple):
    """A section in a stack."""

    section: Section
    gap: Row | None = None
    """An empty row before it."""
    joint: str = "\n"
    """What parts it from the section before, in the plain text."""


class Placed(NamedTuple):
    """A row, and where the offsets of its pieces are counted from."""

    row: Row
    base: int


class Stack:
    """Sections one below the other. When the last ones change, the others are not touched."""

    def __init__(self, parts: Sequence[Part] = ()) -> None:
        self.parts = list(parts)
        self._width = -1
        self._tops = [0]
        self._bases = [0]

    def replace(self, index: int, parts: Sequence[Part]) -> None:
        """Put parts in the place of those from an index on."""
        self.parts[index:] = parts
        self.grew(index)

    def grew(self, index: int) -> None:
        """Forget what was measured of the parts from an index on."""
        del self._tops[index + 1 :]
        del self._bases[index + 1 :]

    @property
    def plain(self) -> str:
        texts = []
        for index, part in enumerate(self.parts):
            if index:
                texts.append(part.joint)
            texts.append(part.section.plain)
        return "".join(texts)

    def height(self, width: int) -> int:
        if width != self._width:
            self._width, self._tops = width, [0]
        tops = self._tops
        for part in self.parts[len(tops) - 1 :]:
            tops.append(tops[-1] + (part.gap is not None) + part.section.height(width))
        return tops[-1]

    def rows(self, width: int, first: int, last: int) -> list[Placed]:
        """The rows from one to another."""
        self.height(width)
        self._place()
        rows: list[Placed] = []
        index = max(bisect_right(self._tops, first) - 1, 0)
        while index < len(self.parts) and self._tops[index] < last:
            section, gap, _ = self.parts[index]
            top, base = self._tops[index], self._bases[index]
            if gap is not None:
                if first <= top:
                    rows.append(Placed(gap, base))
                top += 1
            rows += [Placed(row, base) for row in section.rows(width, max(first - top, 0), last - top)]
            index += 1
        return rows

    def _place(self) -> None:
        bases = self._bases
        for index in range(len(bases) - 1, len(self.parts) - 1):
            joint = self.parts[index + 1].joint
            bases.append(bases[-1] + len(self.parts[index].section.plain) + len(joint))


class Nested:
    """A stack as a section, with a margin."""

    def __init__(self, stack: Stack, margin: Prefix) -> None:
        self._stack = stack
        self._margin = margin
        self._room = prefix_width(margin)

    @property
    def plain(self) -> str:
        return self._stack.plain

    def height(self, width: int) -> int:
        return self._stack.height(max(width - self._room, 1))

    def rows(self, width: int, first: int, last: int) -> Sequence[Row]:
        return [
            Row((*self._margin, *(_moved(piece, base) for piece in row.pieces)), row.fill)
            for row, base in self._stack.rows(max(width - self._room, 1), first, last)
        ]


def _moved(piece: Piece, base: int) -> Piece:
    return piece if piece.offset == DECORATION else piece._replace(offset=base + piece.offset)
