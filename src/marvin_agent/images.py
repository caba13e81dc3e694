"""Images that models can see: their kind and measures by their bytes, and what is too much for a model.

One image that a provider refuses makes it refuse every later request of the conversation too, so it must not get in.
"""

import struct
from struct import unpack_from

MAX_BYTES = 3_750_000
"""In base64 this is the 5 MB that providers take."""
MAX_SIDE = 8_000
"""Pixels."""
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))


def image_type(beginning: bytes) -> str | None:
    """The MIME type of an image, by its first bytes; None for anything else."""
    if beginning.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if beginning.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if beginning.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if beginning.startswith(b"RIFF") and beginning[8:12] == b"WEBP":
        return "image/webp"
    return None


def too_much(data: bytes) -> str | None:
    """Why models would refuse this image; None when they take it."""
    if len(data) > MAX_BYTES:
        return f"is an image of more than {MAX_BYTES / 1e6:.2f} MB, which is all that models take"
    width, height = measures(data) or (0, 0)
    if max(width, height) > MAX_SIDE:
        return f"is an image of {width} x {height} pixels; models take at most {MAX_SIDE} a side"
    return None


def measures(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None when they cannot be told."""
    try:
        match image_type(data):
            case "image/png" if data[12:16] == b"IHDR":
                return unpack_from(">II", data, 16)
            case "image/gif":
                return unpack_from("<HH", data, 6)
            case "image/jpeg":
                return _of_jpeg(data)
            case "image/webp":
                return _of_webp(data)
            case _:
                return None
    except (struct.error, IndexError):
        return None


def _of_jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = unpack_from(">HH", data, at + 5)
            return width, height
        if marker == 0xFF:
            at += 1
        else:
            at += 2 if marker in _JPEG_ALONE else 2 + unpack_from(">H", data, at + 2)[0]
    return None


def _of_webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        case b"VP8L":
            bits = unpack_from("<I", data, 21)[0]
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            width, height = unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return None
