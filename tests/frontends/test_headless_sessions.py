"""Sessions as a user meets them: going on, choosing, keeping nothing, and what a resumed session brings along."""

import os
import signal
from pathlib import Path

import pytest

from program import Marvin


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    return Marvin(tmp_path)


def said(marvin: Marvin, session: Path | None = None) -> list[str]:
    return [message["content"][-1]["text"] for message in marvin.messages(session)]


def begin(marvin: Marvin, *flags: str, prompt: str = "first") -> str:
    marvin.script({"text": "one", "match": prompt})
    done = marvin.run("--headless", *flags, prompt)
    assert done.code == 0, done.stdout
    return str(done.json["sessionId"])


def test_c_goes_on_with_the_latest_session_of_this_project(marvin: Marvin) -> None:
    begin(marvin)
    marvin.script({"text": "two"})
    assert marvin.run("-p", "-c", "second").code == 0
    assert said(marvin) == ["first", "one", "second", "two"]


def test_c_in_a_subdirectory_goes_on_with_the_session_of_the_project(marvin: Marvin) -> None:
    marvin.script({"text": "one"}, {"text": "two"})
    marvin.run("-p", "first")
    sub = marvin.work / "sub"
    sub.mkdir()
    done = marvin.run("-p", "-c", "second", cwd=sub)
    assert done.code == 0, done.stderr
    assert f"the session is from {marvin.work}" in done.stderr
    assert len(marvin.messages()) == 4


def test_commands_in_a_subdirectory_mean_the_sessions_of_the_project(marvin: Marvin) -> None:
    identity = begin(marvin)
    sub = marvin.work / "sub"
    sub.mkdir()
    assert identity in marvin.run("sessions", "list", cwd=sub).stdout
    assert identity in marvin.run("sessions", "show", cwd=sub).stdout
    assert identity in marvin.run("hooks", "why", cwd=sub).stdout


def test_sessions_are_where_a_trusted_project_says(marvin: Marvin) -> None:
    (marvin.work / ".marvin").mkdir()
    (marvin.work / ".marvin" / "config.json").write_text('{"sessions": {"dir": "kept"}}')
    begin(marvin)
    assert len(marvin.sessions) == 1
    assert marvin.run("trust", "--yes").code == 0
    assert marvin.run("sessions", "list").stdout == ""
    identity = begin(marvin)
    assert len(marvin.sessions) == 1
    assert identity in marvin.run("sessions", "list").stdout
    assert str(marvin.work / ".marvin" / "kept") in marvin.run("sessions", "path").stdout
    assert identity in marvin.run("hooks", "why").stdout


def test_c_without_a_session_says_so(marvin: Marvin) -> None:
    marvin.script({"text": "two"})
    done = marvin.run("-p", "-c", "second")
    assert done.code == 1
    assert "-c" in done.stderr
    assert marvin.sessions == []


def test_a_session_is_named_by_id_beginning_or_path(marvin: Marvin) -> None:
    identity = begin(marvin)
    (path,) = marvin.sessions
    relative = marvin.work / "copy.jsonl"
    relative.write_bytes(path.read_bytes())
    for name in (identity, identity[:10], str(path), "copy.jsonl"):
        marvin.script({"text": "more"})
        assert marvin.run("-p", "--session", name, "go on").code == 0
    assert said(marvin, path) == ["first", "one"] + 3 * ["go on", "more"]
    assert said(marvin, relative) == ["first", "one", "go on", "more"]
    done = marvin.run("-p", "--session", "zzz", "go on")
    assert done.code == 1
    assert "marvin sessions" in done.stderr


def test_a_session_of_elsewhere_is_named_as_such(marvin: Marvin) -> None:
    identity = begin(marvin)
    other = marvin.work / "other"
    other.mkdir()
    (other / ".git").mkdir()
    marvin.script({"text": "more"})
    done = marvin.run("-p", "--session", identity, "go on", cwd=other)
    assert done.code == 0
    assert str(marvin.work) in done.stderr
    assert marvin.run("-p", "-c", "go on", cwd=other).code == 1


def test_no_session_keeps_nothing(marvin: Marvin) -> None:
    marvin.script({"text": "one"})
    done = marvin.run("--headless", "--no-session", "first")
    assert done.json["sessionPath"] is None
    assert marvin.sessions == []
    marvin.configure(sessions={"enabled": False})
    marvin.script({"text": "one"})
    assert marvin.run("-p", "first").code == 0
    assert marvin.sessions == []


def test_a_file_that_changed_between_two_runs_is_not_overwritten_unseen(marvin: Marvin) -> None:
    def write(content: str, path: str = "a.txt") -> dict[str, object]:
        return {"toolCalls": [{"name": "write", "arguments": {"path": path, "content": content}}]}

    marvin.script(write("of the model\n"), write("other\n", "b.txt"), {"text": "done"})
    marvin.run("-p", "--auto", "go")
    file = marvin.work / "a.txt"
    file.write_text("of the user\n")
    later = file.stat().st_mtime + 1
    os.utime(file, (later, later))
    read = {"toolCalls": [{"name": "read", "arguments": {"path": "a.txt"}}]}
    marvin.script(write("again\n"), read, write("seen\n"), write("more\n", "b.txt"), {"text": "done"})
    marvin.run("-p", "-c", "--auto", "go on")
    results = [message for message in marvin.messages() if message["role"] == "toolResult"][2:]
    assert [result["isError"] for result in results] == [True, False, False, False]
    assert "a.txt was changed since you last saw it" in results[0]["content"][0]["text"]
    assert file.read_text() == "seen\n"


def test_resume_without_a_terminal_names_the_newest(marvin: Marvin) -> None:
    identities = [begin(marvin, prompt=f"question {number}") for number in range(2)]
    done = marvin.run("-p", "-r", "go on")
    assert done.code == 2
    for identity in identities:
        assert identity in done.stderr
    assert done.stderr.index("question 1") < done.stderr.index("question 0")
    assert "--session" in done.stderr


def test_resume_in_a_terminal_lets_choose(marvin: Marvin) -> None:
    begin(marvin, prompt="older question")
    begin(marvin, prompt="newer question")
    marvin.script({"text": "I go on."})
    with marvin.terminal("-p", "-r", "more") as terminal:
        terminal.wait_for("older question")
        terminal.wait_for(r"\[1-2")
        terminal.send("7\n")
        terminal.wait_for(r"(?s)\[1-2.*\[1-2")
        terminal.send("2\n")
        terminal.wait_for("I go on")
        assert terminal.end() == 0
    assert said(marvin, marvin.sessions[-1]) == ["older question", "one", "more", "I go on."]
    with marvin.terminal("-p", "-r", "more") as terminal:
        terminal.wait_for(r"\[1-2")
        terminal.send("q\n")
        assert terminal.end() == 130


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_choice_at_once(marvin: Marvin, number: signal.Signals) -> None:
    begin(marvin)
    with marvin.terminal("-p", "-r", "more") as terminal:
        terminal.wait_for(r"\[1-1")
        os.kill(terminal.child.pid, number)
        assert terminal.end() == 128 + number
        assert "Interrupted" in terminal.text


@pytest.mark.parametrize(("key", "said"), [("\x03", "Interrupted"), ("\x04", "No session was chosen")])
def test_the_list_fits_a_narrow_terminal_and_leaving_it_begins_a_line(marvin: Marvin, key: str, said: str) -> None:
    for prompt in ("a rather long question about the first thing", "another such question about the second"):
        marvin.script({"text": "ok"})
        marvin.run("-p", prompt)
    with marvin.terminal("-p", "-r", "more", columns=60) as terminal:
        terminal.wait_for("Go on with which one")
        listed = terminal.text.splitlines()
        assert [line[:3] for line in listed] == ["  1", "  2", "Go "]
        terminal.send(key)
        assert terminal.end() == 130
        assert terminal.text.splitlines()[-1] == f"marvin: {said}"


def test_a_resumed_session_keeps_its_model_and_thinking(marvin: Marvin) -> None:
    marvin.script({"text": "one"}, models=("a", "b"), reasoning=True)
    assert marvin.run("-p", "--model", "demo/b", "--thinking", "high", "first").code == 0
    marvin.script(*3 * [{"text": "more"}], models=("a", "b"), reasoning=True)
    marvin.run("-p", "-c", "--record", "kept", "second")
    assert '"b"' in (marvin.work / "kept").read_text()
    marvin.script({"text": "more"}, models=("a", "b"), reasoning=True)
    assert marvin.run("--headless", "-c", "second").json["model"] == "b"
    marvin.script({"text": "more"}, models=("a", "b"), reasoning=True)
    assert marvin.run("--headless", "-c", "--model", "demo/a", "third").json["model"] == "a"
    marvin.script({"text": "more"}, models=("a", "b"), reasoning=True)
    assert marvin.run("--headless", "-c", "fourth").json["model"] == "a"
    levels = [line for line in marvin.sessions[0].read_text().splitlines() if '"thinking_change"' in line]
    assert len(levels) == 1
    assert '"high"' in levels[0]


def test_thinking_is_restored_unless_the_command_line_says_otherwise(marvin: Marvin) -> None:
    hook = marvin.work / "level.py"
    hook.write_text(
        "def setup(marvin):\n"
        "    @marvin.on('chat.params')\n"
        "    async def tell(event, ctx):\n"
        "        ctx.ui.notify('level ' + event.output.stream_options.reasoning)\n"
    )
    levels = []
    for flags in ([], ["--thinking", "low"], ["-c"], ["-c", "--thinking", "high"], ["-c"]):
        marvin.script({"text": "more"}, reasoning=True)
        done = marvin.run("-p", *flags, "--hook", str(hook), "go")
        assert done.code == 0, done.stderr
        levels += [line.rpartition("level ")[2] for line in done.stderr.splitlines() if "level " in line]
    assert levels == ["medium", "low", "low", "high", "high"]


def test_a_model_that_is_gone_is_a_notice_and_the_configured_one_goes_on(marvin: Marvin) -> None:
    marvin.script({"text": "one"}, name="gone")
    assert marvin.run("-p", "--model", "gone/one", "first").code == 0
    (marvin.config_dir / "models.json").unlink()
    marvin.script({"text": "two"})
    marvin.configure(model="demo/one")
    done = marvin.run("-p", "-c", "second")
    assert (done.code, done.stdout) == (0, "two\n")
    assert "gone/one" in done.stderr


def test_a_session_that_another_process_writes_is_not_opened(marvin: Marvin) -> None:
    identity = begin(marvin)
    marvin.script({"text": "slow", "delayMs": 60_000})
    with marvin.start("-p", "-c", "--output", "stream-json", "second") as running:
        assert running.stdout
        while b"turn.start" not in running.stdout.readline():
            pass
        done = marvin.run("-p", "--session", identity, "third")
        running.kill()
    assert done.code == 1
    assert str(running.pid) in done.stderr
    # The writer was killed in the middle; the next one goes on.
    marvin.script({"text": "three"})
    assert marvin.run("-p", "-c", "third").code == 0
    assert said(marvin) == ["first", "one", "second", "third", "three"]
