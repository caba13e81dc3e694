"""The tool `write`: a whole file."""

import os

from marvin_agent.messages import clean
from marvin_agent.tools import diff, encoding
from marvin_agent.tools.files import resolve
from marvin_agent.tools.replace import replace_file, signature, writable_state
from marvin_agent.tools.schema import tool_from_function
from marvin_agent.tools.tool import Tool, ToolContext, ToolFailure, ToolResult, text_result

MAX_DIFFED = 1024 * 1024
"""Of a longer file, no diff is made."""


async def write(ctx: ToolContext, path: str, content: str) -> ToolResult:
    """Write a file, whole. It is created with its directories, or replaced.

    Args:
        path: The file, relative to the working directory or absolute.
        content: All that the file shall hold.
    """
    full = resolve(path, ctx.cwd)
    if path.endswith("/"):
        raise ToolFailure(f"{path} names a directory. Name the file in it; its directories are made with it.")
    refuse_if_changed(ctx, full, path)
    state = writable_state(full, path)
    old = _content(full) if state is not None and state.st_size <= MAX_DIFFED else None
    content = clean(content)
    data = content.encode()
    replace_file(full, data, path, None if state is None else signature(state))
    ctx.files.saw(full, data)
    details: dict[str, object] = {"path": path, "bytes": len(data), "created": state is None}
    if old is not None and len(data) <= MAX_DIFFED and not encoding.is_binary(old):
        before = encoding.decode_anyhow(old)
        details["diff"] = diff.unified(before, content, path)
        details["firstLine"] = diff.first_line(before, content)
    return text_result(f"{'Created' if state is None else 'Replaced'} {path}: {len(data)} bytes written.", **details)


def write_tool() -> Tool:
    return tool_from_function(write, path_of=lambda arguments: arguments.get("path"))


def refuse_if_changed(ctx: ToolContext, full: str, path: str) -> None:
    """Raises ToolFailure when the file is not as the model last saw it."""
    if not ctx.files.changed_since_seen(full):
        return
    if os.path.exists(full):
        raise ToolFailure(
            f"{path} was changed since you last saw it, by a command or by somebody else. Nothing was written; "
            "read it again first.",
            path=path,
        )
    # Now the model knows, and may create it anew.
    ctx.files.saw(full)
    raise ToolFailure(
        f"{path} was removed since you last saw it. Nothing was written; call write again to create it anew.",
        path=path,
    )


def _content(full: str) -> bytes | None:
    try:
        with open(full, "rb") as file:
            return file.read()
    except OSError:
        return None  # it may be written and not read
