"""The tool `ls`: what is in a directory."""

import os
from typing import Annotated

from msgspec import Meta

from marvin_agent.messages import clean
from marvin_agent.tools.files import resolve
from marvin_agent.tools.schema import tool_from_function
from marvin_agent.tools.tool import Tool, ToolContext, ToolFailure, ToolResult, text_result
from marvin_agent.tools.truncate import MAX_BYTES, head

DEFAULT_LIMIT = 500


async def ls(ctx: ToolContext, path: str = ".", limit: Annotated[int, Meta(ge=1)] = DEFAULT_LIMIT) -> ToolResult:
    """List a directory, hidden entries too. Directories end with a slash, links show where they lead.

    Args:
        path: The directory, relative to the working directory or absolute.
        limit: How many entries at most.
    """
    full = resolve(path, ctx.cwd)
    try:
        with os.scandir(full) as entries:
            names = sorted((_shown(entry) for entry in entries), key=lambda name: (name.casefold(), name))
    except FileNotFoundError:
        raise ToolFailure(f"{path} does not exist.") from None
    except NotADirectoryError:
        raise ToolFailure(f"{path} is a file, not a directory. Use read to see it.") from None
    except OSError as error:
        raise ToolFailure(f"Cannot list {path}: {error.strerror}.") from error
    if not names:
        return text_result("(empty directory)", path=path, entries=0)
    cut = head(clean("".join(f"{name}\n" for name in names[:limit])), limit, MAX_BYTES)
    notice = ""
    if cut.last < len(names):
        notice = f"\n[The first {cut.last} of {len(names)} entries. Use find with a pattern, or a higher limit.]"
    return text_result(cut.text + notice, path=path, entries=len(names))


def ls_tool() -> Tool:
    return tool_from_function(ls, acts=False)


def _shown(entry: "os.DirEntry[str]") -> str:
    # A name may hold a newline, and an entry is a line.
    name = entry.name.replace("\n", "\\n")
    if entry.is_symlink():
        try:
            return f"{name} -> {os.readlink(entry.path)}"
        except OSError:
            return name
    return f"{name}/" if entry.is_dir() else name
