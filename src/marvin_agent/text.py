"""Text from elsewhere, made fit to be shown in a terminal."""

import re

# Control characters but newline and tab, what turns the direction of writing, and surrogates.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

# What takes no room at all, and would make two commands look the same. Joiners stay: scripts and emoji need them.
_NO_WIDTH = re.compile(
    "[\xad\u115f\u1160\u180e\u200b\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)

# What only colours text, links it, clears the rest of a line or hides the cursor.
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m|\x1b\[[0-2]?K|\x1b\]8;[^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b\[\?25[hl]|\x1b\(B")


def as_printed(text: str) -> str:
    """What a program printed, without its colours, and of a line that it wrote over and over the last state."""
    plain = _COLOURS.sub("", text) if "\x1b" in text else text
    if "\r" not in plain:
        return plain
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in plain.split("\n"))


def printable(text: str) -> str:
    """The text with everything that a terminal would obey or hide written out as an escape."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n"))


def revealed(text: str) -> str:
    """Printable, and with what takes no room written out too: for what somebody must judge by its looks."""
    return _NO_WIDTH.sub(lambda found: f"\\u{ord(found[0]):04x}", printable(text))


def one_line(text: str, width: int) -> str:
    """The text as one line that can be shown, of at most `width` characters."""
    # Much of a long text would be thrown away again.
    line = " ".join(printable(text[: width * 8]).split())
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"
