"""The `marvin` command; `python -m marvin_agent` is the same."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` looks into the working directory first, and a repository could bring a `textual.py`.
    del sys.path[0]

import atexit
import gc
from typing import NoReturn

from marvin_agent.frontends import cli

# A start makes some fifty thousand objects that live as long as the program; looking for garbage among them again and
# again takes a tenth of it.
_NEW_OBJECTS = 50_000


def main() -> NoReturn:
    """Run the command line and end the program."""
    gc.set_threshold(_NEW_OBJECTS, 20, 50)
    try:
        code = cli.main()
    except SystemExit as done:  # --help and --version
        code = int(done.code or 0)
    _leave(code)


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
        except BrokenPipeError:
            code = code or 128 + 13
        except OSError as error:
            code = code or cli.cannot_print(error)
        except ValueError:
            pass  # a hook has closed it, which wrote what was in it
    os._exit(code)


if __name__ == "__main__":
    main()
