"""Damaged session files: nothing but the damaged line is lost, and nothing is lost in silence."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marvin_agent.errors import SessionError
from marvin_agent.messages import AssistantMessage, Text, ToolCall, ToolResultMessage, changed, raw, text_of, user
from marvin_agent.session.document import read_document
from marvin_agent.session.entries import MessageEntry, UnreadEntry
from marvin_agent.session.store import Session


def assistant(text: str, *calls: ToolCall) -> AssistantMessage:
    return AssistantMessage(content=(Text(text=text), *calls), api="a", provider="p", model="m", stop_reason="stop")


def written(directory: Path, *texts: str) -> Path:
    """A session of a user message for each text."""
    session = Session.create(str(directory), "/a")
    for text in texts:
        session.append_message(user(text))
    session.close()
    assert session.path is not None
    return Path(session.path)


def texts_of(path: Path) -> list[str]:
    entries = read_document(str(path)).entries
    return [text_of(entry.message.content) for entry in entries if isinstance(entry, MessageEntry)]


def branch_texts(session: Session) -> list[str]:
    return [text_of(message.content) for message in session.messages()]


@pytest.fixture
def rich(tmp_path) -> Path:
    session = Session.create(str(tmp_path), "/a")
    session.append_message(user("größer: \U0001f600"))
    session.append_message(assistant("calls", ToolCall(id="c", name="bash", arguments=raw({"command": "ls\n"}))))
    session.append_message(
        ToolResultMessage(tool_call_id="c", tool_name="bash", content=(Text(text="é\n"),), is_error=False)
    )
    session.append_custom("memory", {"a": [1, 2, {"b": "ü"}]})
    session.append_message(assistant("done"))
    session.append_label(session.entries[0].id, "start")
    session.close()
    assert session.path is not None
    return Path(session.path)


def test_a_file_cut_at_any_byte_keeps_every_whole_line_and_goes_on(rich, tmp_path):
    data = rich.read_bytes()
    whole = read_document(str(rich)).entries
    starts = [place for place in range(len(data)) if data[place - 1 : place] == b"\n"]
    cut = tmp_path / "cut.jsonl"
    # Every byte of the last two lines, and around every other end of a line.
    lengths = {start + near for start in starts for near in range(-1, 3)} | set(range(starts[-2], len(data)))
    for length in sorted(lengths):
        cut.write_bytes(data[:length])
        session = Session.open(str(cut))
        # A line that lacks only its newline is whole.
        expected = data[: length + 1].count(b"\n") - 1 if data[length : length + 1] == b"\n" else None
        kept = data[:length].count(b"\n") - 1 if expected is None else expected
        assert list(session.entries) == whole[: max(kept, 0)], length
        torn = expected is None and data[length - 1 : length] != b"\n"
        assert len(session.warnings) == (1 if torn else 0), (length, session.warnings)
        session.append_message(user("goes on"))
        session.close()
        again = read_document(str(cut))
        assert again.warnings == []
        assert again.entries[:-1] == whole[: max(kept, 0)]
        assert again.entries[-1].parent_id == (whole[kept - 1].id if kept > 0 else None)


def test_a_file_cut_inside_its_header_is_an_error_that_names_it(rich, tmp_path):
    data = rich.read_bytes()
    cut = tmp_path / "cut.jsonl"
    for length in range(0, data.index(b"\n") - 1, 3):
        cut.write_bytes(data[:length])
        with pytest.raises(SessionError, match=r"cut\.jsonl"):
            Session.open(str(cut))
        assert cut.read_bytes() == data[:length]
        assert not os.path.exists(f"{cut}.lock")


def test_opening_alone_changes_nothing_on_disk(rich):
    data = rich.read_bytes() + b'{"type":"mess'
    rich.write_bytes(data)
    session = Session.open(str(rich))
    assert len(session.warnings) == 1
    assert "cut off" in session.warnings[0]
    session.close()
    assert rich.read_bytes() == data


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_to_one_line_costs_that_line_at_most(rich, data):
    lines = rich.read_bytes().split(b"\n")[:-1]
    original = read_document(str(rich))
    number = data.draw(st.integers(1, len(lines) - 1), "line")
    line = bytearray(lines[number])
    for _ in range(data.draw(st.integers(1, 4), "bytes")):
        byte = data.draw(st.integers(0, 255).filter(lambda value: value != 10), "byte")
        line[data.draw(st.integers(0, len(line) - 1), "place")] = byte
    damaged = rich.with_name("damaged.jsonl")
    content = b"\n".join([*lines[:number], bytes(line), *lines[number + 1 :]]) + b"\n"
    damaged.write_bytes(content)
    session = Session.open(str(damaged))
    others = [entry for index, entry in enumerate(original.entries) if index != number - 1]
    found = {entry.id: entry for entry in session.entries}
    for entry in others:
        # The entry is there as it was; only whom it follows may have had to be guessed.
        assert changed(found[entry.id], parent_id=entry.parent_id) == entry
    if any(isinstance(entry, UnreadEntry) for entry in session.entries):
        assert session.warnings
    # The whole conversation hangs together: from the leaf back to the root nothing is skipped.
    assert len(session.branch()) == len(session.entries)
    session.append_message(user("goes on"))
    session.close()
    assert damaged.read_bytes().startswith(content)
    again = read_document(str(damaged))
    assert [entry.id for entry in again.entries[:-1]] == [entry.id for entry in session.entries[:-1]]
    assert again.entries[-1].parent_id == session.entries[-2].id


def test_an_unreadable_line_stays_and_its_children_follow_it(tmp_path):
    path = written(tmp_path, "one", "two", "three")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = b"\x80 garbage\n"
    path.write_bytes(b"".join(lines))
    session = Session.open(str(path))
    one, lost, three = session.entries
    assert isinstance(lost, UnreadEntry)
    assert lost.line == b"\x80 garbage"
    assert (lost.parent_id, three.parent_id) == (one.id, lost.id)
    assert branch_texts(session) == ["one", "three"]
    assert any("line 3" in warning and str(path) in warning for warning in session.warnings)
    session.append_message(user("four"))
    session.close()
    assert path.read_bytes().startswith(b"".join(lines))
    assert texts_of(path) == ["one", "three", "four"]


def test_a_line_damaged_in_its_middle_keeps_its_place_in_the_tree(tmp_path):
    path = written(tmp_path, "one", "two", "three")
    path.write_bytes(path.read_bytes().replace(b'"two"', b'"tw\x80o'))
    session = Session.open(str(path))
    assert len(session.warnings) == 1
    assert session.entries[1].type == "message"
    assert session.entries[2].parent_id == session.entries[1].id
    assert branch_texts(session) == ["one", "three"]
    session.close()


def test_invalid_utf8_inside_raw_json_is_damage_too(rich):
    rich.write_bytes(rich.read_bytes().replace('"ü"'.encode(), b'"\xff"'))
    session = Session.open(str(rich))
    assert len(session.warnings) == 1
    assert "line 5" in session.warnings[0]
    session.close()


@pytest.mark.parametrize("nuls", [1, 4096])
def test_a_tail_of_nul_bytes_is_cut_off(tmp_path, nuls):
    path = written(tmp_path, "one", "two")
    data = path.read_bytes()
    for tail in (b"\0" * nuls, b'{"type":"message","id":"' + b"\0" * nuls, data.splitlines()[-1] + b"\0" * nuls):
        path.write_bytes(data + tail)
        session = Session.open(str(path))
        assert len(session.warnings) == 1
        assert branch_texts(session) == ["one", "two"]
        session.append_message(user("three"))
        session.close()
        assert texts_of(path) == ["one", "two", "three"]
        assert b"\0" not in path.read_bytes()


def test_nul_bytes_after_the_header_alone_are_cut_off(tmp_path):
    path = written(tmp_path, "one")
    header = path.read_bytes().splitlines()[0]
    for tail in (b"\0" * 100, b"\n" + b"\0" * 100, b"", b"\n"):
        path.write_bytes(header + tail)
        session = Session.open(str(path))
        session.append_message(user("two"))
        session.close()
        assert texts_of(path) == ["two"]
        assert b"\0" not in path.read_bytes()


def test_nul_bytes_before_a_line_do_not_cost_the_line(tmp_path):
    path = written(tmp_path, "one", "two")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"\0" * 512, *lines[2:]]))
    assert texts_of(path) == ["one", "two"]


def test_a_missing_parent_is_replaced_by_the_entry_before(tmp_path):
    path = written(tmp_path, "one", "two", "three")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    session = Session.open(str(path))
    assert branch_texts(session) == ["one", "three"]
    assert len(session.warnings) == 1
    assert "not there" in session.warnings[0]
    session.close()


def test_the_children_of_one_missing_parent_stay_siblings(tmp_path):
    session = Session.create(str(tmp_path), "/a")
    session.append_message(user("one"))
    lost = session.append_message(user("lost"))
    session.append_message(user("first try"))
    session.move_leaf(lost.id)
    session.append_message(user("second try"))
    session.close()
    assert session.path is not None
    path = Path(session.path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    again = Session.open(str(path))
    assert branch_texts(again) == ["one", "second try"]
    again.close()


def test_a_parent_that_comes_later_makes_no_circle(tmp_path):
    path = written(tmp_path, "one", "two")
    one, two = read_document(str(path)).entries
    path.write_bytes(path.read_bytes().replace(b'"parentId":null', f'"parentId":"{two.id}"'.encode()))
    session = Session.open(str(path))
    assert branch_texts(session) == ["one", "two"]
    assert session.entries[0].parent_id is None
    path.write_bytes(path.read_bytes().replace(f'"parentId":"{two.id}"'.encode(), f'"parentId":"{one.id}"'.encode()))
    session.close()
    assert texts_of(path) == ["one", "two"]


def test_a_line_written_twice_counts_once(tmp_path):
    path = written(tmp_path, "one", "two")
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[-1])
    session = Session.open(str(path))
    assert branch_texts(session) == ["one", "two"]
    assert "repeats" in session.warnings[0]
    session.append_message(user("three"))
    session.close()
    assert texts_of(path) == ["one", "two", "three"]


def test_two_entries_with_one_id_are_both_kept_and_told_apart_at_every_reading(tmp_path):
    path = written(tmp_path, "one", "two", "three")
    _one, two, three = read_document(str(path)).entries
    path.write_bytes(path.read_bytes().replace(f'"id":"{three.id}"'.encode(), f'"id":"{two.id}"'.encode()))
    session = Session.open(str(path))
    assert len({entry.id for entry in session.entries}) == 3
    assert branch_texts(session) == ["one", "two", "three"]
    assert two.id in session.warnings[0]
    four = session.append_message(user("four"))
    assert four.parent_id == session.entries[2].id
    session.close()
    again = Session.open(str(path))
    assert branch_texts(again) == ["one", "two", "three", "four"]
    again.close()


def test_a_move_to_a_missing_entry_stays_where_it_was(tmp_path):
    session = Session.create(str(tmp_path), "/a")
    one = session.append_message(user("one"))
    session.append_message(user("two"))
    session.move_leaf(one.id)
    session.close()
    path = Path(session.path)
    path.write_bytes(path.read_bytes().replace(f'"targetId":"{one.id}"'.encode(), b'"targetId":"ffffffff"'))
    again = Session.open(str(path))
    assert branch_texts(again) == ["one", "two"]
    assert "ffffffff" in again.warnings[0]
    again.close()


def test_entries_of_types_that_we_do_not_know_stay_in_the_tree(tmp_path):
    path = written(tmp_path, "one", "two")
    two = read_document(str(path)).entries[-1]
    unknown = f'{{"id":"aaaaaaaa","type":"hologram","parentId":"{two.id}","timestamp":"","pixels":[1]}}\n'
    unknown += '{"type":"hologram","id":"bbbbbbbb","parentId":"aaaaaaaa","timestamp":""}\n'
    path.write_bytes(path.read_bytes() + unknown.encode())
    session = Session.open(str(path))
    assert session.leaf_id == "bbbbbbbb"
    assert [entry.type for entry in session.branch()] == ["message", "message", "hologram", "hologram"]
    assert len(session.warnings) == 1
    assert "2 entries" in session.warnings[0]
    session.append_message(user("three"))
    session.close()
    assert read_document(str(path)).entries[-1].parent_id == "bbbbbbbb"
    assert unknown.encode() in path.read_bytes()


def test_files_that_are_no_sessions_are_named_errors(tmp_path):
    for content in (
        b"",
        b"\n",
        b"hello\n",
        b"{}\n",
        b'{"type":"session"}\n',
        b"[]\n",
        b'{"type":"message","id":"a"}\n',
    ):
        path = tmp_path / "wrong.jsonl"
        path.write_bytes(content)
        with pytest.raises(SessionError, match=r"wrong\.jsonl") as caught:
            Session.open(str(path))
        assert caught.value.hint
        assert path.read_bytes() == content
    for missing in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(SessionError, match="no session file"):
            Session.open(str(missing))


def test_a_session_of_a_newer_format_is_refused(tmp_path):
    path = written(tmp_path, "one")
    path.write_bytes(path.read_bytes().replace(b'"version":4', b'"version":5'))
    with pytest.raises(SessionError, match="format 5") as caught:
        Session.open(str(path))
    assert "update marvin" in caught.value.show()


ENDLESS_WRITER = """
import sys
from marvin_agent.messages import user
from marvin_agent.session.store import Session
session = Session.create(sys.argv[1], "/a") if sys.argv[2] == "new" else Session.open(sys.argv[2])
print(session.path, flush=True)
number = len(session.entries)
while True:
    session.append_message(user(f"{number} " + "x" * (number % 50 * 400)))
    number += 1
    print(number, flush=True)
"""


def test_kill_9_loses_nothing_that_was_appended(tmp_path):
    chance = random.Random(7)
    target = "new"
    for _ in range(5):
        command = [sys.executable, "-c", ENDLESS_WRITER, str(tmp_path), target]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            target = writer.stdout.readline().decode().strip()
            for _ in range(chance.randint(1, 200)):
                writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
            told = writer.stdout.read().split(b"\n")
            writer.wait()
        session = Session.open(target)
        acknowledged = int(told[-2]) if len(told) > 1 and told[-2] else 1
        assert len(session.entries) >= acknowledged
        numbers = [int(text.split()[0]) for text in branch_texts(session)]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) == len(session.entries)
        session.close()
