"""What hooks ask the engine to do: on the engine's loop, beside a run or at its end, failures told to the user."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from marvin_agent.agent import events as out
from marvin_agent.agent.outlet import Outlet
from marvin_agent.errors import InternalError, MarvinError

Change = Callable[[str, str, dict[str, Any]], Coroutine[Any, Any, object]]


class Errands:
    """Keeps what is under way, so that nothing is lost half done."""

    def __init__(self, outlet: Outlet, change: Change) -> None:
        self._outlet = outlet
        self._change = change
        self._tasks: set[asyncio.Task[None]] = set()
        self._scheduled: list[tuple[str, str, dict[str, Any]]] = []

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function; what goes wrong is told."""
        try:
            function(*arguments)
        except MarvinError as error:
            self._tell(error)
        except Exception as error:
            self._tell(InternalError(error))

    def begin(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine beside everything else."""
        task = asyncio.ensure_future(self._guarded(coroutine))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def schedule(self, action: str, hook: str, arguments: dict[str, Any]) -> None:
        """Change the session at the end of the run; the same wish twice is one."""
        if (wish := (action, hook, arguments)) not in self._scheduled:
            self._scheduled.append(wish)

    async def do_scheduled(self) -> None:
        while self._scheduled:
            await self._guarded(self._change(*self._scheduled.pop(0)))

    async def finish(self) -> None:
        """Wait for what was begun."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _guarded(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        try:
            await coroutine
        except MarvinError as error:
            self._tell(error)
        except Exception as error:
            # The work of the engine goes on behind this.
            self._tell(InternalError(error))

    def _tell(self, error: MarvinError) -> None:
        self._outlet.emit(out.Notice(level="error", text=error.show()))
