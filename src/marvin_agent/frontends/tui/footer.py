"""The lines at the bottom: what goes on, how full the context is, what it cost, what hooks say."""

import time

from rich.cells import cell_len
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from marvin_agent.frontends.tui.state import State
from marvin_agent.text import one_line

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
BAR = 8
BAR_FROM = 70
"""Columns from which on there is room for it."""
HINTS: tuple[str, ...] = ("Enter sends · / commands · @ files · F1 keys", "/ commands · F1 keys", "F1 keys", "")
STOP = " · Esc stops"
STATUS_WIDTH = 40
SPACES = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")
"""What stands for a control character in a status."""


class Footer(Static):
    DEFAULT_CSS = """
    Footer { height: auto; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, state: State) -> None:
        super().__init__("", markup=False, id="footer")
        self._state = state
        self._frame = 0
        self._ticking: Timer | None = None

    def paint(self) -> None:
        """Show the state as it is now; go on doing so while the agent works."""
        state = self._state
        if state.busy and self._ticking is None:
            self._ticking = self.set_interval(0.2, self._tick)
        elif not state.busy and self._ticking:
            self._ticking.stop()
            self._ticking = None
        lines = [self._first(), *self._second()]
        self.update(Content("\n").join(lines))

    def on_resize(self) -> None:
        self.paint()

    def _tick(self) -> None:
        self._frame += 1
        self.paint()

    @property
    def _width(self) -> int:
        return max((self.size.width or 80) - 2, 20)

    def _first(self) -> Content:
        state = self._state
        right = " · ".join(self._numbers(bar=self._width >= BAR_FROM))
        seconds = int(time.monotonic() - state.since)
        working = f"{state.activity}{f' · {seconds} s' if seconds else ''}"
        if state.busy and cell_len(right) + len(working) + len(STOP) + 3 > self._width:
            right = " · ".join(self._numbers(bar=False))
        room = self._width - cell_len(right) - 1
        if not state.busy:
            below = (f"↓ more below · {state.end_key} goes there", f"↓ {state.end_key}", "")
            hints = below if state.more_below else HINTS
            left = Content(next(hint for hint in hints if len(hint) <= room))
        else:
            spin = FRAMES[self._frame % len(FRAMES)]
            stop = STOP if len(working) + len(STOP) <= room - 2 else ""
            down = f" · ↓ {state.end_key}" if state.more_below else ""
            stop += down if len(working) + len(stop) + len(down) <= room - 2 else ""
            text = one_line(f"{working}{stop}", max(room - 2, 8))
            left = Content.assemble((f"{spin} ", "$text-accent"), (text, "$foreground"))
        gap = " " * max(self._width - left.cell_length - cell_len(right), 1)
        return Content.assemble(left, gap, right)

    def _numbers(self, *, bar: bool) -> list[str]:
        state = self._state
        found = []
        if state.context_limit and state.context_tokens:
            share = min(state.context_tokens / state.context_limit, 1.0)
            full = round(share * BAR)
            drawn = f"{'█' * full}{'░' * (BAR - full)} " if bar else ""
            found.append(f"{drawn}{share:.0%} of {short(state.context_limit)}")
        if state.tokens:
            found.append(f"{short(state.tokens)} tokens" if self._width >= BAR_FROM else short(state.tokens))
        if state.cost:
            found.append(money(state.cost))
        return found

    def _second(self) -> list[Content]:
        state = self._state
        lines = []
        if waits := state.waiting:
            where = f" at {one_line(waits.place, 60)}" if waits.place else ""
            text = f"waiting for {one_line(waits.hook, 60)} ({one_line(waits.event, 30)}){where}"
            skip = f" · {state.skip_key} skips it"
            lines.append(Content.styled(f"{one_line(text, self._width - len(skip))}{skip}", "$text-warning"))
        if state.statuses:
            texts = [one_line(text.translate(SPACES), STATUS_WIDTH) for _, text in sorted(state.statuses.items())]
            lines.append(Content(one_line(" · ".join(texts), self._width)))
        return lines


def short(number: int) -> str:
    """A number of tokens in few characters."""
    if number < 1_000:
        return str(number)
    if number < 1_000_000:
        return f"{number / 1_000:.1f}k" if number < 10_000 else f"{number // 1_000}k"
    return f"{number / 1_000_000:.1f}M"


def money(dollars: float) -> str:
    return f"${dollars:.2f}" if dollars >= 0.1 else f"${dollars:.4f}"
