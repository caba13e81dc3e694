"""Text from elsewhere, made fit to be shown in a terminal."""

import re

# Control characters but newline and tab, what turns the direction of writing, and surrogates.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

# What takes no room at all or looks like a space, and would make two commands look the same. Joiners, and the mark
# that asks for an emoji, stay where scripts and emoji need them: not behind a letter of ASCII or one another.
_DECEIVING = re.compile(
    "[\xa0\xad\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200b\u202f\u205f-\u206f\u2800\u3164"
    "\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]"
    "|(?<![^\x00-\x22\x24-\x29\x2b-\x2f\x3a-\x7f\u200c\u200d\ufe0f])\ufe0f"
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
    """Printable, and with what takes no room or passes for a space written out too: for what is judged by its looks."""
    return _DECEIVING.sub(lambda found: f"\\u{ord(found[0]):04x}", printable(text))


def one_line(text: str, width: int) -> str:
    """The text as one line that can be shown, of at most `width` characters."""
    # Much of a long text would be thrown away again.
    line = " ".join(printable(text[: width * 8]).split())
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"
