"""Finds and reads what people wrote for agents: the user's `agents.md`, the project's `AGENTS.md` or `CLAUDE.md`.

The user's file is `agents.md` in the configuration directory (`AGENTS.md` will do). Then comes one file for each
directory from the root of the project down to the working directory: `AGENTS.md`, or where there is none `CLAUDE.md`.
A file that is reached twice, by a link, is read once. A project's file that links out of the project is not read, for
it would send any file of the user, a key for instance, to the model.
"""

import codecs
import os
from collections.abc import Iterator
from typing import Any

import msgspec

from marvin_agent.files import read_regular_file
from marvin_agent.hooks.api import HookAPI

MAX_BYTES = 64 * 1024
"""Of each file."""

_GLOBAL_NAMES = ("agents.md", "AGENTS.md")
_PROJECT_NAMES = ("AGENTS.md", "CLAUDE.md")


class InstructionFile(msgspec.Struct, frozen=True):
    path: str
    text: str


class Instructions(msgspec.Struct, frozen=True):
    """What was found, the most general first, and a line for each file that is not there as it should be."""

    files: tuple[InstructionFile, ...]
    notices: tuple[str, ...]


def setup(marvin: HookAPI) -> None:
    """Adds them to the system prompt at the beginning of each run, as the files are then."""
    told: set[str] = set()

    async def add_instructions(event: Any, ctx: Any) -> dict[str, Any] | None:
        found = read_instructions(ctx.config_dir, ctx.project_root, ctx.cwd)
        for notice in found.notices:
            if notice not in told:
                told.add(notice)
                ctx.ui.notify(notice, "warning")
        if not found.files:
            return None
        return {"system_prompt": "\n\n".join([event.system_prompt, *map(_section, found.files)])}

    marvin.on("agent.before_start", add_instructions)


def _section(file: InstructionFile) -> str:
    return f"Instructions from {os.path.basename(file.path)} ({file.path}):\n\n{file.text.strip()}"


def read_instructions(config_dir: str, project_root: str, cwd: str) -> Instructions:
    """The instructions for a working directory. What cannot be read is a notice, never an error."""
    files: list[InstructionFile] = []
    notices: list[str] = []
    seen: set[str] = set()
    cwd, root = os.path.abspath(cwd), os.path.abspath(project_root)
    root = root if _is_inside(cwd, root) else cwd
    real_root = os.path.realpath(root)
    for path, of_project in _find(config_dir, root, cwd):
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        if of_project and not _is_inside(real, real_root):
            notices.append(f"{path}: not read, because it links out of the project")
            continue
        text, notice = _read(path)
        if notice:
            notices.append(f"{path}: {notice}")
        if text.strip():
            files.append(InstructionFile(path, text))
    return Instructions(tuple(files), tuple(notices))


def _find(config_dir: str, project_root: str, cwd: str) -> Iterator[tuple[str, bool]]:
    if path := _first_in(config_dir, _GLOBAL_NAMES):
        yield path, False
    for directory in _directories(project_root, cwd):
        if path := _first_in(directory, _PROJECT_NAMES):
            yield path, True


def _first_in(directory: str, names: tuple[str, ...]) -> str | None:
    # A dangling link is found too, so that it is reported.
    paths = (os.path.join(directory, name) for name in names)
    return next((path for path in paths if os.path.lexists(path)), None)


def _directories(root: str, cwd: str) -> list[str]:
    """From the root down to the working directory."""
    directories = [cwd]
    while directories[-1] != root:
        directories.append(os.path.dirname(directories[-1]))
    return directories[::-1]


def _is_inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


def _read(path: str) -> tuple[str, str | None]:
    """The text and what to say about it."""
    try:
        data = read_regular_file(path, MAX_BYTES + 1)
    except OSError as error:
        return "", f"cannot be read: {error.strerror}"
    notice = None
    whole = len(data) <= MAX_BYTES
    if not whole:
        data = data[: data.rfind(b"\n", 0, MAX_BYTES) + 1] or data[:MAX_BYTES]
        notice = f"only the first {len(data)} bytes are used: it is longer than {MAX_BYTES // 1024} KiB"
    try:
        # Where one line was cut, half a character at its end is left out.
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(data, final=whole)
    except UnicodeDecodeError:
        return "", "not read, because it is not UTF-8 text"
    if "\0" in text:
        return "", "not read, because it is not a text file"
    return text.replace("\r\n", "\n"), notice
