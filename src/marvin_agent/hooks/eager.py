"""A task whose first step runs at once: a handler that waits for nothing is done without a round of the event loop.

Each round costs more than such a handler does, and ten handlers in a row had thirty of them. Python 3.12 has tasks that
start so; this is for all versions, with what asyncio documents for tasks of other makes.
"""

import asyncio
import contextvars
from collections.abc import Coroutine
from types import CodeType, FrameType
from typing import Any, TypeVar

T = TypeVar("T")
_NOTHING = object()


class Begun(Coroutine[Any, Any, T]):
    """A coroutine that has taken its first step outside of the task that runs the rest of it."""

    __slots__ = ("_coroutine", "_error", "_step", "_value", "over")

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._step: Any = _NOTHING
        self._value: Any = None
        self._error: BaseException | None = None
        self.over = False
        """True when the first step was the last; then `result` has what came of it, and the task has nothing to do."""

    def begin(self, context: contextvars.Context) -> None:
        """Take the first step."""
        try:
            self._step = context.run(self._coroutine.send, None)
        except StopIteration as stop:
            self._value, self.over = stop.value, True
        except BaseException as error:
            self._error, self.over = error, True

    def result(self) -> T:
        """What it returned or raised in its first step."""
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def send(self, value: Any) -> Any:
        if self.over:
            raise StopIteration(self._value)
        if self._step is not _NOTHING:
            # What the first step waits for, handed to the task as if it had just been reached.
            value, self._step = self._step, _NOTHING
            return value
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        if self.over:
            raise StopIteration(self._value)
        self._step = _NOTHING
        return self._coroutine.throw(*error)

    def close(self) -> None:
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
        return repr(self._coroutine)


def begin_task(
    coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop
) -> "tuple[Begun[T], asyncio.Task[T], contextvars.Context]":
    """A task for a coroutine, not yet begun: `take_first_step` does that."""
    begun, context = Begun(coroutine), contextvars.copy_context()
    return begun, loop.create_task(begun, context=context), context


def take_first_step(
    begun: Begun[T], task: "asyncio.Task[T]", context: contextvars.Context, loop: asyncio.AbstractEventLoop
) -> None:
    """Run it to where it has to wait, or to its end. Timeouts and locks that it enters belong to its own task."""
    current = asyncio.current_task(loop)
    assert current
    asyncio._leave_task(loop, current)  # noqa: SLF001
    asyncio._enter_task(loop, task)  # noqa: SLF001
    try:
        begun.begin(context)
    finally:
        asyncio._leave_task(loop, task)  # noqa: SLF001
        asyncio._enter_task(loop, current)  # noqa: SLF001
