"""What is told of an image by its bytes."""

import struct

import pytest

from marvin_agent.images import MAX_BYTES, image_type, measures, too_much


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + bytes(20)


def jpeg(width: int, height: int) -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", 3000) + bytes(2998)
    table = b"\xff\xc4" + struct.pack(">H", 4) + bytes(2)
    return b"\xff\xd8" + exif + b"\xff" + table + b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + bytes(9)


IMAGES = {
    "image/png": png(640, 480),
    "image/jpeg": jpeg(640, 480),
    "image/gif": b"GIF89a" + struct.pack("<HH", 640, 480) + bytes(9),
    "image/webp": b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little"),
}
LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L" + bytes(4) + b"\x2f" + struct.pack("<I", 639 | 479 << 14)
LOSSY = b"RIFF\0\0\0\0WEBPVP8 " + bytes(4) + bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", 640, 480)


@pytest.mark.parametrize("data", [*IMAGES.values(), LOSSLESS, LOSSY])
def test_the_measures_of_every_kind(data: bytes) -> None:
    assert measures(data) == (640, 480)
    assert too_much(data) is None


@pytest.mark.parametrize("kind", IMAGES)
def test_an_image_cut_anywhere_breaks_nothing(kind: str) -> None:
    for length in range(len(IMAGES[kind])):
        measures(IMAGES[kind][:length])
    assert image_type(IMAGES[kind]) == kind


def test_what_models_refuse_is_told() -> None:
    assert "1280 x 9000 pixels" in (too_much(png(1280, 9000)) or "")
    assert "MB" in (too_much(png(10, 10) + bytes(MAX_BYTES)) or "")


def test_what_is_no_image_has_no_measures() -> None:
    assert measures(b"text") is None
    assert image_type(b"text") is None
