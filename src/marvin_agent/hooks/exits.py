"""Exits that hooks raise: they end what raised them and nothing else. Standard library alone."""

from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Exited(Exception):
    """A hook tried to end the program. An exit must not leave its task: asyncio would carry it out of the loop."""

    def __init__(self, leave: BaseException) -> None:
        kind, text = type(leave).__name__, str(leave).strip()
        super().__init__(f"{kind}: {text}" if text else kind)


async def contained(work: Awaitable[T]) -> T:
    """Await a hook's code; an exit in it becomes an exception."""
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as leave:
        raise Exited(leave).with_traceback(leave.__traceback__) from leave
