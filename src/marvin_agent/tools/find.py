"""The tool `find`: files and directories by name."""

import asyncio
import os
from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from marvin_agent.messages import clean
from marvin_agent.tools.glob import matcher
from marvin_agent.tools.ripgrep import Place, on_a_line, place, ripgrep, too_long
from marvin_agent.tools.schema import tool_from_function
from marvin_agent.tools.tool import Tool, ToolContext, ToolFailure, ToolResult, text_result
from marvin_agent.tools.truncate import MAX_BYTES, head

DEFAULT_LIMIT = 1000
BATCH = 1000
"""Names that are given to one ripgrep: a command line has an end."""


async def find(
    ctx: ToolContext, pattern: str, path: str = ".", limit: Annotated[int, Meta(ge=1)] = DEFAULT_LIMIT
) -> ToolResult:
    """Find files and directories by a glob pattern. What .gitignore names is left out, hidden files are not.

    Args:
        pattern: Such as *.py, test_*.{js,ts} (in any directory), or src/**/*.py (from the searched directory).
        path: The directory to search, the working directory if left out.
        limit: How many results at most.
    """
    where = place(path, ctx.cwd)
    if where.file is not None:
        raise ToolFailure(f"{path} is a file. Give the directory to search.")
    found = await matching_paths(where, path, pattern, directories=True)
    if not found:
        anywhere = "" if "/" not in pattern or pattern.startswith("**/") else f" For any directory, use **/{pattern}."
        return text_result(f"Nothing matches {pattern}.{anywhere}", path=path, matches=0)
    text = clean("".join(f"{where.prefix}{on_a_line(name)}\n" for name in found[:limit]))
    cut = head(text, limit, MAX_BYTES)
    notice = ""
    if cut.last < len(found):
        notice = f"\n[The first {cut.last} of {len(found)} results. Use a narrower pattern or a higher limit.]"
    return text_result(cut.text + notice, path=path, matches=len(found))


def find_tool() -> Tool:
    return tool_from_function(find, acts=False)


async def matching_paths(where: Place, path: str, pattern: str, *, directories: bool) -> list[str]:
    """The paths below a place that fit a pattern and are not ignored, sorted; directories end with a slash."""
    fits = matcher(pattern)
    found: set[str] = set()
    known: set[str] = set()

    def take(name: str) -> bool:
        name = name.removeprefix("./")
        if fits(name):
            found.add(name)
        parent = name.rpartition("/")[0] if directories else ""
        while parent and parent not in known:
            known.add(parent)
            if fits(f"{parent}/"):
                found.add(f"{parent}/")
            parent = parent.rpartition("/")[0]
        return False

    await _list(["."], where, path, take)
    if directories:
        await _links(sorted({"", *known}), where, path, found, fits)
    return sorted(found)


async def _links(directories: list[str], where: Place, path: str, found: set[str], fits: Callable[[str], bool]) -> None:
    """Add the links to files that fit: ripgrep lists them only when it follows all links, those to directories too."""

    def with_links() -> list[str]:
        return [f"./{name}" for name in directories if _has_link(os.path.join(where.directory, name), name, fits)]

    def take(name: str) -> bool:
        name = os.path.normpath(name)
        if fits(name):
            found.add(name)
        return False

    having = await asyncio.to_thread(with_links)
    for at in range(0, len(having), BATCH):
        # Once more, to know which of them are ignored; not deeper, where a link may lead anywhere.
        await _list(["--follow", "--max-depth=1", "--", *having[at : at + BATCH]], where, path, take)


def _has_link(directory: str, name: str, fits: Callable[[str], bool]) -> bool:
    try:
        with os.scandir(directory) as entries:
            return any(
                entry.is_symlink() and fits(os.path.join(name, entry.name)) and entry.is_file() for entry in entries
            )
    except OSError:
        return False


async def _list(arguments: list[str], where: Place, path: str, take: Callable[[str], bool]) -> None:
    ended = await ripgrep(["--files", "--null", "--no-messages", *arguments], where.directory, b"\0", take)
    if ended.timed_out:
        raise ToolFailure(too_long(path))
    if ended.code > 1 and ended.errors:
        raise ToolFailure(f"The search failed: {ended.errors}")
