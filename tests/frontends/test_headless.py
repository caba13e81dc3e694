"""`marvin -p` as a user runs it: text, one object, or a stream of events."""

import json
from pathlib import Path

import pytest

from program import Marvin


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    return Marvin(tmp_path)


def test_text_on_a_pipe_is_the_final_answer_once(marvin: Marvin) -> None:
    (marvin.work / "a.txt").write_text("alpha\n")
    marvin.script(
        {"text": "I look.", "toolCalls": [{"name": "read", "arguments": {"path": "a.txt"}}]}, {"text": "It is alpha."}
    )
    done = marvin.run("-p", "what is in a.txt?")
    assert done.code == 0, done.stderr
    assert done.stdout == "It is alpha.\n"
    assert "read a.txt" in done.stderr
    assert "\x1b" not in done.stderr


def test_on_a_terminal_the_answer_streams(marvin: Marvin) -> None:
    marvin.script({"text": "one two three", "chunkDelayMs": 20})
    with marvin.terminal("-p", "count") as terminal:
        terminal.wait_for("one two three")
        assert terminal.end() == 0


def test_json_is_one_object_with_the_promised_keys(marvin: Marvin) -> None:
    marvin.script({"text": "Done.", "usage": {"input": 10, "output": 2}})
    done = marvin.run("--headless", "do it")
    assert done.code == 0
    assert done.stdout.count("\n") == 1
    assert list(json.loads(done.stdout)) == [
        *("ok", "provider", "model", "prompt", "assistant", "error", "sessionId", "sessionPath", "usage", "cost"),
        *("turns", "toolCalls", "stopReason", "durationMs", "validationIssues"),
    ]
