"""The trace of handlers: a JSON line per call in a file of the user's choice, and decisions always beside the session.

A line has `time, event, hook, handler, ms, outcome, diff, error, subject, refused, session`; `diff` is a list of
`{field, before, after}`. Secrets are masked, long texts cut.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from marvin_agent.errors import UsageError
from marvin_agent.hooks.forms import to_plain
from marvin_agent.hooks.outcome import Change, Record
from marvin_agent.hooks.payload import Event
from marvin_agent.masking import MASK, masked_text, masked_value, names_a_secret
from marvin_agent.places import make_private_directory

DECISIONS = frozenset({"changed", "blocked", "failed", "timeout", "skipped"})
SECRET_LIMIT = 8_192
"""No secret is longer."""
TEXT_LIMIT = 2_000
DECISIONS_FILE = "hooks.jsonl"
EARLY_LIMIT = 1_000


class Trace:
    """Writes lines as handlers end. Called on the hook loop, one call at a time.

    UsageError when the user's file cannot be opened. `tell` hears, once for each, of a file that takes nothing more.
    """

    def __init__(self, file: str | None, decisions_dir: Callable[[], str | None], tell: Callable[[str], None]) -> None:
        self._decisions_dir = decisions_dir
        self._tell = tell
        self._file = _opened(file) if file else None
        self._decisions: tuple[str, int] | None = None
        self._early: deque[tuple[str, bytes]] = deque(maxlen=EARLY_LIMIT)
        """Decisions from before their session has a file, with the session's id."""
        self._keeps = True

    def write(self, record: Record, event: Event) -> None:
        """Keep what a handler did."""
        decides = self._keeps and record.verdict in DECISIONS
        if not (decides or self._file is not None or self._early):
            return
        line = msgspec.json.encode(entry(record, event)) + b"\n"
        if self._file is not None:
            try:
                os.write(self._file, line)
            except OSError as error:
                # A full disk must not take the agent down.
                os.close(self._file)
                self._file = None
                self._tell(f"--trace-hooks: {error.strerror}; the rest of the trace is missing")
        if decides:
            self._early.append((event.session_id, line))
        self._keep_what_waits(event.session_id)

    def _keep_what_waits(self, session_id: str) -> None:
        try:
            self._keep(session_id)
        except OSError as error:
            self._keeps = False
            self._tell(f"What hooks decide is not kept any more for `marvin hooks why`: {error.strerror}")

    def _keep(self, session_id: str) -> None:
        """Write what waits, once the session has a file."""
        if not self._early or not (directory := self._decisions_dir()):
            return
        lines = [line for session, line in self._early if session == session_id]
        self._early.clear()
        if lines:
            os.write(self._decisions_of(directory), b"".join(lines))

    def _decisions_of(self, directory: str) -> int:
        if self._decisions and self._decisions[0] == directory:
            return self._decisions[1]
        if self._decisions:
            os.close(self._decisions[1])
        make_private_directory(directory)
        self._decisions = (directory, _open(os.path.join(directory, DECISIONS_FILE)))
        return self._decisions[1]

    def close(self, session_id: str) -> None:
        """Write what still waits, and end."""
        self._keep_what_waits(session_id)
        for descriptor in (self._file, self._decisions[1] if self._decisions else None):
            if descriptor is not None:
                os.close(descriptor)
        self._file = self._decisions = None


def entry(record: Record, event: Event) -> dict[str, Any]:
    """A record as a line of the trace."""
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{time.time_ns() // 1_000_000 % 1000:03}Z",
        "event": record.event,
        "hook": record.hook,
        "handler": record.handler,
        "ms": round(record.ms, 3),
        "outcome": record.verdict,
        "diff": [diff(change) for change in record.changes],
        "error": masked_text(record.error) if record.error else None,
        "subject": masked_text(record.subject),
        "refused": record.refused,
        "session": event.session_id,
    }


def diff(change: Change) -> dict[str, Any]:
    """One changed field, before and after."""
    if change.field == "headers":
        # Whatever a hook sends along with its key is as secret as the key.
        return {"field": change.field, "before": _withheld(change.before), "after": _withheld(change.after)}
    before, after = (_shown(value, change.field) for value in (change.before, change.after))
    return {"field": change.field, "before": before, "after": after}


def _withheld(headers: Any) -> Any:
    return dict.fromkeys(headers, MASK) if isinstance(headers, Mapping) else MASK if headers else headers


def _shown(value: Any, name: str) -> Any:
    try:
        plain = to_plain(value)
    except (TypeError, ValueError):
        plain = repr(value)
    return _masked(plain, name)


def _masked(value: Any, name: str) -> Any:
    """A value masked and cut. A long text is cut before it is looked through, but not within a secret."""
    if isinstance(value, str) and len(value) > TEXT_LIMIT:
        head: str = masked_value(value[: TEXT_LIMIT + SECRET_LIMIT], name)
        return f"{head[:TEXT_LIMIT]}... ({len(value)} characters)"
    if isinstance(value, dict):
        return {key: _masked(item, name if names_a_secret(name) else key) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, name) for item in value]
    return masked_value(value, name)


def _opened(file: str) -> int:
    try:
        return _open(file)
    except OSError as error:
        raise UsageError(f"--trace-hooks {file}: {error.strerror}") from error


def _open(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
