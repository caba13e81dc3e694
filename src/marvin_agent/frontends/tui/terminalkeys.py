"""Keys that terminals without the newer keyboard protocol send, and Textual takes for something else."""

from enum import Enum

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS


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


def learn_keys() -> None:
    """Teach Textual's table; there is no public way."""
    known: dict[str, object] = ANSI_SEQUENCES_KEYS  # type: ignore[assignment]
    for sequence, key in SEQUENCES.items():
        known[sequence] = (key,)
