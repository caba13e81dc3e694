"""The app as a user has it: the installed program in a real terminal."""

from pathlib import Path

import pytest

from program import Marvin, Terminal

pytestmark = pytest.mark.terminal


def start(marvin: Marvin, *arguments: str, **facts: int) -> Terminal:
    return marvin.terminal(*arguments, **facts)


def leave(terminal: Terminal) -> str:
    """Ctrl+C twice; what stays on the normal screen."""
    terminal.send("\x03")
    terminal.wait_for("again leaves")
    terminal.send("\x03")
    assert terminal.end() == 0
    return terminal.text


def test_a_prompt_is_typed_and_answered_and_leaving_prints_the_answer_and_the_way_back(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Good morning to you.", "match": "hello"})
    with start(marvin) as terminal:
        terminal.wait_for("Enter sends")
        terminal.send("hello\r")
        terminal.wait_for("Good morning to you")
        left = leave(terminal)
        (session,) = marvin.sessions
        assert "Good morning to you." in left
        assert f"marvin --session {session.stem.rpartition('_')[2]}" in left


def test_keys_typed_before_the_app_is_there_are_not_lost(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "I heard you.", "match": "^early bird$"})
    with start(marvin) as terminal:
        terminal.wait_for("marvin")
        terminal.send("early bird\r")
        terminal.wait_for("I heard you")


def test_the_prompt_of_the_command_line_is_sent_at_the_start(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "It is mended.", "match": "^fix the test$"})
    with start(marvin, "fix the test") as terminal:
        terminal.wait_for("It is mended")
        assert "fix the test" in terminal.text
