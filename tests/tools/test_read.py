import base64
import codecs
import os
import socket
import unicodedata
from pathlib import Path

import pytest

from marvin_agent.errors import ToolError
from marvin_agent.messages import Image
from marvin_agent.tools.read import read_tool
from marvin_agent.tools.tool import ToolFailure
from tools.fakes import FakeContext, text_of

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
read = read_tool()


async def test_a_text_comes_as_it_is(ctx: FakeContext) -> None:
    (ctx.cwd / "a.txt").write_text("one\n\ttwo\nthree")
    result = await ctx.call(read, path="a.txt")
    assert text_of(result) == "one\n\ttwo\nthree"
    assert result.details == {"path": "a.txt", "firstLine": 1, "lastLine": 3, "totalLines": 3}


async def test_an_empty_file_is_said_to_be_empty(ctx: FakeContext) -> None:
    (ctx.cwd / "a.txt").touch()
    assert text_of(await ctx.call(read, path="a.txt")) == "[The file is empty.]"


async def test_offset_and_limit_choose_lines_and_the_rest_is_pointed_to(ctx: FakeContext) -> None:
    (ctx.cwd / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 101)))
    result = await ctx.call(read, path="a.txt", offset=10, limit=3)
    assert text_of(result) == "10\n11\n12\n\n[Lines 10-12 of 100. Use offset=13 to go on.]"
    assert text_of(await ctx.call(read, path="a.txt", offset=99)) == "99\n100\n"


async def test_an_offset_beyond_the_end_is_an_error(ctx: FakeContext) -> None:
    (ctx.cwd / "a.txt").write_text("one\ntwo\n")
    with pytest.raises(ToolFailure, match="has 2 lines; offset 3"):
        await ctx.call(read, path="a.txt", offset=3)


async def test_a_long_file_is_read_page_by_page_without_a_gap(ctx: FakeContext) -> None:
    content = "".join(f"line {n} {'x' * (n % 200)}\n" for n in range(1, 4001))
    (ctx.cwd / "a.txt").write_text(content)
    pieces, offset = [], 1
    while True:
        result = await ctx.call(read, path="a.txt", offset=offset)
        text = text_of(result).partition("\n[Lines ")[0]
        assert len(text.encode()) <= 100 * 1024
        pieces.append(text)
        offset = result.details["lastLine"] + 1
        if offset > result.details["totalLines"]:
            break
    assert "".join(pieces) == content
    assert len(pieces) > 2


async def test_a_line_longer_than_the_limit_says_how_to_see_it(ctx: FakeContext) -> None:
    (ctx.cwd / "it's.json").write_text("first\n" + "x" * 200_000 + "\nlast\n")
    result = await ctx.call(read, path="it's.json", offset=2)
    assert "Line 2 of 3 is longer than 100.0 KB" in text_of(result)
    assert "sed -n 2p 'it'\\''s.json' | cut -c1-2000" in text_of(result)
    assert text_of(await ctx.call(read, path="it's.json", offset=3)) == "last\n"
    assert text_of(await ctx.call(read, path="it's.json")) == "first\n\n[Lines 1-1 of 3. Use offset=2 to go on.]"


async def test_a_part_of_a_huge_file_is_found(ctx: FakeContext) -> None:
    (ctx.cwd / "big.log").write_bytes(b"0123456789abcde\n" * 1_966_080)
    result = await ctx.call(read, path="big.log", offset=1_900_000, limit=1)
    assert text_of(result).startswith("0123456789abcde\n\n[Lines 1900000-1900000 of 1966080.")


async def test_images_come_as_images_whatever_they_are_called(ctx: FakeContext) -> None:
    (ctx.cwd / "picture.txt").write_bytes(PNG)
    result = await ctx.call(read, path="picture.txt")
    assert "image/png" in text_of(result)
    (image,) = [part for part in result.content if isinstance(part, Image)]
    assert image.mime_type == "image/png"
    assert base64.b64decode(image.data) == PNG


@pytest.mark.parametrize(
    ("beginning", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
async def test_the_kind_of_an_image_is_told_by_its_bytes(ctx: FakeContext, beginning: bytes, kind: str) -> None:
    (ctx.cwd / "image").write_bytes(beginning + bytes(50))
    assert kind in text_of(await ctx.call(read, path="image"))


async def test_an_image_that_is_too_large_is_refused_with_what_to_do(ctx: FakeContext) -> None:
    (ctx.cwd / "big.png").write_bytes(PNG + bytes(4_000_000))
    with pytest.raises(ToolFailure, match="smaller copy"):
        await ctx.call(read, path="big.png")
    (ctx.cwd / "long.gif").write_bytes(b"GIF89a" + (100).to_bytes(2, "little") + (20_000).to_bytes(2, "little"))
    with pytest.raises(ToolFailure, match="100 x 20000 pixels"):
        await ctx.call(read, path="long.gif")


async def test_a_binary_file_is_named_as_such(ctx: FakeContext) -> None:
    (ctx.cwd / "program").write_bytes(b"\x7fELF\0\0\0\1" + bytes(5000))
    with pytest.raises(ToolFailure, match=r"program is a binary file \(4.9 KB\)"):
        await ctx.call(read, path="program")


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (b"", "latin-1"),
    ],
)
async def test_text_is_decoded_whatever_its_encoding(ctx: FakeContext, mark: bytes, encoding: str) -> None:
    (ctx.cwd / "a.txt").write_bytes(mark + "größe\r\nzwei\r\n".encode(encoding))
    assert text_of(await ctx.call(read, path="a.txt")) == "größe\nzwei\n"


async def test_a_file_that_lies_about_its_encoding_is_an_error(ctx: FakeContext) -> None:
    (ctx.cwd / "a.txt").write_bytes(codecs.BOM_UTF16_LE + b"abc")
    with pytest.raises(ToolFailure, match="begins like utf-16-le but is not"):
        await ctx.call(read, path="a.txt")


async def test_what_is_no_file_is_told(ctx: FakeContext) -> None:
    (ctx.cwd / "dir").mkdir()
    os.mkfifo(ctx.cwd / "pipe")
    (ctx.cwd / "dangling").symlink_to("nowhere")
    (ctx.cwd / "README.md").touch()
    for path, message in [
        ("dir", "is a directory. Use ls"),
        ("pipe", "not a regular file"),
        ("/dev/zero", "not a regular file"),
        ("dangling", "a link to nowhere, which does not exist"),
        ("missing", "missing does not exist"),
        ("readme.md", "Did you mean README.md?"),
        ("no/such/dir", "neither does the directory"),
        ("", "path is empty"),
        ("a\0b", "NUL"),
        ("README.md/x", "Not a directory"),
    ]:
        with pytest.raises(ToolFailure, match=message):
            await ctx.call(read, path=path)


async def test_paths_are_found_as_they_are_meant(
    ctx: FakeContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "in home.txt").write_text("home")
    (ctx.cwd / "Screen\u202fShot\u00a01.txt").write_text("spaces")
    decomposed = unicodedata.normalize("NFD", "übung")
    (ctx.cwd / decomposed).mkdir()
    (ctx.cwd / decomposed / "ä.txt").write_text("letters")
    assert text_of(await ctx.call(read, path="~/in home.txt")) == "home"
    assert text_of(await ctx.call(read, path="Screen Shot 1.txt")) == "spaces"
    assert text_of(await ctx.call(read, path=unicodedata.normalize("NFC", "übung/ä.txt"))) == "letters"
    assert text_of(await ctx.call(read, path=str(tmp_path / "in home.txt"))) == "home"
    assert text_of(await ctx.call(read, path="../in home.txt")) == "home"


async def test_of_two_names_that_look_alike_the_exact_one_is_read(ctx: FakeContext) -> None:
    (ctx.cwd / "a b").write_text("plain")
    (ctx.cwd / "a\u00a0b").write_text("narrow")
    assert text_of(await ctx.call(read, path="a b")) == "plain"
    assert text_of(await ctx.call(read, path="a\u00a0b")) == "narrow"


async def test_numbers_written_as_text_are_understood(ctx: FakeContext) -> None:
    (ctx.cwd / "a.txt").write_text("one\ntwo\n")
    assert text_of(await ctx.call(read, path="a.txt", offset="2", limit=None)) == "two\n"


async def test_a_line_before_the_first_is_refused(ctx: FakeContext) -> None:
    with pytest.raises(ToolError, match="offset: expected int >= 1"):
        await ctx.call(read, path="a.txt", offset=0)


async def test_a_socket_is_not_read(ctx: FakeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ctx.cwd)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("here")
        with pytest.raises(ToolFailure, match="socket"):
            await ctx.call(read, path="here")
