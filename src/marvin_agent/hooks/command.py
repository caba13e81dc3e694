"""Running a slash command of a hook, on the hook loop and in the hook's name."""

import os
import traceback
from collections.abc import Callable, Coroutine
from typing import Any

from marvin_agent.errors import HookError
from marvin_agent.hooks.account import describe
from marvin_agent.hooks.calling import call
from marvin_agent.hooks.context import Context
from marvin_agent.hooks.dispatch import Dispatcher
from marvin_agent.hooks.engine import Engine
from marvin_agent.hooks.registry import Hook


async def run_command(
    dispatcher: Dispatcher, engine: Engine, hook: Hook, name: str, function: Callable[..., Any], arguments: str
) -> Any:
    """Call `function(arguments, ctx)` and give what it gives. Whatever it raises is a HookError, which tells `name`."""
    # A command that loads the hooks again may still tell of it.
    over = False
    loop, context = dispatcher.loop, Context(engine, None, hook.id, lambda: hook.off if over else None)

    def work() -> Coroutine[Any, Any, Any]:
        return loop.owned(call(function, lambda ctx: function(arguments, ctx), context, loop), hook)

    try:
        return await dispatcher.attended(work, name)
    except Exception as error:
        message = error.message if isinstance(error, HookError) else describe(error)
        raise HookError(f"{name} of {hook.id} failed{_where(error, hook.path)}: {message}") from error
    finally:
        over = True


def _where(error: BaseException, path: str) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f" at {os.path.basename(path)}:{lines[-1]}" if lines else ""
