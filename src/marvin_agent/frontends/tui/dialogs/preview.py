"""What a tool call will do, for whoever has to allow it: the command, or the change to the file."""

import json
import os
from collections.abc import Mapping
from typing import Any

from textual.content import Content

from marvin_agent.files import read_regular_file
from marvin_agent.frontends.tui.dialogs.foreign import foreign
from marvin_agent.tools.diff import body, unified
from marvin_agent.tools.encoding import decode_anyhow
from marvin_agent.tools.files import resolve
from marvin_agent.tools.tool import ToolFailure

MOST = 1024 * 1024
COLOURS = {"+": "$text-success", "-": "$text-error", "@": "$text-muted"}


def preview(question: Mapping[str, Any], cwd: str) -> Content:
    """The call as it would run. Everything in it is foreign text."""
    given = question.get("input")
    arguments: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    match question.get("tool_name"):
        case "bash" if isinstance(command := arguments.get("command"), str):
            return Content.assemble(("$ ", "$text-muted"), foreign(command))
        case "write" if isinstance(content := arguments.get("content"), str):
            path = str(arguments.get("path"))
            return _diff(_place(path, cwd), body(unified(_text_at(path, cwd), content, "file")))
        case "edit" if changes := _changes(arguments):
            path = str(arguments.get("path"))
            # The tool sees plain newlines, and leaves those of the file as they are.
            return _diff(_place(path, cwd), _edited(_text_at(path, cwd).replace("\r\n", "\n"), changes))
    return foreign(str(question.get("preview") or json.dumps(dict(arguments), ensure_ascii=False, indent=2)))


def _changes(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    edits = arguments.get("edits") or [arguments]
    pairs = [(edit.get("oldText"), edit.get("newText")) for edit in edits if isinstance(edit, Mapping)]
    texts = [(old, new) for old, new in pairs if isinstance(old, str) and isinstance(new, str)]
    return [(old.replace("\r\n", "\n"), new.replace("\r\n", "\n")) for old, new in texts]


def _edited(text: str, changes: list[tuple[str, str]]) -> list[str]:
    """The change to the file, in its place; what is not to be found there is shown by itself."""
    found = [text.find(old) for old, _ in changes]
    if any(at < 0 or not old for at, (old, _) in zip(found, changes, strict=True)):
        alone = (unified(old.rstrip("\n") + "\n", new.rstrip("\n") + "\n", "file") for old, new in changes)
        return [line for one in alone for line in body(one)]
    after = text
    # From the end, so that the places of the others stay as they are.
    for at, (old, new) in sorted(zip(found, changes, strict=True), reverse=True):
        after = after[:at] + new + after[at + len(old) :]
    return body(unified(text, after, "file"))


def _place(path: str, cwd: str) -> str:
    """The path, and the file that is meant when it is written in another way or a link leads elsewhere."""
    base = os.path.realpath(cwd)
    try:
        real = os.path.realpath(resolve(path, base))
    except ToolFailure:
        return path
    return path if real == os.path.join(base, os.path.expanduser(path)) else f"{path} -> {real}"


def _text_at(path: str, cwd: str) -> str:
    try:
        return decode_anyhow(read_regular_file(resolve(path, cwd), MOST))
    except (OSError, ToolFailure):
        return ""


def _diff(path: str, diff: list[str]) -> Content:
    lines = [foreign(path.replace("\n", "\\n"), "bold")]
    lines += [foreign(line, COLOURS.get(line[:1], "")) for line in diff]
    if len(lines) == 1:
        lines.append(Content.styled("(nothing changes)", "$text-muted"))
    return Content("\n").join(lines)
