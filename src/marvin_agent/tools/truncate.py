"""Cuts long text to what a model may get: whole lines, at most 1,500 of them and 100 KiB."""

import msgspec

MAX_LINES = 1500
MAX_BYTES = 100 * 1024


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a text. Lines count from 1; `last` is `first - 1` when no line fits."""

    text: str
    first: int
    last: int
    total: int

    @property
    def whole(self) -> bool:
        return self.last - self.first + 1 == self.total

    @property
    def long_line(self) -> bool:
        """True when not even one line fits."""
        return self.last < self.first and self.total > 0


def split(text: str) -> list[str]:
    """The lines with their ends; a line ends with a newline and nothing else."""
    lines = text.split("\n")
    last = lines.pop()
    ended = [line + "\n" for line in lines]
    return [*ended, last] if last else ended


def size(text: str) -> int:
    """The bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def head(text: str, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> Cut:
    """The beginning of a text."""
    lines = split(text)
    taken = _fitting(lines, max_lines, max_bytes)
    return Cut(text="".join(lines[:taken]), first=1, last=taken, total=len(lines))


def tail(text: str, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> Cut:
    """The end of a text."""
    lines = split(text)
    taken = _fitting(lines[::-1], max_lines, max_bytes)
    first = len(lines) - taken
    return Cut(text="".join(lines[first:]), first=first + 1, last=len(lines), total=len(lines))


def _fitting(lines: list[str], max_lines: int, max_bytes: int) -> int:
    used = 0
    for count, line in enumerate(lines[:max_lines]):
        used += size(line)
        if used > max_bytes:
            return count
    return min(len(lines), max_lines)


def human_size(count: int) -> str:
    """A number of bytes for people."""
    if count < 1024:
        return f"{count} bytes"
    if count < 1024**2:
        return f"{count / 1024:.1f} KB"
    if count < 1024**3:
        return f"{count / 1024**2:.1f} MB"
    return f"{count / 1024**3:.1f} GB"
