"""Writes to the terminal as Textual does, and holds nobody up when the terminal is gone."""

import os
import signal

from textual.drivers._writer_thread import WriterThread


class TerminalWriter(WriterThread):
    """The window was closed, the connection broke: what is written goes nowhere then, and marvin is left as by the
    hangup that tells of it. Textual's own thread would end here, and the app wait for it for ever."""

    def run(self) -> None:
        try:
            super().run()
        except OSError:
            os.kill(os.getpid(), signal.SIGHUP)
            while self._queue.get() is not None:
                pass
