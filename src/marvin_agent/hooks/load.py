"""Loading a hook file: compiled from the bytes that were read, its `setup` run on the hook loop."""

import inspect
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from marvin_agent.errors import HookError
from marvin_agent.hooks.api import HookAPI
from marvin_agent.hooks.registry import Hook


def read_module(path: str, hook_id: str) -> types.ModuleType:
    """The module of a hook file, run from its source; never from a cached `.pyc`."""
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        raise HookError(f"{path}: cannot be read: {error.strerror}") from error
    return run_module(path, source, hook_id)


def run_module(path: str, source: bytes, hook_id: str) -> types.ModuleType:
    """Run a hook's source as a module of its own name. Raises what its code raises, SyntaxError included."""
    name = "marvin_hook_" + "".join(c if c.isalnum() else "_" for c in hook_id)
    module = types.ModuleType(name)
    module.__file__ = path
    code = compile(source, path, "exec", dont_inherit=True)
    sys.modules[name] = module
    try:
        exec(code, module.__dict__)  # noqa: S102  # running hooks is what this file is for
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def setup_of(module: types.ModuleType, path: str) -> Callable[[HookAPI], Any]:
    function = getattr(module, "setup", None)
    if not callable(function):
        raise HookError(f"{path}: a hook needs a function `setup(marvin)`; this file has none")
    return function  # type: ignore[no-any-return]


async def run_setup(setup: Callable[[HookAPI], Any], api: HookAPI, hook: Hook) -> None:
    """Call `setup`, plain or async."""
    answer = setup(api)
    if inspect.isawaitable(answer):
        await answer


def stem(path: str) -> str:
    """The name of a hook: its file's, or its directory's for a package."""
    name = os.path.basename(path)
    if name == "__init__.py":
        name = os.path.basename(os.path.dirname(path))
    return name.removesuffix(".py")
