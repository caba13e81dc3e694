"""Calling a function of a hook: an async one on the hook loop, a plain one in a worker thread, exits contained."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from marvin_agent.hooks.exits import contained
from marvin_agent.hooks.faces import Blocking, Face, give_up
from marvin_agent.hooks.loop import HookLoop
from marvin_agent.hooks.registry import runs_async

Use = Callable[[Any], Any]
"""Calls the function with the `ctx` that it is given."""


async def call(function: Callable[..., Any], use: Use, context: Face | None, loop: HookLoop) -> Any:
    """Call a hook's function, on the hook loop, and give what it returns."""
    if runs_async(function):
        return await contained(use(context))
    return await call_plain(use, context, loop, lambda thread: None)


async def call_plain(use: Use, context: Face | None, loop: HookLoop, began: Callable[[int | None], None]) -> Any:
    """Call a plain function in a worker thread, whose id `began` gets, with the blocking face of `ctx`."""
    face = Blocking(context, loop.loop) if context else None
    try:
        value = await contained(loop.in_thread(lambda: use(face), began))
    except asyncio.CancelledError:
        # The thread cannot be stopped. What it waits for can, a program that `exec` started first of all.
        if face:
            give_up(face)
        raise
    return await contained(value) if inspect.isawaitable(value) else value
