"""The terminal before the app is loaded: nothing typed is lost, and something stands on the screen at once."""

import os
import sys
import termios
from types import TracebackType
from typing import Any

_OPEN = "\x1b[?1049h\x1b[2J\x1b[H"
_ASK_BACKGROUND = "\x1b]11;?\x07"
"""Whether the terminal is light: the answer comes among the keys (`background.py`)."""
# The last: a multiplexer whose window was resized meanwhile leaves lines of the app below.
_CLOSE = "\x1b[?1049l\x1b[?25h\r\x1b[J"


class EarlyTerminal:
    """Takes the terminal over as the app will, and gives it back as it was, whatever happened in between."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._descriptor = sys.__stdin__.fileno() if sys.__stdin__ else 0
        self._before: list[Any] | None = None

    @property
    def before(self) -> list[Any] | None:
        """The terminal's settings as the user had them; None when there is no terminal."""
        return self._before

    def __enter__(self) -> "EarlyTerminal":
        try:
            self._before = termios.tcgetattr(self._descriptor)
            raw = termios.tcgetattr(self._descriptor)
        except termios.error:
            return self
        # Without an echo, key by key, and Enter stays Enter: what is typed waits for the app as it was typed.
        raw[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.IXOFF)
        raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._descriptor, termios.TCSANOW, raw)
        self._paint()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is None:
            return
        try:
            self._write(_CLOSE)
            # What comes late, as the terminal's answer may, is not typed into the shell.
            termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, self._before)
        except (OSError, termios.error):
            pass  # the terminal is gone

    def _paint(self) -> None:
        """The first picture: the frame of what the app will show."""
        try:
            columns, rows = os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1)
        except OSError:
            return
        line = "─" * columns
        self._write(f"{_OPEN} marvin {self._version}\x1b[{rows - 3};1H{line}\x1b[{rows - 2};1H \x1b7")
        # The console of Linux has no answer, and some of its versions show the question.
        ask = "" if os.environ.get("TERM") == "linux" else _ASK_BACKGROUND
        self._write(f"\x1b[{rows - 1};1H{line}\x1b8{ask}")

    def _write(self, text: str) -> None:
        if sys.__stdout__:
            sys.__stdout__.write(text)
            sys.__stdout__.flush()
