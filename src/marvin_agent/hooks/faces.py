"""The two faces of one implementation: awaited in an async handler, blocking in a plain one."""

import asyncio
import functools
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


class Answer(Generic[T]):
    """What an awaited call gives back: it must be awaited. Testing it for truth raises, so that
    `if not ctx.ui.confirm(...)` never passes by mistake."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], name: str) -> None:
        self.coroutine = coroutine
        self._name = name

    def __await__(self) -> Generator[Any, Any, T]:
        return self.coroutine.__await__()

    def __bool__(self) -> bool:
        self.coroutine.close()
        raise TypeError(f"{self._name}(...) was not awaited: write `await {self._name}(...)`")


def awaited(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Answer[T]]:
    """Mark a method that an async handler awaits and a plain handler waits for."""

    @functools.wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> Answer[T]:
        return Answer(function(*arguments, **keywords), function.__qualname__.lower())

    return call


class Face:
    """Base of the objects that have a blocking face."""


class Blocking:
    """The blocking face of an object: what is awaited on the other side is waited for here."""

    def __init__(self, target: Face, loop: asyncio.AbstractEventLoop) -> None:
        object.__setattr__(self, "_target", target)
        object.__setattr__(self, "_loop", loop)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if isinstance(value, Face):
            return Blocking(value, self._loop)
        if not callable(value) or isinstance(value, type):
            return value

        def call(*arguments: Any, **keywords: Any) -> Any:
            answer = value(*arguments, **keywords)
            if isinstance(answer, Answer):
                return asyncio.run_coroutine_threadsafe(answer.coroutine, self._loop).result()
            return answer

        return call

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._target, name, value)

    def __repr__(self) -> str:
        return repr(self._target)
