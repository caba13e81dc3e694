"""A hook's `setup`: finding it, calling it, and saying in words why it could not be."""

import inspect
import os
import traceback
import types
from collections.abc import Callable
from typing import Any

from marvin_agent.errors import HookError
from marvin_agent.hooks.api import HookAPI
from marvin_agent.hooks.dispatch import describe


def setup_of(module: types.ModuleType, path: str) -> Callable[[HookAPI], Any]:
    """The `setup` of a hook's module; HookError when it has none."""
    function = getattr(module, "setup", None)
    if not callable(function):
        raise HookError(f"{path}: a hook needs a function `setup(marvin)`; this file has none")
    return function  # type: ignore[no-any-return]


async def run_setup(setup: Callable[[HookAPI], Any], api: HookAPI) -> None:
    """Call `setup`, plain or async."""
    answer = setup(api)
    if inspect.isawaitable(answer):
        await answer


def describe_load(error: BaseException) -> str:
    """Why a hook did not load, in a line."""
    if isinstance(error, HookError):
        return error.message
    if isinstance(error, SyntaxError):
        return f"SyntaxError in line {error.lineno}: {error.msg}"
    return describe(error)


def line_in(error: BaseException, path: str) -> str:
    """The innermost line of a file in an error's traceback, as `file.py:12`; empty when it is not there."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"{os.path.basename(path)}:{error.lineno}"
    found = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == path:
            found = f"{os.path.basename(path)}:{frame.lineno}"
    return found
