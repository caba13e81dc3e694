"""`marvin sessions`: list, show, remove, and where they are."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from marvin_agent.errors import SessionError
from marvin_agent.frontends.hook_sources import configuration
from marvin_agent.frontends.session_choice import latest_here, sessions_dir, sessions_here, when
from marvin_agent.frontends.session_transcript import transcript
from marvin_agent.messages import encode
from marvin_agent.places import Places
from marvin_agent.session.entries import Entry, UnreadEntry, encode_line
from marvin_agent.session.index import SessionInfo, find_session, list_sessions
from marvin_agent.session.read import StoredSession
from marvin_agent.session.removal import remove_session
from marvin_agent.text import one_line, printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options that stand after `marvin sessions`."""
    # Without a word it is `list`, which these are for; a word that follows must not set them back.
    parser.add_argument("--all", action="store_true", help="list those of all projects")
    parser.add_argument("--json", action="store_true", help="as JSON")
    kept: Any = {"action": "store_true", "default": argparse.SUPPRESS}
    commands = parser.add_subparsers(dest="command", metavar="list|show|rm|path")
    a_session = "an id, the beginning of one, or a file; without it the latest of this project"

    listing = commands.add_parser("list", help="the sessions of this project, the latest first")
    listing.add_argument("--all", help="of all projects", **kept)
    showing = commands.add_parser("show", help="what was said and done")
    showing.add_argument("session", nargs="?", metavar="SESSION", help=a_session)
    showing.add_argument("--all", help="all branches, in the order of the file", **kept)
    removing = commands.add_parser("rm", help="delete sessions for good")
    removing.add_argument("sessions", nargs="+", metavar="SESSION", help="an id, the beginning of one, or a file")
    where = commands.add_parser("path", help="the file of a session")
    where.add_argument("session", nargs="?", metavar="SESSION", help=a_session)
    for command in (listing, showing, removing, where):
        command.add_argument("--json", help="as JSON", **kept)


def run(arguments: argparse.Namespace, places: Places) -> int:
    """Do what `marvin sessions ...` says; the exit code."""
    root = sessions_dir(configuration(places), places)
    match arguments.command:
        case None | "list":
            found = list_sessions(root) if arguments.all else sessions_here(root, places)
            return _list(found, arguments.all, arguments.json)
        case "show":
            return _show(_chosen(arguments.session, root, places), arguments.all, arguments.json)
        case "rm":
            return _remove([find_session(root, text) for text in arguments.sessions], arguments.json)
        case _:
            path = _chosen(arguments.session, root, places).path
            _write(encode({"path": path}).decode() if arguments.json else printable(path))
            return 0


def _chosen(text: str | None, root: str, places: Places) -> SessionInfo:
    if text is not None:
        return find_session(root, text)
    found = latest_here(root, places)
    if found is None:
        hint = "`marvin sessions list --all` shows all sessions."
        raise SessionError(f"There is no session of {places.cwd}", hint=hint)
    return found


def _list(sessions: Sequence[SessionInfo], of_all: bool, as_json: bool) -> int:
    if as_json:
        _write_json(sessions)
        return 0
    if not sessions:
        print("No sessions" + ("." if of_all else " of this project; --all shows those of others."), file=sys.stderr)
        return 0
    width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 160
    id_width = max(len(info.id) for info in sessions)
    for info in sessions:
        project = f"  {one_line(info.cwd, 40):<40}" if of_all else ""
        head = f"{printable(info.id):<{id_width}}  {when(info.modified)}  {info.message_count:>5}{project}  "
        _write(head + one_line(info.name or info.first_text, max(width - len(head), 20)))
    return 0


def _show(info: SessionInfo, all_branches: bool, as_json: bool) -> int:
    session = StoredSession(info.path)
    entries = session.entries if all_branches else session.branch()
    if as_json:
        _write_json({"session": info, "warnings": session.warnings, "entries": [_json(entry) for entry in entries]})
        return 0
    title = f": {info.name}" if info.name else ""
    facts = f"{info.cwd}, {when(info.modified)}, {info.message_count} messages\n{info.path}"
    _write(printable(f"Session {info.id}{title}\n{facts}\n"))
    _write(transcript(entries).rstrip("\n"))
    for warning in session.warnings:
        print(printable(f"marvin: {warning}"), file=sys.stderr)
    return 0


def _remove(sessions: Sequence[SessionInfo], as_json: bool) -> int:
    # The same session may be meant by two words.
    paths = list(dict.fromkeys(info.path for info in sessions))
    for path in paths:
        remove_session(path)
        if not as_json:
            _write(f"Removed {printable(path)}")
    if as_json:
        _write_json({"removed": paths})
    return 0


def _json(entry: Entry) -> Any:
    if isinstance(entry, UnreadEntry):
        text = entry.line.decode("utf-8", "replace")
        return {"type": entry.type, "id": entry.id, "parentId": entry.parent_id, "line": entry.number, "text": text}
    return msgspec.Raw(encode_line(entry))


def _write_json(value: Any) -> None:
    _write(msgspec.json.format(encode(value), indent=2).decode())


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
