"""The two faces of one implementation: awaited in an async handler, blocking in a plain one."""

import asyncio
import concurrent.futures
import functools
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


class Answer(Generic[T]):
    """What an awaited call gives back: it must be awaited. Testing it for truth or comparing it raises, so that
    `if not ctx.ui.confirm(...)` and `if ctx.ui.select(...) == "No"` never pass by mistake."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], name: str) -> None:
        self.coroutine = coroutine
        self._name = name

    def __await__(self) -> Generator[Any, Any, T]:
        return self.coroutine.__await__()

    def __bool__(self) -> bool:
        raise self._not_awaited()

    def __eq__(self, other: object) -> bool:
        raise self._not_awaited()

    __hash__ = object.__hash__

    def _not_awaited(self) -> TypeError:
        self.coroutine.close()
        return TypeError(f"{self._name}(...) was not awaited: write `await {self._name}(...)`")


def awaited(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Answer[T]]:
    """Mark a method that an async handler awaits and a plain handler waits for."""

    @functools.wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> Answer[T]:
        return Answer(function(*arguments, **keywords), function.__qualname__.lower())

    return call


class Face:
    """Base of the objects that have a blocking face."""


class _Waits:
    """What the threads behind one blocking face wait for."""

    def __init__(self) -> None:
        self.futures: set[concurrent.futures.Future[Any]] = set()
        self.over = False


class Blocking:
    """The blocking face of an object: what is awaited on the other side is waited for here."""

    def __init__(self, target: Face, loop: asyncio.AbstractEventLoop, waits: _Waits | None = None) -> None:
        object.__setattr__(self, "_target", target)
        object.__setattr__(self, "_loop", loop)
        object.__setattr__(self, "_waits", waits or _Waits())

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if isinstance(value, Face):
            return Blocking(value, self._loop, self._waits)
        if not callable(value) or isinstance(value, type):
            return value

        def call(*arguments: Any, **keywords: Any) -> Any:
            answer = value(*arguments, **keywords)
            return _wait_for(answer, self._loop, self._waits) if isinstance(answer, Answer) else answer

        return call

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._target, name, value)

    def __repr__(self) -> str:
        return repr(self._target)


def _wait_for(answer: Answer[T], loop: asyncio.AbstractEventLoop, waits: _Waits) -> T:
    future = asyncio.run_coroutine_threadsafe(answer.coroutine, loop)
    waits.futures.add(future)
    try:
        if waits.over:
            future.cancel()
        return future.result()
    finally:
        waits.futures.discard(future)


def give_up(face: Blocking) -> None:
    """Nobody waits any more for the thread that has this face: what it waits for ends, now and later."""
    waits: _Waits = face._waits  # noqa: SLF001
    waits.over = True
    for future in tuple(waits.futures):
        future.cancel()
