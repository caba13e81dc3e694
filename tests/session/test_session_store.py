"""An open session: what it appends, what the model sees, and who may write."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw

from marvin_agent.errors import SessionError
from marvin_agent.messages import (
    AssistantMessage,
    HookMessage,
    Text,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_of,
    user,
)
from marvin_agent.session import store
from marvin_agent.session.context import context_entries
from marvin_agent.session.entries import CompactionEntry, CustomEntry, Entry, LeafEntry, MessageEntry
from marvin_agent.session.index import latest
from marvin_agent.session.layout import project_slug
from marvin_agent.session.lock import WriterLock
from marvin_agent.session.store import Session


def assistant(text: str, *calls: ToolCall) -> AssistantMessage:
    return AssistantMessage(
        content=(Text(text=text), *calls),
        api="local",
        provider="p",
        model="m",
        stop_reason="toolUse" if calls else "stop",
    )


def texts(session: Session) -> list[str]:
    return [text_of(message.content) for message in session.messages()]


def reopened(session: Session) -> Session:
    session.close()
    assert session.path is not None
    return Session.open(session.path)


def lines_of(session: Session) -> list[dict]:
    assert session.path is not None
    return [msgspec.json.decode(line) for line in Path(session.path).read_bytes().splitlines()]


@pytest.fixture
def session(tmp_path):
    made = Session.create(str(tmp_path / "sessions"), "/home/me/project")
    yield made
    made.close()


def test_a_new_session_has_an_id_and_nothing_on_disk(session, tmp_path):
    assert len(session.id) == 16
    assert session.id in session.path
    assert list(tmp_path.iterdir()) == []
    assert session.messages() == ()
    assert session.leaf_id is None


def test_every_append_is_in_the_file_when_it_returns(session):
    first = session.append_message(user("one"))
    header, stored = lines_of(session)
    assert header == {
        "type": "session",
        "version": 4,
        "id": session.id,
        "timestamp": session.header.timestamp,
        "cwd": "/home/me/project",
    }
    assert stored["id"] == first.id
    assert stored["parentId"] is None
    second = session.append_message(assistant("two"), changed_by=["project:redact"])
    assert lines_of(session)[-1]["parentId"] == first.id
    assert lines_of(session)[-1]["changedBy"] == ["project:redact"]
    assert "changedBy" not in stored
    assert session.leaf_id == second.id


def test_files_are_0600_and_directories_0700_whatever_the_umask(tmp_path):
    for mask in (0o000, 0o077, 0o777):
        before = os.umask(mask)
        try:
            session = Session.create(str(tmp_path / f"{mask}" / "deep" / "sessions"), "/a")
            session.append_message(user("hello"))
        finally:
            os.umask(before)
        path = Path(session.path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(Path(session.path + ".lock").stat().st_mode) == 0o600
        for directory in (path.parent, path.parent.parent, path.parent.parent.parent, path.parent.parent.parent.parent):
            assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        session.close()
        assert not os.path.exists(session.path + ".lock")


def test_everything_that_can_be_appended_comes_back(session):
    question = session.append_message(user("look"))
    call = ToolCall(id="c1", name="bash", arguments=Raw(b'{"command": "ls"}'))
    session.append_message(assistant("calling", call))
    result = ToolResultMessage(
        tool_call_id="c1",
        tool_name="bash",
        content=(Text(text="a\nb"),),
        details=Raw(b'{"exitCode":0}'),
        is_error=False,
    )
    session.append_message(result)
    session.append_message(HookMessage(custom_type="note", content=(Text(text="remember"),), display=False))
    session.append_custom("memory", {"seen": [1, 2], "at": float("nan")})
    session.append_custom("empty")
    session.append_model_change("anthropic", "claude")
    session.append_thinking_change("high")
    session.append_label(question.id, "start")
    session.append_label(question.id, None)
    session.append_info("My session")
    session.append_branch_summary(question.id, "tried it", details={"files": ["a"]}, from_hook=True)
    session.append_compaction("all", question.id, 1234, details={"x": 1}, from_hook=True, preserve_data={"k": "v"})
    session.move_leaf(question.id)
    again = reopened(session)
    try:
        assert list(again.entries) == list(session.entries)
        assert again.messages() == session.messages()
        assert again.leaf_id == question.id
        assert again.name == "My session"
        assert again.header == session.header
        assert again.warnings == []
        custom = again.entries[4]
        assert isinstance(custom, CustomEntry)
        assert msgspec.json.decode(custom.data) == {"seen": [1, 2], "at": None}
    finally:
        again.close()


def test_a_session_opened_again_goes_on_at_its_end(session):
    session.append_message(user("one"))
    again = reopened(session)
    again.append_message(user("two"))
    third = reopened(again)
    try:
        assert texts(third) == ["one", "two"]
        assert [entry.parent_id for entry in third.entries] == [None, third.entries[0].id]
    finally:
        third.close()


def test_compaction_puts_the_summary_before_what_is_kept(session):
    session.append_message(user("1"))
    session.append_message(assistant("2"))
    kept = session.append_message(user("3"))
    session.append_custom("state", 1)
    session.append_message(assistant("4"))
    compaction = session.append_compaction("what was", kept.id, 100)
    session.append_message(user("5"))
    summary, *rest = session.messages()
    assert isinstance(summary, HookMessage)
    assert summary.custom_type == "compaction"
    assert summary.display
    assert text_of(summary.content).endswith("\n\nwhat was")
    assert [text_of(message.content) for message in rest] == ["3", "4", "5"]
    assert session.context()[0] == compaction
    assert [entry.id for entry in session.context()[1:]] == [session.entries[i].id for i in (2, 4, 6)]
    again = reopened(session)
    assert again.messages() == session.messages()
    again.close()


def test_a_second_compaction_keeps_what_the_first_one_kept_and_drops_its_summary(session):
    session.append_message(user("1"))
    kept = session.append_message(user("2"))
    session.append_compaction("first", kept.id, 100)
    session.append_message(user("3"))
    session.append_compaction("second", kept.id, 100)
    session.append_message(user("4"))
    assert [text.rpartition("\n")[2] for text in texts(session)] == ["second", "2", "3", "4"]
    session.append_compaction("third", None, 100)
    assert [text.rpartition("\n")[2] for text in texts(session)] == ["third"]


def test_a_branch_summary_is_told_to_the_model_where_it_stands(session):
    root = session.append_message(user("1"))
    left = session.append_message(user("2"))
    session.move_leaf(root.id)
    session.append_branch_summary(left.id, "it failed")
    session.append_message(user("3"))
    first, summary, last = session.messages()
    assert isinstance(summary, HookMessage)
    assert summary.custom_type == "branch_summary"
    assert text_of(summary.content).endswith("it failed")
    assert (text_of(first.content), text_of(last.content)) == ("1", "3")


def test_moving_the_leaf_begins_a_branch_and_survives_a_restart(session):
    one = session.append_message(user("one"))
    two = session.append_message(user("two"))
    session.move_leaf(one.id)
    assert texts(session) == ["one"]
    again = reopened(session)
    assert again.leaf_id == one.id
    assert texts(again) == ["one"]
    other = again.append_message(user("other"))
    assert texts(again) == ["one", "other"]
    assert [entry.id for entry in again.branch(two.id)] == [one.id, two.id]
    again.move_leaf(None)
    assert again.messages() == ()
    root = again.append_message(user("another root"))
    assert root.parent_id is None
    again.move_leaf(other.id)
    assert texts(again) == ["one", "other"]
    again.close()


def test_moving_to_where_one_is_writes_nothing(session):
    one = session.append_message(user("one"))
    session.move_leaf(one.id)
    assert len(lines_of(session)) == 2


def test_entries_that_are_not_there_are_refused(session):
    one = session.append_message(user("one"))
    two = session.append_message(user("two"))
    session.move_leaf(one.id)
    leaf = session.entries[-1]
    assert isinstance(leaf, LeafEntry)
    before = lines_of(session)
    for wrong in (
        lambda: session.move_leaf("ffffffff"),
        lambda: session.move_leaf(leaf.id),
        lambda: session.append_label("ffffffff", "x"),
        lambda: session.append_branch_summary("ffffffff", "x"),
        lambda: session.append_compaction("x", two.id, 1),
        lambda: session.branch("ffffffff"),
    ):
        with pytest.raises(SessionError):
            wrong()
    assert lines_of(session) == before


def test_messages_are_not_built_anew_at_every_append(session):
    first = session.append_message(user("one"))
    session.messages()
    context = session._context
    for _ in range(10):
        session.append_message(user("more"))
        session.append_custom("x", 1)
    assert session._context is context
    assert len(session.messages()) == 11
    assert session.messages()[0] is first.message


def test_what_messages_returned_does_not_change_afterwards(session):
    session.append_message(user("one"))
    before = session.messages()
    session.append_message(user("two"))
    assert len(before) == 1


def test_raw_json_over_several_lines_stays_one_line(session):
    call = ToolCall(id="c", name="edit", arguments=Raw(b'{\n  "path": "a",\r\n  "newText": "x\\ny"\n}'))
    session.append_message(assistant("", call))
    assert len(lines_of(session)) == 2
    again = reopened(session)
    (message,) = again.messages()
    assert message.tool_calls[0].input == {"path": "a", "newText": "x\ny"}
    again.close()


def test_broken_raw_json_is_refused_and_leaves_the_file_as_it_was(session):
    session.append_message(user("one"))
    before = lines_of(session)
    for broken in (b'{"a":', b"", b'{"a":1}}', b'{"a":"\xff"}'):
        with pytest.raises(SessionError, match="cannot be stored"):
            session.append_message(assistant("", ToolCall(id="c", name="x", arguments=Raw(broken))))
    with pytest.raises(SessionError, match="JSON"):
        session.append_custom("x", object())
    assert lines_of(session) == before
    assert len(session.entries) == 1


def test_text_that_json_cannot_hold_is_cleaned(session):
    call = ToolCall(id="c\ud800", name="x")
    entry = session.append_message(assistant("a\ud83d", call))
    assert text_of(entry.message.content) == "a\ufffd"
    again = reopened(session)
    assert again.messages() == session.messages()
    again.close()


def test_a_session_in_memory_leaves_no_trace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = Session.in_memory("/a")
    session.append_message(user("one"))
    session.append_compaction("all", None, 5)
    session.append_message(user("two"))
    assert session.path is None
    assert [text.rpartition("\n")[2] for text in texts(session)] == ["all", "two"]
    session.close()
    with pytest.raises(SessionError, match="closed"):
        session.append_message(user("three"))
    assert list(tmp_path.iterdir()) == []


def test_slugs_are_readable_and_tell_similar_paths_apart():
    assert project_slug("/home/me/project").startswith("home-me-project-")
    paths = ["/a/b", "/a--b", "/a-b", "/a/b/", "/", "", "/a/ b", "/ä", "/ö", "/" + "x" * 300, "/" + "x" * 301]
    slugs = [project_slug(path) for path in paths]
    assert len(set(slugs)) == len(paths)
    for slug in slugs:
        assert "/" not in slug
        assert len(slug) < 80
        assert not slug.startswith((".", "-"))


def test_a_directory_whose_name_is_no_text_has_sessions_too(tmp_path):
    cwd = os.fsdecode(b"/home/me/gr\xfc\xdf")
    session = Session.create(str(tmp_path), cwd)
    session.append_message(user("hello"))
    session.close()
    found = latest(str(tmp_path), cwd)
    assert found is not None
    assert found.id == session.id


def test_header_and_compaction_are_synced_and_other_entries_are_not(session, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_size) or real(fd))
    session.append_message(user("one"))
    assert synced == [os.path.getsize(session.path)]
    session.append_message(user("two"))
    session.append_custom("x", 1)
    assert len(synced) == 1
    session.append_compaction("all", None, 1)
    assert synced[1:] == [os.path.getsize(session.path)]


def test_an_entry_is_one_write(session, monkeypatch):
    session.append_message(user("one"))
    writes = []
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: writes.append(bytes(data)) or real(fd, data))
    session.append_message(user("x" * 1_000_000))
    assert len(writes) == 1
    assert writes[0].endswith(b"}\n")


RACER = """
import sys, time
from marvin_agent.errors import SessionError
from marvin_agent.messages import user
from marvin_agent.session.store import Session
done = 0
while done < 25:
    try:
        session = Session.open(sys.argv[1])
    except SessionError as error:
        assert "in use by" in error.message, error
        continue
    assert session.warnings == [], session.warnings
    session.append_message(user(sys.argv[2]))
    session.close()
    done += 1
"""


def test_processes_that_race_for_a_session_never_write_at_once(session):
    session.append_message(user("first"))
    session.close()
    racers = [subprocess.Popen([sys.executable, "-c", RACER, session.path, name]) for name in "abc"]
    assert [racer.wait() for racer in racers] == [0, 0, 0]
    again = Session.open(session.path)
    assert again.warnings == []
    assert len(again.branch()) == 1 + 3 * 25
    again.close()
    assert os.listdir(os.path.dirname(session.path)) == [os.path.basename(session.path)]


def test_what_is_appended_while_another_thread_reads_is_in_the_context(session, monkeypatch):
    first = session.append_message(user("one"))
    session.append_compaction("summary", first.id, 1)
    reading, appended = threading.Event(), threading.Event()

    def slowly(branch: list[Entry]) -> list[Entry]:
        found = context_entries(branch)
        reading.set()
        appended.wait(0.2)  # an append that does not wait for the reader is done by then
        return found

    monkeypatch.setattr(store, "context_entries", slowly)
    reader = threading.Thread(target=session.messages)
    reader.start()
    reading.wait()
    session.append_message(user("two"))
    appended.set()
    reader.join()
    assert [entry.id for entry in session.context()] == [entry.id for entry in context_entries(session.branch())]
    assert texts(session)[-1] == "two"


def test_a_session_that_is_reached_by_another_name_has_one_writer_all_the_same(session, tmp_path):
    session.append_message(user("one"))
    link = tmp_path / "link.jsonl"
    link.symlink_to(session.path)
    with pytest.raises(SessionError, match="already open"):
        Session.open(str(link))


def test_a_file_that_others_could_read_is_private_again_once_it_is_written_to(session):
    session.append_message(user("one"))
    session.close()
    os.chmod(session.path, 0o644)
    again = Session.open(session.path)
    again.append_message(user("two"))
    again.close()
    assert stat.S_IMODE(os.stat(session.path).st_mode) == 0o600


def test_a_lock_that_is_removed_before_we_get_it_is_no_lock(tmp_path, monkeypatch):
    path = str(tmp_path / "session.jsonl")
    first, second, third = WriterLock(path), WriterLock(path), WriterLock(path)
    first.acquire()
    real = fcntl.flock

    def flock_too_late(fd: int, how: int) -> None:
        first.release()
        real(fd, how)

    monkeypatch.setattr(fcntl, "flock", flock_too_late)
    assert second.acquire()
    with pytest.raises(SessionError):
        third.acquire()
    second.release()


def test_a_file_system_without_locks_gives_a_warning(session, monkeypatch):
    def no_locks(fd: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    session.append_message(user("one"))
    assert "no locks" in session.warnings[0]
    session.close()
    again = Session.open(session.path)
    assert "no locks" in again.warnings[0]
    again.close()


OTHER_WRITER = """
import sys
from marvin_agent.errors import SessionError
from marvin_agent.session.store import Session
try:
    session = Session.open(sys.argv[1])
except SessionError as error:
    print(error.show())
    raise SystemExit(1)
print("open", flush=True)
sys.stdin.read()
"""


def test_a_second_writer_is_told_which_process_holds_the_session(session):
    session.append_message(user("one"))
    command = [sys.executable, "-c", OTHER_WRITER, session.path]
    refused = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert refused.returncode == 1
    assert f"in use by process {os.getpid()}" in refused.stdout
    assert "Close that marvin" in refused.stdout
    session.close()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(SessionError, match=f"process {holder.pid}"):
            Session.open(session.path)
        holder.kill()
        holder.wait()
    again = Session.open(session.path)
    assert again.append_message(user("two"))
    again.close()


def test_the_same_process_cannot_open_a_session_twice(session):
    session.append_message(user("one"))
    with pytest.raises(SessionError, match="this process"):
        Session.open(session.path)


def test_a_file_that_vanishes_or_grows_under_us_is_an_error(session):
    session.append_message(user("one"))
    with open(session.path, "ab") as other:
        other.write(b"{}\n")
    with pytest.raises(SessionError, match="changed by another program"):
        session.append_message(user("two"))
    os.unlink(session.path)
    with pytest.raises(SessionError, match="removed"):
        session.append_message(user("two"))
    assert len(session.entries) == 1


FULL_DISK = """
import resource, sys
from marvin_agent.errors import SessionError
from marvin_agent.messages import user
from marvin_agent.session.store import Session
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
session = Session.create(sys.argv[1], "/a")
if sys.argv[2] == "first":
    try:
        session.append_message(user("x" * 4000))
    except SessionError as error:
        print(error.show())
session.append_message(user("fits"))
for _ in range(2):
    try:
        session.append_message(user("x" * 4000))
    except SessionError as error:
        print(error.show())
assert len(session.entries) == 1, session.entries
session.append_message(user("fits too"))
print(session.path)
"""


@pytest.mark.parametrize("when", ["first", "later"])
def test_a_full_disk_is_an_error_and_leaves_whole_lines_only(tmp_path, when):
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path), when]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Cannot write to the session file") == (3 if when == "first" else 2)
    path = done.stdout.splitlines()[-1]
    session = Session.open(path)
    assert session.warnings == []
    assert texts(session) == ["fits", "fits too"]
    session.close()


def test_a_directory_that_cannot_be_made_is_an_error_that_says_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    session = Session.create(str(tmp_path / "file" / "sessions"), "/a")
    with pytest.raises(SessionError) as caught:
        session.append_message(user("x"))
    assert "--no-session" in caught.value.show()


def test_typed_messages_keep_their_types(session):
    session.append_message(user("one"))
    again = reopened(session)
    (entry,) = again.entries
    assert isinstance(entry, MessageEntry)
    assert isinstance(entry.message, UserMessage)
    assert entry.type == "message"
    assert isinstance(again.append_compaction("s", None, 0), CompactionEntry)
    again.close()
