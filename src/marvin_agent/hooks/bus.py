"""`marvin.events`: a bus between hooks."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from marvin_agent.errors import HookError
from marvin_agent.hooks.loop import HookLoop, owner
from marvin_agent.hooks.registry import Hook


class Listener(NamedTuple):
    handler: Callable[[Any], Any]
    hook: Hook | None


class Bus:
    """`marvin.events`: a channel between hooks. Handlers run on the hook loop, in order of their registration."""

    def __init__(self, loop: HookLoop) -> None:
        self._loop = loop
        self._listeners: dict[str, list[Listener]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def on(self, channel: str, handler: Callable[[Any], Any], *, hook: Hook | None = None) -> Callable[[], None]:
        """Listen to a channel; gives back the function to stop listening."""
        if not callable(handler):
            raise HookError(f"a listener on the bus is a function of (data), not {handler!r}")
        listeners, listener = self._listeners.setdefault(channel, []), Listener(handler, hook or owner.get())
        listeners.append(listener)
        return lambda: listeners.remove(listener) if listener in listeners else None

    def forget(self, hook: Hook) -> None:
        """Take the listeners of a hook away: it is unloaded."""
        for listeners in self._listeners.values():
            listeners[:] = [listener for listener in listeners if listener.hook is not hook]

    def emit(self, channel: str, data: Any = None) -> None:
        """Send data to those who listen to a channel."""
        for listener in tuple(self._listeners.get(channel, ())):
            self._loop.post(self._deliver, listener, data)

    def _deliver(self, listener: Listener, data: Any) -> None:
        # In the name of who listens, not of who emits.
        token = owner.set(listener.hook)
        try:
            answer = listener.handler(data)
            if inspect.iscoroutine(answer):
                self._tasks.add(task := self._loop.loop.create_task(answer))
                task.add_done_callback(self._tasks.discard)
        except BaseException as error:
            self._loop.complain(error, listener.hook)
        finally:
            owner.reset(token)
