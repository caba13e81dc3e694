"""Running a slash command of a hook, on the hook loop and in the hook's name."""

import asyncio
import os
import traceback
from collections.abc import Callable
from typing import Any

from marvin_agent.errors import HookError
from marvin_agent.hooks.account import contained, describe
from marvin_agent.hooks.context import Context
from marvin_agent.hooks.engine import Engine
from marvin_agent.hooks.faces import Blocking
from marvin_agent.hooks.loop import HookLoop
from marvin_agent.hooks.registry import Hook, runs_async


async def run_command(
    loop: HookLoop, engine: Engine, hook: Hook, name: str, function: Callable[..., Any], arguments: str
) -> Any:
    """Call `function(arguments, ctx)` and give what it gives. Whatever it raises is a HookError, which tells `name`."""
    context = Context(engine, None, hook.id)

    async def call() -> Any:
        if runs_async(function):
            return await contained(function(arguments, context))
        blocking = Blocking(context, loop.loop)
        value = await contained(loop.in_thread(lambda: function(arguments, blocking), lambda thread: None))
        return await contained(value) if asyncio.iscoroutine(value) else value

    try:
        return await loop.call(lambda: loop.owned(call(), hook))
    except Exception as error:
        message = error.message if isinstance(error, HookError) else describe(error)
        raise HookError(f"{name} of {hook.id} failed{_where(error, hook.path)}: {message}") from error


def _where(error: BaseException, path: str) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f" at {os.path.basename(path)}:{lines[-1]}" if lines else ""
