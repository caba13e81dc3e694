"""A line at the bottom of a terminal that turns while something is waited for."""

import asyncio
import os
import time
from typing import TextIO

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
INTERVAL = 0.1
PATIENCE = 0.3
"""Seconds before it shows: what is quick needs no spinner."""


class Spinner:
    """Draws on a stream whose cursor stands at the beginning of a line, and leaves that line empty."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._label = ""
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._drawn = False

    def turn(self, label: str) -> None:
        """Show what is waited for, from now on."""
        if label != self._label:
            self._since = time.monotonic()
        self._label = label
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._draw)

    def stop(self) -> None:
        """Take it away, before anything else is written."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._drawn:
            self._drawn = False
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def _draw(self) -> None:
        seconds = int(time.monotonic() - self._since)
        frame = FRAMES[int(time.monotonic() / INTERVAL) % len(FRAMES)]
        text = f"{frame} {self._label}" + (f" ({seconds} s)" if seconds else "")
        self._drawn = True
        self._stream.write(f"\r{text[: self._width()]}\x1b[K")
        self._stream.flush()
        self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._draw)

    def _width(self) -> int:
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns or 80
        except OSError:
            columns = 80
        # Letters of other scripts may be two columns wide, and a line that breaks could not be taken away.
        return (columns if self._label.isascii() else columns // 2) - 1
