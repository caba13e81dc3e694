"""Tells the terminal that marvin waits or is done, when somebody asked for that and looks elsewhere."""

from collections.abc import Callable

from marvin_agent.text import one_line


class Notifier:
    """`write` sends to the terminal as it is; `away` says whether the terminal is in the background."""

    def __init__(self, write: Callable[[str], None], away: Callable[[], bool]) -> None:
        self._write = write
        self._away = away
        self.on = False

    def waiting(self, text: str) -> None:
        """Somebody is needed."""
        self._tell(text)

    def done(self, text: str) -> None:
        """The agent is done."""
        self._tell(text)

    def _tell(self, text: str) -> None:
        if not (self.on and self._away()):
            return
        plain = one_line(text, 100).replace(";", ",")
        # iTerm and others know OSC 9, urxvt and others 777; a terminal that knows neither hears the bell.
        self._write(f"\x1b]9;{plain}\x07\x1b]777;notify;marvin;{plain}\x07\x07")
