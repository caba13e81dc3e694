"""Text of others in a question, so that nothing in it is out of sight or looks like what it is not."""

import re
from collections.abc import Iterator

from textual.content import Content

from marvin_agent.text import revealed

_BLANK = "[ \t\u3000]"
_FAR = re.compile(rf"\n(?:{_BLANK}*\n){{3,}}|{_BLANK}{{40,}}")
"""White space that would push what comes after it out of sight."""


def foreign(text: str, style: str = "") -> Content:
    """The text with escapes for what cannot be seen, and a note in place of much white space."""
    return Content.assemble(*_pieces(revealed(text))).stylize_before(style)


def _pieces(text: str) -> Iterator[str | tuple[str, str]]:
    at = 0
    for found in _FAR.finditer(text):
        lines = found[0].count("\n")
        note = f"[{lines - 1} empty lines]\n" if lines else f"[{len(found[0])} spaces]"
        yield text[at : found.start()] + ("\n" if lines else " ")
        yield (note, "$text-warning")
        at = found.end()
    yield text[at:]
