"""What hooks print and log, in the installed program: never in an answer, and to be found."""

import json
from pathlib import Path

import pytest

from program import Marvin

TALKS = """
import subprocess
print("at its import")

def setup(marvin):
    @marvin.on("turn.end")
    async def talk(event, ctx):
        print("printed")
        subprocess.run(["echo", "by a child"])
        marvin.log.info("a detail")
        marvin.log.warning("a warning")
"""


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    made = Marvin(tmp_path)
    made.script({"text": "hello", "repeat": True})
    (made.work / "talks.py").write_text(TALKS)
    return made


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_what_a_hook_and_its_children_print_is_not_in_the_answer(marvin: Marvin, output: str) -> None:
    done = marvin.run("-p", "--output", output, "--hook", "talks.py", "go")
    if output == "text":
        assert done.stdout == "hello\n"
    else:
        assert all(isinstance(json.loads(line), dict) for line in done.stdout.splitlines())
    assert {"at its import", "printed", "by a child"} <= set(done.stderr.splitlines())


def test_on_a_terminal_the_answer_streams_as_ever(marvin: Marvin) -> None:
    terminal = marvin.terminal("-p", "--hook", "talks.py", "go")
    terminal.wait_for("hello")
    assert terminal.end() == 0


def test_a_warning_is_shown_under_the_hooks_name_and_a_detail_is_not(marvin: Marvin) -> None:
    done = marvin.run("-p", "--hook", "talks.py", "go")
    assert "flag:talks: a warning" in done.stderr
    assert "a detail" not in done.stderr
    issues = marvin.run("--headless", "--hook", "talks.py", "go").json["validationIssues"]
    assert {"level": "warning", "message": "flag:talks: a warning"} in issues


def test_every_line_of_the_log_is_in_the_file_that_the_environment_names(marvin: Marvin) -> None:
    for _ in range(2):
        marvin.run("-p", "--hook", "talks.py", "go", env={"MARVIN_HOOK_LOG": "hooks.log"})
    lines = (marvin.work / "hooks.log").read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == [
        "INFO marvin.hooks.flag:talks: a detail",
        "WARNING marvin.hooks.flag:talks: a warning",
    ] * 2
    done = marvin.run("-p", "go", env={"MARVIN_HOOK_LOG": "no/where/hooks.log"})
    assert done.code == 2
    assert "MARVIN_HOOK_LOG: no/where/hooks.log: No such file or directory" in done.stderr


SILENCES = """
import contextlib, io, sys

def setup(marvin):
    @marvin.on("turn.start")
    async def silence(event, ctx):
        {action}

    @marvin.on("turn.end")
    async def fail(event, ctx):
        raise ValueError("to be told")
"""


@pytest.mark.parametrize("output", ["text", "stream-json"])
@pytest.mark.parametrize(
    "action",
    [
        "sys.stderr.close()",
        "sys.stdout.close()",
        "sys.stdout = sys.stderr = io.StringIO()",
        "contextlib.redirect_stderr(io.StringIO()).__enter__()",
    ],
)
def test_what_a_hook_does_to_the_standard_streams_silences_nobody(marvin: Marvin, action: str, output: str) -> None:
    (marvin.work / "silences.py").write_text(SILENCES.format(action=action))
    done = marvin.run("-p", "--output", output, "--hook", "silences.py", "go")
    assert done.code == 0, done
    if output == "text":
        assert done.stdout == "hello\n"
        assert "flag:silences failed in turn.end" in done.stderr
    else:
        assert done.lines[-1]["type"] == "agent.settled"
