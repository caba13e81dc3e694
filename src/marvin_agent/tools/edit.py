"""The tool `edit`: exact replacements in a file, all or none."""

import os
from itertools import pairwise
from typing import Any, TypedDict

from marvin_agent.messages import clean
from marvin_agent.tools import diff, encoding
from marvin_agent.tools.files import regular_file, resolve
from marvin_agent.tools.nearmatch import describe_nearest
from marvin_agent.tools.replace import replace_file, signature
from marvin_agent.tools.schema import tool_from_function
from marvin_agent.tools.storedtext import Replaced, StoredText
from marvin_agent.tools.tool import Tool, ToolContext, ToolFailure, ToolResult, text_result
from marvin_agent.tools.truncate import human_size
from marvin_agent.tools.write import refuse_if_changed

MAX_FILE = 64 * 1024 * 1024


class Replacement(TypedDict):
    oldText: str
    newText: str


async def edit(
    ctx: ToolContext,
    path: str,
    old_text: str | None = None,
    new_text: str | None = None,
    edits: list[Replacement] | None = None,
) -> ToolResult:
    """Replace text in a file. oldText must be exactly as in the file, white space included, and be there once only.

    Give oldText and newText, or several replacements in edits: each oldText is looked for in the file as it is now,
    they must not overlap, and either all are made or none. Reading the file first is not required.

    Args:
        path: The file, relative to the working directory or absolute.
        old_text: The text to replace.
        new_text: What takes its place; empty to delete it.
        edits: Several replacements, instead of oldText and newText.
    """
    full = resolve(path, ctx.cwd)
    state = regular_file(full, path)
    refuse_if_changed(ctx, full, path)
    stored = _load(full, path, state)
    wanted = edits if edits is not None else [Replacement(oldText=old_text or "", newText=new_text or "")]
    spans = [_find(stored.text, one, _label(index, wanted), path) for index, one in enumerate(wanted)]
    _refuse_overlap(spans, path)
    changed = stored.replace(spans)
    data = stored.encoding.encode(changed)
    replace_file(full, data, path, signature(state))
    ctx.files.saw(full, data)
    after = changed.replace("\r\n", "\n")
    return text_result(
        f"Edited {path}: {len(spans)} replacement{'' if len(spans) == 1 else 's'}.",
        path=path,
        diff=diff.unified(stored.text, after, path),
        firstLine=diff.first_line(stored.text, after),
    )


def edit_tool() -> Tool:
    return tool_from_function(edit, path_of=lambda arguments: arguments.get("path"), also_check=_check)


def _check(arguments: dict[str, Any]) -> list[str]:
    edits = arguments.get("edits")
    single = [name for name in ("oldText", "newText") if name in arguments]
    if edits is None:
        return [f"{name}: is required, unless you give edits" for name in ("oldText", "newText") if name not in single]
    if any(arguments[name] for name in single):
        return ["give either oldText and newText, or edits, not both"]
    return [] if edits else ["edits: is empty"]


def _load(full: str, path: str, state: os.stat_result) -> StoredText:
    if state.st_size > MAX_FILE:
        raise ToolFailure(f"{path} is too long to edit ({human_size(state.st_size)}). Use bash, for example sed.")
    try:
        with open(full, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ToolFailure(f"Cannot read {path}: {error.strerror}.") from error
    if encoding.is_binary(data):
        raise ToolFailure(f"{path} is a binary file, which cannot be edited as text.")
    return StoredText(*encoding.decode(data))


def _label(index: int, wanted: list[Replacement]) -> str:
    return "oldText" if len(wanted) == 1 else f"edits[{index}].oldText"


def _find(text: str, one: Replacement, label: str, path: str) -> Replaced:
    old, new = clean(one["oldText"]).replace("\r\n", "\n"), clean(one["newText"]).replace("\r\n", "\n")
    if not old:
        raise ToolFailure(f"{label} is empty. Nothing was changed. To create or replace a file, use write.", path=path)
    if old == new:
        raise ToolFailure(f"{label} and its newText are the same. Nothing was changed.", path=path)
    places = occurrences(text, old)
    match places:
        case [start]:
            return Replaced(start, start + len(old), new)
        case []:
            found = describe_nearest(text, old)
            raise ToolFailure(f"{label} was not found in {path}. Nothing was changed.\n{found}", path=path)
        case _:
            lines = [text.count("\n", 0, start) + 1 for start in places[:10]]
            shown = ", ".join(map(str, lines)) + (", ..." if len(places) > len(lines) else "")
            raise ToolFailure(
                f"{label} is in {path} {len(places)} times (at lines {shown}). Nothing was changed. "
                "Take in more of the lines around the one you mean.",
                path=path,
                matches=len(places),
            )


def occurrences(text: str, old: str) -> list[int]:
    """Where a text occurs, overlapping places too."""
    places = []
    start = text.find(old)
    while start >= 0:
        places.append(start)
        start = text.find(old, start + 1)
    return places


def _refuse_overlap(spans: list[Replaced], path: str) -> None:
    numbered = sorted((span.start, span.end, index) for index, span in enumerate(spans))
    for (_, end, one), (start, _, other) in pairwise(numbered):
        if start < end:
            raise ToolFailure(
                f"edits[{one}] and edits[{other}] overlap in {path}. Nothing was changed. Make one edit of the two.",
                path=path,
            )
