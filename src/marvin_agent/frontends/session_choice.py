"""Which session a run works in: a new one, the latest, one that is named, or one that a person picks from a list."""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence

from marvin_agent.config import Config
from marvin_agent.errors import Aborted, SessionError, UsageError
from marvin_agent.places import Places, expand_path
from marvin_agent.session.index import SessionInfo, find_session, latest, list_sessions
from marvin_agent.session.store import Session
from marvin_agent.text import one_line, printable

SHOWN = 20
"""How many sessions the list to pick from has."""
NAMED = 5
"""How many an error names."""


def sessions_dir(config: Config, places: Places) -> str:
    """Where sessions are kept."""
    return config.sessions.dir or places.sessions_dir


async def open_session(
    options: argparse.Namespace, config: Config, places: Places, notify: Callable[[str], None]
) -> tuple[Session, bool]:
    """The session to work in, and whether it is one from before."""
    root = sessions_dir(config, places)
    found = await _asked_for(options, root, places)
    if found:
        session = Session.open(found.path)
        if os.path.realpath(session.cwd) != os.path.realpath(places.cwd):
            notify(f"the session is from {session.cwd}; working in {places.cwd}")
        return session, True
    if options.no_session or not config.sessions.enabled:
        return Session.in_memory(places.cwd), False
    return Session.create(root, places.cwd), False


def sessions_here(root: str, places: Places) -> list[SessionInfo]:
    """Those of the working directory, or else of the project around it; the one that was written to last first."""
    return list_sessions(root, places.cwd) or list_sessions(root, places.project_root)


def latest_here(root: str, places: Places) -> SessionInfo | None:
    """The first of them."""
    return latest(root, places.cwd) or latest(root, places.project_root)


def to_choose_from(root: str, places: Places) -> list[SessionInfo]:
    """What -r shows. SessionError when there is nothing."""
    found = sessions_here(root, places)
    if not found:
        raise SessionError(f"There is no session of {places.cwd}", hint="Leave -r out to begin one.")
    return found


async def _asked_for(options: argparse.Namespace, root: str, places: Places) -> SessionInfo | None:
    if options.session is not None:
        path = expand_path(options.session, places.cwd)
        return find_session(root, path if os.path.isfile(path) else options.session)
    if options.continue_:
        found = latest_here(root, places)
        if found is None:
            raise SessionError(f"There is no session of {places.cwd}", hint="Leave -c out to begin one.")
        return found
    if options.resume:
        return await _picked(to_choose_from(root, places))
    return None


async def _picked(sessions: Sequence[SessionInfo]) -> SessionInfo:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        newest = "".join(f"\n  {line(info, 100)}" for info in sessions[:NAMED])
        raise UsageError(
            f"-r lets you choose in a terminal, and this is none. The newest sessions here:{newest}",
            hint="Name one with --session ID, or go on with the newest by -c.",
        )
    shown = sessions[:SHOWN]
    width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
    for number, info in enumerate(shown, 1):
        print(f"{number:>3}  {line(info, width - 6)}", file=sys.stderr)
    while True:
        print(f"Go on with which one? [1-{len(shown)}, Enter for 1, q to leave] ", end="", file=sys.stderr, flush=True)
        try:
            # A signal is heard while the loop runs, not while a line is read.
            await _readable(sys.stdin.fileno())
        except asyncio.CancelledError:
            print(file=sys.stderr)
            raise
        answer = sys.stdin.readline()
        if not answer:
            print(file=sys.stderr)
        if not answer or answer.strip().lower() == "q":
            raise Aborted("No session was chosen")
        if (choice := answer.strip() or "1").isdecimal() and 1 <= int(choice) <= len(shown):
            return shown[int(choice) - 1]


async def _readable(descriptor: int) -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


def line(info: SessionInfo, width: int) -> str:
    """A session in a line: id, time, and its name or what was said first."""
    head = f"{printable(info.id)}  {when(info.modified)}  "
    return head + one_line(info.name or info.first_text, max(width - len(head), 12))


def when(milliseconds: int) -> str:
    """A moment, in local time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(milliseconds / 1000))
