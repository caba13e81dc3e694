import os
from pathlib import Path

import pytest

from marvin_agent.errors import ToolError
from marvin_agent.tools.find import find_tool
from marvin_agent.tools.grep import grep_tool
from marvin_agent.tools.ls import ls_tool
from marvin_agent.tools.ripgrep import ripgrep
from marvin_agent.tools.tool import ToolFailure
from tools.fakes import FakeContext, text_of

grep, find, ls = grep_tool(), find_tool(), ls_tool()


@pytest.fixture
def project(ctx: FakeContext) -> Path:
    for name, text in {
        ".gitignore": "*.log\n/build/\n",
        ".git/config": "needle\n",
        ".github/ci.yml": "needle: yes\n",
        "src/a.py": "one\nneedle here\nthree\n",
        "src/b.ts": "Needle\n",
        "src/deep/c.py": "x = 'needle'\n",
        "src/noise.log": "needle\n",
        "build/out.py": "needle\n",
    }.items():
        path = ctx.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ctx.cwd


async def test_grep_gives_places_relative_to_the_working_directory(ctx: FakeContext, project: Path) -> None:
    result = await ctx.call(grep, pattern="needle")
    assert text_of(result) == (".github/ci.yml:1:needle: yes\nsrc/a.py:2:needle here\nsrc/deep/c.py:1:x = 'needle'\n")
    assert result.details == {"path": ".", "matches": 3}


async def test_grep_searches_a_directory_or_a_file(ctx: FakeContext, project: Path) -> None:
    assert text_of(await ctx.call(grep, pattern="needle", path="src/deep")) == "src/deep/c.py:1:x = 'needle'\n"
    assert text_of(await ctx.call(grep, pattern="needle", path="src/a.py")) == "src/a.py:2:needle here\n"
    assert text_of(await ctx.call(grep, pattern="needle", path="src/noise.log")) == "src/noise.log:1:needle\n"
    outside = FakeContext(project / "src")
    assert text_of(await outside.call(grep, pattern="yes", path="..")) == f"{project}/.github/ci.yml:1:needle: yes\n"


async def test_a_glob_narrows_and_does_not_bring_ignored_files_back(ctx: FakeContext, project: Path) -> None:
    assert text_of(await ctx.call(grep, pattern="needle", glob="*.log")) == "No matches for needle."
    assert text_of(await ctx.call(grep, pattern="needle", glob="*.{ts,yml}", ignoreCase=True)) == (
        ".github/ci.yml:1:needle: yes\nsrc/b.ts:1:Needle\n"
    )
    assert text_of(await ctx.call(grep, pattern="needle", glob="src/*.py")) == "src/a.py:2:needle here\n"
    assert text_of(await ctx.call(grep, pattern="needle", glob="!*.py")) == ".github/ci.yml:1:needle: yes\n"


async def test_context_lines_are_shown_around_a_match(ctx: FakeContext, project: Path) -> None:
    assert text_of(await ctx.call(grep, pattern="needle", path="src", glob="a.py", context=1)) == (
        "src/a.py-1-one\nsrc/a.py:2:needle here\nsrc/a.py-3-three\n"
    )


async def test_a_pattern_can_be_plain_text_or_begin_with_a_dash(ctx: FakeContext, project: Path) -> None:
    (project / "d.txt").write_text("call(x)\n--flag\n")
    assert text_of(await ctx.call(grep, pattern="call(", literal=True)) == "d.txt:1:call(x)\n"
    assert text_of(await ctx.call(grep, pattern="--flag")) == "d.txt:2:--flag\n"
    assert text_of(await ctx.call(grep, pattern="-e")) == "No matches for -e."


async def test_a_wrong_expression_is_passed_on(ctx: FakeContext, project: Path) -> None:
    with pytest.raises(ToolFailure, match=r"(?s)unclosed group.*use literal"):
        await ctx.call(grep, pattern="call(")


async def test_a_pattern_can_span_lines(ctx: FakeContext, project: Path) -> None:
    assert text_of(await ctx.call(grep, pattern=r"one\nneedle")) == "src/a.py:1:one\nsrc/a.py:2:needle here\n"


async def test_grep_stops_at_the_limit_and_says_so(ctx: FakeContext, project: Path) -> None:
    (project / "many.txt").write_text("needle\n" * 500_000)
    result = await ctx.call(grep, pattern="needle", path="many.txt", limit=3)
    assert text_of(result) == (
        "many.txt:1:needle\nmany.txt:2:needle\nmany.txt:3:needle\n\n"
        "[The first 3 matches. Narrow the pattern, path or glob, or raise limit, for more.]"
    )
    exact = await ctx.call(grep, pattern="needle", path="src", limit=2)
    assert "[The first" not in text_of(exact)
    lots = await ctx.call(grep, pattern="needle", path="many.txt", limit=100_000)
    assert lots.details["matches"] == 1500


async def test_long_lines_are_cut(ctx: FakeContext, project: Path) -> None:
    (project / "min.js").write_text("x" * 100_000 + "needle2" + "y" * 1_000_000)
    (project / "long.js").write_text("needle2" + "y" * 1_000_000)
    result = text_of(await ctx.call(grep, pattern="needle2"))
    assert result.startswith("long.js:1:needle2yyy")
    assert len(result) < 2000


async def test_a_binary_file_is_not_shown(ctx: FakeContext, project: Path) -> None:
    (project / "data.bin").write_bytes(b"needle3\n\0\0\0needle3\n")
    assert text_of(await ctx.call(grep, pattern="needle3", glob="*.bin")) == "No matches for needle3."


async def test_a_binary_file_that_was_asked_for_is_named_as_one(ctx: FakeContext, project: Path) -> None:
    (project / "data.bin").write_bytes(b"\0\0\0needle3\n")
    told = text_of(await ctx.call(grep, pattern="needle3", path="data.bin"))
    assert told == "data.bin: a binary file, which matches. Look at it by bash: grep -a, strings, xxd.\n"
    assert text_of(await ctx.call(grep, pattern="hay", path="data.bin")) == "No matches for hay."


async def test_a_name_with_a_line_break_stays_in_its_line(ctx: FakeContext, project: Path) -> None:
    (project / "odd\nsrc" / "late").mkdir(parents=True)
    (project / "odd\nsrc" / "a.py").write_text("needle4\n")
    (project / "odd\nsrc" / "late" / "b").write_bytes(b"needle4\n" + b"hay\n" * 100_000 + b"\0")
    (project / "z").write_text("needle4\n")
    assert text_of(await ctx.call(grep, pattern="needle4")) == (
        "odd\\nsrc/a.py:1:needle4\nodd\\nsrc/late/b:1:needle4\nz:1:needle4\n"
    )
    assert text_of(await ctx.call(find, pattern="odd*/*.py")) == "odd\\nsrc/a.py\n"


async def test_text_in_other_encodings_is_shown(ctx: FakeContext, project: Path) -> None:
    (project / "wide.txt").write_text("größe\n", encoding="utf-16")
    (project / "latin.txt").write_bytes("grösse\r\n".encode("latin-1"))
    assert text_of(await ctx.call(grep, pattern="^gr.*(ss|ß)e$|sse$")) == (
        "latin.txt:1:gr\ufffdsse\nwide.txt:1:größe\n"
    )


async def test_more_files_than_a_command_line_holds_are_searched(ctx: FakeContext) -> None:
    for number in range(2100):
        (ctx.cwd / f"{number:04}.txt").write_text("needle\n" if number % 1000 == 999 else "hay\n")
    result = await ctx.call(grep, pattern="needle", glob="*.txt")
    assert text_of(result) == "0999.txt:1:needle\n1999.txt:1:needle\n"


async def test_find_matches_names_anywhere_or_paths_from_the_start(ctx: FakeContext, project: Path) -> None:
    assert text_of(await ctx.call(find, pattern="*.py")) == "src/a.py\nsrc/deep/c.py\n"
    assert text_of(await ctx.call(find, pattern="src/*.py")) == "src/a.py\n"
    assert text_of(await ctx.call(find, pattern="**/c.*")) == "src/deep/c.py\n"
    assert text_of(await ctx.call(find, pattern="*.py", path="src/deep")) == "src/deep/c.py\n"
    assert text_of(await ctx.call(find, pattern="deep")) == "src/deep/\n"
    assert text_of(await ctx.call(find, pattern=".*")) == ".github/\n.gitignore\n"


async def test_find_sees_links_to_files_and_goes_into_no_linked_directory(ctx: FakeContext, project: Path) -> None:
    (project / "CLAUDE.md").symlink_to("src/a.py")
    (project / "src" / "AGENTS.md").symlink_to("a.py")
    (project / "other.log").symlink_to("src/a.py")
    (project / "gone.md").symlink_to("nowhere")
    (project / "elsewhere").symlink_to("src/deep")
    (project / "round").symlink_to(".")
    assert text_of(await ctx.call(find, pattern="*.md")) == "CLAUDE.md\nsrc/AGENTS.md\n"
    assert text_of(await ctx.call(find, pattern="*.log")) == "Nothing matches *.log."
    assert text_of(await ctx.call(find, pattern="*.py")) == "src/a.py\nsrc/deep/c.py\n"


async def test_find_says_when_nothing_matches(ctx: FakeContext, project: Path) -> None:
    assert text_of(await ctx.call(find, pattern="*.log")) == "Nothing matches *.log."
    assert "use **/deep/*.py" in text_of(await ctx.call(find, pattern="deep/*.py"))


async def test_find_stops_at_the_limit_and_says_so(ctx: FakeContext, project: Path) -> None:
    text = text_of(await ctx.call(find, pattern="*.py", limit=1))
    assert text == "src/a.py\n\n[The first 1 of 2 results. Use a narrower pattern or a higher limit.]"


async def test_ls_lists_everything(ctx: FakeContext, project: Path) -> None:
    (project / "link").symlink_to("src/a.py")
    (project / "new\nline").touch()
    assert text_of(await ctx.call(ls)) == ".git/\n.github/\n.gitignore\nbuild/\nlink -> src/a.py\nnew\\nline\nsrc/\n"
    assert text_of(await ctx.call(ls, path="src", limit=1)) == (
        "a.py\n\n[The first 1 of 4 entries. Use find with a pattern, or a higher limit.]"
    )
    (project / "empty").mkdir()
    assert text_of(await ctx.call(ls, path="empty")) == "(empty directory)"


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        (ls, {"path": "missing"}, "missing does not exist"),
        (ls, {"path": "src/a.py"}, "is a file, not a directory. Use read"),
        (find, {"pattern": "*", "path": "missing"}, "missing does not exist"),
        (find, {"pattern": "*", "path": "src/a.py"}, "is a file"),
        (find, {"pattern": "{a,b}" * 40}, "Make it simpler"),
        (grep, {"pattern": "x", "path": "missing"}, "missing does not exist"),
        (grep, {"pattern": "x", "path": "/dev/zero"}, "is not a regular file"),
        (grep, {"pattern": "x", "path": "pipe"}, "is not a regular file"),
        (grep, {"pattern": "x", "limit": 0}, "limit: expected int >= 1"),
        (grep, {"query": "x"}, "pattern: is required"),
    ],
)
async def test_mistakes_are_told(
    ctx: FakeContext, project: Path, tool: object, arguments: dict[str, object], message: str
) -> None:
    os.mkfifo(project / "pipe")
    with pytest.raises(ToolError, match=message):
        await ctx.call(tool, **arguments)  # type: ignore[arg-type]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
async def test_what_may_not_be_read_is_told(ctx: FakeContext, project: Path) -> None:
    (project / "src" / "a.py").chmod(0)
    (project / "src" / "deep").chmod(0o444)
    for tool, path in ((grep, "src/a.py"), (grep, "src/deep"), (find, "src/deep")):
        with pytest.raises(ToolFailure, match=f"Cannot read {path}: Permission denied"):
            await ctx.call(tool, pattern="x", path=path)


async def test_a_search_that_never_ends_is_ended(project: Path) -> None:
    os.mkfifo(project / "pipe")
    found: list[str] = []
    ended = await ripgrep(
        ["--", "x", "./pipe"], str(project), b"\n", lambda line: bool(found.append(line)), timeout=0.2
    )
    assert ended.timed_out
    assert not found


async def test_the_users_own_configuration_of_ripgrep_does_not_count(
    ctx: FakeContext, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.parent / "rc").write_text("--ignore-case\n")
    monkeypatch.setitem(os.environ, "RIPGREP_CONFIG_PATH", str(project.parent / "rc"))
    assert "b.ts" not in text_of(await ctx.call(grep, pattern="needle"))


async def test_ignore_files_count_outside_of_a_repository_too(ctx: FakeContext) -> None:
    (ctx.cwd / ".gitignore").write_text("*.log\n")
    (ctx.cwd / "a.log").write_text("needle\n")
    (ctx.cwd / "a.txt").write_text("needle\n")
    assert text_of(await ctx.call(grep, pattern="needle")) == "a.txt:1:needle\n"
    assert text_of(await ctx.call(find, pattern="a.*")) == "a.txt\n"
