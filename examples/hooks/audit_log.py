"""Audit log: a JSON line for every tool call with its arguments, status and time: refused and failed calls too.

Settings: `path`, the file (`audit.jsonl` in marvin's directory); `strict`: true withholds the result of a call that
could not be logged.
"""

import asyncio
import json
import os
import time
from typing import Any

from marvin_agent.hooks import Context, HookAPI, ToolExecuteAfter


def append(path: str, line: dict[str, Any]) -> None:
    """Add a line; one write, so that several agents can share the file."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, (json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
    finally:
        os.close(descriptor)


def setup(marvin: HookAPI) -> None:
    """Listen behind every tool."""
    strict = marvin.settings.get("strict")

    @marvin.on("tool.execute.after", on_error="closed" if strict else None, priority=-500)
    async def log(event: ToolExecuteAfter, ctx: Context) -> None:
        path = os.path.expanduser(marvin.settings.get("path") or os.path.join(ctx.config_dir, "audit.jsonl"))
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "session": event.session_id,
            "origin": event.origin,
            "cwd": ctx.cwd,
            "tool": event.tool_name,
            "input": event.input,
            "status": event.status,
            "ms": event.duration_ms,
        }
        await asyncio.to_thread(append, path, line)
