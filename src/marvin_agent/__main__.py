"""The `marvin` command; `python -m marvin_agent` is the same."""

import atexit
import gc
import os
import sys
from typing import NoReturn

from marvin_agent.frontends import cli

# A start makes some fifty thousand objects that live as long as the program; looking for garbage among them again and
# again takes a tenth of it.
_NEW_OBJECTS = 50_000


def main() -> NoReturn:
    """Run the command line and end the program."""
    gc.set_threshold(_NEW_OBJECTS, 20, 50)
    _leave(cli.main())


def _leave(code: int) -> NoReturn:
    """End the program now that it is done; all of marvin's files are closed.

    The interpreter is not taken down: threads that others started (the HTTP library's, a hook's that never ends) would
    be met by it half gone, and sometimes crash it. Nor does anybody wait 30 ms for it.
    """
    # What others have asked to be called at the end, such as the flushing of logs.
    atexit._run_exitfuncs()  # noqa: SLF001  # os._exit leaves it out
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            code = code or 1  # whoever read it has left, or the disk is full
    os._exit(code)


if __name__ == "__main__":
    main()
