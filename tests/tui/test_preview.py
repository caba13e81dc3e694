"""What a tool call will do, as the question about it shows it."""

from pathlib import Path

from marvin_agent.frontends.tui.dialogs.preview import preview


def shown(tool: str, cwd: Path, **arguments: object) -> str:
    return preview({"tool_name": tool, "input": arguments}, str(cwd)).plain


def test_white_space_hides_nothing(tmp_path: Path) -> None:
    assert shown("bash", tmp_path, command="ls" + "\n" * 60 + "rm x") == "$ ls\n[59 empty lines]\nrm x"
    assert shown("bash", tmp_path, command="ls" + " " * 900 + "; rm x") == "$ ls [900 spaces]; rm x"
    assert shown("bash", tmp_path, command="ls\n\n  ls -l") == "$ ls\n\n  ls -l"


def test_control_characters_and_what_takes_no_room_are_written_out(tmp_path: Path) -> None:
    assert shown("bash", tmp_path, command="ls \x1b[8m; rm x\u200b\u202e") == "$ ls \\u001b[8m; rm x\\u200b\\u202e"
    assert "a\nb" not in shown("write", tmp_path, path="a\nb", content="x")


def test_where_a_link_leads_is_told(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "docs").symlink_to(tmp_path / "elsewhere")
    first = shown("write", tmp_path / "work", path="docs/x", content="text").splitlines()[0]
    assert first == f"docs/x -> {(tmp_path / 'elsewhere' / 'x').resolve()}"
    assert shown("write", tmp_path / "work", path="y", content="text").splitlines()[0] == "y"


def test_no_line_of_a_change_is_taken_for_the_head_of_a_diff(tmp_path: Path) -> None:
    assert "+++ run_this()" in shown("write", tmp_path, path="x.js", content="let a;\n++ run_this()\n")
    (tmp_path / "x.sql").write_text("-- only for admins\nselect 1;\n")
    assert "--- only for admins" in shown("write", tmp_path, path="x.sql", content="select 1;\n")


def test_a_character_that_some_take_for_a_line_end_hides_nothing(tmp_path: Path) -> None:
    lines = shown("write", tmp_path, path="x.py", content="x = (\x0c+++ run_this())\n").splitlines()
    assert lines[-1] == "+x = (\\u000c+++ run_this())"


def test_what_passes_for_a_space_or_for_nothing_is_written_out(tmp_path: Path) -> None:
    for letter in "\xa0\u2003\u2800\u034f\ufe01\u200d\u200c":
        assert shown("bash", tmp_path, command=f"rm{letter}x") == f"$ rm\\u{ord(letter):04x}x"
    for word in ("क\u200dष", "👩\u200d👩\u200d👧", "❤\ufe0f\u200d🔥", "1\ufe0f\u20e3", "中　文"):
        assert shown("bash", tmp_path, command=f"echo {word}") == f"$ echo {word}"


def test_white_space_hides_nothing_in_a_change_or_in_the_call_of_any_tool(tmp_path: Path) -> None:
    far = " " * 900
    assert shown("write", tmp_path, path="x", content=f"a{far}b\n").endswith("+a [900 spaces]b")
    assert " [900 spaces]" in shown("deploy", tmp_path, target=f"here{far}and there")


def test_the_file_that_is_meant_is_named_however_its_path_is_written(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    first = shown("write", work, path="a/../" * 9 + "../x", content="text").splitlines()[0]
    assert first.endswith(f"../x -> {(tmp_path / 'x').resolve()}")
    (work / "my file").write_text("old\n")
    lines = shown("write", work, path="my\xa0file", content="new\n").splitlines()
    assert lines[0] == f"my\\u00a0file -> {(work / 'my file').resolve()}" and "-old" in lines


def test_an_edit_is_shown_as_the_tool_makes_it_whatever_ends_the_lines(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    edit = shown("edit", tmp_path, path="x", oldText="one\ntwo", newText="one\n2").splitlines()
    assert edit == ["x", "@@ -1,3 +1,3 @@", " one", "-two", "+2", " three"]
    wrong = shown(
        "edit", tmp_path, path="x", edits=[{"oldText": "no", "newText": "a"}, {"oldText": "nor", "newText": "b"}]
    )
    assert wrong.splitlines() == ["x", "@@ -1 +1 @@", "-no", "+a", "@@ -1 +1 @@", "-nor", "+b"]
