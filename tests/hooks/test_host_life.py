"""The life of a hook's own process: crashes of every kind, full pipes, deadlines, restarts, its end."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.agent.events import HookFailed
from marvin_agent.hooks import events as h
from marvin_agent.hooks.hosts import python
from marvin_agent.hooks.hosts.process import ending
from marvin_agent.hooks.sources import Source
from marvin_agent.testing.engine import ScriptedEngine
from program import Marvin

BLOCK = """# /// script
# [tool.marvin]
# isolate = true
# ///
import asyncio, ctypes, os, sys, threading, time

def setup(marvin):
"""


def hook(directory: Path, body: str, name: str = "own") -> str:
    path = directory / f"{name}.py"
    path.write_text(BLOCK + "\n".join(f"    {line}" for line in body.strip("\n").splitlines()) + "\n")
    return str(path)


def before(**arguments: Any) -> h.ToolExecuteBefore:
    return h.ToolExecuteBefore(tool_name="bash", tool_call_id="1", input=arguments)


async def send(e: ScriptedEngine, event: Any) -> Any:
    return await e.engine.hooks.dispatcher.dispatch(event)


async def until(true: Callable[[], Any], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.01)


def host_of(e: ScriptedEngine) -> Any:
    (host,) = e.engine.hooks._hosted.values()
    return host


def is_there(pid: int) -> bool:
    """Whether a process exists, as a zombie too."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_running(pid: int) -> bool:
    """Whether a process exists and is no zombie: in a container nobody may collect those."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip()[:1] not in ("", "Z")


def problems(e: ScriptedEngine, event: str) -> list[str]:
    return [failed.error for failed in e.of(HookFailed) if failed.event == event]


DYING = """
@marvin.on("tool.execute.before")
def die(event, ctx):
    {how}
    return {{"input": {{"pid": os.getpid()}}}}
"""


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("event.input.get('die') and os._exit(3)", "it ended with exit code 3"),
        ("event.input.get('die') and ctypes.string_at(0)", "it was killed by SIGSEGV"),
        ("event.input.get('die') and os.kill(os.getpid(), 9)", "it was killed by SIGKILL"),
        ("event.input.get('die') and os.abort()", "it was killed by SIGABRT"),
        ("event.input.get('die') and os.closerange(3, 20)", "it "),
    ],
)
async def test_a_crash_in_a_handler_refuses_is_told_and_mended(tmp_path: Path, how: str, told: str) -> None:
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, DYING.format(how=how))]) as e:
        first = (await send(e, before())).event.input["pid"]
        refused = (await send(e, before(die=True))).refused
        assert (refused.hook, refused.failed) == ("flag:own", True)
        assert told in refused.reason
        assert (await send(e, before())).refused.failed, "a closed handler refuses while its process is down"
        await until(lambda: host_of(e).down is None)
        second = (await send(e, before())).event.input["pid"]
        assert second != first
        assert not is_there(first)
        (crash,) = problems(e, "process")
        assert told in crash
        assert "it starts again in 0.2 s" in crash
        assert e.engine.hooks.registry.hooks[0].handlers[0].failures == 0


async def test_a_segfault_shows_the_line(tmp_path: Path) -> None:
    body = DYING.format(how="ctypes.string_at(0)")
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)]) as e:
        await send(e, before())
        await until(lambda: problems(e, "process"))
        (crash,) = [failed for failed in e.of(HookFailed) if failed.event == "process"]
        assert "Segmentation fault" in crash.traceback
        assert "own.py" in crash.traceback


async def test_an_open_handler_of_a_dead_process_is_passed_over_and_not_switched_off(tmp_path: Path) -> None:
    body = """
@marvin.on("turn.start")
def count(event, ctx):
    marvin.append_entry("pid", os.getpid())
"""
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)]) as e:
        os.kill(host_of(e)._process.pid, signal.SIGKILL)
        await until(lambda: host_of(e).down)
        for _ in range(7):
            assert (await send(e, h.TurnStart(turn_index=0))).refused is None
        assert problems(e, "turn.start") == []
        await until(lambda: host_of(e).down is None)
        await send(e, h.TurnStart(turn_index=0))
        await until(lambda: e.engine.session.entries[-1].type == "custom")


async def test_a_process_that_dies_again_and_again_stays_off_and_goes_on_refusing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python, "FIRST_PAUSE", 0.01)
    body = f"""
if os.path.exists({str(tmp_path / "broken")!r}):
    os._exit(7)
@marvin.on("tool.execute.before")
def gate(event, ctx):
    pass
"""
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)]) as e:
        (tmp_path / "broken").touch()
        os.kill(host_of(e)._process.pid, signal.SIGKILL)
        await until(lambda: len(problems(e, "process")) == python.CRASHES + 1, 20)
        assert "stays off" in problems(e, "process")[-1]
        assert "exit code 7" in problems(e, "process")[-1]
        assert (await send(e, before())).refused.failed
        assert not is_there(host_of(e)._process.pid)
        (tmp_path / "broken").unlink()
        await e.engine.hooks.reload([Source(str(tmp_path / "own.py"), "flag")])
        assert (await send(e, before())).refused is None


async def test_a_setup_that_fails_when_it_is_started_again_counts_as_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python, "FIRST_PAUSE", 0.01)
    body = f"""
if os.path.exists({str(tmp_path / "broken")!r}):
    raise RuntimeError("no luck")
marvin.on("tool.execute.before", lambda event, ctx: None)
"""
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)]) as e:
        (tmp_path / "broken").touch()
        os.kill(host_of(e)._process.pid, signal.SIGKILL)
        await until(lambda: len(problems(e, "process")) >= 2)
        assert "RuntimeError: no luck" in problems(e, "process")[1]
        (tmp_path / "broken").unlink()
        await until(lambda: host_of(e).down is None)
        assert (await send(e, before())).refused is None


async def test_a_process_that_ends_in_setup_is_a_hook_that_did_not_load(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, "print('last words')\nos._exit(4)")]) as e:
        (problem,) = e.engine.hooks.problems
        assert problem.error == "it ended with exit code 4"
        assert "last words" in problem.traceback
        assert e.engine.hooks._hosted == {}


@pytest.mark.parametrize(
    ("code", "complaint", "place"),
    [
        ("def setup(marvin:\n", "SyntaxError in line 5", "own.py:5"),
        ("import nothing_like_this\ndef setup(m): pass\n", "ModuleNotFoundError", "own.py:5"),
        ("x = 1\n", "needs a function `setup(marvin)`", ""),
        ("def setup(marvin):\n    marvin.on('turn.strat', print)\n", "did you mean 'turn.start'", "own.py:6"),
        ("import sys\nsys.exit(3)\n", "SystemExit", "own.py:6"),
        ("async def setup(marvin):\n    1 / 0\n", "ZeroDivisionError", "own.py:6"),
    ],
)
async def test_what_is_wrong_at_load_is_told_with_its_line(
    tmp_path: Path, code: str, complaint: str, place: str
) -> None:
    (tmp_path / "own.py").write_text("# /// script\n# [tool.marvin]\n# isolate = true\n# ///\n" + code)
    async with ScriptedEngine(tmp_path, hook_files=[str(tmp_path / "own.py")]) as e:
        (problem,) = e.engine.hooks.problems
        assert complaint in problem.error
        assert problem.place == place
        assert e.engine.hooks.registry.hooks == []


async def test_a_setup_that_hangs_meets_its_deadline_and_leaves_no_process(tmp_path: Path) -> None:
    body = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)"
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)], hook_timeout=1.0) as e:
        (problem,) = e.engine.hooks.problems
        assert "did not end within 1 s" in problem.error
        assert not is_there(int((tmp_path / "pid").read_text()))


async def test_full_pipes_hold_nobody_up(tmp_path: Path) -> None:
    body = """
@marvin.on("tool.execute.before")
def flood(event, ctx):
    sys.stdout.write("o" * 5_000_000)
    sys.stdout.write("line\\n" * 10_000)
    sys.stdout.flush()
    os.write(2, b"e" * 5_000_000)
    os.system("printf 'straight to one\\\\n'")
    return {"input": {"text": event.input["text"][::-1]}}
"""
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)], hook_timeout=30.0) as e:
        text = "äb" * 5_000_000
        several = await asyncio.gather(*(send(e, before(text=text)) for _ in range(2)))
        assert all(outcome.event.input["text"] == text[::-1] for outcome in several)
        assert len(e.notes) <= 60, "what it prints is bounded"


async def test_what_it_prints_is_shown_under_its_name(tmp_path: Path) -> None:
    body = "print('hello')\nprint('\\x1b[31mred', file=sys.stderr)\nmarvin.log.warning('logged')"
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)]) as e:
        await until(lambda: len(e.notes) == 2)
        assert e.notes == [("hello", "info", "flag:own"), ("\\u001b[31mred", "info", "flag:own")]


async def test_a_late_handler_is_cancelled_and_the_process_lives_on(tmp_path: Path) -> None:
    body = """
@marvin.on("tool.execute.before", timeout=0.2)
async def slow(event, ctx):
    if event.input.get("fast"):
        return {"input": {"pid": os.getpid(), "ended": list(ended)}}
    try:
        await asyncio.sleep(60)
    finally:
        ended.append("well")
ended = []
"""
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)]) as e:
        pid = host_of(e)._process.pid
        assert "no answer within 0.2 s" in (await send(e, before())).refused.reason
        assert (await send(e, before(fast=True))).event.input == {"pid": pid, "ended": ["well"]}


@pytest.mark.parametrize(
    "body",
    [
        "async def stuck(event, ctx):\n    time.sleep(0 if event.input.get('fast') else 60)",
        "def stuck(event, ctx):\n    time.sleep(0 if event.input.get('fast') else 60)",
        """async def stuck(event, ctx):
    while not event.input.get('fast'):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass""",
    ],
    ids=["blocks its loop", "blocks a thread", "swallows its cancellation"],
)
async def test_a_handler_that_cannot_be_cancelled_ends_with_its_process(tmp_path: Path, body: str) -> None:
    registered = body + "\nmarvin.on('tool.execute.before', stuck, timeout=0.2)"
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, registered)]) as e:
        pid = host_of(e)._process.pid
        assert "no answer within 0.2 s" in (await send(e, before())).refused.reason
        await until(lambda: problems(e, "process"))
        assert "it did not end when it was told to and was killed" in problems(e, "process")[0]
        await until(lambda: host_of(e).down is None)
        assert (await send(e, before(fast=True))).refused is None
        assert not is_there(pid)


async def test_who_is_waited_for_is_named_with_the_line(tmp_path: Path) -> None:
    body = """
@marvin.on("tool.execute.before", timeout=2.5)
async def slow(event, ctx):
    await asyncio.sleep(0)
    await asyncio.sleep(60)
"""
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)]) as e:
        places: list[str] = []
        dispatcher: Any = e.engine.hooks.dispatcher
        work = asyncio.ensure_future(send(e, before()))
        await until(dispatcher.running)
        await until(lambda: places.append(dispatcher.running()[0].where()) or places[-1] == "own.py:11")
        work.cancel()
        await asyncio.wait({work})


async def test_crashes_with_a_handler_that_ended_well_in_between_are_not_in_a_row(tmp_path: Path) -> None:
    body = "marvin.on('tool.execute.before', lambda event, ctx: event.input.get('crash') and os._exit(3))"
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)]) as e:
        await send(e, before(crash=True))
        await until(lambda: host_of(e).down is None)
        assert host_of(e).crashes == 1
        assert (await send(e, before())).refused is None
        assert host_of(e).crashes == 0


async def test_a_handler_that_routed_once_stays_closed_over_a_restart(tmp_path: Path) -> None:
    body = "marvin.on('auth.get', lambda event, ctx: {'base_url': 'http://127.0.0.1:1'})"
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)]) as e:
        e.engine.hooks.dispatcher.pin("flag:own", h.AuthGet)
        os.kill(host_of(e)._process.pid, signal.SIGKILL)
        await until(lambda: host_of(e).down)
        await until(lambda: host_of(e).down is None)
        (handler,) = e.engine.hooks.registry.hooks[0].handlers
        assert handler.closed


async def test_reload_ends_the_process_and_starts_the_file_as_it_is_now(tmp_path: Path) -> None:
    path = hook(tmp_path, "marvin.on('tool.execute.before', lambda e, c: {'block': True, 'reason': 'old'})")
    async with ScriptedEngine(tmp_path, hook_files=[path]) as e:
        pid = host_of(e)._process.pid
        hook(tmp_path, "marvin.on('tool.execute.before', lambda e, c: {'block': True, 'reason': 'new'})")
        await e.engine.hooks.reload([Source(path, "flag")])
        assert (await send(e, before())).refused.reason == "new"
        assert not is_there(pid)


async def test_a_restart_runs_the_bytes_that_were_loaded(tmp_path: Path) -> None:
    path = hook(tmp_path, "marvin.on('tool.execute.before', lambda e, c: {'block': True, 'reason': 'old'})")
    async with ScriptedEngine(tmp_path, hook_files=[path]) as e:
        hook(tmp_path, "marvin.on('tool.execute.before', lambda e, c: None)")
        os.kill(host_of(e)._process.pid, signal.SIGKILL)
        await until(lambda: host_of(e).down)
        await until(lambda: host_of(e).down is None)
        assert (await send(e, before())).refused.reason == "old"


async def test_a_package_has_its_own_modules(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text(
        BLOCK.replace("\ndef", "\nfrom .words import WORD\ndef") + "    tell(marvin)\n"
    )
    (package / "__init__.py").write_text(
        "# /// script\n# [tool.marvin]\n# isolate = true\n# ///\nfrom .words import WORD\n"
        "def setup(marvin):\n    marvin.on('tool.execute.before', lambda e, c: {'input': {'word': WORD}})\n"
    )
    (package / "words.py").write_text("WORD = 'hi'\n")
    async with ScriptedEngine(tmp_path, hook_files=[str(package / "__init__.py")]) as e:
        assert (await send(e, before())).event.input == {"word": "hi"}


async def test_stray_tasks_timers_and_threads_are_reported_and_end_nothing(tmp_path: Path) -> None:
    body = """
async def stray():
    raise ValueError("task")
@marvin.on("turn.start")
async def begin(event, ctx):
    asyncio.get_running_loop().create_task(stray())
    asyncio.get_running_loop().call_later(0, sys.exit, 3)
    threading.Thread(target=lambda: time.sleep(1000)).start()
    threading.Thread(target=lambda: {}["thread"]).start()
marvin.background(stray())
"""
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)]) as e:
        pid = host_of(e)._process.pid
        await send(e, h.TurnStart(turn_index=0))
        await until(lambda: len(problems(e, "background")) == 4)
        told = ["KeyError: 'thread'", "SystemExit: 3", "ValueError: task", "ValueError: task"]
        assert sorted(problems(e, "background")) == told
        await send(e, h.TurnStart(turn_index=0))
        assert host_of(e)._process.pid == pid
    # The thread that sleeps on held nothing up.
    assert not is_there(pid)


def test_the_program_ends_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "done"})
    pid = tmp_path / "pid"
    path = hook(
        tmp_path,
        f"open({str(pid)!r}, 'w').write(str(os.getpid()))\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
    )
    done = marvin.run("-p", "hi", "--hook", path)
    assert done.stdout == "done\n"
    assert not is_there(int(pid.read_text()))


def test_a_killed_program_leaves_no_process(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "done"})
    pid = tmp_path / "pid"
    body = f"""
@marvin.on("agent.start")
def begin(event, ctx):
    open({str(pid)!r}, 'w').write(str(os.getpid()))
    time.sleep(1000)
"""
    process = marvin.start("-p", "hi", "--hook", hook(tmp_path, body))
    until_there = time.monotonic() + 20
    while not (pid.exists() and pid.read_text()):
        assert time.monotonic() < until_there
        time.sleep(0.02)
    child = int(pid.read_text())
    process.kill()
    process.communicate(timeout=10)
    while is_running(child):
        assert time.monotonic() < until_there + 10
        time.sleep(0.02)


def test_an_ending_is_told_in_words() -> None:
    assert ending(0) == "it ended with exit code 0"
    assert ending(-11) == "it was killed by SIGSEGV"
    assert ending(-63) == "it was killed by signal 63"
