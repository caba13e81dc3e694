"""The same examples in a process of their own: what they do is the same, what they can reach is not."""

import pytest

from examples.conftest import Example

BEFORE = "tool.execute.before"


def test_a_gate_asks_and_refuses(example: Example) -> None:
    hook = example("permission_gate", answers=[False, True], isolate=True)
    assert hook.call("bash", command="rm -rf build").status == "blocked"
    assert hook.call("bash", command="rm -rf build").status == "ok"
    assert [question.title for question in hook.person.asked] == ["Run this command?"] * 2


def test_a_plain_tool_gives_rows(example: Example) -> None:
    hook = example("custom_tool", isolate=True)
    hook.call("bash", command="python3 -c \"import sqlite3; sqlite3.connect('a.db').execute('create table t (x)')\"")
    answer = hook.call("sqlite", database="a.db", query="select name from sqlite_master")
    assert (answer.status, answer.text) == ("ok", "name\nt")


def test_the_cost_limiter_reads_the_session(example: Example) -> None:
    tools = {"toolCalls": [{"name": "bash", "arguments": {"command": "echo x >> ran"}}], "usage": {"input": 1_000_000}}
    hook = example("cost_limiter", replies=[tools, {"text": "never"}], settings={"usd": 1.0}, isolate=True)
    hook.prompt("go")
    assert not (hook.work / "ran").exists()
    assert len(hook.requests) == 1


def test_a_secret_is_hidden(example: Example) -> None:
    hook = example("secret_redaction", isolate=True)
    assert hook.call("bash", command="echo sk-abcdefghijklmnopqrstuv").text == "[redacted]\n"


def test_the_environment_of_the_user_is_not_the_hooks(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "first")
    hook = example("gemini_auth", isolate=True)
    done = hook.emit("auth.get", input={"provider": "google", "model_id": "gemini"})
    assert (done.changed, done.errors) == (set(), [])
