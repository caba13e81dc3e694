"""Why a hook did not load, and where, in words."""

import os
import traceback

from marvin_agent.errors import HookError
from marvin_agent.hooks.account import describe
from marvin_agent.hooks.raised import Raised


def describe_load(error: BaseException) -> str:
    """Why a hook did not load, in a line."""
    if isinstance(error, HookError):
        return f"{error.message} {error.hint}" if error.hint else error.message
    if isinstance(error, Raised) and error.told:
        return error.told
    if isinstance(error, SyntaxError):
        return f"SyntaxError in line {error.lineno}: {error.msg}"
    return describe(error)


def line_in(error: BaseException, path: str) -> str:
    """The innermost line of a hook's files in an error's traceback, as `file.py:12`; empty when it is not there.

    The files of a package are named from its directory: `helpers/text.py:3`.
    """
    if isinstance(error, Raised):
        return error.place
    base = os.path.dirname(path)
    package = os.path.basename(path) == "__init__.py"

    def told(file: str | None, line: int | None) -> str:
        if file == path or (package and file and file.startswith(base + os.sep)):
            return f"{os.path.relpath(file, base)}:{line}"
        return ""

    if isinstance(error, SyntaxError) and (place := told(error.filename, error.lineno)):
        return place
    lines = [told(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    return next((line for line in reversed(lines) if line), "")
