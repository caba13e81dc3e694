"""The tool `find`: files and directories by name."""

from typing import Annotated

from msgspec import Meta

from marvin_agent.messages import clean
from marvin_agent.tools.glob import matcher
from marvin_agent.tools.ripgrep import Place, on_a_line, place, ripgrep, too_long
from marvin_agent.tools.schema import tool_from_function
from marvin_agent.tools.tool import Tool, ToolContext, ToolFailure, ToolResult, text_result
from marvin_agent.tools.truncate import MAX_BYTES, head

DEFAULT_LIMIT = 1000


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

    ended = await ripgrep(["--files", "--null", "--no-messages", "."], where.directory, b"\0", take)
    if ended.timed_out:
        raise ToolFailure(too_long(path))
    if ended.code > 1 and ended.errors:
        raise ToolFailure(f"The search failed: {ended.errors}")
    return sorted(found)
