"""What a headless run is asked to do: the words of the command line, and what is piped into standard input."""

import errno
import os
import select
import stat
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from marvin_agent.agent.attachments import LIMIT
from marvin_agent.errors import UsageError
from marvin_agent.images import image_type
from marvin_agent.messages import clean

PATIENCE = (1.0, 9.0)
"""Seconds: after the first the user is told what is waited for; after both, nothing is waited for any more."""


class Asked(NamedTuple):
    """A prompt from the command line."""

    text: str
    attachments: tuple[Any, ...] = ()


def read_asked(
    words: Sequence[str], files: Sequence[str], notify: Callable[[str], None], patience: tuple[float, float] = PATIENCE
) -> Asked:
    """The prompt. Standard input is the prompt, or is attached to the words; a terminal is not read.

    A pipe that stays open and silent is not waited for when there are words: many programs hand theirs down.
    """
    text = clean(" ".join(words))
    data = _piped(bool(text), notify, patience)
    attachments: tuple[Any, ...] = tuple(files)
    piped = ""
    if kind := image_type(data):
        attachments += ({"type": "image", "file_name": "standard input", "mime_type": kind, "content": data},)
    elif b"\0" in data[:8192]:
        raise UsageError("standard input is neither a text nor an image (png, jpeg, gif, webp)")
    else:
        piped = data.decode("utf-8", "replace").strip("\r\n")
    if text and piped.strip():
        text = f"{text}\n\n<stdin>\n{piped}\n</stdin>"
    text = text if text.strip() else piped.strip()
    if not text and not attachments:
        raise UsageError("there is no prompt", hint='Write one: marvin -p "what to do", or pipe it in.')
    return Asked(text, attachments)


def _piped(has_words: bool, notify: Callable[[str], None], patience: tuple[float, float]) -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    descriptor = sys.stdin.fileno()
    try:
        if has_words and not _comes(descriptor, notify, patience):
            return b""
        data = sys.stdin.buffer.read(LIMIT + 1)
    except OSError as error:
        if error.errno == errno.EBADF:  # nohup leaves one that is open for writing alone
            return b""
        raise UsageError(f"standard input cannot be read: {error.strerror}") from error
    if len(data) > LIMIT:
        raise UsageError(f"standard input is over {LIMIT // 1024 // 1024} MiB: too large for a prompt")
    return data


def _comes(descriptor: int, notify: Callable[[str], None], patience: tuple[float, float]) -> bool:
    """Whether there is something to read, be it the end."""
    kind = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        return True
    first, second = patience
    if select.select([descriptor], [], [], first)[0]:
        return True
    notify("waiting for standard input; without any, start marvin with </dev/null")
    if select.select([descriptor], [], [], second)[0]:
        return True
    notify(f"nothing came on standard input for {first + second:g} s; going on without it")
    return False
