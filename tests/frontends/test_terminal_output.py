"""What a person sees of `marvin -p` in a terminal: a stream, tools with colour, a spinner that leaves no trace."""

from pathlib import Path

import pytest

from program import Marvin

BASH = {"name": "bash", "arguments": {"command": "sleep 1; echo done"}}


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    return Marvin(tmp_path)


def test_the_answer_streams_and_the_spinner_leaves_nothing(marvin: Marvin) -> None:
    marvin.script(
        {"text": "I look.", "toolCalls": [BASH], "delayMs": 600}, {"text": "one two three\n", "chunkDelayMs": 200}
    )
    with marvin.terminal("-p", "--auto", "go") as terminal:
        terminal.wait_for("waiting for the model")
        terminal.wait_for("sleep 1; echo done")
        terminal.wait_for("one")
        assert "three" not in terminal.text
        assert terminal.end() == 0
        assert terminal.text.splitlines() == ["I look.", "✓ bash sleep 1; echo done (1.0 s)", "one two three"]
    assert b"\x1b[32m" in terminal.raw


def test_a_search_is_shown_by_what_it_looks_for(marvin: Marvin) -> None:
    marvin.script({"toolCalls": [{"name": "grep", "arguments": {"pattern": "TODO", "path": "."}}]}, {"text": "Done."})
    assert marvin.run("-p", "go").stderr == "✓ grep TODO\n"


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_none_is_wanted(marvin: Marvin, env: dict[str, str]) -> None:
    marvin.script({"toolCalls": [{"name": "ls", "arguments": {}}]}, {"text": "Done."})
    with marvin.terminal("-p", "go", env=env) as terminal:
        terminal.wait_for("Done")
        assert terminal.end() == 0
    assert b"m" not in [part[-1:] for part in terminal.raw.split(b"\x1b[")[1:]]
    assert b"\x1b[32m" not in terminal.raw
    if env.get("TERM") == "dumb":
        assert b"\x1b" not in terminal.raw


def test_what_a_model_says_cannot_drive_the_terminal(marvin: Marvin) -> None:
    command = "echo \x1b]0;owned\x07"
    marvin.script(
        {"text": "a\x1b[2Jb\r\nc", "toolCalls": [{"name": "bash", "arguments": {"command": command}}]}, {"text": "end"}
    )
    with marvin.terminal("-p", "--auto", "go") as terminal:
        terminal.wait_for("end")
        assert terminal.end() == 0
        assert "a\\u001b[2Jb\nc" in terminal.text
    assert b"\x1b]0" not in terminal.raw
    assert b"\x1b[2J" not in terminal.raw


def test_withdrawn_text_is_marked(marvin: Marvin) -> None:
    marvin.configure(retry={"baseDelayMs": 1})
    marvin.script(
        {"text": "wrong words", "chunkDelayMs": 30, "fault": {"kind": "cut", "afterChunks": 2}}, {"text": "right"}
    )
    with marvin.terminal("-p", "go") as terminal:
        terminal.wait_for("right")
        assert terminal.end() == 0
        assert "void" in terminal.text.partition("right")[0]
