"""Tasks whose first step runs at once: a handler that waits for nothing is done without a round of the event loop.

Each round costs more than such a handler does, and ten handlers in a row had thirty of them. Python 3.12 has tasks that
start so; this is for all versions, with what asyncio documents for tasks of other makes. A task costs more than such a
handler too, so one that was not needed is kept for the next.
"""

import asyncio
import contextvars
import sys
import weakref
from collections.abc import Coroutine
from types import CodeType, FrameType
from typing import Any, Final

_NOTHING = object()
WAITS: Final = object()
"""What a first step gives that was not the last one."""


class _Steps(Coroutine[Any, Any, Any]):
    """What a seat's task runs: nothing, until the rest of a coroutine is given to it."""

    __slots__ = ("_context", "_coroutine", "_loop", "_parked", "_step")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parked: asyncio.Future[None] | None = None
        self._coroutine: Coroutine[Any, Any, Any] | None = None
        self._context: contextvars.Context | None = None
        self._step: Any = _NOTHING

    def show(self, coroutine: Coroutine[Any, Any, Any] | None) -> None:
        """The coroutine that takes its first step, for whoever looks at the task meanwhile."""
        self._coroutine = coroutine

    def go_on(self, context: contextvars.Context, step: Any) -> None:
        """Run the rest; `step` is what the first step waits for."""
        self._context, self._step = context, step
        if self._parked and not self._parked.done():
            self._parked.set_result(None)

    def send(self, value: Any) -> Any:
        if self._step is not _NOTHING:
            # Handed to the task as if it had just been reached.
            value, self._step = self._step, _NOTHING
            return value
        if self._context is None or self._coroutine is None:
            self._parked = self._loop.create_future()
            return next(iter(self._parked))
        return self._context.run(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        if self._context is None or self._coroutine is None:
            raise error[0]
        self._step = _NOTHING
        return self._context.run(self._coroutine.throw, *error)

    def close(self) -> None:
        if self._coroutine:
            self._coroutine.close()

    def __await__(self) -> Any:
        raise TypeError("it belongs to a task")

    # What tools that look at a task's stack ask a coroutine.

    @property
    def cr_frame(self) -> FrameType | None:
        return getattr(self._coroutine, "cr_frame", None)

    @property
    def cr_await(self) -> Any:
        return getattr(self._coroutine, "cr_await", None)

    @property
    def cr_code(self) -> CodeType | None:
        return getattr(self._coroutine, "cr_code", None)

    @property
    def cr_running(self) -> bool:
        return bool(getattr(self._coroutine, "cr_running", False))

    def __repr__(self) -> str:
        return repr(self._coroutine) if self._coroutine else "<nothing yet>"


class Seat:
    """A task for one coroutine: the first step is taken at once, and the task runs the rest, if there is any."""

    __slots__ = ("_held", "_loop", "_needed", "_steps", "task")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._steps = _Steps(loop)
        self.task: asyncio.Task[Any] = loop.create_task(self._steps)
        self._held = self._holders()
        self._needed = False

    def _holders(self) -> int:
        return sys.getrefcount(self.task) + weakref.getweakrefcount(self.task)

    def is_free(self) -> bool:
        """Whether the next coroutine may have it: it was not needed so far, and nobody has got hold of its task, to
        cancel it later or to keep something by it."""
        return self._holders() == self._held and not (self._needed or self.task.cancelling() or self.task.done())

    def begin(self, coroutine: Coroutine[Any, Any, Any], context: contextvars.Context) -> Any:
        """Run it to its end, or to where it has to wait: then this gives WAITS, and the task runs the rest.

        Timeouts and locks that it enters belong to the task.
        """
        loop, task, steps = self._loop, self.task, self._steps
        self._needed = True
        current = asyncio.current_task(loop)
        if current:
            asyncio._leave_task(loop, current)  # noqa: SLF001
        asyncio._enter_task(loop, task)  # noqa: SLF001
        steps.show(coroutine)
        try:
            step = context.run(coroutine.send, None)
        except BaseException as end:
            steps.show(None)
            self._needed = False
            if isinstance(end, StopIteration):
                return end.value
            raise
        finally:
            asyncio._leave_task(loop, task)  # noqa: SLF001
            if current:
                asyncio._enter_task(loop, current)  # noqa: SLF001
        steps.go_on(context, step)
        return WAITS
