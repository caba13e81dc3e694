"""Files as tools see them: where a path leads, what is there, and whether somebody changed it since it was seen."""

import os
import stat
import time
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING

from marvin_agent.tools.tool import ToolFailure

if TYPE_CHECKING:
    from pathlib import Path

_SPACES = dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
RACY_NS = 20_000_000
"""A file changed so shortly before we looked may change again without a new time stamp."""


def resolve(path: str, cwd: "str | Path") -> str:
    """The absolute path that a model means.

    A file of exactly that name counts first; then names that look the same: other spaces, composed and decomposed
    letters. A name that nothing has is taken as it is written.
    """
    if not path:
        raise ToolFailure("The path is empty. Name a file or a directory.")
    if "\0" in path:
        raise ToolFailure("The path has a NUL character in it. Name a file or a directory.")
    full = os.path.normpath(os.path.join(cwd, os.path.expanduser(path)))
    if full.isascii() and " " not in full:
        return full
    return full if os.path.lexists(full) else _lookalike(full)


def _lookalike(full: str) -> str:
    """The existing path that looks like `full`, name by name."""
    found = "/"
    names = full.strip("/").split("/")
    for index, name in enumerate(names):
        candidate = os.path.join(found, name)
        if not os.path.lexists(candidate):
            try:
                twins = [entry for entry in os.listdir(found) if _look(entry) == _look(name)]
            except OSError:
                twins = []
            if len(twins) != 1:
                return os.path.join(candidate, *names[index + 1 :])
            candidate = os.path.join(found, twins[0])
        found = candidate
    return found


def _look(name: str) -> str:
    return unicodedata.normalize("NFC", name).translate(_SPACES)


def shown(path: str, cwd: "str | Path") -> str:
    """A path as people read it: relative when it is below the working directory."""
    base = os.path.join(cwd, "")
    return path[len(base) :] if path.startswith(base) and len(path) > len(base) else path


def regular_file(path: str, name: str) -> os.stat_result:
    """The state of a regular file. Raises ToolFailure that says what is there instead."""
    try:
        state = os.stat(path)
    except FileNotFoundError:
        raise ToolFailure(_not_found(path, name)) from None
    except OSError as error:
        raise ToolFailure(f"Cannot open {name}: {error.strerror}.") from error
    if stat.S_ISDIR(state.st_mode):
        raise ToolFailure(f"{name} is a directory. Use ls to see what is in it.")
    if not stat.S_ISREG(state.st_mode):
        raise ToolFailure(f"{name} is not a regular file but a device, pipe or socket.")
    return state


def _not_found(path: str, name: str) -> str:
    if os.path.islink(path):
        return f"{name} is a link to {os.readlink(path)}, which does not exist."
    parent = os.path.dirname(path)
    if not os.path.isdir(parent):
        return f"{name} does not exist, and neither does the directory {parent}."
    base = os.path.basename(path).lower()
    near = [entry for entry in sorted(os.listdir(parent)) if entry.lower() == base]
    return f"{name} does not exist." + (f" Did you mean {near[0]}?" if near else "")


class SeenFiles:
    """Remembers what each file was like when the model last saw it.

    `earlier` gives the files that it saw before there was this memory, by their real paths, each with the time in
    milliseconds. It is asked when that is first of interest.
    """

    __slots__ = ("_before", "_earlier", "_seen")

    def __init__(self, earlier: Callable[[], dict[str, int]] = dict) -> None:
        self._seen: dict[str, _Seen] = {}
        self._earlier = earlier
        self._before: dict[str, int] | None = None

    def saw(self, path: "str | Path", data: bytes | None = None) -> None:
        """The model knows the file as it is on disk now. `data` is its content when the caller has it at hand."""
        real = os.path.realpath(path)
        try:
            self._seen[real] = _Seen(real, data)
        except OSError:
            self._seen.pop(real, None)
            self._before_this().pop(real, None)

    def changed_since_seen(self, path: "str | Path") -> bool:
        """True when the file was seen and is different, or gone, now."""
        real = os.path.realpath(path)
        if seen := self._seen.get(real):
            return seen.differs(real)
        time_of_it = self._before_this().get(real)
        return time_of_it is not None and _changed_after(real, time_of_it)

    def _before_this(self) -> dict[str, int]:
        if self._before is None:
            self._before = self._earlier()
        return self._before


def _changed_after(path: str, milliseconds: int) -> bool:
    try:
        return os.stat(path).st_mtime_ns >= (milliseconds + 1) * 1_000_000
    except OSError:
        return True


class _Seen:
    """The state of one file. The content counts only where the time stamp does not tell."""

    __slots__ = ("content", "inode", "mtime", "racy", "size")

    def __init__(self, path: str, data: bytes | None) -> None:
        state = os.stat(path)
        self.mtime = state.st_mtime_ns
        # Of the content when it is known: the file may have grown since it was read.
        self.size = state.st_size if data is None else len(data)
        self.inode = state.st_ino
        self.racy = time.time_ns() - state.st_mtime_ns < RACY_NS
        if data is None and self.racy:
            data = _content(path)
        # The interpreter's own hash: quick, and good enough for a memory that ends with the process.
        self.content = None if data is None else hash(data)

    def differs(self, path: str) -> bool:
        try:
            state = os.stat(path)
            if state.st_size != self.size:
                return True
            if (state.st_mtime_ns, state.st_ino) == (self.mtime, self.inode) and not self.racy:
                return False
            return self.content is None or hash(_content(path)) != self.content
        except OSError:
            return True


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
