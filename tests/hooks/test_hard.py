"""What hooks do at their worst, in the installed program: it goes on, tells who it was, and leaves when it is done."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.llm.offline.script import Script
from marvin_agent.testing.server import ScriptedServer
from program import Done, Marvin


@pytest.fixture
def marvin(tmp_path: Path) -> Marvin:
    made = Marvin(tmp_path)
    made.configure(hooks={"timeoutMs": 500}, retry={"maxAttempts": 1})
    return made


def bash(command: str) -> dict[str, object]:
    return {"toolCalls": [{"name": "bash", "arguments": {"command": command}}]}


def hook(marvin: Marvin, source: str, name: str = "bad") -> str:
    path = marvin.home / f"{name}.py"
    path.write_text(source)
    return str(path)


def messages(marvin: Marvin) -> list[dict[str, Any]]:
    """The messages of the only session; decisions of hooks lie in a directory beside it."""
    (path,) = [path for path in marvin.sessions if path.name != "hooks.jsonl"]
    return marvin.messages(path)


def prompt(marvin: Marvin, source: str, text: str = "go") -> Done:
    return marvin.run("-p", "--auto", "--hook", hook(marvin, source), text, timeout=20)


def test_an_async_handler_that_blocks_is_named_with_its_line_and_the_run_goes_on(marvin: Marvin) -> None:
    marvin.script({"text": "Done."})
    source = """
import time
def setup(marvin):
    @marvin.on("turn.start")
    async def block(event, ctx):
        time.sleep(60)
"""
    done = prompt(marvin, source)
    assert (done.code, done.stdout) == (0, "Done.\n")
    assert "flag:bad" in done.stderr and "bad.py:6" in done.stderr


def test_a_blocking_gate_refuses_what_it_could_not_judge(marvin: Marvin) -> None:
    marvin.configure(hooks={"timeoutMs": 500, "gateTimeoutMs": 500})
    marvin.script(bash("touch made"), {"text": "Done."})
    source = """
import time
def setup(marvin):
    @marvin.on("tool.execute.before")
    async def block(event, ctx):
        time.sleep(60)
"""
    done = prompt(marvin, source)
    assert (done.code, done.stdout) == (0, "Done.\n")
    assert not (marvin.work / "made").exists()


BLOCKERS = {
    "a setup": "time.sleep(60)",
    "a timer": "marvin.every(0.01, lambda: time.sleep(60))",
    "a drained event": """
    @marvin.on("message.end")
    async def block(event, ctx):
        time.sleep(60)
""",
    "a tool": """
    @marvin.tool
    async def stall() -> str:
        '''Stalls.'''
        time.sleep(60)
""",
}
OTHER = """
import asyncio
def setup(marvin):
    @marvin.on("turn.start")
    async def wait(event, ctx):
        await asyncio.sleep(0.1)
    @marvin.on("agent.end")
    async def hear(event, ctx):
        ctx.ui.notify("still here")
"""


@pytest.mark.parametrize("what", BLOCKERS)
def test_whatever_of_a_hook_blocks_the_others_is_named_with_its_line_and_they_go_on(marvin: Marvin, what: str) -> None:
    calls = {"toolCalls": [{"name": "stall", "arguments": {}}]} if what == "a tool" else bash("echo on")
    marvin.script(calls, {"text": "Done."})
    bad = hook(marvin, f"import time\ndef setup(marvin):\n    {BLOCKERS[what].strip()}\n")
    done = marvin.run("-p", "--auto", "--hook", hook(marvin, OTHER, "other"), "--hook", bad, "go", timeout=20)
    assert (done.code, done.stdout) == (0, "Done.\n"), done.stderr
    blames = [line for line in done.stderr.splitlines() if "blocks the hook loop at bad.py:" in line]
    assert len([line for line in blames if line.startswith("hook flag:bad failed")]) == 1, done.stderr
    assert "flag:other: still here" in done.stderr


def test_a_command_that_blocks_ends_with_an_error_that_names_its_line(marvin: Marvin) -> None:
    marvin.script()
    source = """
import time
def setup(marvin):
    @marvin.command("stall")
    async def stall(args, ctx):
        time.sleep(60)
"""
    done = prompt(marvin, source, "/stall")
    assert done.code == 1
    assert "flag:bad blocks the hook loop at bad.py:6" in done.stderr


def test_a_handler_that_swallows_its_cancellation_is_left_behind(marvin: Marvin) -> None:
    marvin.script({"text": "Done."})
    source = """
import asyncio
def setup(marvin):
    @marvin.on("turn.start")
    async def stubborn(event, ctx):
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                pass
"""
    done = prompt(marvin, source)
    assert (done.code, done.stdout) == (0, "Done.\n")
    assert "no answer within 0.5 s" in done.stderr


def test_a_timer_a_task_and_a_thread_that_raise_system_exit_end_nothing(marvin: Marvin) -> None:
    marvin.script({"text": "Done."})
    source = """
import asyncio, sys, threading
def setup(marvin):
    @marvin.on("turn.start")
    async def leave(event, ctx):
        asyncio.get_running_loop().call_later(0.01, sys.exit, 3)
        asyncio.ensure_future(exit_in_a_task())
        threading.Thread(target=exit_in_a_thread).start()
        threading.Thread(target=lambda: {}["no such key"]).start()
        await asyncio.sleep(0.1)
    def exit_in_a_thread():
        sys.exit(4)
    async def exit_in_a_task():
        sys.exit(5)
    @marvin.on("agent.end")
    async def still(event, ctx):
        ctx.ui.notify("still here")
"""
    done = prompt(marvin, source)
    assert (done.code, done.stdout) == (0, "Done.\n")
    assert "still here" in done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("hook flag:bad failed in background")]
    for end in ("SystemExit: 3", "SystemExit: 4", "SystemExit: 5", "KeyError: 'no such key'"):
        assert [line for line in told if line.endswith(end)], (end, done.stderr)
    assert "Traceback" not in done.stderr


CANCELS_ALL = """
import asyncio
def cancel_all():
    for task in asyncio.all_tasks():
        task.cancel()
def setup(marvin):
    @marvin.on("turn.start")
    async def at_once(event, ctx):
        cancel_all()
    @marvin.on("turn.start")
    async def while_it_waits(event, ctx):
        cancel_all()
        await asyncio.sleep(0.01)
    @marvin.tool
    async def sweep() -> str:
        "Cancels."
        cancel_all()
        await asyncio.sleep(0.01)
    @marvin.on("turn.end")
    async def still(event, ctx):
        await asyncio.sleep(0.01)
        ctx.ui.notify("still here")
"""


def test_a_hook_that_cancels_every_task_it_finds_fails_alone(marvin: Marvin) -> None:
    marvin.script({"toolCalls": [{"name": "sweep", "arguments": {}}]}, {"text": "Done."})
    done = prompt(marvin, CANCELS_ALL)
    assert (done.code, done.stdout) == (0, "Done.\n"), done.stderr
    assert "bad.py:10: RuntimeError: it was cancelled" in done.stderr
    assert "flag:bad: still here" in done.stderr
    assert [m["status"] for m in messages(marvin) if m["role"] == "toolResult"] == ["error"]


FORKS = """
import asyncio, os
def setup(marvin):
    @marvin.on("turn.start")
    {kind} fork(event, ctx):
        if os.fork() == 0:
            {then}
    @marvin.on("turn.start")
    {kind} follow(event, ctx):
        with open({log!r}, "a") as file:
            file.write("asked ")
"""


@pytest.mark.parametrize(
    ("kind", "then"),
    [
        ("def", "return"),
        ("async def", "return"),
        ("async def", "raise ValueError('in the child')"),
        ("async def", "await asyncio.sleep(0.01)"),
    ],
)
def test_the_child_of_a_hook_that_forks_does_not_go_on_as_a_second_program(
    marvin: Marvin, tmp_path: Path, kind: str, then: str
) -> None:
    marvin.script({"text": "Done."})
    # A child that stays would hold the pipes open.
    done = prompt(marvin, FORKS.format(kind=kind, then=then, log=str(tmp_path / "log")))
    assert (done.code, done.stdout) == (0, "Done.\n"), done.stderr
    assert (tmp_path / "log").read_text() == "asked "
    assert "failed" not in done.stderr


@pytest.mark.parametrize("daemon", [True, False])
def test_the_program_leaves_at_once_though_a_thread_never_ends(marvin: Marvin, daemon: bool) -> None:
    marvin.script({"text": "Done."})
    source = f"""
import threading
def setup(marvin):
    threading.Thread(target=threading.Event().wait, daemon={daemon}).start()
    @marvin.on("turn.start")
    def forever(event, ctx):
        threading.Event().wait()
"""
    done = prompt(marvin, source)
    assert (done.code, done.stdout) == (0, "Done.\n")


def test_a_plain_handler_gets_a_plain_answer_and_refuses_where_nobody_is(marvin: Marvin) -> None:
    marvin.script(bash("touch made"), {"text": "Done."})
    source = """
def setup(marvin):
    @marvin.on("tool.execute.before")
    def ask(event, ctx):
        answer = ctx.ui.confirm("Dangerous", event.input["command"])
        assert answer is False, answer
        if not answer:
            return {"block": True, "reason": "nobody said yes"}
"""
    done = prompt(marvin, source)
    assert done.code == 0
    assert not (marvin.work / "made").exists()
    (result,) = [m for m in messages(marvin) if m["role"] == "toolResult"]
    assert result["status"] == "blocked"
    assert "nobody said yes" in result["content"][0]["text"]


def test_a_hook_calls_tools_and_models_from_inside_its_own_events(marvin: Marvin) -> None:
    marvin.script(bash("echo main"), {"text": "a model's word", "match": "ask the model"}, {"text": "Done."})
    source = """
def setup(marvin):
    @marvin.on("tool.execute.before")
    async def before(event, ctx):
        inner = await ctx.call_tool("bash", {"command": "echo inner"})
        assert inner.text.strip() == "inner", inner
        told = await ctx.session.complete("be short", "ask the model")
        ctx.ui.notify("heard " + told.text)
    @marvin.on("tool.execute.after")
    def after(event, ctx):
        inner = ctx.call_tool("bash", {"command": "echo plain"})
        ctx.ui.notify("got " + inner.text.strip())
"""
    done = prompt(marvin, source)
    assert (done.code, done.stdout) == (0, "Done.\n"), done.stderr
    assert "heard a model's word" in done.stderr
    assert "got plain" in done.stderr


@pytest.mark.parametrize("event", ["model.resolve", "auth.get"])
def test_after_a_hook_has_routed_once_its_failure_fails_the_call(marvin: Marvin, event: str) -> None:
    first = ScriptedServer(Script.of({"text": "from the first", "repeat": True}))
    other = ScriptedServer(Script.of(bash("echo on"), {"text": "routed", "repeat": True}))
    with first, other:
        facts = {"api": "openai-completions", "apiKey": "k", "models": [{"id": "one"}]}
        marvin.provider("first", baseUrl=first.url, **facts)
        marvin.provider("other", baseUrl=other.url, **facts)
        marvin.configure(model="first/one", retry={"maxAttempts": 1})
        routed = '{"model": {"provider": "other", "id": "one"}}' if event == "model.resolve" else "AWAY"
        routed = routed.replace("AWAY", json.dumps({"base_url": other.url}))
        source = f"""
def setup(marvin):
    calls = []
    @marvin.on("{event}")
    async def route(event, ctx):
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError("the router is gone")
        return {routed}
"""
        done = prompt(marvin, source)
        assert done.code == 1
        assert "the router is gone" in done.stderr
        assert (len(first.requests), len(other.requests)) == (0, 1)


REDACT = """
def setup(marvin):
    @marvin.on("tool.execute.after", on_error="closed", tools=("bash",))
    async def redact(event, ctx):
        {action}
"""
HIDE = 'return {"content": [{"type": "text", "text": p.text.replace("SECRET", "[hidden]")} for p in event.content]}'


def everything(marvin: Marvin, done: Done) -> str:
    """All that was printed or kept."""
    files = [path for path in marvin.config_dir.rglob("*") if path.is_file()]
    kept = [path for path in files if path.suffix != ".json"]
    return done.stdout + done.stderr + "".join(path.read_text(errors="replace") for path in kept)


@pytest.mark.parametrize("action", [HIDE, "raise ValueError('no')", "import os; del event.content"])
@pytest.mark.parametrize("output", ["text", "stream-json"])
def test_what_a_redaction_hook_hides_is_never_shown_streamed_or_kept(marvin: Marvin, action: str, output: str) -> None:
    # Longer than what a model gets, so that there is a full-output file; slow, so that it would be streamed.
    command = "for i in $(seq 3000); do echo line $i ${X}SEC''RET; done; sleep 0.3; echo end SEC''RET"
    marvin.script(bash(command), {"text": "Done."})
    path = hook(marvin, REDACT.format(action=action))
    done = marvin.run("-p", "--output", output, "--auto", "--hook", path, "go")
    assert done.code == 0, done.stderr
    assert "SECRET" not in everything(marvin, done)
    (result,) = [m for m in messages(marvin) if m["role"] == "toolResult"]
    text = result["content"][0]["text"]
    if action is HIDE:
        assert "end [hidden]" in text
        assert "Lines 1502-3001 of 3001" in text
        full = Path(result["details"]["fullOutput"]).read_text()
        assert "line 1 [hidden]" in full and "SECRET" not in full
    else:
        assert "withheld" in text


def test_without_a_redaction_hook_the_output_is_streamed_and_kept(marvin: Marvin) -> None:
    marvin.script(bash("for i in $(seq 3000); do echo SEC''RET; done; sleep 0.3; echo end"), {"text": "Done."})
    done = marvin.run("-p", "--output", "stream-json", "--auto", "go")
    assert any(line["type"] == "tool_update" or "update" in line["type"] for line in done.lines)
    assert "SECRET" in everything(marvin, done)


SHUTDOWN = """
import asyncio
def setup(marvin):
    @marvin.on("session.shutdown")
    async def bye(event, ctx):
        with open({log!r}, "a") as file:
            file.write(event.reason + "\\n")
        {then}
"""


def test_sigterm_fires_the_shutdown_once(marvin: Marvin, tmp_path: Path) -> None:
    log = tmp_path / "log"
    marvin.script(bash("touch running; sleep 60"), {"text": "Done."})
    path = hook(marvin, SHUTDOWN.format(log=str(log), then="pass"))
    process = marvin.start("-p", "--auto", "--hook", path, "go")
    while not (marvin.work / "running").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGTERM
    assert log.read_text() == "signal\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_one_signal_ends_the_program_though_a_hook_blocks_the_others_for_long(
    marvin: Marvin, number: signal.Signals
) -> None:
    marvin.configure()
    marvin.script({"text": "Done."})
    source = """
import time
def setup(marvin):
    @marvin.on("turn.start")
    async def block(event, ctx):
        open("running", "w").close()
        time.sleep(600)
"""
    process = marvin.start("-p", "--hook", hook(marvin, source), "go")
    while not (marvin.work / "running").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    # The hook has half a minute for its event; a supervisor waits ten seconds before it kills.
    _, told = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert b"flag:bad has been busy" in told


@pytest.mark.parametrize("then", ["await asyncio.sleep(60)", "__import__('time').sleep(60)"])
def test_a_shutdown_that_hangs_is_left_after_two_seconds(marvin: Marvin, tmp_path: Path, then: str) -> None:
    marvin.configure()
    marvin.script({"text": "Done."})
    path = hook(marvin, SHUTDOWN.format(log=str(tmp_path / "log"), then=then))
    began = time.monotonic()
    done = marvin.run("-p", "--hook", path, "go")
    assert (done.code, done.stdout) == (0, "Done.\n")
    assert (tmp_path / "log").read_text() == "quit\n"
    assert time.monotonic() - began > 1.5
