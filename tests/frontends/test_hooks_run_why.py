"""`marvin hooks run`, `why` and `trace`, in the installed program."""

import json
from pathlib import Path

import pytest

from program import Marvin

GATE = """
def setup(marvin):
    @marvin.on("tool.execute.before", tools=("bash",))
    async def gate(event, ctx):
        if "rm -rf" in event.input.get("command", ""):
            return {"block": True, "reason": "refused by the user"}
        event.input["command"] = event.input["command"] + " --safe"
"""


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    made = Marvin(tmp_path)
    made.script({"text": "hello", "repeat": True})
    hooks = made.config_dir / "hooks"
    hooks.mkdir()
    (hooks / "gate.py").write_text(GATE)
    return made


def test_run_sends_one_event_through_one_hook(marvin: Marvin) -> None:
    file = str(marvin.config_dir / "hooks" / "gate.py")
    payload = json.dumps({"toolName": "bash", "input": {"command": "rm -rf /"}})
    done = marvin.run("hooks", "run", file, "--event", "tool.execute.before", "--input", payload)
    assert done.stdout.startswith("blocked: refused by the user\n")
    payload = json.dumps({"tool_name": "bash", "input": {"command": "ls"}})
    done = marvin.run("hooks", "run", file, "--event", "tool_call", "--input", payload, "--json")
    assert done.json["changes"] == [{"field": "input", "before": {"command": "ls"}, "after": {"command": "ls --safe"}}]
    wrong = marvin.run("hooks", "run", file, "--event", "tool_call", "--input", '{"tool": "bash"}')
    assert wrong.code == 2
    assert "unknown key 'tool'" in wrong.stderr


def test_run_says_when_no_handler_heard_the_event(marvin: Marvin) -> None:
    file = str(marvin.config_dir / "hooks" / "gate.py")
    done = marvin.run("hooks", "run", file, "--event", "turn.end")
    assert done.stdout == "the hook does not listen to turn.end, but to tool.execute.before\n"
    done = marvin.run("hooks", "run", file, "--event", "tool.execute.before", "--input", '{"toolName": "read"}')
    assert done.stdout == "no handler wanted this tool.execute.before: look at their tools and purposes\n"


def test_run_works_here_with_the_settings_of_the_hook(marvin: Marvin) -> None:
    file = marvin.config_dir / "hooks" / "where.py"
    file.write_text(
        "import os\ndef setup(marvin):\n    @marvin.on('agent.before_start')\n    async def tell(event, ctx):\n"
        "        ctx.ui.notify(f'{ctx.cwd} {marvin.settings[\"word\"]}')\n"
        "        event.system_prompt = event.system_prompt.replace('two', 'three')\n"
    )
    marvin.configure(hooks={"settings": {"global:where": {"word": "please"}}})
    payload = json.dumps({"systemPrompt": "one\ntwo\nfour\nfive"})
    done = marvin.run("hooks", "run", str(file), "--event", "agent.before_start", "--input", payload)
    lines = done.stdout.splitlines()
    assert lines[:6] == ["changed", "  system_prompt", "    one", "  - two", "  + three", "    four"]
    assert lines[6] == f"told the user: {marvin.work} please"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("gate.py", "--event", "turn.strat"), "did you mean 'turn.start'"),
        (("gate.py", "--event", "session"), "stands for several events"),
        (("gate.py", "--event", "turn.end", "--input", "{bad"), "--input is not JSON"),
        (("gate.py", "--event", "turn.end", "--input", "[]"), "--input is a JSON object"),
        (("gate.py", "--event", "turn.end", "--input", '{"turnIndex": "x"}'), "turn_index: expected a whole number"),
        (("none.py", "--event", "turn.end"), "there is no such file"),
        (("gate", "--event", "turn.end"), "Did you mean global:gate?"),
        (("gate.py", "--event", "nonsense"), "There are app.start, session.start,"),
        ((".", "--event", "turn.end"), "is a directory: name one hook"),
    ],
)
def test_run_tells_a_mistake_on_its_command_line(marvin: Marvin, arguments: tuple[str, ...], complaint: str) -> None:
    done = marvin.run("hooks", "run", *arguments, cwd=marvin.config_dir / "hooks")
    assert done.code == 2
    assert complaint in done.stderr


def test_run_tells_a_failure_and_what_it_refuses(marvin: Marvin, tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text(
        "def setup(marvin):\n    @marvin.on('tool.execute.before')\n    async def fail(event, ctx):\n        1 / 0\n"
    )
    done = marvin.run("hooks", "run", str(tmp_path / "fails.py"), "--event", "tool.execute.before")
    assert done.code == 1
    assert "at fails.py:4: ZeroDivisionError" in done.stdout
    assert "\nblocked: ZeroDivisionError" in done.stdout


def test_run_takes_a_package_and_a_message_without_its_origin(marvin: Marvin, tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "words.py").write_text("def said(message): return f'it said {message.text}'\n")
    (tmp_path / "pack" / "__init__.py").write_text(
        "from .words import said\ndef setup(marvin):\n"
        "    marvin.on('turn.end', lambda event, ctx: ctx.ui.notify(said(event.message)))\n"
    )
    payload = json.dumps({"message": {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}})
    done = marvin.run("hooks", "run", str(tmp_path / "pack"), "--event", "turn.end", "--input", payload)
    assert "told the user: it said Hello" in done.stdout


def test_why_tells_the_last_session_as_a_story_and_trace_draws_a_waterfall(marvin: Marvin) -> None:
    calls = [{"name": "bash", "arguments": {"command": text}} for text in ("rm -rf build", "true")]
    marvin.script({"toolCalls": calls}, {"text": "done"})
    done = marvin.run("-p", "--auto", "--trace-hooks", "trace.jsonl", "go")
    assert done.code == 0
    story = marvin.run("hooks", "why").stdout
    assert 'bash "rm -rf build" was blocked by global:gate line 3: refused by the user' in story
    assert 'bash "true" was changed by global:gate line 3: input {"command": "true"} ->' in story
    entries = [json.loads(line) for line in (marvin.work / "trace.jsonl").read_text().splitlines()]
    assert {"time", "event", "hook", "handler", "ms", "outcome", "diff", "error"} <= entries[0].keys()
    assert [entry["outcome"] for entry in entries if entry["hook"] == "global:gate"] == ["blocked", "changed"]
    waterfall = marvin.run("hooks", "trace", "trace.jsonl").stdout
    assert "global:gate" in waterfall.splitlines()[-1]
    assert (marvin.work / "trace.jsonl").stat().st_mode & 0o777 == 0o600


def test_secrets_are_masked_in_the_trace(marvin: Marvin) -> None:
    (marvin.config_dir / "hooks" / "auth.py").write_text(
        "def setup(marvin):\n    @marvin.on('auth.get')\n    async def key(event, ctx):\n"
        "        event.output.api_key = 'very-secret-value'\n"
    )
    marvin.run("-p", "--trace-hooks", "trace.jsonl", "go")
    text = (marvin.work / "trace.jsonl").read_text()
    assert "auth.get" in text
    assert "very-secret-value" not in text
    for path in marvin.config_dir.rglob("*.jsonl"):
        assert "very-secret-value" not in path.read_text()


STARTS = """
def setup(marvin):
    @marvin.on("chat.message")
    async def polite(event, ctx):
        event.output.parts = [{"type": "text", "text": event.input.text + ", please"}]

    @marvin.on("agent.before_start")
    async def note(event, ctx):
        return {"message": {"custom_type": "note", "content": "It is Monday."},
                "system_prompt": event.system_prompt + " Be brief."}
"""


def test_what_happens_before_a_session_has_a_file_is_told_too(marvin: Marvin) -> None:
    (marvin.config_dir / "hooks" / "starts.py").write_text(STARTS)
    marvin.run("-p", "go")
    story = marvin.run("hooks", "why").stdout.splitlines()
    assert story[0].endswith(": go, please")
    assert story[1].endswith(
        'chat.message was changed by global:starts line 3: parts [{"type": "text", "text": "go"}] -> '
        '[{"type": "text", "text": "go, please"}]'
    )
    assert ' Be brief."; message {"customType": "note"' in story[2], "a long text is shown where it differs"
    marvin.run("-p", "-c", "again")
    assert len(marvin.run("hooks", "why").stdout.splitlines()) == 5
    marvin.run("-p", "--output", "json", "another session")
    first = marvin.run("hooks", "why", "--session", story[0].split()[1].rstrip(":"))
    assert len(first.stdout.splitlines()) == 5


def test_what_a_hook_decides_about_a_permission_is_told(marvin: Marvin) -> None:
    (marvin.config_dir / "hooks" / "policy.py").write_text(
        "def setup(marvin):\n    @marvin.on('permission.ask')\n    async def decide(event, ctx):\n"
        "        return {'decision': 'deny', 'reason': 'not on Mondays'}\n"
    )
    marvin.script({"toolCalls": [{"name": "bash", "arguments": {"command": "true"}}]}, {"text": "done"})
    marvin.run("-p", "go")
    story = marvin.run("hooks", "why").stdout
    assert 'bash "true --safe" was decided by global:policy line 2: deny: not on Mondays' in story
    assert 'bash "true --safe" was blocked by builtin:permissions' in story


def test_run_takes_the_id_of_a_hook(marvin: Marvin) -> None:
    event = ("--event", "tool.execute.before", "--input", '{"toolName": "bash", "input": {"command": "rm -rf x"}}')
    assert marvin.run("hooks", "run", "global:gate", *event).stdout.startswith("blocked: ")


def test_a_message_that_a_hook_took_over_is_told_as_one(marvin: Marvin) -> None:
    take = "    @marvin.on('chat.message')\n    async def take(event, ctx):\n        return {'handled': True}\n"
    (marvin.config_dir / "hooks" / "takes.py").write_text(f"def setup(marvin):\n{take}")
    marvin.script({"text": "never"})
    told = marvin.run("-p", "go").stderr
    assert told == "global:takes took the message over: nothing goes to the model\n"
    story = marvin.run("hooks", "why").stdout
    assert "chat.message was taken over by global:takes line 2: nothing went to the model" in story


def test_a_command_of_several_lines_cannot_pass_for_several_entries(marvin: Marvin) -> None:
    forged = 'rm -rf x\n12:00:00  bash "ls" was seen by nobody'
    marvin.script({"toolCalls": [{"name": "bash", "arguments": {"command": forged}}]}, {"text": "done"})
    marvin.run("-p", "--auto", "go")
    session, *entries = marvin.run("hooks", "why").stdout.splitlines()
    assert session.startswith("session ")
    assert [line.startswith(" ") for line in entries] == [False, True]


def test_a_refusal_because_a_gate_failed_is_told_as_one(marvin: Marvin) -> None:
    (marvin.config_dir / "hooks" / "fails.py").write_text(
        "def setup(marvin):\n    @marvin.on('tool.execute.before')\n    async def fail(event, ctx):\n        1 / 0\n"
    )
    marvin.script({"toolCalls": [{"name": "bash", "arguments": {"command": "true"}}]}, {"text": "done"})
    marvin.run("-p", "--auto", "go")
    story = marvin.run("hooks", "why").stdout
    assert 'bash "true" was refused because global:fails line 2 failed: ZeroDivisionError: division by zero' in story


def test_the_story_has_the_time_of_here_and_tells_when_the_day_changes(marvin: Marvin) -> None:
    marvin.script({"toolCalls": [{"name": "bash", "arguments": {"command": "rm -rf x"}}]}, {"text": "done"})
    marvin.run("-p", "--auto", "go")
    (kept,) = marvin.config_dir.rglob("hooks.jsonl")
    line = json.loads(kept.read_text().splitlines()[0])
    days = ("2026-03-01T23:30:00.000Z", "2026-03-02T00:30:00.000Z")
    kept.write_text("".join(json.dumps(line | {"time": day}) + "\n" for day in days))
    story = marvin.run("hooks", "why", env={"TZ": "UTC-1"}).stdout.splitlines()
    assert [line[:8] for line in story[1:]] == ["00:30:00", "01:30:00"]
    story = marvin.run("hooks", "why", env={"TZ": "UTC"}).stdout.splitlines()
    assert [line[:10].strip() for line in story[1:]] == ["23:30:00", "2026-03-02", "00:30:00"]


def test_the_waterfall_shows_when_each_call_was(marvin: Marvin, tmp_path: Path) -> None:
    call = {
        "event": "turn.end",
        "hook": "global:x",
        "handler": "f (x.py:1)",
        "outcome": "ok",
        "diff": [],
        "error": None,
    }
    times = [("2026-03-01T10:00:01.000Z", 1000), ("2026-03-01T10:00:04.000Z", 1)]
    lines = [json.dumps({**call, "time": when, "ms": took}) for when, took in times]
    (tmp_path / "trace.jsonl").write_text("\n".join(lines))
    first, second, *_ = marvin.run("hooks", "trace", str(tmp_path / "trace.jsonl")).stdout.splitlines()
    assert f"|{'#' * 10}{' ' * 30}|" in first
    assert f"|{' ' * 39}#|" in second
    assert second.split()[:4] == ["3.999", "s", "1.00", "ms"]


@pytest.mark.parametrize(
    "line",
    [
        '{"hook": "global:x"}',
        '{"time": "noon", "event": "e", "hook": "h", "handler": "f", "outcome": "ok", "ms": 1, "diff": []}',
        '{"time": "2026-03-01T10:00:01Z", "event": "", "hook": "", "handler": "f", "outcome": "","ms": 1, "diff": [1]}',
        "[]",
    ],
)
def test_what_is_no_trace_is_told_with_its_line(marvin: Marvin, tmp_path: Path, line: str) -> None:
    (tmp_path / "trace.jsonl").write_text(f"{line}\n")
    done = marvin.run("hooks", "trace", str(tmp_path / "trace.jsonl"))
    assert done.code == 2
    assert done.stderr == f"marvin: {tmp_path}/trace.jsonl:1: is not a line of a trace\n"


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_trace_that_takes_nothing_more_is_told_and_the_decisions_are_kept_all_the_same(
    marvin: Marvin, output: str
) -> None:
    marvin.script({"toolCalls": [{"name": "bash", "arguments": {"command": "true"}}]}, {"text": "Done."})
    (marvin.work / "no.py").write_text(
        "def setup(marvin):\n"
        "    marvin.on('tool.execute.before', lambda event, ctx: {'block': True, 'reason': 'not today'})\n"
    )
    done = marvin.run(
        "-p", "--output", output, "--auto", "--trace-hooks", "/dev/full", "--hook", "no.py", "go"
    )  # fmt: skip
    assert done.code == 0, done
    told = done.stderr if output == "text" else done.stdout
    assert told.count("the rest of the trace is missing") == 1
    assert "not today" in marvin.run("hooks", "why").stdout
