"""A list to choose from whose chosen line has a mark, since colour alone says nothing to some."""

from collections.abc import Sequence
from typing import Any

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

MARK, NONE = "> ", "  "


class Choices(OptionList):
    """Lines are content that marvin made; foreign text in them was made harmless before."""

    DEFAULT_CSS = """
    Choices {
        height: auto; max-height: 12; border: none; padding: 0; background: transparent; scrollbar-size-vertical: 1;
        &:focus { border: none; background: transparent; }
        & > .option-list--option { padding: 0; text-wrap: nowrap; text-overflow: ellipsis; }
    }
    """

    def __init__(self, lines: Sequence[tuple[str, Content]] = (), **more: Any) -> None:
        """`lines`: each with the id of its option."""
        super().__init__(markup=False, compact=True, **more)
        self._texts: list[Content] = []
        self._marked: int | None = None
        self.fill(lines)

    def fill(self, lines: Sequence[tuple[str, Content]], chosen: int | None = 0) -> None:
        """Replace all lines."""
        self._marked, self._texts = None, []
        self.clear_options()
        self._texts = [line for _, line in lines]
        self.add_options([Option(Content(NONE) + line, id=name) for name, line in lines])
        self.highlighted = chosen if lines else None
        self._mark()

    def change(self, lines: Sequence[tuple[str, Content]]) -> None:
        """Bring the lines up to date, and stay at the one that is chosen."""
        if [name for name, _ in lines] != [option.id for option in self.options]:
            at = self.highlighted or 0
            self.fill(lines, min(at, max(len(lines) - 1, 0)))
            return
        for at, (_, line) in enumerate(lines):
            if line != self._texts[at]:
                self._texts[at] = line
                self.replace_option_prompt_at_index(at, Content(MARK if at == self._marked else NONE) + line)

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        self._mark()

    def _mark(self) -> None:
        now = self.highlighted
        if self._marked == now:
            return
        for at, mark in ((self._marked, NONE), (now, MARK)):
            if at is not None and at < len(self._texts):
                self.replace_option_prompt_at_index(at, Content(mark) + self._texts[at])
        self._marked = now
