"""What is in the clipboard of the desktop, asked of the tool that the desktop has for that."""

import os
from collections.abc import Iterator, Mapping

from marvin_agent.agent.attachments import LIMIT
from marvin_agent.images import image_type
from marvin_agent.processes import CannotStart, execute
from marvin_agent.programs import find_program

PATIENCE = 5.0
"""Seconds after which a tool is given up: the program that owns the clipboard may hang."""


async def read_clipboard(environ: Mapping[str, str]) -> bytes | str | None:
    """An image as its bytes, else a text; None when there is neither, or no tool that could tell."""
    for command in _commands(environ, "image/png"):
        data = await _output(command, environ)
        if image_type(data):
            return data
    for command in _commands(environ, None):
        if data := await _output(command, environ):
            return data.decode("utf-8", "replace")
    return None


def _commands(environ: Mapping[str, str], kind: str | None) -> Iterator[list[str]]:
    tools: list[list[str]] = []
    if environ.get("WAYLAND_DISPLAY"):
        tools.append(["wl-paste", "--type", kind] if kind else ["wl-paste", "--no-newline"])
    if environ.get("DISPLAY"):
        tools.append(["xclip", "-selection", "clipboard", "-out", *(["-target", kind] if kind else [])])
        tools += [] if kind else [["xsel", "--clipboard", "--output"]]
    tools.append(["pngpaste", "-"] if kind else ["pbpaste"])
    for name, *arguments in tools:
        if program := find_program(name, environ.get("PATH", "")):
            yield [program, *arguments]


async def _output(command: list[str], environ: Mapping[str, str]) -> bytes:
    try:
        done = await execute(command, cwd=os.path.expanduser("~"), env=environ, timeout=PATIENCE, limit=LIMIT)
    except CannotStart:
        return b""
    return b"" if done.code or done.truncated else done.stdout
