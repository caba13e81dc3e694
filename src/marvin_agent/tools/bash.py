"""The tool `bash`: a command in the user's own environment, in a session of its own."""

import asyncio
import functools
import os
import signal
import time
from typing import Annotated

from msgspec import Meta

from marvin_agent.messages import Text
from marvin_agent.processes import CannotStart, Running
from marvin_agent.programs import find_program
from marvin_agent.tools.login import LoginEnvironment
from marvin_agent.tools.output import Output
from marvin_agent.tools.schema import tool_from_function
from marvin_agent.tools.tool import Tool, ToolContext, ToolFailure, ToolInterrupted, ToolResult
from marvin_agent.tools.truncate import human_size

NO_EDITOR = dict.fromkeys(("EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"), "true")
"""An editor would wait for keys that nobody can press: `git commit` without a message fails at once instead."""

MAX_COMMAND = 128 * 1024
"""Bytes that Linux takes as one argument, its end included."""


def bash_tool(login: LoginEnvironment, *, scrub: frozenset[str] = frozenset()) -> Tool:
    """The tool. Commands see the login shell's environment without the variables that `scrub` names."""

    async def bash(ctx: ToolContext, command: str, timeout: Annotated[float, Meta(gt=0)] | None = None) -> ToolResult:
        """Run a command in bash, in the working directory. It has no terminal and no input.

        Gives its output; of a long one the end, up to 1500 lines or 100 KB, and a file with all of it. What it leaves
        in the background goes on running.

        Args:
            command: What to run.
            timeout: Seconds after which it is ended. Without it, it may take as long as it likes.
        """
        _check(command)
        captured = await login.get()
        env = {name: value for name, value in captured.variables.items() if name not in scrub} | NO_EDITOR
        result = await _run(ctx, command, timeout, env)
        if captured.problem is not None:
            result.details["environment"] = f"marvin's own, since {captured.problem}"
        return result

    return tool_from_function(bash)


def _check(command: str) -> None:
    if "\0" in command:
        raise ToolFailure("The command has a NUL character in it, which no command line can have.")
    if len(command.encode()) >= MAX_COMMAND:
        raise ToolFailure(
            f"The command is longer than the {human_size(MAX_COMMAND)} that a command line may have. "
            "Write what is long into a file and name that."
        )


async def _run(ctx: ToolContext, command: str, timeout: float | None, env: dict[str, str]) -> ToolResult:
    output = Output(ctx)
    begin = time.monotonic()
    try:
        running = Running.start(
            [shell(env.get("PATH", os.defpath), env.get("SHELL", "")), "-c", command],
            out=functools.partial(_feed, output, ctx),
            cwd=str(ctx.cwd),
            env=env,
        )
        timed_out = await running.finish(timeout)
    except CannotStart as error:
        raise ToolFailure(error.message) from error
    except asyncio.CancelledError as error:
        ending = (
            f"Interrupted after {_duration(time.monotonic() - begin)}: the command and all that it started were ended."
        )
        raise ToolInterrupted(_ended(output.text(), ending), **output.facts) from error
    finally:
        output.close()
    seconds = time.monotonic() - begin
    code = running.code
    details = {"exitCode": code, "durationMs": round(seconds * 1000), **output.facts}
    if running.lingering:
        details["background"] = True
    text = output.text()
    if timed_out:
        details["timedOut"] = True
        ending = f"Timed out after {timeout:g} s: the command and all that it started were ended."
        return _result(_ended(text, ending), details, is_error=True)
    if code != 0:
        ending = f"exit code {code}{_signal_name(code)} after {_duration(seconds)}"
        return _result(_ended(text, ending), details, is_error=True)
    return _result(text or "(no output)", details, is_error=False)


def _feed(output: Output, ctx: ToolContext, data: bytes) -> None:
    output.feed(data, ctx)


def _result(text: str, details: dict[str, object], *, is_error: bool) -> ToolResult:
    return ToolResult(content=(Text(text=text),), details=details, is_error=is_error)


def _ended(text: str, ending: str) -> str:
    return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{ending}"


def _signal_name(code: int | None) -> str:
    try:
        return f" ({signal.Signals((code or 0) - 128).name})"
    except ValueError:
        return ""


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


@functools.cache
def shell(path: str, preferred: str) -> str:
    """The shell that runs commands: bash, else the user's own, else sh."""
    found = find_program("bash", path)
    if found is not None:
        return found
    return preferred if os.access(preferred, os.X_OK) else "sh"
