"""What a prompt holds beside its typed text: long pastes and images, shown as marks and put in when it is sent."""

import os
import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote, urlparse

from marvin_agent.messages import Image

LONG_LINES = 10
LONG_TEXT = 2_000
IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_MARK = re.compile(r"\[(?:pasted \d+ (?:lines|characters)|image) #(\d+)\]")
_IMAGE_MARK = re.compile(r"\[image #\d+\]")
# What a terminal would obey: colours and other sequences, then single control characters.
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?", re.DOTALL)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Sent(NamedTuple):
    """A prompt with everything in it."""

    text: str
    images: tuple[Image, ...]


class Pastes:
    """Numbered marks and what they stand for."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._images: dict[int, Image] = {}
        self._next = 1

    @property
    def texts(self) -> dict[int, str]:
        """The folded texts by number."""
        return dict(self._texts)

    def fold(self, pasted: str) -> str:
        """What to insert for a paste: the text itself, or a mark when it is long."""
        text = harmless(pasted)
        lines = text.count("\n") + 1
        if lines <= LONG_LINES and len(text) <= LONG_TEXT:
            return text
        number = self._number()
        self._texts[number] = text
        size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        return f"[pasted {size} #{number}]"

    def add_image(self, image: Image) -> str:
        """The mark of an image."""
        number = self._number()
        self._images[number] = image
        return f"[image #{number}]"

    def put_back(self, text: str, images: Sequence[Image]) -> str:
        """What to insert for a prompt that was not sent: its marks get the numbers that its images have now."""
        waiting = list(images)
        folded = self.fold(text)
        if not _MARK.fullmatch(folded):
            folded = _IMAGE_MARK.sub(lambda mark: self.add_image(waiting.pop(0)) if waiting else mark[0], folded)
        return " ".join([folded, *map(self.add_image, waiting)]).strip()

    def keep(self, number: int, text: str) -> None:
        """Take back a folded text from a draft."""
        self._texts[number] = text
        self._next = max(self._next, number + 1)

    def expand(self, text: str) -> Sent:
        """The text with the pastes in it, and the images in order. A mark whose content is not known stays."""
        images: list[Image] = []

        def content(found: re.Match[str]) -> str:
            number = int(found[1])
            if number in self._images:
                images.append(self._images[number])
                return found[0]
            return self._texts.get(number, found[0])

        return Sent(_MARK.sub(content, text), tuple(images))

    def _number(self) -> int:
        self._next += 1
        return self._next - 1


def harmless(text: str) -> str:
    """The text without terminal sequences and control characters."""
    plain = _SEQUENCE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _CONTROL.sub("", plain)


def dropped_image(pasted: str, cwd: str) -> str | None:
    """The path of the image that a terminal pastes when a file is dropped on it; None for any other text."""
    text = pasted.strip()
    if "\n" in text or len(text) > 4096 or not text.strip("'\"").lower().endswith(IMAGE_ENDINGS):
        return None
    if text.startswith("file://"):
        path = unquote(urlparse(text).path)
    else:
        try:
            words = shlex.split(text)
        except ValueError:
            return None
        if len(words) != 1:
            return None
        path = os.path.expanduser(words[0])
    full = os.path.join(cwd, path)
    return full if os.path.isfile(full) else None
