"""What an event costs: with no handler, with handlers here and in a process of their own, and beside a bare hop.

python -m benchmarks.dispatch [--rounds N]
"""

import argparse
import asyncio
import math
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from marvin_agent.agent.engine import Engine
from marvin_agent.hooks import events as h
from marvin_agent.hooks.api import HookAPI
from marvin_agent.testing.engine import ScriptedEngine

ROUNDS = 200
SERIES = 30
Action = Callable[[], Awaitable[object]]
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


@asynccontextmanager
async def bare_hop() -> AsyncIterator[Action]:
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

    yield hop
    other.call_soon_threadsafe(other.stop)
    thread.join()


@asynccontextmanager
async def dispatched(directory: str, **options: Any) -> AsyncIterator[Action]:
    """An event of a tool call, as the engine fires it, with the hooks of the options."""
    async with ScriptedEngine(Path(directory), **options) as scripted:
        yield lambda: _fire(scripted.engine)


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


async def unheard(directory: str, rounds: int) -> float:
    """The event when nobody listens: the question, which comes before anything is built."""
    async with ScriptedEngine(Path(directory)) as scripted:
        heard = scripted.engine.points.heard
        began = time.perf_counter()
        for _ in range(rounds):
            heard(h.ToolExecuteBefore)
        return (time.perf_counter() - began) / rounds * 1e6


async def best_of(actions: Sequence[Action], rounds: int) -> list[float]:
    """Microseconds of each in its quickest series; the series take turns, so that each has its share of the noise."""
    best = [math.inf] * len(actions)
    for _ in range(SERIES):
        for number, action in enumerate(actions):
            began = time.perf_counter()
            for _ in range(rounds):
                await action()
            best[number] = min(best[number], (time.perf_counter() - began) / rounds * 1e6)
    return best


async def measure(rounds: int) -> None:
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        (alone := Path(directory) / "isolated.py").write_text(ISOLATED)
        nothing = await unheard(directory, rounds * 100)
        hop = await stack.enter_async_context(bare_hop())
        settings: list[dict[str, Any]] = [
            {},
            {"hooks": {"bench": listeners(1)}},
            {"hooks": {"bench": listeners(10)}},
            {"hooks": {"bench": listeners(1, plain=True)}},
            {"hook_files": [str(alone)]},
        ]
        events = [await stack.enter_async_context(dispatched(directory, **options)) for options in settings]
        bare, fired, one, ten, plain, process = await best_of([hop, *events], rounds)
    print(f"no handler, asked:          {nothing:8.2f} us (goal {UNHEARD_GOAL})")
    print(f"no handler, fired:          {fired:8.2f} us")
    print(f"a bare hop and back:        {bare:8.1f} us")
    for name, took in (
        ("one async handler (goal 1.5):", one),
        ("ten async handlers (goal 2):", ten),
        ("one plain handler:", plain),
        ("in a process of its own:", process),
    ):
        print(f"{name:<29}{took:7.1f} us, {took / bare:.2f} hops")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.dispatch", description="What an event costs.")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="events in a series")
    asyncio.run(measure(parser.parse_args(arguments).rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
