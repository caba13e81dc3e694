"""Differences of files and of what hooks changed, readable without colours: signs, line numbers, one line each."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from marvin_agent.frontends.tui.conversation.rows import Line, Piece, Span
from marvin_agent.frontends.tui.conversation.sections import Flow
from marvin_agent.text import printable
from marvin_agent.tools.diff import body, unified

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_STYLES = {"+": "added", "-": "removed"}
MARGIN = "  "


class Changed(NamedTuple):
    """Which hooks changed something, and what it was and became."""

    hooks: tuple[str, ...]
    before: str
    after: str


def diff_lines(diff: str) -> list[Line]:
    """The lines of a unified diff; line numbers are drawn, and not copied."""
    return list(_lines(diff))


def counts(diff: str) -> tuple[int, int]:
    """How many lines a diff adds and removes."""
    lines = body(printable(diff))
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def difference(before: str, after: str) -> Flow:
    """What a hook made of a text."""
    # How a text of an argument ends is no news: the note on a missing line end would be.
    lines = diff_lines(unified(before.rstrip("\n") + "\n", after.rstrip("\n") + "\n", "text"))
    return Flow(lines or [Line((Span(f"{MARGIN}(no difference in the text)", "muted"),))])


def _lines(diff: str) -> Iterator[Line]:
    old = new = 0
    begun = False
    for line in body(printable(diff)):
        if found := _HUNK.match(line):
            old, new = int(found[1]), int(found[2])
            if begun:
                yield Line((Span("⋯", "muted"),), (Piece(f"{MARGIN}   "),))
            begun = True
            continue
        sign = line[:1]
        number = {"+": new, "-": old}.get(sign, new) if sign in "+- " and sign else 0
        shown = f"{MARGIN}{number:>4} " if number else f"{MARGIN}     "
        style = _STYLES.get(sign, "" if sign == " " else "muted")
        spans = (Span(line[:1], style), Span(f" {line[1:]}" if sign in "+- " else line[1:], style))
        yield Line(spans, (Piece(shown, "muted"),), (Piece(f"{MARGIN}       "),), hard=True)
        new += sign in "+ " and sign != ""
        old += sign in "- " and sign != ""
