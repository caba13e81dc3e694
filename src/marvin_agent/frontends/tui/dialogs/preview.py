"""What a tool call will do, for whoever has to allow it: the command, or the change to the file."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from textual.content import Content

from marvin_agent.files import read_regular_file
from marvin_agent.text import revealed
from marvin_agent.tools.diff import body, unified

MOST = 1024 * 1024
FAR = re.compile(r"\n(?:[ \t]*\n){3,}|[ \t]{40,}")
"""White space that would push what comes after it out of sight."""
COLOURS = {"+": "$text-success", "-": "$text-error", "@": "$text-muted"}


def preview(question: Mapping[str, Any], cwd: str) -> Content:
    """The call as it would run. Everything in it is foreign text."""
    given = question.get("input")
    arguments: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    match question.get("tool_name"):
        case "bash" if isinstance(command := arguments.get("command"), str):
            return Content.assemble(("$ ", "$text-muted"), *_visible(revealed(command)))
        case "write" if isinstance(content := arguments.get("content"), str):
            path = str(arguments.get("path"))
            return _diff(_place(path, cwd), unified(_text_at(path, cwd), content, "file"))
        case "edit" if changes := _changes(arguments):
            path = str(arguments.get("path"))
            return _diff(_place(path, cwd), _edited(_text_at(path, cwd), changes))
    shown = question.get("preview") or json.dumps(dict(arguments), ensure_ascii=False, indent=2)
    return Content(revealed(str(shown)))


def _visible(text: str) -> Iterator[str | tuple[str, str]]:
    """The text with a note in place of the white space that somebody might hide the rest behind."""
    at = 0
    for found in FAR.finditer(text):
        lines = found[0].count("\n")
        note = f"[{lines - 1} empty lines]\n" if lines else f"[{len(found[0])} spaces]"
        yield text[at : found.start()] + ("\n" if lines else " ")
        yield (note, "$text-warning")
        at = found.end()
    yield text[at:]


def _changes(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    edits = arguments.get("edits") or [arguments]
    pairs = [(edit.get("oldText"), edit.get("newText")) for edit in edits if isinstance(edit, Mapping)]
    return [(old, new) for old, new in pairs if isinstance(old, str) and isinstance(new, str)]


def _edited(text: str, changes: list[tuple[str, str]]) -> str:
    """The change to the file, in its place; what is not to be found there is shown by itself."""
    found = [text.find(old) for old, _ in changes]
    if any(at < 0 or not old for at, (old, _) in zip(found, changes, strict=True)):
        return "".join(unified(old.rstrip("\n") + "\n", new.rstrip("\n") + "\n", "file") for old, new in changes)
    after = text
    # From the end, so that the places of the others stay as they are.
    for at, (old, new) in sorted(zip(found, changes, strict=True), reverse=True):
        after = after[:at] + new + after[at + len(old) :]
    return unified(text, after, "file")


def _place(path: str, cwd: str) -> str:
    """The path, and where it leads when a link in it leads elsewhere."""
    full = os.path.normpath(os.path.join(os.path.realpath(cwd), os.path.expanduser(path)))
    real = os.path.realpath(full)
    return path if real == full else f"{path} -> {real}"


def _text_at(path: str, cwd: str) -> str:
    try:
        data = read_regular_file(os.path.join(cwd, os.path.expanduser(path)), MOST)
    except OSError:
        return ""
    return data.decode("utf-8", "replace")


def _diff(path: str, diff: str) -> Content:
    lines = [Content.styled(revealed(path).replace("\n", " "), "bold")]
    lines += [Content.styled(revealed(line), COLOURS.get(line[:1], "")) for line in body(diff)]
    if len(lines) == 1:
        lines.append(Content.styled("(nothing changes)", "$text-muted"))
    return Content("\n").join(lines)
