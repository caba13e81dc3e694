"""What crosses to a hook's process and back: its files, and functions that stand for its own."""

import base64
import os
from typing import Any

from marvin_agent.hooks.hosts.standins import Function
from marvin_agent.hooks.sources import Source


def files_of(source: Source) -> dict[str, str] | None:
    """The bytes that will run, for every start: those that were judged, or the file as it is now."""
    files = source.files
    if files is None:
        if source.directory is not None or source.inside[1]:
            return None
        data = source.read(source.path)
        files = {os.path.realpath(source.path): data} if data is not None else {}
    base = os.path.realpath(source.directory or source.path)
    return {
        path: base64.b64encode(data).decode()
        for path, data in files.items()
        if path == base or path.startswith(base + os.sep)
    }


def callables(value: Any) -> Any:
    """What `register_*` takes, with functions in place of what stands for them."""
    if isinstance(value, Function):
        return value.as_function()
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        return {**value, "function": value["function"]["tool"].as_tool(value["function"])}
    if isinstance(value, dict):
        return {key: item.as_function() if isinstance(item, Function) else item for key, item in value.items()}
    return value


def name_of(arguments: list[Any], keywords: dict[str, Any]) -> str:
    """The name under which `register_*` was called."""
    first = arguments[0] if arguments else keywords.get("name", "")
    if isinstance(first, dict):
        function = first.get("function")
        return str(first.get("name") or getattr(function, "__name__", ""))
    return str(first)
