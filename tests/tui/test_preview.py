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
