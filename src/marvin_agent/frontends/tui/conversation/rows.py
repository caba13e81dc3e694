"""Lines of a screen before they are painted: pieces of text with the names of their styles, and how text is wrapped.

A piece knows where its text stands in the plain text of what it belongs to. Selecting, copying and searching work on
the plain text, so that a wrapped line is copied whole and decoration (bars, indentation, line numbers) never.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, split_graphemes
from rich.style import Style as RichStyle

TAB = "    "
DECORATION = -1


class Piece(NamedTuple):
    """A text in one style. `offset` is its place in the plain text; DECORATION for what is only drawn."""

    text: str
    style: str | RichStyle = ""
    """Names of the palette; a ready style for what hooks draw."""
    offset: int = DECORATION


class Row(NamedTuple):
    """One line of the screen. `fill` is the style of what is left of it to the right."""

    pieces: tuple[Piece, ...]
    fill: str = ""


class Span(NamedTuple):
    """A run of text in one style, before it is wrapped."""

    text: str
    style: str = ""


Prefix: TypeAlias = tuple[Piece, ...]


class Line(NamedTuple):
    """A line of plain text: its spans, what is drawn before its first row and before the others."""

    spans: tuple[Span, ...]
    first: Prefix = ()
    rest: Prefix = ()
    hard: bool = False
    """Wrapped anywhere, as code is, rather than between words."""
    fill: str = ""

    @property
    def text(self) -> str:
        spans = self.spans
        return spans[0].text if len(spans) == 1 else "".join(span.text for span in spans)


def cells(text: str) -> int:
    """How wide a text is on the screen."""
    return cell_len(text.replace("\t", TAB))


def prefix_width(prefix: Prefix) -> int:
    return sum(cells(piece.text) for piece in prefix)


def graphemes(text: str) -> list[tuple[int, int, int]]:
    """Start, end and width of each character as a person sees it."""
    spans, _ = split_graphemes(text)
    if "\t" not in text:
        return spans
    return [(start, end, len(TAB) if text[start] == "\t" else width) for start, end, width in spans]


def wrap(line: Line, width: int, offset: int) -> list[Row]:
    """The rows of a line whose plain text begins at `offset`."""
    text = line.text
    room = max(width - prefix_width(line.first), 1)
    if len(text) <= room and text.isascii() and "\t" not in text:
        return [Row((*line.first, *_cut(line.spans, 0, len(text), offset)), line.fill)]
    others = room if line.rest is line.first else max(width - prefix_width(line.rest), 1)
    ranges = break_anywhere(text, min(room, others)) if line.hard else break_between_words(text, room, others)
    return [
        Row((*(line.rest if index else line.first), *_cut(line.spans, start, end, offset)), line.fill)
        for index, (start, end) in enumerate(ranges)
    ]


def break_anywhere(text: str, width: int) -> list[tuple[int, int]]:
    """Where rows of at most `width` cells begin and end."""
    if text.isascii() and "\t" not in text:
        return [(at, min(at + width, len(text))) for at in range(0, len(text), width)] or [(0, 0)]
    ranges = []
    begin, used = 0, 0
    for start, _, size in graphemes(text):
        if used + size > width and start > begin:
            ranges.append((begin, start))
            begin, used = start, 0
        used += size
    ranges.append((begin, len(text)))
    return ranges


def break_between_words(text: str, width: int, others: int) -> list[tuple[int, int]]:
    """Where rows begin and end when words stay whole; the spaces at a break belong to no row.

    The first row has `width` cells, the others have `others`.
    """
    if text.isascii() and "\t" not in text:
        return _break_ascii(text, width, others)
    ranges: list[tuple[int, int]] = []
    begin, used, after_space, used_then = 0, 0, -1, 0
    for start, end, size in graphemes(text):
        if text[start] == " ":
            if start == begin and ranges:
                begin = end
                continue
            used += size
            after_space, used_then = end, used
            continue
        if used + size > width and start > begin:
            cut = after_space if after_space > begin else start
            ranges.append((begin, begin + len(text[begin:cut].rstrip(" "))))
            used -= used_then if cut == after_space else used
            begin, after_space, used_then, width = cut, -1, 0, others
        used += size
        if size == 2:
            # Between wide characters (Chinese, Japanese, Korean) a line may be broken anywhere.
            after_space, used_then = end, used
    ranges.append((begin, len(text)))
    return ranges


def _break_ascii(text: str, width: int, others: int) -> list[tuple[int, int]]:
    ranges = []
    begin, length = 0, len(text)
    while length - begin > width:
        space = text.rfind(" ", begin + 1, begin + width + 1)
        if space < 0 or not text[begin:space].strip():
            ranges.append((begin, begin + width))
            begin += width
            width = others
            continue
        end = space
        while end > begin and text[end - 1] == " ":
            end -= 1
        ranges.append((begin, end))
        begin, width = space + 1, others
        while begin < length and text[begin] == " ":
            begin += 1
    if begin < length or not ranges:
        ranges.append((begin, length))
    return ranges


def _cut(spans: Sequence[Span], start: int, end: int, offset: int) -> Iterable[Piece]:
    at = 0
    for text, style in spans:
        after = at + len(text)
        if after > start:
            if at >= end:
                return
            left, right = max(start, at), min(end, after)
            if left < right:
                yield Piece(text[left - at : right - at], style, offset + left)
        at = after


def offset_at(row: Row, x: int) -> int | None:
    """The place in the plain text under a cell of a row, or the nearest; None when the row has only decoration."""
    nearest = None
    left = 0
    for text, _, offset in row.pieces:
        width = cells(text)
        if offset != DECORATION:
            if x < left:
                return offset if nearest is None else nearest
            if x < left + width:
                return offset + _index_at(text, x - left)
            nearest = offset + len(text)
        left += width
    return nearest


def _index_at(text: str, x: int) -> int:
    if text.isascii() and "\t" not in text:
        return x
    left = 0
    for start, _, size in graphemes(text):
        if x < left + size:
            return start
        left += size
    return len(text)
