import io
import sys
from pathlib import Path

import pytest

from examples.conftest import Example
from marvin_agent.agent import events as out


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_after_a_long_run_the_command_is_run(example: Example, tmp_path: Path) -> None:
    note = tmp_path / "note"
    command = ["sh", "-c", f'echo "$1" > {note}', "sh", "{text}"]
    hook = example("notifier", settings={"seconds": 0, "command": command}, replies=[{"text": "ok"}])
    hook.prompt("go")
    assert note.read_text().startswith("Done. (0 s, ")


def test_a_failed_run_is_said_to_have_failed(example: Example, tmp_path: Path) -> None:
    note = tmp_path / "note"
    command = ["sh", "-c", f'echo "$1" > {note}', "sh", "{text}"]
    fault = {"fault": {"status": 400, "message": "no such thing"}}
    hook = example("notifier", settings={"seconds": 0, "command": command}, replies=[fault])
    hook.prompt("go")
    assert note.read_text().startswith("Failed: ")


@pytest.mark.parametrize("command", [["no-such-program-here"], ["false"], []])
def test_when_there_is_no_such_command_the_bell_rings(
    example: Example, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    hook = example("notifier", settings={"seconds": 0, "command": command}, replies=[{"text": "ok"}])
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    hook.prompt("go")
    assert screen.getvalue() == "\a"
    assert hook.scripted.of(out.HookFailed) == []


def test_a_short_run_is_not_worth_a_word(example: Example, tmp_path: Path) -> None:
    note = tmp_path / "note"
    hook = example("notifier", settings={"command": ["touch", str(note)]}, replies=[{"text": "ok"}])
    hook.prompt("go")
    assert not note.exists()
