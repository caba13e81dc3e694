"""Whether the terminal is light or dark: it is asked (OSC 11), and its answer is taken out of what is typed."""

import re
from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.message import Message

_COLOUR = r"([0-9a-fA-F]{1,4})"
_ANSWER = re.compile(rf"\x1b\]11;rgba?:{_COLOUR}/{_COLOUR}/{_COLOUR}(?:/[0-9a-fA-F]{{1,4}})?(?:\x07|\x1b\\)")
_BEGUN = re.compile(r"\x1b\]1(?:1(?:;[rgba:/0-9a-fA-F]{0,24}\x1b?)?)?\Z")
"""An answer whose rest is still to come. What is shorter is a key: Esc, or Alt+]."""


class BackgroundTold(Message):
    """The terminal's answer."""

    def __init__(self, *, light: bool) -> None:
        super().__init__()
        self.light = light


class AnswerParser(XTermParser):
    """Textual's reader of what a terminal sends, to which the answer would be a row of keys."""

    _held = ""

    def feed(self, data: str) -> Iterable[Message]:
        if not data:  # the end
            yield from super().feed(data)
            return
        data, self._held = self._held + data, ""
        if begun := _BEGUN.search(data):
            data, self._held = data[: begun.start()], begun[0]
        at = 0
        for answer in _ANSWER.finditer(data):
            if answer.start() > at:
                yield from super().feed(data[at : answer.start()])
            yield BackgroundTold(light=is_light(*answer.groups()))
            at = answer.end()
        if data[at:]:
            yield from super().feed(data[at:])


def is_light(red: str, green: str, blue: str) -> bool:
    """Whether text on this colour has to be dark. The colour's parts are hexadecimal, of one to four digits."""
    r, g, b = (int(part, 16) / int("f" * len(part), 16) for part in (red, green, blue))
    return 0.299 * r + 0.587 * g + 0.114 * b > 0.5
