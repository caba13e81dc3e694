"""Loads one hook by itself and prints, as JSON, what it registered and every problem. Run as a process of its own.

Nothing is sent to the hook: only its module and its `setup` run. A hook that does not load is loaded once more, and
then a mistake in `marvin.on` and its like is noted with its line, and `setup` goes on to the next.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from marvin_agent.agent import events as out
from marvin_agent.errors import MarvinError
from marvin_agent.hooks.api import HookAPI
from marvin_agent.hooks.bus import Bus
from marvin_agent.hooks.engine import Engine
from marvin_agent.hooks.load import describe_load
from marvin_agent.hooks.loop import HookLoop
from marvin_agent.hooks.registry import Handler, Hook, Registry
from marvin_agent.testing.engine import ScriptedEngine
from marvin_agent.testing.person import Person

SETUP_TIMEOUT = 10.0
Problem = dict[str, Any]


def noting(problems: list[Problem]) -> type[HookAPI]:
    """`marvin` for a check: what cannot be registered becomes a problem with its line."""

    class Noting(HookAPI):
        def __init__(self, hook: Hook, registry: Registry, engine: Engine, loop: HookLoop, bus: Bus) -> None:
            def note(error: MarvinError) -> None:
                problems.append({"event": "setup", "place": _line_of(hook.path), "error": describe_load(error)})

            listening: Any = _Forgiving(registry, "subscribe", note)
            super().__init__(hook, listening, _Forgiving(engine, "register_", note), loop, bus)

    return Noting


class _Forgiving:
    """Another object, but that some of its methods hand their errors over and go on."""

    def __init__(self, behind: Any, methods: str, note: Callable[[MarvinError], None]) -> None:
        self._behind = behind
        self._methods = methods
        self._note = note

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._behind, name)
        if not name.startswith(self._methods):
            return found

        def forgiving(*arguments: Any, **options: Any) -> Any:
            try:
                return found(*arguments, **options)
            except MarvinError as error:
                self._note(error)
                return lambda: None

        return forgiving


def _line_of(path: str) -> str:
    """The line of a hook's files that is being run, as `file.py:12`."""
    base = os.path.dirname(path)
    package = os.path.basename(path) == "__init__.py"
    for frame in reversed(traceback.extract_stack()):
        if frame.filename == path or (package and frame.filename.startswith(base + os.sep)):
            return f"{os.path.relpath(frame.filename, base)}:{frame.lineno}"
    return ""


async def examine(path: str, cache_dir: str) -> dict[str, Any]:
    """Tell what came of loading the hook."""
    found = await _load(path, cache_dir)
    if any(problem["event"] == "setup" and not problem["late"] for problem in found["problems"]):
        noted: list[Problem] = []
        again = await _load(path, cache_dir, noting(noted))
        found["problems"] = [*noted, *again["problems"]] or found["problems"]
    return found


async def _load(path: str, cache_dir: str, api: type[HookAPI] = HookAPI) -> dict[str, Any]:
    """Load the hook in an engine that never starts."""
    with tempfile.TemporaryDirectory() as directory:
        scripted = ScriptedEngine(
            Path(directory), interface=Person(), hook_timeout=SETUP_TIMEOUT, cache_dir=cache_dir or None
        )
        hooks = scripted.make().hooks
        hooks.api = api
        began = time.monotonic()
        await hooks.load_files([path], "flag")
        late = time.monotonic() - began >= SETUP_TIMEOUT
        await hooks.loop.call(_nothing)  # tasks that `setup` began have begun
        await asyncio.sleep(0)
        loaded = [hook for hook in hooks.registry.hooks if hook.path == path]
        tools = scripted.engine.setup.tools
        found = {
            "handlers": [_handler(handler) for hook in loaded for handler in hook.handlers],
            "tools": [tool.name for tool in tools if (tools.owner(tool.name) or "").startswith("flag:")],
            "commands": sorted(scripted.engine.side.commands),
            "problems": [
                {"event": failed.event, "place": failed.place, "error": failed.error, "late": late}
                for failed in scripted.of(out.HookFailed)
            ],
        }
        hooks.close()
        return found


async def _nothing() -> None:
    pass


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


def main(path: str, cache_dir: str = "") -> None:
    """Print the answer and leave, whatever the hook has left running."""
    # What the hook prints, and what it starts, must not get into the answer.
    answer = os.dup(1)
    os.dup2(2, 1)
    found = asyncio.run(examine(path, cache_dir))
    with os.fdopen(answer, "w", encoding="utf-8") as file:
        file.write(json.dumps(found) + "\n")
    sys.stderr.flush()
    # A thread that hangs in `setup` would keep the process.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
