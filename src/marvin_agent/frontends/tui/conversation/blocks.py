"""A growing Markdown text as blocks: finished blocks never change, and no line is looked at twice.

This is the block half of CommonMark (with tables), line by line: containers (quotes, list items) are matched from the
outside in, then a line begins a block or continues the open one. What is inside a line is `inline.py`'s business.
"""

import re
from typing import Literal, TypeAlias

import msgspec

from marvin_agent.frontends.tui.conversation.lines import (
    DEFINITION,
    FENCE,
    HEADING,
    ITEM,
    QUOTE,
    RULE,
    SETEXT,
    TABLE_RULE,
    UNDECIDED,
    begins_block,
    dedent,
    indent_of,
    table_cells,
)

LONGEST = 4000
"""Characters of a paragraph, after which another is begun: an open paragraph is laid out again as it grows."""

Kind: TypeAlias = Literal["paragraph", "heading", "code", "table", "rule"]


class Quote(msgspec.Struct, frozen=True):
    """`> `"""


class Item(msgspec.Struct, frozen=True):
    """An item of a list."""

    delimiter: str
    """`-`, `+`, `*`, `.` or `)`: another one begins another list."""
    number: int | None
    indent: int
    """Where its content begins."""


Container: TypeAlias = Quote | Item


class Block(msgspec.Struct):
    """A paragraph, heading, code block, table or rule, with the containers that it stands in."""

    kind: Kind
    containers: tuple[Container, ...] = ()
    shown: int = 0
    """How many of the containers had a block before: their markers stand there."""
    gap: bool = False
    """Whether an empty line parts it from the block before."""
    shared: int = 0
    """How many containers it shares with the block before."""
    continues: bool = False
    """It is the rest of a paragraph that was too long."""
    lines: list[str] = []
    """The lines of text; a table's rows, the header first, without the rule below it."""
    level: int = 0
    info: str = ""
    """A fence's language and what else stands there; the rule below a table's header."""
    fence: str = ""
    """What closes it; empty for indented code."""
    indent: int = 0
    tail: str = ""
    """The line of a code block that is not finished yet."""

    def copy(self) -> "Block":
        return msgspec.structs.replace(self, lines=list(self.lines))


class Splitter:
    """Splits a text that is fed in pieces. `blocks` are all blocks of the whole lines; the last may be open."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.references: dict[str, str] = {}
        """Addresses of `[label]: address`."""
        self._stack: list[Container] = []
        self._shown = 0
        self._leaf: Block | None = None
        self._last: tuple[Container, ...] = ()
        self._blank = False
        self._empty_lines = 0
        self._continuing = False
        self._pieces: list[str] = []
        self._piece_length = 0

    @property
    def open(self) -> int:
        """The first block that may still change."""
        return len(self.blocks) - (self._leaf is not None)

    def feed(self, text: str) -> None:
        first, *others = text.split("\n")
        self._pieces.append(first)
        self._piece_length += len(first)
        for other in others:
            self._end_of_line()
            self._pieces.append(other)
            self._piece_length = len(other)
        self._cut_long_line()

    def finish(self) -> None:
        """The text is complete."""
        if self._piece_length:
            self._end_of_line()
        self._leave(0)

    def preview(self) -> tuple[int, list[Block]]:
        """The blocks as they are with the unfinished line: which of them take the place of `blocks[index:]`."""
        index = self.open
        line = self._joined().removesuffix("\r")
        leaf = self._leaf
        if leaf and leaf.kind == "code":
            depth, rest = self._match(line)
            if depth == len(self._stack) and (leaf.fence or not line.strip()):
                undecided = rest.strip(" ") and leaf.fence.startswith(rest.strip(" "))
                leaf.tail = "" if undecided or self._closes(leaf, rest) else dedent(rest, leaf.indent)
                return index, self.blocks[index:]
        if not line or (not self._continuing and UNDECIDED.match(line)):
            return index, self.blocks[index:]
        ahead = Splitter()
        ahead._stack, ahead._shown, ahead._last = list(self._stack), self._shown, self._last
        ahead._blank, ahead._continuing, ahead._empty_lines = self._blank, self._continuing, self._empty_lines
        if leaf:
            ahead._leaf = leaf.copy()
            ahead.blocks.append(ahead._leaf)
        elif self.blocks:
            # Only so that the next one is not the first of all.
            ahead.blocks.append(self.blocks[-1])
        ahead._line(line)
        new = ahead.blocks if leaf else ahead.blocks[bool(self.blocks) :]
        if new and new[-1].kind == "code":
            if new[-1].lines:
                new[-1].tail = new[-1].lines.pop()
            elif new[-1] is not ahead.blocks[0] or not leaf:
                new.pop()  # the fence's own line is still being written
        return index, new

    def _joined(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def _end_of_line(self) -> None:
        self._cut_long_line()
        line = self._joined().removesuffix("\r")
        self._pieces, self._piece_length = [], 0
        self._line(line)
        self._continuing = False

    def _cut_long_line(self) -> None:
        if self._leaf and self._leaf.kind == "code":
            return
        while self._piece_length > LONGEST:
            line = self._joined()
            if FENCE.match(line[:LONGEST]):
                return
            cut = line.rfind(" ", 1, LONGEST) + 1 or LONGEST
            self._line(line[:cut].rstrip(" ") if line[:cut].strip() else line[:cut])
            self._pieces = [line[cut:]]
            self._piece_length = len(line) - cut
            self._continuing = True

    def _match(self, line: str) -> tuple[int, str]:
        """How many of the open containers the line continues, and what is left of it."""
        depth = 0
        for container in self._stack:
            if isinstance(container, Quote):
                found = QUOTE.match(line)
                if not found:
                    break
                line = line[found.end() :]
            elif not line.strip():
                line = ""
            elif indent_of(line) >= container.indent:
                line = dedent(line, container.indent)
            else:
                break
            depth += 1
        return depth, line

    def _line(self, line: str) -> None:
        if self._continuing:
            self._continue_long(line)
            return
        depth, rest = self._match(line)
        leaf = self._leaf
        whole = depth == len(self._stack)
        if leaf and leaf.kind == "code" and whole and self._code_goes_on(leaf, rest):
            return
        if not rest.strip():
            self._blank_line(depth)
            return
        starts, rest = self._starts(depth, rest)
        if not starts and not whole and leaf and leaf.kind == "paragraph" and not begins_block(rest):
            self._extend(leaf, rest.lstrip(" \t"))  # a lazy continuation
            return
        if starts or not whole:
            self._leave(depth)
            for container in starts:
                self._stack.append(container)
        if rest.strip():
            self._text(rest)

    def _continue_long(self, line: str) -> None:
        leaf = self._leaf
        if leaf and leaf.kind == "paragraph":
            self._leaf = None
        if line.strip():
            self._leaf = self._add(Block("paragraph", lines=[line]))
            self._leaf.continues, self._leaf.gap = True, False

    def _code_goes_on(self, leaf: Block, rest: str) -> bool:
        leaf.tail = ""
        if leaf.fence:
            if self._closes(leaf, rest):
                self._leaf = None
            else:
                leaf.lines.append(dedent(rest, leaf.indent))
            return True
        if not rest.strip():
            self._empty_lines += 1
            return True
        if indent_of(rest) < 4:
            self._leaf = None
            self._blank = self._blank or self._empty_lines > 0
            return False
        leaf.lines += [""] * self._empty_lines
        self._empty_lines = 0
        leaf.lines.append(dedent(rest, 4))
        return True

    def _closes(self, leaf: Block, rest: str) -> bool:
        stripped = rest.strip(" \t")
        return len(stripped) >= len(leaf.fence) > 0 and not stripped.strip(leaf.fence[0]) and indent_of(rest) < 4

    def _blank_line(self, depth: int) -> None:
        if depth < len(self._stack):
            self._leave(depth)
        self._close()
        self._blank = True

    def _starts(self, depth: int, rest: str) -> tuple[list[Container], str]:
        """The containers that begin on this line."""
        starts: list[Container] = []
        paragraph = self._leaf is not None and self._leaf.kind == "paragraph"
        while indent_of(rest) < 4:
            if found := QUOTE.match(rest):
                starts.append(Quote())
                rest = rest[found.end() :]
                continue
            found = None if RULE.match(rest) else ITEM.match(rest)
            if not found:
                break
            item, content = _item(found, rest)
            interrupts = paragraph and not starts and depth == len(self._stack)
            if interrupts and (not content.strip() or item.number not in (None, 1)):
                break  # only a list that says that it begins may interrupt a paragraph
            starts.append(self._numbered(item, depth + len(starts)))
            rest = content
        return starts, rest

    def _numbered(self, item: Item, depth: int) -> Item:
        before = self._stack[depth] if depth < len(self._stack) else None
        if isinstance(before, Item) and before.delimiter == item.delimiter and before.number is not None:
            return Item(item.delimiter, before.number + 1, item.indent)
        return item

    def _text(self, rest: str) -> None:
        """A line that stands in the innermost container."""
        leaf = self._leaf
        if leaf and leaf.kind == "paragraph":
            if (found := SETEXT.match(rest)) and not self._is_table(leaf, rest):
                leaf.kind, leaf.level = "heading", 1 if found[1][0] == "=" else 2
                self._leaf = None
                return
            if self._is_table(leaf, rest):
                self._begin_table(leaf, rest)
                return
        if leaf and leaf.kind == "table" and not begins_block(rest):
            leaf.lines.append(rest.strip())
            return
        if found := HEADING.match(rest):
            self._close()
            self._add(Block("heading", lines=[(found[2] or "").strip()], level=len(found[1])))
        elif RULE.match(rest):
            self._close()
            self._add(Block("rule"))
        elif found := FENCE.match(rest):
            self._close()
            block = Block("code", info=found[3].strip(), fence=found[2], indent=len(found[1]))
            self._leaf = self._add(block)
        elif leaf and leaf.kind == "paragraph":
            self._extend(leaf, rest.lstrip(" \t"))
        elif indent_of(rest) >= 4:
            self._close()
            self._empty_lines = 0
            self._leaf = self._add(Block("code", lines=[dedent(rest, 4)]))
        else:
            self._close()
            self._leaf = self._add(Block("paragraph", lines=[rest.lstrip(" \t")]))

    def _extend(self, leaf: Block, line: str) -> None:
        if sum(map(len, leaf.lines)) + len(line) <= LONGEST:
            leaf.lines.append(line)
            return
        self._leaf = self._add(Block("paragraph", lines=[line]))
        self._leaf.continues, self._leaf.gap = True, False

    def _is_table(self, leaf: Block, rest: str) -> bool:
        if not leaf.lines or "|" not in leaf.lines[-1] + rest or not TABLE_RULE.match(rest):
            return False
        return len(table_cells(leaf.lines[-1])) == len(table_cells(rest))

    def _begin_table(self, leaf: Block, rest: str) -> None:
        header = leaf.lines.pop()
        if leaf.lines:
            self._leaf = self._add(Block("table", lines=[header], info=rest.strip()))
        else:
            leaf.kind, leaf.lines, leaf.info = "table", [header], rest.strip()

    def _add(self, block: Block) -> Block:
        containers = tuple(self._stack)
        shared = 0
        for one, other in zip(containers[: self._shown], self._last, strict=False):
            if one is not other:
                break
            shared += 1
        block.containers = containers
        block.shown, block.shared = min(self._shown, len(containers)), shared
        siblings = (*containers[shared : shared + 1], *self._last[shared : shared + 1])
        in_list = any(isinstance(container, Item) for container in containers[:shared]) or (
            len(siblings) == 2 and all(isinstance(container, Item) for container in siblings)
        )
        block.gap = bool(self.blocks) and (self._blank or not in_list)
        self.blocks.append(block)
        self._shown, self._last, self._blank = len(containers), containers, False
        return block

    def _leave(self, depth: int) -> None:
        """Close the open block and the containers from a depth on."""
        self._close()
        if self._shown < len(self._stack) > depth and isinstance(self._stack[-1], Item):
            self._add(Block("paragraph"))  # an empty item has its marker
        del self._stack[depth:]
        self._shown = min(self._shown, depth)

    def _close(self) -> None:
        leaf, self._leaf = self._leaf, None
        if not leaf:
            return
        leaf.tail = ""
        if leaf.kind == "code" and not leaf.fence:
            self._blank = self._blank or self._empty_lines > 0
            self._empty_lines = 0
        if leaf.kind == "paragraph" and leaf.lines and leaf.lines[0].startswith("["):
            self._take_definitions(leaf)

    def _take_definitions(self, leaf: Block) -> None:
        while leaf.lines and (found := DEFINITION.match(leaf.lines[0])):
            self.references.setdefault(" ".join(found[1].casefold().split()), found[2])
            del leaf.lines[0]


def _item(found: "re.Match[str]", rest: str) -> tuple[Item, str]:
    marker, spaces = found[2], len(found[3])
    # Five spaces and more: the content is indented code, which begins after the first.
    padding = spaces if 1 <= spaces <= 4 and found.end() < len(rest) else 1
    start = len(found[1]) + len(marker)
    number = int(marker[:-1]) if len(marker) > 1 else None
    return Item(marker[-1], number, start + padding), rest[start + padding :]
