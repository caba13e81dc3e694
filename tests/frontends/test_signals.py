"""Ctrl-C, SIGTERM, SIGHUP and a reader that leaves: what is printed, what is kept, and the exit code."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from marvin_agent.processes import TERM_GRACE
from program import PROGRAM, Marvin

HOOK = """
def setup(marvin):
    @marvin.on("session.shutdown")
    async def bye(event, ctx):
        with open("bye", "w") as file:
            file.write(event.reason)
"""
STUBBORN = """
import time
def setup(marvin):
    @marvin.on("session.shutdown")
    def bye(event, ctx):
        open("bye", "w").close()
        time.sleep(60)
"""


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    made = Marvin(tmp_path)
    (made.work / "hook.py").write_text(HOOK)
    (made.work / "stubborn.py").write_text(STUBBORN)
    return made


def wait_for(path: Path) -> None:
    until = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < until, f"{path} does not come"
        time.sleep(0.01)


def wait_for_delta(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout
    read = b""
    while b"message.update" not in read.rpartition(b"\n{")[2]:
        line = process.stdout.readline()
        assert line, read
        read += line
    return read


SLOW = {"text": "one two three four", "chunkDelayMs": 400}


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=str
)
def test_a_signal_stops_the_run_tells_the_hooks_and_keeps_what_there_is(marvin: Marvin, number: int, code: int) -> None:
    marvin.script(SLOW)
    with marvin.start("-p", "--output", "stream-json", "--hook", "hook.py", "count") as process:
        wait_for_delta(process)
        process.send_signal(number)
        out, _ = process.communicate(timeout=20)
        assert process.returncode == code
    assert b'"stopReason":"aborted"' in out
    assert (marvin.work / "bye").read_text() == "signal"
    last = marvin.messages()[-1]
    assert (last["role"], last["stopReason"]) == ("assistant", "aborted")
    assert last["content"][0]["text"].startswith("one")
    marvin.script({"text": "on it goes"})
    assert marvin.run("-p", "-c", "go on").stdout == "on it goes\n"


def test_ctrl_c_in_a_terminal_shows_what_there_is(marvin: Marvin) -> None:
    marvin.script({"text": "one two three four", "chunkDelayMs": 2000})
    with marvin.terminal("-p", "count") as terminal:
        terminal.wait_for("one")
        terminal.send("\x03")
        terminal.wait_for("Interrupted")
        assert terminal.end() == 130
        assert "Traceback" not in terminal.text


def test_an_interrupted_answer_on_a_pipe_is_printed_as_far_as_it_came(marvin: Marvin) -> None:
    (marvin.work / "seen.py").write_text(
        "def setup(marvin):\n"
        "    @marvin.on('message.update')\n"
        "    async def seen(event, ctx):\n"
        "        open('seen', 'w').close()\n"
    )
    marvin.script({"text": "one two three", "chunkDelayMs": 2000})
    with marvin.start("-p", "--hook", "seen.py", "count") as process:
        wait_for(marvin.work / "seen")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out.startswith(b"one")


def test_ctrl_c_while_the_prompt_is_read_is_told_in_the_form_that_was_asked_for(marvin: Marvin) -> None:
    for words in (["-p"], ["--headless"]):
        with marvin.start(*words, stdin=subprocess.PIPE) as process:
            assert process.stdin
            process.stdin.write(b"more than a pipe holds\n" * 50_000)  # so that it reads by now
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
        assert process.returncode == 130
        if words == ["-p"]:
            assert (out, err) == (b"", b"marvin: Interrupted\n")
        else:
            assert json.loads(out)["error"] == "Interrupted"


def test_a_signal_kills_the_tool_that_runs(marvin: Marvin) -> None:
    marvin.script({"toolCalls": [{"name": "bash", "arguments": {"command": "echo $$ > pid; sleep 60"}}]})
    with marvin.start("-p", "--auto", "go") as process:
        wait_for(marvin.work / "pid")
        while not (pid := (marvin.work / "pid").read_text().strip()):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 143
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)
    assert marvin.messages()[-1]["role"] == "toolResult"


def test_a_second_ctrl_c_leaves_at_once(marvin: Marvin) -> None:
    marvin.script({"text": "one two", "chunkDelayMs": 60_000})
    with marvin.start("-p", "--output", "stream-json", "--hook", "stubborn.py", "count") as process:
        assert process.stdout
        while b"turn.start" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        wait_for(marvin.work / "bye")
        began = time.monotonic()
        process.send_signal(signal.SIGINT)  # perhaps taken for the first one
        process.send_signal(signal.SIGINT)
        while process.poll() is None and time.monotonic() - began < 20:
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        assert process.returncode == 130


@pytest.mark.parametrize("leader", ["trap '' TERM", "true"], ids=["a shell that ignores TERM", "one that does not"])
def test_a_second_ctrl_c_leaves_no_tool_alive(marvin: Marvin, leader: str) -> None:
    stubborn = "(trap '' TERM; echo $BASHPID > pid.new; mv pid.new pid; sleep 60) & wait"
    marvin.script({"toolCalls": [{"name": "bash", "arguments": {"command": f"{leader}; {stubborn}"}}]})
    with marvin.start("-p", "--auto", "go") as process:
        wait_for(marvin.work / "pid")
        pid = int((marvin.work / "pid").read_text())
        began = time.monotonic()
        while process.poll() is None and time.monotonic() - began < 20:
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        took = time.monotonic() - began
    assert process.returncode == 130
    assert took < TERM_GRACE
    until = time.monotonic() + 10
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < until:
        time.sleep(0.01)  # init reaps it
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_ignored_hangup_stays_ignored(marvin: Marvin) -> None:
    marvin.script(SLOW)
    command = ["bash", "-c", "trap '' HUP; exec \"$@\"", "bash", *PROGRAM, "-p", "--output", "stream-json", "count"]
    with subprocess.Popen(
        command, env=marvin.env, cwd=marvin.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        wait_for_delta(process)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=20)
    assert process.returncode == 0


def test_a_reader_that_leaves_ends_the_run_quietly(marvin: Marvin) -> None:
    marvin.script({"text": "one two three four five six", "chunkDelayMs": 100})
    with marvin.start("-p", "--output", "stream-json", "count") as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=20) == 141
        assert process.stderr.read() == b""
    assert marvin.messages()[0]["role"] == "user"
    marvin.script({"text": "more"})
    assert marvin.run("-p", "-c", "go on").code == 0


def test_a_reader_that_left_before_the_answer_costs_only_the_answer(marvin: Marvin) -> None:
    marvin.script({"text": "Hello"})
    command = ["bash", "-c", '"$@" | true; echo "${PIPESTATUS[0]}"', "bash", *PROGRAM, "-p", "hi"]
    done = subprocess.run(
        command,
        env=marvin.env,
        cwd=marvin.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert (done.stdout, done.stderr) == (b"141\n", b"")
    assert [message["role"] for message in marvin.messages()] == ["user", "assistant"]


@pytest.mark.parametrize(("key", "said"), [("\x03", "Interrupted"), ("\x04", "No answer was given")])
@pytest.mark.parametrize("words", ["login openai", "trust"])
def test_a_question_that_is_not_answered_ends_the_command(marvin: Marvin, words: str, key: str, said: str) -> None:
    (marvin.work / ".marvin" / "hooks").mkdir(parents=True)
    (marvin.work / ".marvin" / "hooks" / "own.py").write_text("def setup(marvin): pass\n")
    with marvin.terminal(*words.split(), columns=300) as terminal:
        terminal.wait_for(r"API key of openai|\[y/N\]")
        terminal.send(key)
        assert terminal.end() == 130
        assert terminal.text.splitlines()[-1] == f"marvin: {said}"
    assert not (marvin.config_dir / "auth.json").exists()
