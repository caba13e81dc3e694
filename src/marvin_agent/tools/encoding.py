"""How the text of a file is stored: its encoding, its byte order mark, its line endings."""

import codecs
from typing import Literal, TypeAlias

import msgspec

from marvin_agent.tools.tool import ToolFailure

LineEnd: TypeAlias = Literal["\n", "\r\n"]

SNIFF = 8192
"""Bytes at the beginning of a file that tell whether it is text."""

# The marks of UTF-32 begin like those of UTF-16, so they come first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Encoding(msgspec.Struct, frozen=True):
    """The encoding of a file."""

    name: str = "utf-8"
    mark: bytes = b""

    def encode(self, text: str) -> bytes:
        """The bytes of a text. Raises ToolFailure when a character does not exist in the encoding."""
        try:
            return self.mark + text.encode(self.name)
        except UnicodeEncodeError as error:
            letter = text[error.start]
            raise ToolFailure(
                f"The file is stored as {self.name}, which has no {letter!r} (U+{ord(letter):04X}). "
                "Use other characters, or convert the file to UTF-8 first."
            ) from None


def encoding_of(data: bytes) -> Encoding:
    """The encoding of a text file: by its mark, else UTF-8 if it is valid, else Latin-1, which any bytes are."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return Encoding(name, mark)
    try:
        data.decode()
    except UnicodeDecodeError:
        return Encoding("latin-1")
    return Encoding()


def decode(data: bytes) -> tuple[str, Encoding]:
    """The text of a file and how it is stored. Raises ToolFailure when its mark promises what it does not hold."""
    encoding = encoding_of(data)
    try:
        return data[len(encoding.mark) :].decode(encoding.name), encoding
    except UnicodeDecodeError as error:
        raise ToolFailure(
            f"The file begins like {encoding.name} but is not: byte {error.start} makes no sense there. "
            "Use bash to look at it, for example with xxd."
        ) from None


def decode_anyhow(data: bytes) -> str:
    """The text of a file to look at, with replacement characters where it makes no sense."""
    encoding = encoding_of(data)
    return data[len(encoding.mark) :].decode(encoding.name, "replace")


def is_binary(beginning: bytes) -> bool:
    """True for a file that is no text, by its first bytes."""
    if any(beginning.startswith(mark) for mark, _ in _MARKS):
        return False
    return b"\0" in beginning[:SNIFF]


def line_end(text: str) -> LineEnd:
    """The line ending that most lines of a text have."""
    windows = text.count("\r\n")
    return "\r\n" if windows * 2 > text.count("\n") else "\n"
