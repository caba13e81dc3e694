"""Starts the terminal app and leaves the terminal as it was, with the last answer and the way back on it."""

import argparse
import asyncio
import importlib
import os
import sys
import traceback

from marvin_agent import __version__
from marvin_agent.errors import UsageError
from marvin_agent.frontends.stdin import Asked, read_asked
from marvin_agent.frontends.tui.early import EarlyTerminal
from marvin_agent.places import Places


def run(options: argparse.Namespace, places: Places) -> int:
    """Run the app; the exit code. Raises MarvinError when it could not do its work."""
    if os.environ.get("TERM") == "dumb":
        raise UsageError(
            "this terminal cannot show the app: it says that it is dumb (TERM)", hint="`marvin -p` works in any."
        )
    asked = _asked(options)
    if not (sys.__stderr__ and sys.__stderr__.isatty()):
        # Where the app draws; whoever leads it into a file wants what goes wrong there, and not the screen.
        vars(sys)["__stderr__"] = sys.__stdout__
    with EarlyTerminal(__version__) as terminal:
        # Loaded while the terminal keeps what is typed: this is what takes the time.
        made = importlib.import_module("marvin_agent.frontends.tui.app")
        app = made.MarvinApp(options, places, asked)
        app.terminal_before = terminal.before
        asyncio.run(app.live())
    if app.crash:
        traceback.print_exception(app.crash)
    if words := app.last_words():
        try:
            print(words, flush=True)
        except OSError:
            pass  # the terminal is gone, and nobody reads
    if app.failure:
        raise app.failure
    return int(app.return_code or 0)


def _asked(options: argparse.Namespace) -> Asked:
    """The prompt of the command line and of a pipe; then the keys come from the terminal itself."""
    if sys.stdin and sys.stdin.isatty():
        return Asked(" ".join(options.prompt), tuple(options.attach))
    asked = read_asked(options.prompt, options.attach, lambda line: print(line, file=sys.stderr))
    terminal = os.open("/dev/tty", os.O_RDWR)
    os.dup2(terminal, 0)
    os.close(terminal)
    return asked
