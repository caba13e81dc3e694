"""A row of the conversation as a strip of the terminal, with what is selected and found in it marked."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.strip import Strip

from marvin_agent.frontends.tui.conversation.palette import Palette
from marvin_agent.frontends.tui.conversation.rows import DECORATION, TAB, Piece, cells
from marvin_agent.frontends.tui.conversation.sections import Placed

Mark: TypeAlias = tuple[int, int, str]
"""A stretch of an entry's plain text, and the style that is laid over it; the later ones win."""


def painted(placed: Placed, marks: Sequence[Mark], palette: Palette, width: int, over: str = "") -> Strip:
    """The strip of a row, `width` cells wide with a cell of margin on both sides."""
    row, base = placed
    segments = [Segment(" ", palette.style(""))]
    used = 1
    for piece in row.pieces:
        offset = piece.offset if piece.offset == DECORATION else piece.offset + base
        for text, style in _marked(piece, offset, marks) if marks else ((piece.text, piece.style),):
            shown = text.replace("\t", TAB)
            drawn = palette.style(f"{style} {over}" if over and isinstance(style, str) else style)
            segments.append(Segment(shown, drawn))
            used += cells(shown)
    if used < width - 1:
        segments.append(Segment(" " * (width - 1 - used), palette.style(row.fill)))
        used = width - 1
    segments.append(Segment(" ", palette.style("")))
    strip = Strip(segments, used + 1)
    return strip if used < width else strip.crop(0, width)


def _marked(piece: Piece, offset: int, marks: Sequence[Mark]) -> Iterator[tuple[str, str | RichStyle]]:
    text, style, _ = piece
    end = offset + len(text)
    touching = [mark for mark in marks if mark[0] < end and mark[1] > offset]
    if offset == DECORATION or not touching:
        yield text, style
        return
    edges = sorted({offset, end, *(at for mark in touching for at in mark[:2] if offset < at < end)})
    for start, stop in pairwise(edges):
        own = [mark[2] for mark in touching if mark[0] <= start and mark[1] >= stop]
        name = style if isinstance(style, str) else ""
        yield text[start - offset : stop - offset], " ".join((name, *own)) if own else style
