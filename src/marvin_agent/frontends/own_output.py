"""Standard output for marvin alone: what hooks and the programs that they start print must not get into an answer."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO


@contextlib.contextmanager
def own_output() -> Iterator[TextIO]:
    """The stream that the answer is written to; whatever else is printed meanwhile goes to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    try:
        # Not closed: the number is, and what could not be written must not be tried again.
        yield open(kept, "w", encoding=sys.stdout.encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
