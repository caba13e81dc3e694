"""Why a hook did not load, and where, in words."""

import os
import traceback

from marvin_agent.errors import HookError
from marvin_agent.hooks.account import describe
from marvin_agent.hooks.raised import Raised


def describe_load(error: BaseException) -> str:
    """Why a hook did not load, in a line."""
    if isinstance(error, HookError):
        return error.message
    if isinstance(error, Raised) and error.told:
        return error.told
    if isinstance(error, SyntaxError):
        return f"SyntaxError in line {error.lineno}: {error.msg}"
    return describe(error)


def line_in(error: BaseException, path: str) -> str:
    """The innermost line of a file in an error's traceback, as `file.py:12`; empty when it is not there."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"{os.path.basename(path)}:{error.lineno}"
    if isinstance(error, Raised):
        return error.place
    found = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == path:
            found = f"{os.path.basename(path)}:{frame.lineno}"
    return found
