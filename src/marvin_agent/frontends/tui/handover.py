"""Gives the terminal to another program as the user had it, and takes it back however that program ends."""

import contextlib
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

from textual.app import App, SuspendNotSupported

from marvin_agent.errors import UsageError


def run_in_terminal(
    app: App[Any],
    words: Sequence[str],
    cwd: str,
    *,
    settings: list[Any] | None = None,
    env: Mapping[str, str] | None = None,
) -> int:
    """Run a program in the app's place; its exit code. `settings` are the terminal's before marvin changed them.

    Raises UsageError when the program cannot be started or there is no terminal to give.
    """
    problem: OSError | None = None
    code = 0
    try:
        with app.suspend(), _keys_for_the_program(), _as_it_was(settings):
            # An error must not leave this block: Textual would not take the terminal back.
            try:
                code = subprocess.run(words, cwd=cwd, env=env, check=False).returncode
            except OSError as error:
                problem = error
    except SuspendNotSupported as error:
        raise UsageError("there is no terminal to give to a program") from error
    app.refresh(layout=True)
    if problem:
        raise UsageError(f"{words[0]} cannot be started: {problem.strerror}")
    return code


@contextlib.contextmanager
def _keys_for_the_program() -> Iterator[None]:
    """Ctrl+C and Ctrl+\\ mean the program. A handler and not SIG_IGN, which the program would inherit."""

    def nothing(number: int, frame: FrameType | None) -> None: ...

    before = [(number, signal.signal(number, nothing)) for number in (signal.SIGINT, signal.SIGQUIT)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


@contextlib.contextmanager
def _as_it_was(settings: list[Any] | None) -> Iterator[None]:
    """The terminal echoes, and edits lines, as a program expects it."""
    descriptor = sys.__stdin__.fileno() if sys.__stdin__ else 0
    if settings is None:
        yield
        return
    now = termios.tcgetattr(descriptor)
    termios.tcsetattr(descriptor, termios.TCSADRAIN, settings)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, now)
