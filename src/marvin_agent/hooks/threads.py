"""Errors in threads that hooks start: Python would print them, over whatever is on the screen."""

import threading
from collections.abc import Callable


class ThreadErrors:
    """Hears of what threads raise until it is closed; what `report` does not take goes where it went before."""

    def __init__(self, report: Callable[[BaseException], bool]) -> None:
        self._report = report
        self._before = threading.excepthook
        threading.excepthook = self._raised

    def _raised(self, arguments: threading.ExceptHookArgs) -> None:
        error = arguments.exc_value
        if error is None or not self._report(error):
            self._before(arguments)

    def close(self) -> None:
        if threading.excepthook == self._raised:
            threading.excepthook = self._before
