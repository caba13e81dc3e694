"""Which sessions there are, and which one is meant."""

import json
import os
from pathlib import Path

import pytest

from marvin_agent.errors import SessionError
from marvin_agent.messages import AssistantMessage, HookMessage, Text, raw, user
from marvin_agent.session.index import find_session, latest, list_sessions
from marvin_agent.session.layout import files_directory
from marvin_agent.session.removal import remove_session
from marvin_agent.session.store import Session


@pytest.fixture
def root(tmp_path) -> str:
    return str(tmp_path / "sessions")


def made(root: str, cwd: str, *texts: str, at: int = 0) -> Session:
    """A closed session of some user messages, last written to at a second."""
    session = Session.create(root, cwd)
    for text in texts:
        session.append_message(user(text))
    session.close()
    assert session.path is not None
    os.utime(session.path, (at, at))
    return session


def test_sessions_of_a_project_are_listed_with_the_latest_first(root):
    old = made(root, "/a/b", "old", at=1000)
    new = made(root, "/a/b", "new", "more", at=2000)
    made(root, "/a--b", "of another project", at=3000)
    assert [info.id for info in list_sessions(root, "/a/b")] == [new.id, old.id]
    assert len(list_sessions(root)) == 3
    info = latest(root, "/a/b/../b/")
    assert info is not None
    assert (info.id, info.path, info.cwd) == (new.id, new.path, "/a/b")
    assert (info.first_text, info.message_count, info.modified) == ("new", 2, 2_000_000)
    assert info.created == new.header.timestamp
    assert latest(root, "/nowhere") is None
    assert list_sessions(root + "/missing") == []


def test_a_session_without_messages_is_not_listed(root):
    session = Session.create(root, "/a")
    session.append_model_change("p", "m")
    session.append_custom("x", {"type": "message"})
    assert list_sessions(root) == []
    assert latest(root, "/a") is None
    session.append_message(user("hello"))
    session.close()
    assert len(list_sessions(root)) == 1


def test_the_list_shows_the_last_name_and_what_the_user_said_first(root):
    session = Session.create(root, "/a")
    session.append_message(HookMessage(custom_type="x", content=(Text(text="not the user"),)))
    session.append_custom("trap", {"role": "user"})
    session.append_custom("trap", {"text": '\n{"type":"message","role":"user"}'})
    session.append_message(
        AssistantMessage(content=(), api="a", provider="p", model="m", stop_reason="stop", request_id='"role":"user"')
    )
    session.append_message(user("the\nquestion"))
    session.append_info("first name")
    session.append_info("second name")
    session.close()
    (info,) = list_sessions(root)
    assert info.first_text == "the\nquestion"
    assert info.message_count == 3
    assert info.name == "second name"
    again = Session.open(session.path)
    again.append_info(None)
    again.close()
    assert list_sessions(root)[0].name is None


def test_broken_files_do_not_hide_the_others(root):
    session = made(root, "/a", "hello")
    directory = Path(session.path).parent
    (directory / "1_broken.jsonl").write_bytes(b"\x00\xff")
    (directory / "2_empty.jsonl").write_bytes(b"")
    (directory / "3_gone.jsonl").symlink_to(directory / "nothing")
    Path(session.path).write_bytes(Path(session.path).read_bytes() + b'{"type":"message","torn')
    assert [info.id for info in list_sessions(root)] == [session.id]


def test_sessions_of_the_original_marvin_are_listed_with_ours(root):
    directory = Path(root) / "--home--me--p--"
    directory.mkdir(parents=True)
    header = {
        "type": "session",
        "version": 3,
        "id": "abc-1",
        "timestamp": "2025-01-01T00:00:00.000Z",
        "cwd": "/home/me/p",
    }
    message = {
        "type": "message",
        "id": "1",
        "parentId": None,
        "timestamp": "",
        "message": {"role": "user", "content": "hi"},
    }
    lines = [json.dumps(line, separators=(",", ":")) for line in (header, message)]
    (directory / "1700000000000_abc-1.jsonl").write_text("\n".join(lines) + "\n")
    (info,) = list_sessions(root, "/home/me/p")
    assert (info.id, info.first_text, info.message_count) == ("abc-1", "hi", 1)
    assert find_session(root, "abc").path == info.path


def test_projects_whose_directories_have_one_name_are_told_apart(root):
    # The original marvin writes `/` and `-` of a path alike.
    directory = Path(root) / "--a-b-c--"
    directory.mkdir(parents=True)
    for cwd in ("/a/b-c", "/a-b/c"):
        name = cwd.replace("/", "_")
        lines: list[dict[str, object]] = [
            {"type": "session", "version": 3, "id": name, "timestamp": "2025-01-01T00:00:00.000Z", "cwd": cwd},
            {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": cwd}},
        ]
        text = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
        (directory / f"{name}.jsonl").write_text(text + "\n")
    assert [info.first_text for info in list_sessions(root, "/a/b-c")] == ["/a/b-c"]
    found = latest(root, "/a-b/c")
    assert found is not None
    assert found.cwd == "/a-b/c"


def test_a_session_is_found_by_id_prefix_or_path(root, tmp_path):
    session = made(root, "/a", "hello")
    made(root, "/b", "other")
    for text in (session.id, session.id[:9], session.path):
        assert find_session(root, text).id == session.id
    renamed = tmp_path / "renamed.jsonl"
    os.rename(session.path, renamed)
    assert find_session(root, str(renamed)).id == session.id
    inside = Path(root) / "x" / "renamed.jsonl"
    inside.parent.mkdir()
    os.rename(renamed, inside)
    assert find_session(root, session.id[:9]).path == str(inside)


def test_an_ambiguous_prefix_is_an_error_that_lists_what_it_may_mean(root):
    first = made(root, "/a", "the first one")
    directory = Path(first.path).parent
    for end in ("f00", "f01"):
        text = Path(first.path).read_text().replace(first.id, f"{first.id}{end}")
        (directory / f"x_{first.id}{end}.jsonl").write_text(text)
    with pytest.raises(SessionError) as caught:
        find_session(root, first.id[:8])
    shown = caught.value.show()
    for expected in (first.id, f"{first.id}f00", f"{first.id}f01", "/a", "the first one"):
        assert expected in shown
    assert find_session(root, first.id).path == first.path
    assert find_session(root, first.id + "f01").id == first.id + "f01"


def test_what_is_not_found_is_an_error_that_says_where_to_look(root):
    made(root, "/a", "hello")
    for text in ("zzzz", "", "/no/such/file.jsonl", ".."):
        with pytest.raises(SessionError) as caught:
            find_session(root, text)
        assert "sessions list" in caught.value.show()


def test_removing_takes_backups_and_outputs_along_and_refuses_an_open_session(root):
    session = made(root, "/a", "hello")
    other = made(root, "/a", "stays")
    Path(session.path + ".v3.bak").write_text("old")
    files = Path(files_directory(session.path))
    files.mkdir()
    (files / "output.txt").write_text("long")
    holder = Session.open(session.path)
    with pytest.raises(SessionError, match="already open in this process"):
        remove_session(session.path)
    assert os.path.exists(session.path)
    holder.close()
    remove_session(session.path)
    assert os.listdir(os.path.dirname(session.path)) == [os.path.basename(other.path)]
    remove_session(other.path)
    assert os.listdir(root) == []


def test_text_of_tools_is_not_taken_for_the_user(root):
    session = Session.create(root, "/a")
    session.append_message(user(""))
    session.append_custom("x", raw({"message": {"role": "user"}}))
    session.close()
    assert list_sessions(root)[0].first_text == ""
