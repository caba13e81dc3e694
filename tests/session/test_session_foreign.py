"""Sessions of pi and of the original marvin: read as they are, and made ours when they are gone on with."""

import json
from pathlib import Path

import pytest

from marvin_agent.errors import SessionError
from marvin_agent.messages import AssistantMessage, HookMessage, ToolResultMessage, UserMessage, text_of, user
from marvin_agent.session.document import read_document
from marvin_agent.session.entries import CustomEntry
from marvin_agent.session.store import Session

WHEN = "2025-06-01T10:00:00.000Z"
USAGE = {
    "input": 10,
    "output": 5,
    "cacheRead": 0,
    "cacheWrite": 0,
    "totalTokens": 15,
    "cost": {"input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3},
}
ASSISTANT = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
        {"type": "text", "text": "I look"},
        {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "ls"}},
    ],
    "api": "anthropic-messages",
    "provider": "anthropic",
    "model": "claude-x",
    "usage": USAGE,
    "stopReason": "toolUse",
    "timestamp": 1748772000000,
}
RESULT = {
    "role": "toolResult",
    "toolCallId": "t1",
    "toolName": "bash",
    "content": [{"type": "text", "text": "a.py"}],
    "details": {"exitCode": 0},
    "isError": False,
    "timestamp": 1748772000000,
}


def stored(path: Path, *lines: dict) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def chained(*entries: dict) -> list[dict]:
    """Entries with ids, each following the one before."""
    parents = [None, *(f"0000000{number:x}" for number in range(len(entries)))]
    return [
        {"type": "message", "id": f"0000000{number:x}", "parentId": parents[number], "timestamp": WHEN, **entry}
        for number, entry in enumerate(entries)
    ]


PI_3 = [
    {"type": "session", "version": 3, "id": "0197-pi", "timestamp": WHEN, "cwd": "/p", "parentSession": "/old.jsonl"},
    *chained(
        {"type": "model_change", "provider": "anthropic", "modelId": "claude-x"},
        {"type": "thinking_level_change", "thinkingLevel": "high"},
        {"message": {"role": "user", "content": "list files", "timestamp": 1748772000000}},
        {"message": ASSISTANT},
        {"message": RESULT},
        {"message": {"role": "bashExecution", "command": "make", "output": "boom", "exitCode": 2, "cancelled": False}},
        {"message": {"role": "bashExecution", "command": "secret", "output": "x", "excludeFromContext": True}},
        {"type": "custom_message", "customType": "plan", "content": "step one", "display": False, "details": {"n": 1}},
        {"message": {"role": "custom", "customType": "note", "content": [{"type": "text", "text": "hey"}]}},
        {"type": "custom", "customType": "memory", "data": {"k": "v"}},
        {"type": "label", "targetId": "00000002", "label": None},
        {"type": "session_info", "name": "From pi"},
        {"type": "ttsr_injection", "rule": "r1"},
    ),
]


def test_a_session_of_pi_is_read_whole(tmp_path):
    session = Session.open(str(stored(tmp_path / "a_0197-pi.jsonl", *PI_3)))
    assert session.header.parent == "/old.jsonl"
    assert session.id == "0197-pi"
    assert session.name == "From pi"
    question, answer, result, shell, plan, note = session.messages()
    assert isinstance(question, UserMessage)
    assert text_of(question.content) == "list files"
    assert isinstance(answer, AssistantMessage)
    assert answer.tool_calls[0].input == {"command": "ls"}
    assert answer.usage is not None
    assert answer.usage.cost.total == 0.3
    assert isinstance(result, ToolResultMessage)
    assert isinstance(shell, HookMessage)
    assert shell.custom_type == "shell"
    assert "`make`" in text_of(shell.content)
    assert "boom" in text_of(shell.content)
    assert "exit code 2" in text_of(shell.content)
    assert isinstance(plan, HookMessage)
    assert (plan.custom_type, plan.display, text_of(plan.content)) == ("plan", False, "step one")
    assert isinstance(note, HookMessage)
    assert (note.custom_type, note.display) == ("note", True)
    assert [entry.type for entry in session.entries] == [
        "model_change", "thinking_change", "message", "message", "message", "message", "custom",
        "message", "message", "custom", "label", "session_info", "ttsr_injection",
    ]  # fmt: skip
    hidden = session.entries[6]
    assert isinstance(hidden, CustomEntry)
    assert b"secret" in bytes(hidden.data)
    assert len(session.warnings) == 1
    assert "ttsr_injection" in session.warnings[0]
    session.close()


def test_a_session_of_the_original_marvin_is_read_whole(tmp_path):
    header = {
        "type": "session",
        "version": 3,
        "id": "u-1",
        "timestamp": WHEN,
        "cwd": "/p",
        "provider": "anthropic",
        "modelId": "claude-x",
        "thinkingLevel": "medium",
        "compaction": {"lastSummary": "s"},
        "forkedFrom": "u-0",
    }
    lines = chained(
        {"message": {"role": "user", "content": [{"type": "text", "text": "hello"}], "timestamp": 1748772000000}},
        {"message": {"role": "shell", "command": "ls", "output": "a", "exitCode": 0, "timestamp": 1748772000000}},
        {"message": {"role": "hookMessage", "customType": "todo", "content": "go on", "display": True}},
        {"message": {**ASSISTANT, "content": "plain", "stopReason": "end", "errorMessage": None}},
        {"type": "custom", "customType": "memory"},
    )
    session = Session.open(str(stored(tmp_path / "1_u-1.jsonl", header, *lines)))
    assert session.warnings == []
    assert session.header.parent == "u-0"
    _, shell, todo, answer = session.messages()
    assert isinstance(shell, HookMessage)
    assert "exit code" not in text_of(shell.content)
    assert isinstance(todo, HookMessage)
    assert text_of(todo.content) == "go on"
    assert isinstance(answer, AssistantMessage)
    assert (answer.text, answer.stop_reason) == ("plain", "stop")
    session.close()


def test_version_1_is_a_list_with_a_compaction_by_index(tmp_path):
    lines = [
        {"type": "session", "id": "v1", "timestamp": WHEN, "cwd": "/p"},
        {"type": "message", "timestamp": WHEN, "message": {"role": "user", "content": "1"}},
        {"type": "message", "timestamp": WHEN, "message": {"role": "user", "content": "2"}},
        {"type": "compaction", "timestamp": WHEN, "summary": "was 1", "firstKeptEntryIndex": 2, "tokensBefore": 9},
        {"type": "message", "timestamp": WHEN, "message": {"role": "user", "content": "3"}},
    ]
    path = stored(tmp_path / "1_v1.jsonl", *lines)
    session = Session.open(str(path))
    assert session.warnings == []
    assert [text_of(message.content).rpartition("\n")[2] for message in session.messages()] == ["was 1", "2", "3"]
    ids = [entry.id for entry in session.entries]
    session.append_message(user("4"))
    session.close()
    again = read_document(str(path))
    assert again.native
    assert [entry.id for entry in again.entries[:-1]] == ids


def test_version_2_calls_hook_messages_by_our_name(tmp_path):
    lines = chained({"message": {"role": "hookMessage", "customType": "x", "content": "hook", "display": True}})
    header = {"type": "session", "version": 2, "id": "v2", "timestamp": WHEN, "cwd": "/p"}
    session = Session.open(str(stored(tmp_path / "1_v2.jsonl", header, *lines)))
    assert isinstance(session.messages()[0], HookMessage)
    session.close()


def test_compactions_and_branch_summaries_of_others_are_applied(tmp_path):
    lines = chained(
        {"message": {"role": "user", "content": "1"}},
        {"message": {"role": "user", "content": "2"}},
        {"type": "compaction", "summary": "one", "firstKeptEntryId": "00000001", "tokensBefore": 9.0, "details": None,
         "fromExtension": True},
        {"type": "branch_summary", "fromId": None, "summary": "elsewhere"},
        {"type": "model_change", "model": "openai/gpt-x/y"},
    )  # fmt: skip
    header = {"type": "session", "version": 3, "id": "v3", "timestamp": WHEN, "cwd": "/p"}
    session = Session.open(str(stored(tmp_path / "1_v3.jsonl", header, *lines)))
    assert session.warnings == []
    assert [text_of(message.content).rpartition("\n")[2] for message in session.messages()] == ["one", "2", "elsewhere"]
    assert session.entries[2].from_hook
    assert (session.entries[4].provider, session.entries[4].model_id) == ("openai", "gpt-x/y")
    session.close()


def test_unpaired_surrogates_of_javascript_are_repaired(tmp_path):
    line = json.dumps(chained({"message": {"role": "user", "content": "a\ud83d b \U0001f600 \\ud83d"}})[0])
    assert "\\ud83d" in line
    path = stored(tmp_path / "1_s.jsonl", {"type": "session", "version": 3, "id": "s", "timestamp": WHEN, "cwd": "/p"})
    path.write_text(path.read_text() + line + "\n")
    session = Session.open(str(path))
    assert session.warnings == []
    assert text_of(session.messages()[0].content) == "a\ufffd b \U0001f600 \\ud83d"
    session.close()


def test_a_last_line_that_lacks_only_its_newline_counts(tmp_path):
    path = stored(tmp_path / "a_0197-pi.jsonl", *PI_3[:4])
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    session = Session.open(str(path))
    assert session.warnings == []
    assert text_of(session.messages()[0].content) == "list files"
    session.append_message(user("go on"))
    session.close()
    assert [entry.type for entry in read_document(str(path)).entries] == [
        "model_change", "thinking_change", "message", "message",
    ]  # fmt: skip


def test_only_looking_leaves_a_foreign_file_alone(tmp_path):
    path = stored(tmp_path / "a_0197-pi.jsonl", *PI_3)
    before = path.read_bytes()
    Session.open(str(path)).close()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_going_on_makes_the_file_ours_and_keeps_the_old_one_beside_it(tmp_path):
    path = stored(tmp_path / "a_0197-pi.jsonl", *PI_3)
    path.write_text(path.read_text() + "damaged line\n" + '{"torn')
    before = path.read_bytes()
    session = Session.open(str(path))
    messages, entries = session.messages(), list(session.entries)
    session.append_message(user("go on"))
    session.append_message(user("and on"))
    assert session.header.version == 4
    session.close()
    assert path.with_name(path.name + ".v3.bak").read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o600
    again = Session.open(str(path))
    assert again.header.parent == "/old.jsonl"
    assert again.id == "0197-pi"
    assert again.messages()[:-2] == messages
    assert [entry.id for entry in again.entries[:-2]] == [entry.id for entry in entries]
    assert b"\ndamaged line\n" in path.read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name, path.name + ".lock", path.name + ".v3.bak"]
    again.close()


def test_a_foreign_file_that_its_owner_goes_on_writing_is_not_replaced(tmp_path):
    path = stored(tmp_path / "a_0197-pi.jsonl", *PI_3)
    session = Session.open(str(path))
    with path.open("a") as owner:
        owner.write(json.dumps({"type": "custom", "id": "x", "parentId": None, "timestamp": WHEN}) + "\n")
    before = path.read_bytes()
    with pytest.raises(SessionError, match="changed by another program"):
        session.append_message(user("go on"))
    assert path.read_bytes() == before
    assert len(session.messages()) == 6
    session.close()
    assert list(tmp_path.iterdir()) == [path]


def test_a_second_backup_does_not_replace_the_first(tmp_path):
    path = stored(tmp_path / "a_0197-pi.jsonl", *PI_3)
    path.with_name(path.name + ".v3.bak").write_text("older")
    session = Session.open(str(path))
    session.append_message(user("go on"))
    session.close()
    assert path.with_name(path.name + ".v3.bak").read_text() == "older"
    assert path.with_name(path.name + ".v3.1.bak").read_text().startswith('{"type": "session"')
