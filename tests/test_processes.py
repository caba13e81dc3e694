import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from marvin_agent import proctree
from marvin_agent.processes import CannotStart, Running, execute
from tools.processes import living, nap, wait_for


async def test_outputs_are_kept_apart_and_the_exit_code_is_told() -> None:
    done = await execute(["sh", "-c", "echo out; echo err >&2; exit 4"])
    assert (done.stdout, done.stderr, done.code, done.killed) == (b"out\n", b"err\n", 4, False)


async def test_no_shell_reads_the_arguments() -> None:
    done = await execute(["printf", "%s", "$HOME; `ls` *"])
    assert done.stdout == b"$HOME; `ls` *"


async def test_the_environment_and_the_directory_are_those_given(tmp_path: Path) -> None:
    done = await execute(["/bin/sh", "-c", "echo $ONLY; pwd"], cwd=str(tmp_path), env={"ONLY": "this"})
    assert done.stdout.decode() == f"this\n{tmp_path}\n"


@pytest.mark.parametrize(
    ("program", "cwd", "message"),
    [
        ("no-such-program-here", None, "no such program"),
        ("/", None, "not executable"),
        ("true", "/no/such/directory", "/no/such/directory does not exist"),
        ("tr\0ue", None, "null byte"),
    ],
)
async def test_a_program_that_cannot_start_is_an_error(program: str, cwd: str | None, message: str) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(CannotStart, match=message):
        await execute([program], cwd=cwd)
    assert len(os.listdir("/proc/self/fd")) == before


async def test_of_long_output_the_beginning_is_kept() -> None:
    done = await execute(["sh", "-c", "yes | head -c 3000000"], limit=1000)
    assert done.stdout == b"y\n" * 500
    assert done.truncated
    assert done.code == 0


async def test_a_timeout_gives_a_code_that_is_not_zero() -> None:
    done = await execute(["sh", "-c", "trap 'exit 0' TERM; echo begun; while :; do sleep 0.01; done"], timeout=0.3)
    assert done.killed
    assert done.code != 0
    assert done.stdout == b"begun\n"


async def test_cancellation_ends_all_that_was_started() -> None:
    sleep = nap()
    task = asyncio.ensure_future(execute(["sh", "-c", f"{sleep}1 & {sleep}2"]))
    await wait_for(lambda: len(living(sleep)) == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not living(sleep)


async def test_a_stopped_program_can_end_by_itself() -> None:
    running = Running.start(["sleep", "1000"], out=lambda data: None)
    os.kill(running.pid, signal.SIGSTOP)
    await running.stop()
    assert running.code == 128 + signal.SIGTERM


async def test_hundreds_of_programs_leave_no_zombies_and_no_open_files() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        await asyncio.gather(*(execute(["true"]) for _ in range(20)))
    assert not living("", state="Z")
    assert len(os.listdir("/proc/self/fd")) == before


async def test_where_the_system_cannot_watch_a_process_a_thread_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    done = await execute(["sh", "-c", "echo out; exit 5"])
    assert (done.stdout, done.code) == (b"out\n", 5)
    sleep = nap()
    task = asyncio.ensure_future(execute(sleep.split()))
    await wait_for(lambda: living(sleep))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not living(sleep)
    assert not living("", state="Z")


async def test_the_program_has_a_session_of_its_own_and_no_terminal() -> None:
    script = "import os\nprint(os.getsid(0) == os.getpid())\nos.open('/dev/tty', os.O_RDWR)"
    done = await execute([sys.executable, "-c", script])
    assert done.stdout == b"True\n"
    assert b"/dev/tty" in done.stderr


async def test_a_signal_that_ended_the_program_is_in_its_code() -> None:
    running = Running.start(["sleep", "1000"], out=lambda data: None)
    running.kill()
    assert not await running.finish()
    assert running.code == 128 + signal.SIGKILL


def test_a_process_id_that_belongs_to_another_is_left_alone() -> None:
    child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        ((pid, started),) = proctree.family(child.pid)
        proctree.send((pid, started + 1), signal.SIGKILL)
        assert child.poll() is None
        assert proctree.alive(pid, frozenset({(pid, started)}))
        assert not proctree.alive(pid, frozenset({(pid, started + 1)}))
        proctree.send((pid, started), signal.SIGKILL)
        assert child.wait(5) == -signal.SIGKILL
    finally:
        child.kill()
        child.wait()
