"""A Markdown table. The widths of its columns come from its first rows, so that more rows never move the others."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from marvin_agent.frontends.tui.conversation.lines import table_cells
from marvin_agent.frontends.tui.conversation.rows import (
    Line,
    Piece,
    Prefix,
    Row,
    Span,
    cells,
    prefix_width,
    wrap,
)
from marvin_agent.later import Later

if TYPE_CHECKING:
    from marvin_agent.frontends.tui.conversation import inline
else:
    inline = Later("marvin_agent.frontends.tui.conversation.inline")

MEASURED = 100
NARROWEST = 6


class Table:
    """A section: cells wrapped in their columns; the plain text has a tab between cells."""

    def __init__(self, rule: str, references: dict[str, str], prefixes: tuple[Prefix, Prefix], style: str) -> None:
        self._first, self._rest = prefixes
        self._right = [cell.endswith(":") and not cell.startswith(":") for cell in table_cells(rule)]
        self._references = references
        self._style = style
        self._lines: list[str] = []
        self._cells: list[list[tuple[Span, ...]]] = []
        self._texts: list[str] = []
        self._offsets = [0]
        self._width = -1
        self._widths: list[int] = []
        self._rows: list[Row] = []
        self._tops: list[int] = [0]
        """Where the rows of each line begin, as far as they are laid out."""

    def become(self, lines: Sequence[str]) -> None:
        """The table's lines as they are now: only the last one that it had may be another."""
        known = len(self._lines)
        if known and (known > len(lines) or self._lines[-1] != lines[known - 1]):
            known -= 1
        for kept in (self._lines, self._cells, self._texts):
            del kept[known:]
        del self._offsets[known + 1 :], self._tops[known + 1 :]
        for line in lines[known:]:
            style = self._style if self._lines else f"{self._style} strong".strip()
            columns = len(self._right)
            texts = (table_cells(line) + [""] * columns)[:columns]
            cells_ = [sum(inline.inline(text, self._references, style), ()) for text in texts]
            self._lines.append(line)
            self._cells.append(cells_)
            self._texts.append("\t".join("".join(span.text for span in cell) for cell in cells_))
            self._offsets.append(self._offsets[-1] + len(self._texts[-1]) + 1)
        if known < MEASURED:
            self._width = -1  # the columns may have to be wider

    @property
    def plain(self) -> str:
        return "\n".join(self._texts)

    def height(self, width: int) -> int:
        self._lay_out(width)
        return self._tops[-1]

    def rows(self, width: int, first: int, last: int) -> Sequence[Row]:
        self._lay_out(width)
        return self._rows[first:last]

    def _lay_out(self, width: int) -> None:
        if width != self._width:
            self._width, self._tops = width, [0]
            self._widths = self._columns(width - prefix_width(self._first))
        del self._rows[self._tops[-1] :]
        for index in range(len(self._tops) - 1, len(self._cells)):
            self._lay_out_line(index)
            self._tops.append(len(self._rows))

    def _lay_out_line(self, index: int) -> None:
        columns = []
        offset = self._offsets[index]
        for cell, room in zip(self._cells[index], self._widths, strict=True):
            columns.append(wrap(Line(cell), room, offset))
            offset += sum(len(span.text) for span in cell) + 1
        for number in range(max(map(len, columns))):
            prefix = self._rest if self._rows else self._first
            self._rows.append(Row((*prefix, *self._across(columns, self._widths, number))))
        if index == 0:
            rule = "─┼─".join("─" * room for room in self._widths)
            self._rows.append(Row((*self._rest, Piece(rule, "rule"))))

    def _across(self, columns: list[list[Row]], widths: list[int], number: int) -> list[Piece]:
        pieces: list[Piece] = []
        for index, (column, room) in enumerate(zip(columns, widths, strict=True)):
            if index:
                pieces.append(Piece(" │ ", "rule"))
            own = column[number].pieces if number < len(column) else ()
            padding = Piece(" " * max(room - sum(cells(piece.text) for piece in own), 0))
            pieces += [padding, *own] if self._right[index] else [*own, padding]
        return pieces

    def _columns(self, width: int) -> list[int]:
        """Each column as wide as it needs, or the widest made narrower until all fit."""
        wanted = [1] * len(self._right)
        for row in self._cells[:MEASURED]:
            for index, cell in enumerate(row):
                wanted[index] = max(wanted[index], sum(cells(span.text) for span in cell))
        room = max(width - 3 * (len(wanted) - 1), len(wanted))
        while sum(wanted) > room:
            widest = max(wanted)
            if widest <= NARROWEST:
                break
            second = max((size for size in wanted if size < widest), default=NARROWEST)
            count = wanted.count(widest)
            target = max(second, NARROWEST, widest - -(-(sum(wanted) - room) // count))
            wanted = [target if size == widest else size for size in wanted]
        return wanted
