"""What an event costs: with no handler, with handlers here and in a process of their own, and beside a bare hop.

python -m benchmarks.dispatch [--rounds N]
"""

import argparse
import asyncio
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from marvin_agent.agent.engine import Engine
from marvin_agent.hooks import events as h
from marvin_agent.hooks.api import HookAPI
from marvin_agent.testing.engine import ScriptedEngine

ROUNDS = 2_000
SERIES = 5
UNHEARD_GOAL = 0.2
"""Microseconds of an event that nobody listens to."""


def listeners(count: int, *, plain: bool = False) -> Callable[[HookAPI], None]:
    """The setup of a hook with so many handlers of tool calls."""

    def setup(marvin: HookAPI) -> None:
        for _ in range(count):
            marvin.on("tool.execute.before", _plain() if plain else _waiting())

    return setup


def _waiting() -> Callable[[Any, Any], Awaitable[None]]:
    async def handler(event: Any, ctx: Any) -> None:
        return None

    return handler


def _plain() -> Callable[[Any, Any], None]:
    def handler(event: Any, ctx: Any) -> None:
        return None

    return handler


async def microseconds(action: Callable[[], Awaitable[object]], rounds: int) -> float:
    """The median of some series: what one call takes."""
    series = []
    for _ in range(SERIES):
        began = time.perf_counter()
        for _ in range(rounds):
            await action()
        series.append((time.perf_counter() - began) / rounds * 1e6)
    return median(series)


async def bare_hop(rounds: int) -> float:
    """A call on another thread's loop and its answer, with nothing around it."""
    other = asyncio.new_event_loop()
    thread = threading.Thread(target=other.run_forever, daemon=True)
    thread.start()
    here = asyncio.get_running_loop()

    async def nothing() -> None: ...

    async def hop() -> None:
        answer = here.create_future()

        def start() -> None:
            task = other.create_task(nothing())
            task.add_done_callback(lambda _: here.call_soon_threadsafe(answer.set_result, None))

        other.call_soon_threadsafe(start)
        await answer

    took = await microseconds(hop, rounds)
    other.call_soon_threadsafe(other.stop)
    thread.join()
    return took


async def dispatched(setup: Callable[[HookAPI], None], directory: str, rounds: int) -> float:
    """An event of a tool call, as the engine fires it."""
    async with ScriptedEngine(Path(directory), hooks={"bench": setup}) as scripted:
        return await microseconds(lambda: _fire(scripted.engine), rounds)


def _fire(engine: Engine) -> Awaitable[object]:
    return engine.points.fire(h.ToolExecuteBefore, tool_name="bash", tool_call_id="call_1", input={"command": "true"})


ISOLATED = """
# /// script
# [tool.marvin]
# isolate = true
# ///
def setup(marvin):
    @marvin.on("tool.execute.before")
    async def handler(event, ctx):
        return None
"""


async def in_a_process(directory: str, rounds: int) -> float:
    """The same event for a handler in a process of its own."""
    path = Path(directory) / "isolated.py"
    path.write_text(ISOLATED)
    async with ScriptedEngine(Path(directory), hook_files=[str(path)]) as scripted:
        return await microseconds(lambda: _fire(scripted.engine), rounds)


async def unheard(directory: str, rounds: int) -> float:
    """The event when nobody listens: the question, which comes before anything is built."""
    async with ScriptedEngine(Path(directory)) as scripted:
        heard = scripted.engine.points.heard
        began = time.perf_counter()
        for _ in range(rounds):
            heard(h.ToolExecuteBefore)
        return (time.perf_counter() - began) / rounds * 1e6


async def measure(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        nothing = await unheard(directory, rounds * 50)
        fired = await dispatched(listeners(0), directory, rounds * 10)
        hop = await bare_hop(rounds)
        print(f"no handler, asked:          {nothing:8.2f} us (goal {UNHEARD_GOAL})")
        print(f"no handler, fired:          {fired:8.2f} us")
        print(f"a bare hop and back:        {hop:8.1f} us")
        for name, count, plain, goal in (
            ("one async handler", 1, False, " (goal 1.5)"),
            ("ten async handlers", 10, False, " (goal 2)"),
            ("one plain handler", 1, True, ""),
        ):
            took = await dispatched(listeners(count, plain=plain), directory, rounds)
            print(f"{name + ':':<27} {took:8.1f} us, {took / hop:.2f} hops{goal}")
        took = await in_a_process(directory, max(1, rounds // 4))
        print(f"in a process of its own:    {took:8.1f} us, {took / hop:.2f} hops")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.dispatch", description="What an event costs.")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="events in a series")
    asyncio.run(measure(parser.parse_args(arguments).rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
