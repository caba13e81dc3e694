"""`marvin -p` as a user runs it: the answer, the exit code, and what is said on the way."""

import base64
import os
import socket
import subprocess
from pathlib import Path

import pytest

from program import PROGRAM, Marvin

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

READ = {"name": "read", "arguments": {"path": "a.txt"}}
KEYS = [
    *("ok", "provider", "model", "prompt", "assistant", "error", "sessionId", "sessionPath", "usage", "cost", "turns"),
    *("toolCalls", "stopReason", "durationMs", "validationIssues"),
]


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    made = Marvin(tmp_path)
    (made.work / "a.txt").write_text("alpha\n")
    return made


# Text.


def test_on_a_pipe_there_is_the_final_answer_once(marvin: Marvin) -> None:
    marvin.script({"text": "I look.", "toolCalls": [READ]}, {"text": "It is alpha."})
    done = marvin.run("-p", "what is in a.txt?")
    assert done.code == 0, done.stderr
    assert done.stdout == "It is alpha.\n"
    assert done.stderr == "✓ read a.txt\n"


def test_without_p_a_pipe_is_headless_too(marvin: Marvin) -> None:
    marvin.script({"text": "Hello"})
    assert marvin.run("hi").stdout == "Hello\n"


def test_what_the_model_says_is_printed_as_it_is_on_a_pipe(marvin: Marvin) -> None:
    marvin.script({"text": "a\x1b[31mb\r\nc\n"})
    assert marvin.run("-p", "hi").stdout == "a\x1b[31mb\r\nc\n"


def test_tools_that_act_are_refused_without_permission_and_told_how(marvin: Marvin) -> None:
    call = {"name": "bash", "arguments": {"command": "touch made"}}
    marvin.script({"toolCalls": [call]}, {"text": "It was refused.", "match": "--auto"})
    done = marvin.run("-p", "do it")
    assert done.code == 0, done.stderr
    assert not (marvin.work / "made").exists()
    assert "⊘ bash touch made" in done.stderr
    assert "--auto" in done.stderr


@pytest.mark.parametrize("how", ["flag", "mode", "config"])
def test_tools_that_act_run_with_permission(marvin: Marvin, how: str) -> None:
    call = {"name": "bash", "arguments": {"command": "touch made"}}
    marvin.script({"toolCalls": [call]}, {"text": "Done."})
    if how == "config":
        marvin.configure(permissions={"mode": "auto"})
    flags = {"flag": ["--auto"], "mode": ["--permission-mode", "auto"], "config": []}[how]
    assert marvin.run("-p", *flags, "do it").code == 0
    assert (marvin.work / "made").exists()


def test_a_retry_is_visible_and_leaves_one_answer(marvin: Marvin) -> None:
    marvin.configure(retry={"baseDelayMs": 1})
    marvin.script({"text": "wrong wrong", "fault": {"kind": "cut", "afterChunks": 1}}, {"text": "right"})
    done = marvin.run("-p", "hi")
    assert (done.code, done.stdout) == (0, "right\n")
    assert "retry 1/" in done.stderr


def test_a_retry_is_one_line_and_what_to_do_comes_once_at_the_end(marvin: Marvin) -> None:
    marvin.configure(retry={"baseDelayMs": 1, "maxAttempts": 3})
    with socket.socket() as taken:  # a port on which nobody listens
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        marvin.provider("gone", api="openai-completions", baseUrl=url, models=[{"id": "m"}])
        done = marvin.run("-p", "--model", "gone/m", "hi")
    lines = done.stderr.splitlines()
    assert [line[:9] for line in lines] == ["retry 1/2", "retry 2/2", "marvin: g", "Is the se"], done.stderr


def test_a_failed_run_exits_1_and_says_why(marvin: Marvin) -> None:
    marvin.script({"fault": {"status": 401, "message": "bad key"}})
    done = marvin.run("-p", "hi")
    assert done.code == 1
    assert done.stdout == ""
    assert "bad key" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_key_names_variable_command_and_local(marvin: Marvin) -> None:
    done = marvin.run("-p", "--model", "anthropic/claude-sonnet-4-5", "hi")
    assert done.code == 1
    for part in ("ANTHROPIC_API_KEY", "marvin login", "--model local"):
        assert part in done.stderr


def test_a_wrong_configuration_exits_78(marvin: Marvin) -> None:
    (marvin.config_dir / "config.json").write_text('{\n"modle": "x"}')
    done = marvin.run("-p", "hi")
    assert done.code == 78
    assert "config.json:2" in done.stderr
    done = marvin.run("--headless", "hi")
    assert done.code == 78
    assert done.json["ok"] is False
    assert done.json["prompt"] == "hi"
    assert "modle" in done.json["error"]


def test_no_prompt_exits_2(marvin: Marvin) -> None:
    for stdin in ("", " \n"):
        done = marvin.run("-p", stdin=stdin)
        assert done.code == 2
        assert "no prompt" in done.stderr
    assert marvin.run("--headless").json["error"].startswith("there is no prompt")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_trouble(marvin: Marvin, closed: str) -> None:
    marvin.script({"text": "Hello"})
    command = ["bash", "-c", f'"$@" {closed}', "bash", *PROGRAM, "-p", "hi"]
    done = subprocess.run(command, env=marvin.env, cwd=marvin.work, capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (b"" if " >&-" in f" {closed}" else b"Hello\n")
    assert [message["role"] for message in marvin.messages()] == ["user", "assistant"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "words", ["-p hi", "--headless hi", "--output stream-json hi", "models", "config", "doctor", "--version", "--help"]
)
def test_output_that_cannot_be_written_is_told(marvin: Marvin, words: str) -> None:
    marvin.script({"text": "Hello"})
    with open("/dev/full", "wb") as full, marvin.start(*words.split(), stdout=full) as process:
        _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert said.decode().splitlines()[-1] == "marvin: what is printed cannot be written: No space left on device"
    assert b"Traceback" not in said


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("output", ["json", "stream-json"])
def test_an_error_of_the_command_line_that_cannot_be_written_keeps_its_exit_code(marvin: Marvin, output: str) -> None:
    words = ("--output", output, "--modle", "x")
    with open("/dev/full", "wb") as full, marvin.start(*words, stdout=full) as process:
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (2, b"marvin: what is printed cannot be written: No space left on device\n")
    reader, writer = os.pipe()
    os.close(reader)
    with marvin.start(*words, stdout=writer) as process:
        os.close(writer)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (2, b"")


@pytest.mark.parametrize("last", [b"header", b"tool.start"])
def test_a_run_whose_reader_has_left_is_stopped(marvin: Marvin, last: bytes) -> None:
    loud = "while [ ! -e end ]; do echo more; sleep 0.1; done"
    marvin.script({"toolCalls": [{"name": "bash", "arguments": {"command": loud}}], "repeat": True})
    (marvin.work / "late.py").write_text(
        "import os, time\ndef setup(marvin):\n    @marvin.on('app.start')\n    def wait(event, ctx):\n"
        "        while not os.path.exists('begin'):\n            time.sleep(0.01)\n"
    )
    if last != b"header":
        (marvin.work / "begin").touch()
    with marvin.start("--auto", "--output", "stream-json", "--hook", "late.py", "go") as process:
        assert process.stdout
        while last not in process.stdout.readline():
            pass
        process.stdout.close()
        (marvin.work / "begin").touch()
        try:
            assert process.wait(timeout=30) == 128 + 13
        finally:
            (marvin.work / "end").touch()
            process.kill()


# JSON.


def test_json_is_one_line_with_the_promised_keys(marvin: Marvin) -> None:
    marvin.script(
        {"text": "I look.", "toolCalls": [READ], "usage": {"input": 10, "output": 2}},
        {"text": "Done.", "usage": {"input": 20, "output": 3}},
        cost={"input": 1_000_000, "output": 0},
    )
    done = marvin.run("do", "it", "--headless")
    assert done.code == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
    got = done.json
    assert list(got) == KEYS
    assert got["durationMs"] > 0
    assert got["sessionPath"] == str(marvin.sessions[0])
    assert got["sessionId"] in got["sessionPath"]
    assert got["usage"]["totalTokens"] == 35
    del got["durationMs"], got["sessionPath"], got["sessionId"], got["usage"]
    assert got == {
        "ok": True,
        "provider": "demo",
        "model": "one",
        "prompt": "do it",
        "assistant": "Done.",
        "error": None,
        "cost": 30.0,
        "turns": 2,
        "toolCalls": 1,
        "stopReason": "stop",
        "validationIssues": [],
    }


def test_json_tells_of_a_failed_run(marvin: Marvin) -> None:
    marvin.script({"fault": {"status": 400, "message": "no such thing"}})
    done = marvin.run("-p", "--output", "json", "hi")
    assert done.code == 1
    assert (done.json["ok"], done.json["stopReason"], done.json["turns"]) == (False, "error", 0)
    assert "no such thing" in done.json["error"]
    assert list(done.json) == KEYS


def test_a_refusal_is_a_failed_run_with_the_words_of_the_model(marvin: Marvin) -> None:
    reply = {"text": "I will not.", "stopReason": "refusal", "repeat": True}
    marvin.script(reply)
    done = marvin.run("-p", "hi")
    assert (done.code, done.stdout) == (1, "I will not.\n")
    assert "refused" in done.stderr
    got = marvin.run("--headless", "hi").json
    assert (got["ok"], got["stopReason"], got["assistant"]) == (False, "refusal", "I will not.")


def test_json_carries_notices(marvin: Marvin) -> None:
    marvin.script({"text": "Hello"})
    marvin.configure(lsp=True)
    (issue,) = marvin.run("--headless", "hi").json["validationIssues"]
    assert issue["level"] == "warning"
    assert "diagnostics" in issue["message"]


def test_stream_json_has_a_header_then_every_event(marvin: Marvin) -> None:
    marvin.script({"text": "one two", "chunk": 4, "chunkDelayMs": 20, "toolCalls": [READ]}, {"text": "Done."})
    done = marvin.run("-p", "--output", "stream-json", "hi")
    assert done.code == 0
    assert done.stderr == ""
    header, *events = done.lines
    assert (header["type"], header["version"], header["model"]) == ("header", 1, "one")
    types = [event["type"] for event in events]
    assert types[:3] == ["session", "message.start", "message.end"]
    assert types[-2:] == ["agent.end", "agent.settled"]
    for name in ("agent.start", "turn.start", "message.update", "tool.start", "tool.end", "turn.end"):
        assert name in types
    texts = [event["delta"]["text"] for event in events if event["type"] == "message.update"]
    assert "one two" in "".join(texts)
    assert texts[0] != "one two"


def test_stream_json_ends_with_the_error_also_before_a_run(marvin: Marvin) -> None:
    marvin.script({"fault": {"status": 400, "message": "no such thing"}})
    done = marvin.run("-p", "--output", "stream-json", "hi")
    end = next(line for line in done.lines if line["type"] == "agent.end")
    assert (done.code, end["exitCode"], end["stopReason"]) == (1, 1, "error")
    assert "no such thing" in end["error"]
    (marvin.config_dir / "config.json").write_text("{")
    done = marvin.run("-p", "--output", "stream-json", "hi")
    assert [line["type"] for line in done.lines] == ["header", "agent.end"]
    assert (done.code, done.lines[1]["exitCode"], done.lines[1]["errorKind"]) == (78, 78, "config")


def test_an_argument_that_is_no_utf_8_does_not_break_json(marvin: Marvin) -> None:
    marvin.script({"text": "Hello"})
    done = marvin.run("--headless", "a\udcffb")
    assert done.code == 0
    assert done.json["prompt"] == "a\ufffdb"
    done = marvin.run("--headless", "--attach", "a\udcff", "b")
    assert done.code == 2
    assert "cannot be attached" in done.json["error"]


# Limits and what else a run is given.


def test_max_turns_ends_the_run_with_what_there_is(marvin: Marvin) -> None:
    marvin.script({"text": "Still at it.", "toolCalls": [READ], "repeat": True})
    done = marvin.run("-p", "--max-turns", "2", "go")
    assert (done.code, done.stdout) == (1, "Still at it.\n")
    assert "--max-turns" in done.stderr
    assert marvin.run("--headless", "--max-turns", "2", "go").json["turns"] == 2


def test_max_cost_is_said_to_be_no_limit_where_no_price_is_known(marvin: Marvin) -> None:
    marvin.script({"text": "ok"})
    done = marvin.run("-p", "--max-cost", "1", "go")
    assert done.code == 0
    assert "nothing is known of the price of demo/one" in done.stderr
    assert "price" not in marvin.run("-p", "go").stderr


def test_max_cost_ends_the_run(marvin: Marvin) -> None:
    marvin.script(
        {"toolCalls": [READ], "usage": {"input": 1000, "output": 0}, "repeat": True}, cost={"input": 1000, "output": 0}
    )
    done = marvin.run("--headless", "--max-cost", "2.5", "go")
    assert done.code == 1
    assert done.json["turns"] == 3
    assert done.json["cost"] == pytest.approx(3.0)


COMPLETES = """
def setup(marvin):
    @marvin.on("turn.end")
    async def judge(event, ctx):
        await ctx.session.complete("You judge.", "Is it good?")
"""


def test_what_hooks_ask_the_model_is_counted_and_capped(marvin: Marvin) -> None:
    (marvin.work / "judge.py").write_text(COMPLETES)
    used = {"input": 1, "output": 0}
    cost = {"input": 1_000_000, "output": 0}
    judged = {"text": "Yes.", "match": "Is it good", "usage": used, "repeat": True}
    marvin.script(judged, {"toolCalls": [READ], "usage": used}, {"text": "Done.", "usage": used}, cost=cost)
    done = marvin.run("--headless", "--hook", "judge.py", "go")
    assert (done.code, done.json["cost"], done.json["turns"]) == (0, 4.0, 2), done.stdout
    marvin.script(judged, {"toolCalls": [READ], "usage": used, "repeat": True}, cost=cost)
    done = marvin.run("--headless", "--hook", "judge.py", "--max-cost", "3", "go")
    assert (done.code, done.json["cost"], done.json["turns"]) == (1, 3.0, 2)
    assert "--max-cost" in done.json["error"]
    assert any("judge" in issue["message"] for issue in done.json["validationIssues"])


def test_the_tools_are_those_that_were_asked_for(marvin: Marvin) -> None:
    marvin.script({"toolCalls": [READ]}, {"text": "There is none.", "match": "no tool"})
    assert marvin.run("-p", "--no-tools", "go").stdout == "There is none.\n"
    marvin.script({"toolCalls": [READ]}, {"text": "Read.", "match": "alpha"})
    assert marvin.run("-p", "--tools", "read, ls", "go").stdout == "Read.\n"
    done = marvin.run("-p", "--tools", "raed", "go")
    assert done.code == 2
    assert "read" in done.stderr


def test_it_works_where_cwd_says(marvin: Marvin) -> None:
    other = marvin.work / "other"
    other.mkdir()
    (other / "a.txt").write_text("omega\n")
    marvin.script({"toolCalls": [READ]}, {"text": "It is omega.", "match": "omega"})
    assert marvin.run("-p", "--cwd", str(other), "go").stdout == "It is omega.\n"


def test_the_provider_of_a_bare_model_can_be_named(marvin: Marvin) -> None:
    marvin.script({"text": "I am demo."})
    marvin.script({"text": "I am other."}, name="other")
    assert marvin.run("-p", "--provider", "other", "--model", "one", "who?").stdout == "I am other.\n"
    assert marvin.run("-p", "--provider", "other", "who?").stdout == "I am other.\n"


def test_fallback_goes_on_with_the_next_model(marvin: Marvin) -> None:
    marvin.configure(retry={"maxAttempts": 1})
    marvin.script({"fault": {"status": 529}, "repeat": True}, name="down")
    marvin.script({"text": "I am up."}, name="up")
    done = marvin.run("-p", "--model", "down/one,up/one", "--fallback", "hi")
    assert (done.code, done.stdout) == (0, "I am up.\n"), done.stderr
    assert "up/one" in done.stderr
    assert marvin.run("-p", "--model", "down/one,up/one", "hi").code == 1


def test_a_conversation_is_recorded_and_played_back(marvin: Marvin) -> None:
    marvin.script({"text": "Once."})
    assert marvin.run("-p", "--record", "talk.jsonl", "hi").stdout == "Once.\n"
    assert marvin.run("-p", "--replay", "talk.jsonl", "hi").stdout == "Once.\n"
    done = marvin.run("-p", "--replay", "talk.jsonl", "something else")
    assert done.code == 1
    assert "something else" in done.stderr
    assert marvin.run("-p", "--replay", "talk.jsonl", "--replay-loose", "something else").stdout == "Once.\n"
    assert marvin.run("-p", "--record", "talk.jsonl", "hi").code == 2
    assert marvin.run("-p", "--replay", "nothing.jsonl", "hi").code == 2


@pytest.mark.parametrize("sees", [True, False])
def test_an_image_for_a_model_that_cannot_see_it_is_told(marvin: Marvin, sees: bool) -> None:
    (marvin.work / "dot.png").write_bytes(base64.b64decode(PIXEL))
    marvin.script({"text": "I see."}, input=["text", "image"] if sees else ["text"])
    done = marvin.run("-p", "--attach", "dot.png", "what is it?")
    assert done.stdout == "I see.\n"
    assert ("demo/one cannot see images" in done.stderr) != sees


def test_what_the_environment_hides_stays_out_of_a_recording(marvin: Marvin) -> None:
    calls = [{"name": "bash", "arguments": {"command": "echo $GITHUB_TOKEN"}}]
    marvin.script({"toolCalls": calls}, {"text": "Seen."})
    done = marvin.run("-p", "--auto", "--record", "talk.jsonl", "look", env={"GITHUB_TOKEN": "a-token-of-mine"})
    assert done.stdout == "Seen.\n"
    assert "a-token-of-mine" not in (marvin.work / "talk.jsonl").read_text()
    again = marvin.run("-p", "--auto", "--replay", "talk.jsonl", "look", env={"GITHUB_TOKEN": "another"})
    assert again.stdout == "Seen.\n", again.stderr


def test_system_prompts_reach_the_model(marvin: Marvin) -> None:
    marvin.script({"text": "a"}, {"text": "b"})
    marvin.run("-p", "--system-prompt", "You are a parrot.", "--append-system-prompt", "Speak.", "--record", "a", "hi")
    sent = (marvin.work / "a").read_text()
    assert "You are a parrot." in sent
    assert "Speak." in sent
    marvin.run("-p", "--append-system-prompt", "Speak.", "--record", "b", "hi")
    sent = (marvin.work / "b").read_text()
    assert "You are a parrot." not in sent
    assert "Speak." in sent


def test_thinking_that_nobody_asked_for_is_not_missed(marvin: Marvin) -> None:
    marvin.script({"toolCalls": [READ]}, {"text": "Hello"})
    assert "think" not in marvin.run("-p", "hi").stderr
    marvin.script({"toolCalls": [READ]}, {"text": "Hello"})
    assert marvin.run("-p", "--thinking", "high", "hi").stderr.count("does not think") == 1
    marvin.configure(thinking="low")
    assert marvin.run("-p", "hi").stderr.count("does not think") == 1


def test_each_model_of_a_list_has_its_thinking_level(marvin: Marvin) -> None:
    marvin.configure(retry={"maxAttempts": 1})
    marvin.script({"fault": {"status": 529}}, {"text": "Hello"}, models=("a", "b"), reasoning=True)
    done = marvin.run(
        "-p", "--model", "demo/a,demo/b", "--thinking", "low,high", "--fallback", "--output", "stream-json", "hi"
    )
    change = next(line for line in done.lines if line["type"] == "model.change" and line["modelId"] == "b")
    assert change["thinkingLevel"] == "high"
