"""A growing Markdown answer, laid out block by block: what is finished is laid out once."""

from typing import TYPE_CHECKING

from marvin_agent.frontends.tui.conversation.blocks import Block, Item, Quote, Splitter
from marvin_agent.frontends.tui.conversation.rows import Line, Piece, Prefix, Row, Span
from marvin_agent.frontends.tui.conversation.sections import Flow, Listing, Part, Section, Stack
from marvin_agent.frontends.tui.conversation.table import Table
from marvin_agent.later import Later
from marvin_agent.text import printable

if TYPE_CHECKING:
    from marvin_agent.frontends.tui.conversation import inline
else:
    inline = Later("marvin_agent.frontends.tui.conversation.inline")

DEEPEST = 6
"""Containers of which the indentation is drawn; more would leave no room at 60 columns."""
BULLETS = "•◦▪"


class Document:
    """The text of an answer while it grows and after."""

    def __init__(self, style: str = "") -> None:
        self.stack = Stack()
        self._style = style
        self._splitter = Splitter()
        self._settled = 0
        """How many blocks have their final section."""
        self._growing: tuple[int, Listing | Table] | None = None
        """The section of an open code block or table, and which block it is."""
        self._source: list[str] = []
        self._dirty = False
        self._finished = False

    @property
    def source(self) -> str:
        if len(self._source) > 1:
            self._source = ["".join(self._source)]
        return self._source[0] if self._source else ""

    @property
    def code_blocks(self) -> list[str]:
        """The code blocks, whole."""
        blocks = self._splitter.blocks
        return [
            "\n".join([*block.lines, *([block.tail] if block.tail else [])]) for block in blocks if block.kind == "code"
        ]

    def feed(self, text: str) -> None:
        self._source.append(text)
        self._splitter.feed(text)
        self._dirty = True

    def finish(self) -> None:
        """The text is complete. Links by reference, which may be defined at the end, are looked up now."""
        self._splitter.finish()
        self._finished = self._dirty = True
        if self._splitter.references:
            self._settled, self._growing = 0, None

    def update(self) -> None:
        """Lay out what is new; costs what the new text and the open block cost."""
        if not self._dirty:
            return
        self._dirty = False
        blocks = self._splitter.blocks
        index, ahead = (len(blocks), []) if self._finished else self._splitter.preview()
        start = self._settled
        parts = [self._part(position, blocks[position], open_=False) for position in range(start, index)]
        self._settled = index
        parts += [self._part(position, block, open_=True) for position, block in enumerate(ahead, index)]
        self.stack.replace(start, parts)

    def _part(self, position: int, block: Block, *, open_: bool) -> Part:
        long = block.kind in ("code", "table")
        section = self._long(position, block) if long else self._section(block, open_=open_)
        if not position:
            return Part(section)
        if block.continues:
            return Part(section, joint=" ")
        gap = Row(_prefix(block, block.shared, block.shared)[1]) if block.gap else None
        return Part(section, gap, "\n\n" if block.gap else "\n")

    def _long(self, position: int, block: Block) -> Section:
        """The section of a block that may be long: kept while it is open, it takes only what is new."""
        kept = self._growing[1] if self._growing and self._growing[0] == position else None
        first, rest = _prefix(block, block.shown, len(block.containers))
        if block.kind == "table":
            table = kept if isinstance(kept, Table) else None
            table = table or Table(block.info, self._splitter.references, (first, rest), self._style)
            table.become(block.lines)
            self._growing = position, table
            return table
        listing = kept if isinstance(kept, Listing) else None
        if listing is None:
            margin = Piece("  ", "codeblock")
            language = block.info.split()[0].strip("{}.,") if block.info else ""
            listing = Listing((*first, margin), (*rest, margin), language=printable(language))
        listing.extend(block.lines[len(listing.lines) :], block.tail)
        self._growing = position, listing
        return listing

    def _section(self, block: Block, *, open_: bool) -> Section:
        first, rest = _prefix(block, block.shown, len(block.containers))
        style = self._style
        if any(isinstance(container, Quote) for container in block.containers):
            style = f"{style} quote".strip()
        match block.kind:
            case "rule":
                return Flow([Line((Span("─" * 20, "rule"),), first, rest)])
            case "heading":
                style = f"{style} heading heading{block.level}".strip()
        text = "\n".join(block.lines)
        lines = inline.inline(text, self._splitter.references, style, growing=open_)
        # The markers of the innermost lists are part of the text: whoever copies a list wants them.
        outer = len(first)
        while outer and first[outer - 1].style != "bar":
            outer -= 1
        marker = tuple(Span(piece.text, "marker") for piece in first[outer:])
        return Flow(
            [
                Line((*marker, *spans), first[:outer], rest) if not index else Line(spans, rest, rest)
                for index, spans in enumerate(lines)
            ]
        )


def _prefix(block: Block, shown: int, depth: int) -> tuple[Prefix, Prefix]:
    """What stands before a block's first row and before its others."""
    first: list[Piece] = []
    rest: list[Piece] = []
    bullets = 0
    for index, container in enumerate(block.containers[:depth]):
        if isinstance(container, Quote):
            first.append(Piece("▌ ", "bar"))
            rest.append(Piece("▌ ", "bar"))
            continue
        marker = _marker(container, bullets)
        bullets += container.number is None
        indent = Piece(" " * len(marker))
        first.append(Piece(marker, "marker") if index >= shown else indent)
        rest.append(indent)
    return tuple(first[-DEEPEST:]), tuple(rest[-DEEPEST:])


def _marker(item: Item, depth: int) -> str:
    if item.number is None:
        return f"{BULLETS[min(depth, len(BULLETS) - 1)]} "
    return f"{item.number}{item.delimiter} "


def whole(text: str, style: str = "") -> Document:
    """A text that does not grow."""
    document = Document(style)
    document.feed(text)
    document.finish()
    document.update()
    return document
