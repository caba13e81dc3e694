"""Reading and writing JSON files that people edit."""

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marvin_agent.errors import ConfigError
from marvin_agent.jsonfile import MAX_BYTES, Document, parse_json, read_json, write_json


def problem(data: bytes) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse_json("config.json", data)
    return caught.value


def test_a_document_knows_its_value_and_the_line_of_each_key() -> None:
    document = parse_json("config.json", b'{\n  "a": 1,\n  "b": {"c": [\n    1,\n    {"d": 2}\n  ]}\n}')
    assert document.value == {"a": 1, "b": {"c": [1, {"d": 2}]}}
    assert [document.line_of(path) for path in [(), ("a",), ("b",), ("b", "c", 0), ("b", "c", 1, "d")]] == [
        1,
        2,
        3,
        4,
        5,
    ]


def test_what_is_not_in_the_file_has_the_line_of_what_is_around_it() -> None:
    document = parse_json("config.json", b'{\n"b": {\n"c": 1}}')
    assert document.line_of(("b", "missing", 3)) == 2
    assert document.line_of(("missing",)) == 1


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "the file ends where a value should be"),
        ('{"a": 1,\n}', 2, "a comma before }"),
        ('{"a": [1,\n\n]}', 3, "a comma before ]"),
        ('{\n"a": 1\n"b": 2}', 2, "a comma is missing before a string"),
        ("{\n'a': 1}", 2, "A key needs double quotes"),
        ("{\n\"a\": 'x'}", 2, "a string needs double quotes"),
        ('{"a":\n True}', 2, "Write true."),
        ('{"a": NaN}', 1, "no such number"),
        ('{"a": 007}', 1, "007 is not a number"),
        ('{"a": 1e999}', 1, "too large"),
        ('{"a"\n 1}', 1, "a colon is missing"),
        ('{\n"a": {"b": 1\n', 2, "{ is not closed"),
        ('{"a": [\n1', 1, "[ is not closed"),
        ('{"a": "x\n"}', 1, "a string is not closed"),
        ('{"a": "x\ty"}', 1, "a tab inside a string"),
        ('{"a": "C:\\work"}', 1, "escape"),
        ('{"a": "\\ud800"}', 1, "escape"),
        ('{"a": 1}\n}', 2, "} after the end"),
        ('{"a": 1} // why', 1, "a comment"),
        ('{\n// why\n"a": 1}', 2, "a comment"),
        ('{"a": 1 /* why */}', 1, "a comment"),
        ('{"a": hello}', 1, "hello where a value should be"),
        ("[" * 100_000, 1, "nested deeper"),
    ],
)
def test_a_syntax_error_has_its_line_and_what_to_do(text: str, line: int, words: str) -> None:
    error = problem(text.encode())
    assert error.line == line
    assert words in error.show()
    assert error.show().startswith(f"config.json:{line}: ")
    assert error.exit_code == 78


def test_a_valid_file_that_is_nested_too_deep_is_refused_too() -> None:
    with pytest.raises(ConfigError, match="nested deeper than 100"):
        parse_json("f", b"[" * 110 + b"]" * 110)
    assert parse_json("f", b"[" * 90 + b"]" * 90).line_of((0,) * 80) == 1


def test_a_syntax_error_does_not_quote_strings_since_they_may_be_secrets() -> None:
    assert "hunter2" not in problem(b'{"a": 1 "hunter2"}').show()
    assert "hunter2" not in problem(b'{"a": "hunter2 \\q"}').show()


def test_every_duplicate_key_is_an_error_with_both_lines() -> None:
    shown = problem(b'{"a": 1,\n "\\u0061": 2,\n "b": {"x": 1,\n "x": 2}}').show()
    assert "config.json:2: the key a stands here a second time (first in line 1)" in shown
    assert "config.json:4: the key b.x stands here a second time (first in line 3)" in shown


def test_colons_inside_strings_are_not_taken_for_keys() -> None:
    tricky = {"a:b": 'c:d "e": f', "back\\": '\\":', "é:": ["::", {"x": ":"}]}
    assert parse_json("f", json.dumps(tricky).encode()).value == tricky


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_any_json_is_read_as_it_is(value: object) -> None:
    document = parse_json("f", json.dumps(value, indent=1).encode())
    assert document.value == value
    assert document.line_of(()) == 1


@given(st.dictionaries(st.text(), st.text(), min_size=1), st.data())
def test_a_repeated_key_is_found_whatever_is_in_the_strings(value: dict[str, str], data: st.DataObject) -> None:
    again = data.draw(st.sampled_from(sorted(value)))
    text = json.dumps(value)[:-1] + f", {json.dumps(again)}: 0}}"
    assert "a second time" in problem(text.encode()).show()


def test_a_byte_order_mark_and_windows_line_ends_are_fine() -> None:
    document = parse_json("f", b'\xef\xbb\xbf{\r\n"a": 1,\r\n"b": 2}\r\n')
    assert document.value == {"a": 1, "b": 2}
    assert document.line_of(("b",)) == 3


def test_other_encodings_are_named_as_such() -> None:
    assert "Save it as UTF-8" in problem('{"a": "é"}'.encode("latin-1")).show()
    assert "Save it as UTF-8" in problem('{"a": 1}'.encode("utf-16")).show()


def test_a_missing_file_is_the_callers_to_judge(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_json(str(tmp_path / "none.json"))
    (tmp_path / "file").write_text("{}")
    with pytest.raises(FileNotFoundError):
        read_json(str(tmp_path / "file" / "config.json"))


def test_a_directory_a_pipe_and_a_giant_are_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "giant").open("wb") as giant:
        giant.truncate(MAX_BYTES + 1)
    for name, words in [("dir", "not a regular file"), ("pipe", "not a regular file"), ("giant", "is larger")]:
        with pytest.raises(ConfigError, match=words):
            read_json(str(tmp_path / name))


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    # Permissions do not stop root; a link to itself stops everybody.
    path = tmp_path / "loop.json"
    path.symlink_to(path)
    with pytest.raises(ConfigError, match=r"cannot be read: Too many levels"):
        read_json(str(path))


def test_what_is_written_is_read_again_and_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "auth.json"
    write_json(str(path), {"a": [1, "é"]})
    assert read_json(str(path)).value == {"a": [1, "é"]}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["auth.json"]


def test_a_write_replaces_the_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(str(path), {"old": True}, mode=0o644)
    with path.open() as reader:
        write_json(str(path), {"new": True})
        assert json.load(reader) == {"old": True}
    assert read_json(str(path)).value == {"new": True}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(str(path), 1)
    with pytest.raises(TypeError):
        write_json(str(path), object())
    (tmp_path / "dir").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_json(str(tmp_path / "dir"), 2)
    assert sorted(os.listdir(tmp_path)) == ["a.json", "dir"]
    assert read_json(str(path)).value == 1


def test_a_link_to_a_file_kept_elsewhere_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "config.json"
    link.symlink_to(tmp_path / "real" / "config.json")
    write_json(str(link), {"a": 1})
    assert link.is_symlink()
    assert read_json(str(tmp_path / "real" / "config.json")).value == {"a": 1}


def test_positions_are_only_looked_for_when_asked() -> None:
    # Not JSON at all: were positions taken at once, this would fail.
    assert Document("f", {"a": 1}, b"nonsense").value == {"a": 1}


def test_the_content_is_on_the_disk_before_it_has_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        steps.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "content")
        sync(descriptor)

    def renamed(old: str, new: str) -> None:
        steps.append("name")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    write_json(str(tmp_path / "a.json"), {"a": 1})
    assert steps == ["content", "name", "directory"]
