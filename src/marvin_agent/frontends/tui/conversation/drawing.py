"""What a hook's renderer gives for its message, as rows: text, a Textual visual, a Static or a Rich renderable."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from textual.visual import Visual, visualize
from textual.widget import Widget
from textual.widgets import Static

from marvin_agent.frontends.tui.conversation.rows import Line, Piece, Row, Span
from marvin_agent.frontends.tui.conversation.sections import Flow, Section
from marvin_agent.messages import HookMessage
from marvin_agent.text import one_line, printable

Renderer: TypeAlias = Callable[[HookMessage, bool], object | None]
"""Gets the message and whether it is open; gives None when no hook draws such messages."""
_MARGIN = Piece("  ")


def drawn(host: Widget, given: object, text: str) -> Section:
    """The section of what a renderer gave. Raises TypeError for what cannot be shown."""
    if isinstance(given, Static):
        given = given.visual
    if isinstance(given, Widget):
        raise TypeError(f"it gave a {type(given).__name__}; text, a Static or a Rich renderable can be shown")
    return Drawn(host, visualize(host, given, markup=False), text)


class Drawn:
    """A visual of a hook. When it cannot be drawn at some width, its plain text and the error are shown."""

    def __init__(self, host: Widget, visual: Visual, text: str) -> None:
        self._host = host
        self._visual = visual
        self._text = text
        self._width = -1
        self._rows: Sequence[Row] = ()
        self._lay_out(80)

    @property
    def plain(self) -> str:
        return "\n".join("".join(piece.text for piece in row.pieces if piece.offset >= 0) for row in self._rows)

    def height(self, width: int) -> int:
        self._lay_out(width)
        return len(self._rows)

    def rows(self, width: int, first: int, last: int) -> Sequence[Row]:
        self._lay_out(width)
        return self._rows[first:last]

    def _lay_out(self, width: int) -> None:
        if width == self._width:
            return
        self._width = width
        try:
            self._rows = self._render(width)
        except Exception as error:
            # It is a hook's code: it must not take the conversation along.
            problem = one_line(f"  its renderer failed: {type(error).__name__}: {error}", 200)
            lines = [(problem, "error"), *((line, "") for line in printable(self._text).split("\n"))]
            made = Flow([Line((Span(line, style),), (_MARGIN,), (_MARGIN,)) for line, style in lines])
            self._rows = made.rows(width, 0, made.height(width))

    def _render(self, width: int) -> list[Row]:
        host = self._host
        strips = Visual.to_strips(host, self._visual, max(width - 2, 1), None, host.visual_style, apply_selection=False)
        rows = []
        offset = 0
        for strip in strips:
            pieces = [_MARGIN]
            for text, style, control in strip:
                if text and not control:
                    shown = printable(text)
                    pieces.append(Piece(shown, style or "", offset))
                    offset += len(shown)
            offset += 1
            rows.append(Row(tuple(pieces)))
        return rows
