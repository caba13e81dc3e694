"""Takes a command's output as it comes: the end is kept, a long one goes to a file, news is shown now and then."""

import asyncio
import codecs
import os

from marvin_agent.tools.tool import ToolContext
from marvin_agent.tools.truncate import MAX_BYTES, MAX_LINES, human_size, tail

INTERVAL = 0.05
"""Seconds between two pieces of news."""
MAX_NEWS = 32 * 1024
MAX_FILE = 1024 * 1024 * 1024
"""A command that writes for ever must not fill the disk."""
MAX_MEMORY = 32 * 1024 * 1024
"""Of an output that nobody may see before it is whole, the end that is kept."""


class Output:
    """The output of one command."""

    __slots__ = ("_end", "_file", "_in_file", "_lines", "_news", "_private", "_problem", "_total", "path")

    def __init__(self, ctx: ToolContext) -> None:
        self.path: str | None = None
        """The file that holds all of it, once it is long."""
        self._end = bytearray()
        self._file = -1
        self._in_file = 0
        self._lines = 0
        self._total = 0
        self._problem: str | None = None
        self._private = ctx.private
        self._news = _News(ctx)

    def feed(self, data: bytes, ctx: ToolContext) -> None:
        """More of it has come."""
        self._total += len(data)
        self._lines += data.count(b"\n")
        self._end += data
        if self._private:
            # A hook is to see all of it before anything is shown or written; the agent shortens it after that.
            if len(self._end) > 2 * MAX_MEMORY:
                del self._end[:-MAX_MEMORY]
            return
        if self._is_long:
            self._keep(data, ctx)
            if len(self._end) > 2 * MAX_BYTES:
                del self._end[: -MAX_BYTES - 1]
        self._news.feed(data)

    @property
    def _is_long(self) -> bool:
        return self._total > MAX_BYTES or self._lines > MAX_LINES

    def _keep(self, data: bytes, ctx: ToolContext) -> None:
        if self._problem is not None:
            return
        try:
            if self._file < 0:
                self.path = os.path.join(ctx.scratch, f"bash-{os.urandom(6).hex()}.log")
                self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                data = bytes(self._end)
            self._in_file += len(data)
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self._problem = f"it could not be written to a file: {error.strerror}"
        if self._in_file > MAX_FILE:
            self._problem = f"the file has its first {human_size(MAX_FILE)}"

    def close(self) -> None:
        """No more will come."""
        self._news.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def text(self) -> str:
        """What the model gets: all of it, or its end and where the rest is."""
        text = self._end.decode("utf-8", "replace")
        if self._private and len(self._end) < self._total:
            return f"[The first {human_size(self._total - len(self._end))} were not kept.]\n{text}"
        if self._private or not self._is_long:
            return text
        end = tail(text)
        lines = self._lines + (not self._end.endswith(b"\n"))
        first = lines - (end.last - end.first)
        if self.path is None or self._problem is not None:
            where = f"of the rest, {self._problem}" + (f" ({self.path})" if self.path else "")
        else:
            where = f"The whole output ({human_size(self._total)}) is in {self.path}"
        if end.long_line:
            return (
                f"[The last line is longer than {human_size(MAX_BYTES)}. {where}: see a part of it with tail -c 2000.]"
            )
        gap = "\n" if end.text.endswith("\n") else "\n\n"
        return f"{end.text}{gap}[Lines {first}-{lines} of {lines}. {where}.]"

    @property
    def facts(self) -> dict[str, object]:
        """For people and hooks, when not all of it is in the text."""
        if self._private or not self._is_long:
            return {}
        return {"truncated": True, "outputBytes": self._total, "fullOutput": self.path}


class _News:
    """Shows what has come, at intervals; of a flood only the last part."""

    __slots__ = ("_ctx", "_decoder", "_pending", "_shown", "_skipped", "_timer")

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = bytearray()
        self._skipped = 0
        self._shown = False
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, data: bytes) -> None:
        self._pending += data
        if len(self._pending) > 2 * MAX_NEWS:
            self._skipped += len(self._pending) - MAX_NEWS
            del self._pending[:-MAX_NEWS]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._show)

    def _show(self) -> None:
        self._timer = None
        text = self._decoder.decode(bytes(self._pending))
        self._pending.clear()
        if self._skipped:
            text = f"\n[{human_size(self._skipped)} not shown]\n{text}"
            self._skipped = 0
        if text:
            self._shown = True
            self._ctx.update(text)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            # What came in one piece is shown with the result; who has seen the beginning gets the end.
            if self._shown:
                self._show()
            self._timer = None
