"""Where the lines of `marvin.log` go: warnings to the person, under the hook's name, and all of them to a file."""

import logging
from collections.abc import Mapping

from marvin_agent.errors import UsageError
from marvin_agent.hooks.engine import Interface

FILE_VARIABLE = "MARVIN_HOOK_LOG"
LOGGER = "marvin.hooks"


class ToInterface(logging.Handler):
    """Shows records to the person, or to whoever stands for one."""

    def __init__(self, interface: Interface) -> None:
        super().__init__(logging.WARNING)
        self._interface = interface

    def emit(self, record: logging.LogRecord) -> None:
        level = "error" if record.levelno >= logging.ERROR else "warning"
        self._interface.notify(self.format(record), level, record.name.removeprefix(f"{LOGGER}."))


def log_hooks(interface: Interface, environ: Mapping[str, str]) -> None:
    """Listen to the loggers of hooks, in place of whoever listened before."""
    logger = logging.getLogger(LOGGER)
    logger.propagate = False
    handlers: list[logging.Handler] = [ToInterface(interface)]
    if path := environ.get(FILE_VARIABLE):
        try:
            file = logging.FileHandler(path, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{FILE_VARIABLE}: {path}: {error.strerror}") from None
        file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        handlers.append(file)
        logger.setLevel(logging.DEBUG)
    logger.handlers = handlers
