import codecs
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_agent.errors import ToolError
from marvin_agent.tools.edit import edit_tool, occurrences
from marvin_agent.tools.encoding import Encoding
from marvin_agent.tools.storedtext import Replaced, StoredText
from marvin_agent.tools.tool import ToolFailure
from tools.fakes import FakeContext, text_of

edit = edit_tool()


@pytest.fixture
def file(ctx: FakeContext) -> Path:
    path = ctx.cwd / "a.py"
    path.write_text("def one():\n    return 1\n\n\ndef two():\n    return 2\n")
    return path


async def refused(ctx: FakeContext, **arguments: object) -> str:
    before = {path: path.read_bytes() for path in ctx.cwd.iterdir()}
    with pytest.raises(ToolError) as caught:
        await ctx.call(edit, path="a.py", **arguments)
    assert {path: path.read_bytes() for path in ctx.cwd.iterdir()} == before
    return caught.value.message


async def test_a_text_is_replaced_and_the_diff_is_in_the_details(ctx: FakeContext, file: Path) -> None:
    result = await ctx.call(edit, path="a.py", oldText="return 2", newText="return 3")
    assert file.read_text() == "def one():\n    return 1\n\n\ndef two():\n    return 3\n"
    assert text_of(result) == "Edited a.py: 1 replacement."
    assert result.details["path"] == "a.py"
    assert result.details["firstLine"] == 6
    assert result.details["diff"].endswith("@@ -3,4 +3,4 @@\n \n \n def two():\n-    return 2\n+    return 3\n")


async def test_several_edits_are_made_at_once(ctx: FakeContext, file: Path) -> None:
    edits = [{"oldText": "two()", "newText": "three()"}, {"oldText": "one()", "newText": "two()"}]
    result = await ctx.call(edit, path="a.py", edits=edits)
    assert file.read_text() == "def two():\n    return 1\n\n\ndef three():\n    return 2\n"
    assert text_of(result) == "Edited a.py: 2 replacements."


async def test_several_edits_are_made_all_or_none(ctx: FakeContext, file: Path) -> None:
    message = await refused(
        ctx, edits=[{"oldText": "one()", "newText": "1()"}, {"oldText": "missing thing", "newText": ""}]
    )
    assert message.startswith("edits[1].oldText was not found in a.py. Nothing was changed.")


async def test_an_ambiguous_text_is_refused_with_its_places(ctx: FakeContext, file: Path) -> None:
    message = await refused(ctx, oldText="    return ", newText="x")
    assert "is in a.py 2 times (at lines 2, 6)" in message


async def test_overlapping_places_are_ambiguous_too(ctx: FakeContext, file: Path) -> None:
    file.write_text("aaa\n")
    assert "2 times" in await refused(ctx, oldText="aa", newText="b")


async def test_overlapping_edits_are_refused(ctx: FakeContext, file: Path) -> None:
    edits = [{"oldText": "def one():\n    return", "newText": "x"}, {"oldText": "return 1", "newText": "y"}]
    assert "edits[0] and edits[1] overlap" in await refused(ctx, edits=edits)


async def test_different_white_space_is_pointed_out(ctx: FakeContext, file: Path) -> None:
    message = await refused(ctx, oldText="def two():\n\treturn 2", newText="x")
    assert "The nearest text is in lines 5-6:\n5: def two():\n6:     return 2\n" in message
    assert "Line 6 differs in white space only" in message
    assert r'in the file: "    return 2"' in message
    assert r'in oldText:  "\treturn 2"' in message


async def test_letters_that_look_alike_are_pointed_out(ctx: FakeContext, file: Path) -> None:
    file.write_text("say(\u201chello\u201d)\n")
    message = await refused(ctx, oldText='say("hello")', newText="x")
    assert "look alike" in message
    assert "U+201C" in message


async def test_a_similar_line_is_shown(ctx: FakeContext, file: Path) -> None:
    file.write_text("alpha = 1\nvalue = compute(first, second)\nomega = 2\n")
    message = await refused(ctx, oldText="value = compute(first, third)", newText="x")
    assert "The nearest text is in line 2" in message
    assert "differs in its text" in message


async def test_a_text_that_goes_beyond_the_end_is_explained(ctx: FakeContext, file: Path) -> None:
    message = await refused(ctx, oldText="def two():\n    return 2\n    # more", newText="x")
    assert "lines 5-7" in message


async def test_a_text_like_nothing_in_the_file_is_told(ctx: FakeContext, file: Path) -> None:
    assert "Nothing in the file is like it" in await refused(ctx, oldText="zzzqqq", newText="x")
    file.write_text("")
    assert "was not found" in await refused(ctx, oldText="    \n", newText="x")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "oldText: is required, unless you give edits"),
        ({"oldText": "one"}, "newText: is required"),
        ({"oldText": "", "newText": "x"}, "oldText is empty"),
        ({"oldText": "one", "newText": "one"}, "are the same"),
        ({"edits": []}, "edits: is empty"),
        ({"edits": [{"oldText": "a", "newText": "b"}], "oldText": "one"}, "not both"),
        ({"edits": [{"oldText": "a"}]}, r"edits[0]: object missing required field newText"),
        ({"old_string": "a", "newText": "b"}, "old_string: there is no such argument"),
    ],
)
async def test_wrong_arguments_are_named(
    ctx: FakeContext, file: Path, arguments: dict[str, object], message: str
) -> None:
    assert message in await refused(ctx, **arguments)


async def test_a_missing_file_is_not_created(ctx: FakeContext) -> None:
    with pytest.raises(ToolFailure, match="does not exist"):
        await ctx.call(edit, path="b.py", oldText="a", newText="b")


async def test_a_binary_file_is_not_edited(ctx: FakeContext, file: Path) -> None:
    file.write_bytes(b"a\0b")
    assert "binary" in await refused(ctx, oldText="a", newText="b")


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (b"", "latin-1"),
    ],
)
async def test_encoding_and_mark_are_kept(ctx: FakeContext, file: Path, mark: bytes, encoding: str) -> None:
    file.write_bytes(mark + "größe\r\nzwei\r\n".encode(encoding))
    await ctx.call(edit, path="a.py", oldText="größe\nzwei", newText="Größe\nzwei\ndreißig")
    assert file.read_bytes() == mark + "Größe\r\nzwei\r\ndreißig\r\n".encode(encoding)


async def test_a_letter_that_the_encoding_has_not_is_refused(ctx: FakeContext, file: Path) -> None:
    file.write_bytes("größe\n".encode("latin-1"))
    assert "latin-1, which has no '→' (U+2192)" in await refused(ctx, oldText="öße", newText="→")


async def test_lines_that_a_model_repeats_around_a_change_keep_their_endings(ctx: FakeContext, file: Path) -> None:
    file.write_bytes(b"a\r\nb\nc\r\nd\n")
    await ctx.call(edit, path="a.py", oldText="a\nb\nc\nd", newText="a\nB\nc\nd")
    assert file.read_bytes() == b"a\r\nB\nc\r\nd\n"


@given(
    lines=st.lists(st.tuples(st.text("ab ", max_size=4), st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=8),
    data=st.data(),
)
def test_what_is_not_replaced_keeps_its_line_endings(lines: list[tuple[str, str]], data: st.DataObject) -> None:
    stored = "".join(line + end for line, end in lines)
    text = StoredText(stored, Encoding())
    start = data.draw(st.integers(0, len(text.text)))
    end = data.draw(st.integers(start, len(text.text)))
    new = data.draw(st.text("xy\n", max_size=6))
    result = text.replace([Replaced(start, end, new)])
    assert result.replace("\r\n", "\n") == text.text[:start] + new + text.text[end:]
    before, after = text.text[:start].count("\n"), text.text[end:].count("\n")
    endings = [end for _, end in lines]
    found = [line.endswith("\r") for line in result.split("\n")[:-1]]
    assert found[:before] == [end == "\r\n" for end in endings[:before]]
    assert found[len(found) - after :] == [end == "\r\n" for end in endings[len(endings) - after :]]
    assert "\r" not in result.replace("\r\n", "")


@given(st.text("ab", max_size=20), st.text("ab", min_size=1, max_size=3))
def test_every_occurrence_is_found(text: str, old: str) -> None:
    assert occurrences(text, old) == [at for at in range(len(text)) if text.startswith(old, at)]
