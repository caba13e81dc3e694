"""The standard streams for marvin alone: what hooks and the programs that they start print must not get into an answer,
and what they do to the streams must not silence marvin."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import NamedTuple, TextIO


class OwnOutput(NamedTuple):
    """Where a run writes."""

    answer: TextIO
    """Standard output; whatever else is printed there goes to standard error."""
    words: TextIO
    """Standard error, also when somebody closes or replaces it."""


@contextlib.contextmanager
def own_output() -> Iterator[OwnOutput]:
    """The streams that a run writes to."""
    sys.stdout.flush()
    kept, beside = os.dup(1), os.dup(2)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    try:
        yield OwnOutput(_stream(kept), _stream(beside))
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(beside)


def _stream(number: int) -> TextIO:
    # Not closed: the number is, and what could not be written must not be tried again.
    return open(number, "w", encoding=sys.stdout.encoding, errors="backslashreplace", closefd=False)
