"""The `marvin` command; `python -m marvin_agent` is the same."""

import os
import sys
from typing import NoReturn

from marvin_agent.frontends.cli import main as run


def main() -> NoReturn:
    """Run the command line and leave at once.

    The interpreter is not taken down: threads that others started (the HTTP library's, a hook's that never ends) would
    be met by it half gone, and sometimes crash it. All of marvin's files are closed by then.
    """
    code = run()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 1
    os._exit(code)


if __name__ == "__main__":
    main()
