"""Loads one hook by itself and prints, as JSON, what it registered and every problem. Run as a process of its own."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from marvin_agent.hooks.registry import Handler
from marvin_agent.testing.engine import ScriptedEngine
from marvin_agent.testing.person import Person


async def examine(path: str) -> dict[str, Any]:
    """Load the hook in an engine without a model and tell what came of it."""
    with tempfile.TemporaryDirectory() as directory:
        scripted = ScriptedEngine(Path(directory), hook_files=[path], interface=Person(), hook_timeout=10.0)
        async with scripted:
            hooks = scripted.engine.hooks
            loaded = [hook for hook in hooks.registry.hooks if hook.path == path]
            handlers = [handler for hook in loaded for handler in hook.handlers]
            tools = scripted.engine.setup.tools
            return {
                "handlers": [_handler(handler) for handler in handlers],
                "tools": [tool.name for tool in tools if (tools.owner(tool.name) or "").startswith("flag:")],
                "commands": sorted(scripted.engine.side.commands),
                "problems": [
                    {"place": problem.place, "error": problem.error, "traceback": problem.traceback}
                    for problem in hooks.problems
                ],
            }


def _handler(handler: Handler) -> dict[str, Any]:
    return {
        "event": handler.spec.name,
        "place": handler.place,
        "name": handler.name,
        "priority": handler.priority,
        "final": handler.final,
        "closed": handler.closed,
        "tools": handler.tools,
    }


def main() -> int:
    # What the hook prints must not get into the answer.
    answer, sys.stdout = sys.stdout, sys.stderr
    found = asyncio.run(examine(sys.argv[1]))
    answer.write(json.dumps(found) + "\n")
    answer.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
