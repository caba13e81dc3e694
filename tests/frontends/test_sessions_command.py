"""`marvin sessions`: what it prints, and what it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw

from marvin_agent.errors import SessionError, UsageError
from marvin_agent.frontends import sessions_command
from marvin_agent.frontends.cli import command_parser
from marvin_agent.messages import (
    AssistantMessage,
    HookMessage,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    user,
)
from marvin_agent.places import find_places
from marvin_agent.session.store import Session
from program import Marvin


@pytest.fixture
def root(tmp_path) -> str:
    return str(tmp_path / "sessions")


def run(words: list[str], root: str, cwd: str) -> int:
    options = command_parser("sessions", sessions_command).parse_args(words)
    return sessions_command.run(options, find_places(cwd=cwd, config_dir=os.path.dirname(root), environ={}))


@pytest.fixture
def session(root) -> Session:
    made = Session.create(root, "/srv/project")
    question = made.append_message(user("Fix the \x1b[31mtest\nplease", (Image(data="AAAA", mime_type="image/png"),)))
    call = ToolCall(id="c", name="bash", arguments=Raw(b'{"command":"ls"}'))
    made.append_message(
        AssistantMessage(
            content=(Thinking(thinking="let me see"), Text(text="I look."), call),
            api="a",
            provider="anthropic",
            model="claude",
            stop_reason="toolUse",
        )
    )
    made.append_message(
        ToolResultMessage(tool_call_id="c", tool_name="bash", content=(Text(text="You\n  a.py"),), is_error=True),
        changed_by=["project:redact"],
    )
    made.append_message(HookMessage(custom_type="note", content=(Text(text="psst"),), display=False))
    made.append_compaction("what was", question.id, 99, from_hook=True)
    made.append_info("Broken test")
    made.close()
    return made


def test_list_shows_the_sessions_of_the_project(root, session, capsys):
    other = Session.create(root, "/srv/other")
    other.append_message(user("elsewhere"))
    other.close()
    assert run([], root, "/srv/project") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(session.id)
    assert line.endswith("Broken test")
    assert run(["list", "--all"], root, "/srv/project") == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 2
    assert "/srv/other" in out
    assert run(["list", "--json"], root, "/srv/other") == 0
    (info,) = msgspec.json.decode(capsys.readouterr().out)
    assert info["id"] == other.id
    assert info["firstText"] == "elsewhere"
    assert info["messageCount"] == 1
    assert run(["list"], root, "/nowhere") == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "--all" in captured.err


def test_show_prints_a_transcript_that_no_message_can_fake(root, session, capsys):
    assert run(["show", session.id[:8]], root, "/nowhere") == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.split("\n\n", 1)[1] == (
        "You\n  Fix the \\u001b[31mtest\n  please\n  [image image/png, 3 bytes]\n"
        '\nanthropic/claude\n  [thinking] let me see\n  I look.\n  [calls bash] {"command":"ls"}\n'
        "\nbash failed (changed by project:redact)\n  You\n    a.py\n"
        "\nHook message note (hidden)\n  psst\n"
        "\nCompaction of 99 tokens by a hook\n  what was\n"
        "\nName: Broken test\n"
    )  # fmt: skip
    assert out.startswith(f"Session {session.id}: Broken test\n/srv/project, ")


def test_show_takes_the_latest_of_the_project_and_its_current_branch(root, session, capsys):
    again = Session.open(session.path)
    again.move_leaf(again.entries[0].id)
    again.append_message(user("another way"))
    again.close()
    assert run(["show"], root, "/srv/project") == 0
    out = capsys.readouterr().out
    assert "another way" in out
    assert "I look." not in out
    assert run(["show", "--all"], root, "/srv/project") == 0
    out = capsys.readouterr().out
    assert "I look." in out
    assert "Moved to" in out
    with pytest.raises(SessionError, match="no session of /nowhere"):
        run(["show"], root, "/nowhere")


def test_show_says_what_is_damaged(root, session, capsys):
    path = Path(session.path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = b"garbage \x1b\xff\n"
    path.write_bytes(b"".join(lines))
    assert run(["show", str(path)], root, "/x") == 0
    captured = capsys.readouterr()
    assert "Line 3 cannot be read (unreadable)\n  garbage \\u001b\ufffd\n" in captured.out
    assert "line 3" in captured.err
    assert run(["show", str(path), "--json"], root, "/x") == 0
    shown = msgspec.json.decode(capsys.readouterr().out)
    assert len(shown["warnings"]) == 2
    assert shown["entries"][1]["line"] == 3
    assert shown["entries"][2]["message"]["toolName"] == "bash"
    assert shown["session"]["id"] == session.id


def test_path_prints_the_file(root, session, capsys):
    assert run(["path"], root, "/srv/project") == 0
    assert capsys.readouterr().out == session.path + "\n"
    assert run(["path", session.id, "--json"], root, "/x") == 0
    assert msgspec.json.decode(capsys.readouterr().out) == {"path": session.path}


def test_rm_removes_what_was_named_and_nothing_when_one_is_not_found(root, session, capsys):
    with pytest.raises(SessionError):
        run(["rm", session.id, "zzzz"], root, "/x")
    assert os.path.exists(session.path)
    assert run(["rm", session.id, session.path], root, "/x") == 0
    assert capsys.readouterr().out == f"Removed {session.path}\n"
    assert not os.path.exists(session.path)


HOLDER = """
import sys
from marvin_agent.session.store import Session
session = Session.open(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


def test_rm_refuses_a_session_that_another_process_writes(root, session):
    command = [sys.executable, "-c", HOLDER, session.path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(SessionError, match=f"process {holder.pid}"):
            run(["rm", session.id], root, "/x")
        assert os.path.exists(session.path)
        holder.stdin.close()
        assert holder.wait() == 0
    assert run(["rm", "--json", session.id], root, "/x") == 0
    assert not os.path.exists(session.path)


@pytest.mark.parametrize("words", [["--all", "--json"], ["list", "--all", "--json"], ["--all", "list", "--json"]])
def test_the_word_list_may_be_left_out(root, session, capsys, words):
    assert run(words, root, "/elsewhere") == 0
    assert [listed["id"] for listed in json.loads(capsys.readouterr().out)] == [session.id]


@pytest.mark.parametrize("arguments", [["lst"], ["list", "--no"], ["rm"], ["show", "a", "b"], ["--al"]])
def test_wrong_arguments_are_usage_errors(root, arguments):
    with pytest.raises(UsageError) as caught:
        run(arguments, root, "/x")
    assert "marvin sessions" in caught.value.show()
    assert "--help" in caught.value.show()


def test_they_are_listed_from_where_the_configuration_keeps_them(tmp_path):
    marvin = Marvin(tmp_path)
    marvin.configure(sessions={"dir": "kept"}, model="demo/one")
    marvin.script({"text": "Hello"})
    assert marvin.run("-p", "remember me").code == 0
    assert list((marvin.config_dir / "kept").rglob("*.jsonl"))
    listed = marvin.run("sessions")
    assert "remember me" in listed.stdout
    assert marvin.run("sessions", "show").stdout.endswith("Hello\n")
    assert marvin.run("sessions", "--help").code == 0
