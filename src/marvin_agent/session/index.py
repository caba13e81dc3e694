"""Which sessions there are: found and described without decoding what they hold."""

import os
from collections.abc import Iterator

from marvin_agent.errors import SessionError
from marvin_agent.messages import UserMessage, Value, text_of
from marvin_agent.session.document import parse_header
from marvin_agent.session.entries import UNREADABLE, InfoEntry, MessageEntry, StoredEntry
from marvin_agent.session.foreign import adopt_entry, mend_text
from marvin_agent.session.layout import SUFFIX, id_in_name, project_of, project_slug

_SHOWN_WHEN_AMBIGUOUS = 10


class SessionInfo(Value):
    """What a list of sessions shows."""

    id: str
    path: str
    cwd: str
    name: str | None
    first_text: str
    """What the user wrote first; empty when they never did."""
    message_count: int
    created: str
    modified: int
    """Milliseconds since 1970."""


def list_sessions(root: str, cwd: str | None = None) -> list[SessionInfo]:
    """The sessions of a project, or all, the one that was written to last first. Empty ones are left out."""
    described = (_describe(path) for path in _by_time(root, cwd))
    return [info for info in described if info is not None and info.message_count and _belongs(info, cwd)]


def latest(root: str, cwd: str) -> SessionInfo | None:
    """The session of a project that was written to last."""
    described = (_describe(path) for path in _by_time(root, cwd))
    return next((info for info in described if info and info.message_count and _belongs(info, cwd)), None)


def find_session(root: str, text: str) -> SessionInfo:
    """The session that a user means: by its path, its id, or a beginning of its id that no other has."""
    match matching(root, text):
        case [path]:
            return describe(path)
        case []:
            what = "There is no session file" if os.sep in text else "No session has an id that begins with"
            raise SessionError(f"{what} {text!r}", hint="`marvin sessions list --all` shows all sessions.")
        case several:
            raise _ambiguous(text, several)


def matching(root: str, text: str) -> list[str]:
    """The session files that a path, an id or the beginning of an id may mean."""
    if os.path.isfile(text):
        return [os.path.abspath(text)]
    if not text or os.sep in text:
        return []
    paths = list(_by_time(root, None))
    named = [path for path in paths if id_in_name(path).startswith(text)]
    # A file that somebody renamed still knows its id.
    found = named or [path for path in paths if _id_in_header(path).startswith(text)]
    return [path for path in found if text in (id_in_name(path), _id_in_header(path))] or found


def describe(path: str) -> SessionInfo:
    """What a list shows of one session file. Raises SessionError when it is none."""
    try:
        with open(path, "rb") as file:
            data = file.read()
            state = os.fstat(file.fileno())
    except OSError as error:
        raise SessionError(f"Cannot read the session file {path}: {error.strerror}") from error
    header = parse_header(path, _line_at(data, 0))
    return SessionInfo(
        id=header.id,
        path=path,
        cwd=header.cwd,
        name=_name(data),
        first_text=_first_text(data),
        message_count=sum(data.count(start) for start in _MESSAGES),
        created=header.timestamp,
        modified=state.st_mtime_ns // 1_000_000,
    )


# Lines begin like this in our files and, written by JSON.stringify, in those of pi and the original marvin.
_MESSAGES = (b'\n{"type":"message",', b'\n{"type":"custom_message",')
_INFO = b'\n{"type":"session_info",'
_USER = b'"role":"user"'


def _first_text(data: bytes) -> str:
    at = -1
    while (at := data.find(_USER, at + 1)) >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        entry = _entry(_line_at(data, start))
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            return text_of(entry.message.content)
        at = data.find(b"\n", at)
        if at < 0:
            break
    return ""


def _name(data: bytes) -> str | None:
    at = len(data)
    while (at := data.rfind(_INFO, 0, at)) >= 0:
        entry = _entry(_line_at(data, at + 1))
        if isinstance(entry, InfoEntry):
            return entry.name if isinstance(entry.name, str) else None
    return None


def _entry(line: bytes) -> StoredEntry | None:
    try:
        return adopt_entry(mend_text(line), 0, None)
    except UNREADABLE:
        return None


def _line_at(data: bytes, start: int) -> bytes:
    end = data.find(b"\n", start)
    return data[start:] if end < 0 else data[start:end]


def _describe(path: str) -> SessionInfo | None:
    # A list goes on past a file that is broken or was removed meanwhile; opening it says what is wrong with it.
    try:
        return describe(path)
    except SessionError:
        return None


def _belongs(info: SessionInfo, cwd: str | None) -> bool:
    return cwd is None or project_of(cwd) == info.cwd


def _id_in_header(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return parse_header(path, file.readline().rstrip(b"\n")).id
    except (OSError, SessionError):
        return ""


def _by_time(root: str, cwd: str | None) -> Iterator[str]:
    """Session files, the one that was written to last first."""
    files: list[tuple[int, str]] = []
    for directory in _directories(root, cwd):
        with os.scandir(directory) as found:
            paths = [file.path for file in found if file.name.endswith(SUFFIX)]
        for path in paths:
            try:
                files.append((os.stat(path).st_mtime_ns, path))
            except FileNotFoundError:
                continue  # removed meanwhile
    return (path for _, path in sorted(files, reverse=True))


def _directories(root: str, cwd: str | None) -> list[str]:
    try:
        with os.scandir(root) as found:
            directories = [entry.path for entry in found if entry.is_dir()]
    except OSError:
        return []
    if cwd is None:
        return directories
    # The original marvin names a project's directory otherwise.
    cwd = project_of(cwd)
    names = {project_slug(cwd), f"--{cwd.strip('/').replace('/', '--')}--", f"--{cwd.strip('/').replace('/', '-')}--"}
    return [directory for directory in directories if os.path.basename(directory) in names]


def _ambiguous(text: str, paths: list[str]) -> SessionError:
    shown = [f"  {info.id}  {info.cwd}  {info.first_text[:60]!r}" for info in map(_describe, paths) if info]
    more = len(shown) - _SHOWN_WHEN_AMBIGUOUS
    listed = "\n".join(shown[:_SHOWN_WHEN_AMBIGUOUS]) + (f"\n  and {more} more" if more > 0 else "")
    return SessionError(
        f"{len(paths)} sessions have an id that begins with {text!r}:\n{listed}", hint="Type more of it."
    )
