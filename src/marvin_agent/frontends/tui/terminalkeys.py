"""What terminals send, and Textual takes for something else: keys of those without the newer keyboard protocol, and
the answer to the question of their background."""

from enum import Enum

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.drivers import linux_driver

from marvin_agent.frontends.tui.background import AnswerParser
from marvin_agent.frontends.tui.terminalwriter import TerminalWriter


class TerminalKey(Enum):
    """Named as Textual names keys."""

    ALT_ENTER = "alt+enter"
    SHIFT_ENTER = "shift+enter"


SEQUENCES = {
    "\x1b\r": TerminalKey.ALT_ENTER,
    "\x1b\n": TerminalKey.ALT_ENTER,
    "\x1b[27;2;13~": TerminalKey.SHIFT_ENTER,
    "\x1b[27;3;13~": TerminalKey.ALT_ENTER,
}


def teach_textual() -> None:
    """Extend Textual's table of keys, and put our reader and writer into its driver; there is no public way."""
    known: dict[str, object] = ANSI_SEQUENCES_KEYS  # type: ignore[assignment]
    for sequence, key in SEQUENCES.items():
        known[sequence] = (key,)
    linux_driver.XTermParser = AnswerParser  # type: ignore[attr-defined]
    linux_driver.WriterThread = TerminalWriter  # type: ignore[attr-defined]
