"""The account of a hook's code: errors in words with their place, a record for the trace."""

import time
import traceback

from marvin_agent.hooks.exits import Exited
from marvin_agent.hooks.forms import FormError
from marvin_agent.hooks.outcome import Change, Record, Verdict
from marvin_agent.hooks.payload import Event
from marvin_agent.hooks.raised import Raised
from marvin_agent.hooks.registry import Handler
from marvin_agent.hooks.running import Running
from marvin_agent.messages import clean

MAX_REASON = 10_000
"""Characters of an error's message."""


def describe(error: BaseException) -> str:
    """An error in a line: its message, with its type where the message alone says too little."""
    if isinstance(error, Raised):
        return error.described
    try:
        text = clean(str(error)).strip()[:MAX_REASON]
    except Exception:  # an error that cannot even be told is told by its type
        text = ""
    if isinstance(error, TimeoutError | FormError | Exited) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def blame_line(error: BaseException, handler: Handler) -> str | None:
    """The innermost line of the hook's own file in a traceback, as `file.py:12`."""
    if isinstance(error, Raised):
        return error.place or None
    found = None
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == handler.file:
            found = f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
    return found


def record_of(
    running: Running, verdict: Verdict, changes: tuple[Change, ...], why: str | None, subject: str, *, refused: bool
) -> Record:
    handler = running.handler
    ms = (time.monotonic() - running.since) * 1000
    call = vars(running.event).get("tool_call_id") or ""
    return Record(handler.spec.name, handler.hook.id, handler.label, ms, verdict, changes, why, subject, refused, call)


def subject_of(event: Event) -> str:
    """What an event is about, in a few words."""
    values = vars(event)
    name = values.get("tool_name")
    if name is None:
        return ""
    arguments = values.get("input")
    text = ""
    if isinstance(arguments, dict):
        text = str(next((arguments[key] for key in ("command", "path", "pattern") if key in arguments), ""))
    return f'{name} "{text[:120]}"' if text else str(name)
