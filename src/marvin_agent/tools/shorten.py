"""Cuts a result that hooks had to see whole to what a model may get; all of it goes to a file beside the session."""

import os
from collections.abc import Callable

from marvin_agent.tools.truncate import MAX_BYTES, human_size, size, tail


def shorten(text: str, scratch: Callable[[], str]) -> tuple[str, str | None]:
    """The text, or its end and the file that holds all of it; `scratch` makes the directory for that."""
    end = tail(text)
    if end.whole:
        return text, None
    try:
        path = os.path.join(scratch(), f"output-{os.urandom(6).hex()}.log")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        where, kept = f"The rest could not be written to a file: {error.strerror}", None
    else:
        where, kept = f"The whole output ({human_size(size(text))}) is in {path}", path
    if end.long_line:
        return f"[The last line is longer than {human_size(MAX_BYTES)}. {where}.]", kept
    gap = "\n" if end.text.endswith("\n") else "\n\n"
    return f"{end.text}{gap}[Lines {end.first}-{end.last} of {end.total}. {where}.]", kept
