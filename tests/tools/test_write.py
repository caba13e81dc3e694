import os
import stat
from pathlib import Path

import pytest

from marvin_agent.tools.edit import edit_tool
from marvin_agent.tools.files import SeenFiles
from marvin_agent.tools.read import read_tool
from marvin_agent.tools.replace import replace_file, signature
from marvin_agent.tools.tool import ToolFailure
from marvin_agent.tools.write import write_tool
from tools.fakes import FakeContext, text_of

read, write, edit = read_tool(), write_tool(), edit_tool()


async def test_a_new_file_is_created_with_its_directories(ctx: FakeContext) -> None:
    result = await ctx.call(write, path="a/b/c.txt", content="größe\n")
    assert (ctx.cwd / "a/b/c.txt").read_text() == "größe\n"
    assert text_of(result) == "Created a/b/c.txt: 8 bytes written."
    assert result.details == {"path": "a/b/c.txt", "bytes": 8, "created": True}


async def test_a_new_file_has_the_mode_that_the_user_wants(ctx: FakeContext) -> None:
    before = os.umask(0o027)
    try:
        await ctx.call(write, path="a.txt", content="x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((ctx.cwd / "a.txt").stat().st_mode) == 0o640


async def test_a_replaced_file_keeps_its_mode_and_gives_a_diff(ctx: FakeContext) -> None:
    path = ctx.cwd / "run.sh"
    path.write_text("one\ntwo\n")
    path.chmod(0o751)
    result = await ctx.call(write, path="run.sh", content="one\n2\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert text_of(result) == "Replaced run.sh: 6 bytes written."
    assert result.details["diff"] == "--- run.sh\n+++ run.sh\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    assert result.details["firstLine"] == 2


async def test_the_content_is_written_as_it_is(ctx: FakeContext) -> None:
    await ctx.call(write, path="a.txt", content="\ufeffa\r\nb\n\n")
    assert (ctx.cwd / "a.txt").read_bytes() == "\ufeffa\r\nb\n\n".encode()


async def test_half_a_character_does_not_break_the_file(ctx: FakeContext) -> None:
    await ctx.call(write, path="a.txt", content="a\ud83d\nb")
    assert (ctx.cwd / "a.txt").read_text() == "a\ufffd\nb"


async def test_a_link_is_followed_and_stays_a_link(ctx: FakeContext) -> None:
    (ctx.cwd / "real").mkdir()
    (ctx.cwd / "real/file").write_text("old")
    (ctx.cwd / "link").symlink_to("real/file")
    (ctx.cwd / "new link").symlink_to("real/new")
    await ctx.call(write, path="link", content="new")
    await ctx.call(write, path="new link", content="new")
    assert (ctx.cwd / "link").is_symlink()
    assert (ctx.cwd / "real/file").read_text() == "new"
    assert (ctx.cwd / "real/new").read_text() == "new"


async def test_a_file_is_replaced_in_one_step(ctx: FakeContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("old")
    with path.open() as reader:
        await ctx.call(write, path="a.txt", content="new")
        assert reader.read() == "old"
    assert path.read_text() == "new"
    assert os.listdir(ctx.cwd) == ["a.txt"]


async def test_what_cannot_be_written_is_told_and_left_alone(ctx: FakeContext) -> None:
    (ctx.cwd / "dir").mkdir()
    os.mkfifo(ctx.cwd / "pipe")
    (ctx.cwd / "file").touch()
    for path, message in [
        ("dir", "is a directory"),
        ("new/", "names a directory"),
        ("pipe", "not a regular file"),
        ("/dev/null", "not a regular file"),
        ("file/below", "Not a directory"),
        ("x" * 300, "File name too long"),
    ]:
        with pytest.raises(ToolFailure, match=message):
            await ctx.call(write, path=path, content="x")
    assert sorted(os.listdir(ctx.cwd)) == ["dir", "file", "pipe"]


async def test_the_longest_name_can_be_written(ctx: FakeContext) -> None:
    name = "x" * 255
    await ctx.call(write, path=name, content="1")
    await ctx.call(write, path=name, content="2")
    assert (ctx.cwd / name).read_text() == "2"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everything")
async def test_a_read_only_file_is_not_replaced(ctx: FakeContext) -> None:
    (ctx.cwd / "a.txt").write_text("old")
    (ctx.cwd / "a.txt").chmod(0o444)
    with pytest.raises(ToolFailure, match="read-only"):
        await ctx.call(write, path="a.txt", content="new")
    assert (ctx.cwd / "a.txt").read_text() == "old"


async def test_a_file_that_changed_since_it_was_read_is_not_written(ctx: FakeContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("one\n")
    await ctx.call(read, path="a.txt")
    path.write_text("two\n")
    for call in (
        ctx.call(write, path="a.txt", content="mine"),
        ctx.call(edit, path="a.txt", oldText="two", newText="2"),
    ):
        with pytest.raises(ToolFailure, match=r"changed since you last saw it.*read it again"):
            await call
    assert path.read_text() == "two\n"
    await ctx.call(read, path="a.txt")
    await ctx.call(write, path="a.txt", content="mine")
    assert path.read_text() == "mine"


async def test_own_writes_are_no_surprise(ctx: FakeContext) -> None:
    await ctx.call(write, path="a.txt", content="one\n")
    await ctx.call(edit, path="a.txt", oldText="one", newText="two")
    await ctx.call(edit, path="./a.txt", oldText="two", newText="three")
    await ctx.call(write, path=str(ctx.cwd / "a.txt"), content="four\n")
    assert (ctx.cwd / "a.txt").read_text() == "four\n"


async def test_a_file_that_changed_since_it_was_written_is_not_written_again(ctx: FakeContext) -> None:
    await ctx.call(write, path="a.txt", content="one\n")
    (ctx.cwd / "a.txt").write_text("somebody's\n")
    with pytest.raises(ToolFailure, match="changed since you last saw it"):
        await ctx.call(write, path="a.txt", content="two\n")
    assert (ctx.cwd / "a.txt").read_text() == "somebody's\n"


async def test_a_replaced_file_keeps_its_attributes(ctx: FakeContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("one\n")
    try:
        os.setxattr(path, "user.origin", b"here")
    except (AttributeError, OSError):
        pytest.skip("this file system has no attributes")
    await ctx.call(write, path="a.txt", content="two\n")
    assert os.getxattr(path, "user.origin") == b"here"


async def test_a_touched_file_is_the_same_file(ctx: FakeContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("one\n")
    await ctx.call(read, path="a.txt")
    os.utime(path, ns=(1, 1))
    await ctx.call(edit, path="a.txt", oldText="one", newText="two")
    assert path.read_text() == "two\n"


async def test_a_change_within_one_tick_of_the_clock_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    state = path.stat()
    seen = SeenFiles()
    seen.saw(path)
    path.write_text("two")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert seen.changed_since_seen(path)
    assert not SeenFiles().changed_since_seen(path)


async def test_a_removed_file_is_noticed_and_can_be_written_anew(ctx: FakeContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("one\n")
    await ctx.call(read, path="a.txt")
    path.unlink()
    with pytest.raises(ToolFailure, match="was removed"):
        await ctx.call(write, path="a.txt", content="mine")
    await ctx.call(write, path="a.txt", content="mine")
    assert path.read_text() == "mine"


async def test_of_two_agents_the_second_is_told_of_the_first(ctx: FakeContext) -> None:
    other = FakeContext(ctx.cwd)
    (ctx.cwd / "a.txt").write_text("one\ntwo\n")
    await ctx.call(read, path="a.txt")
    await other.call(read, path="a.txt")
    await ctx.call(edit, path="a.txt", oldText="one", newText="1")
    with pytest.raises(ToolFailure, match="read it again"):
        await other.call(edit, path="a.txt", oldText="two", newText="2")
    assert (ctx.cwd / "a.txt").read_text() == "1\ntwo\n"


async def test_a_long_file_is_replaced_without_a_diff(ctx: FakeContext) -> None:
    (ctx.cwd / "a.txt").write_text("x\n" * 600_000)
    result = await ctx.call(write, path="a.txt", content="short")
    assert "diff" not in result.details
    assert (ctx.cwd / "a.txt").read_text() == "short"


def test_a_call_names_the_file_that_it_writes() -> None:
    for tool in (write, edit):
        assert tool.path_of is not None
        assert tool.path_of({"path": "a.txt"}) == "a.txt"
        assert tool.acts


def test_a_file_that_changes_between_reading_and_replacing_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("read")
    expected = signature(path.stat())
    path.write_text("changed meanwhile")
    with pytest.raises(ToolFailure, match="changed by somebody else just now"):
        replace_file(str(path), b"mine", "a.txt", expected)
    with pytest.raises(ToolFailure, match="just now"):
        replace_file(str(path), b"mine", "a.txt", None)
    assert path.read_text() == "changed meanwhile"
    assert os.listdir(tmp_path) == ["a.txt"]
