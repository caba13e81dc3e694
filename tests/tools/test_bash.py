import asyncio
import os
import stat
import time
from pathlib import Path

import pytest

from marvin_agent.tools.bash import MAX_COMMAND, bash_tool
from marvin_agent.tools.login import LoginEnvironment
from marvin_agent.tools.tool import Tool, ToolFailure
from tools.fakes import FakeContext, text_of
from tools.processes import living, nap, until_gone, wait_for


@pytest.fixture
def login(tmp_path: Path) -> LoginEnvironment:
    home = tmp_path / "home"
    home.mkdir()
    return LoginEnvironment({"PATH": os.environ["PATH"], "HOME": str(home), "MARVIN_TEST": "here", "A_KEY": "secret"})


@pytest.fixture
def bash(login: LoginEnvironment) -> Tool:
    return bash_tool(login)


async def test_the_output_alone_is_returned_when_the_command_succeeds(bash: Tool, ctx: FakeContext) -> None:
    result = await ctx.call(bash, command="echo one; echo two >&2; echo three")
    assert text_of(result) == "one\ntwo\nthree\n"
    assert not result.is_error
    assert result.details["exitCode"] == 0
    assert result.details["durationMs"] >= 0


async def test_silence_is_told(bash: Tool, ctx: FakeContext) -> None:
    assert text_of(await ctx.call(bash, command="true")) == "(no output)"


async def test_nothing_waits_for_an_editor(bash: Tool, ctx: FakeContext) -> None:
    commit = "git init -q . && git -c user.name=A -c user.email=a@b -c core.editor=vi commit --allow-empty"
    result = await ctx.call(bash, command=f"{commit}; echo $EDITOR $VISUAL")
    assert "empty commit message" in text_of(result)
    assert text_of(result).endswith("true true\n")


async def test_a_failure_tells_exit_code_and_duration(bash: Tool, ctx: FakeContext) -> None:
    result = await ctx.call(bash, command="printf oops; exit 3")
    assert text_of(result).startswith("oops\nexit code 3 after ")
    assert result.is_error
    assert result.details["exitCode"] == 3


async def test_a_signal_is_named(bash: Tool, ctx: FakeContext) -> None:
    result = await ctx.call(bash, command="kill -SEGV $$")
    assert "exit code 139 (SIGSEGV)" in text_of(result)


async def test_it_runs_in_the_working_directory(bash: Tool, ctx: FakeContext) -> None:
    assert text_of(await ctx.call(bash, command="pwd")).strip() == str(ctx.cwd)


async def test_a_working_directory_that_is_gone_is_told(bash: Tool, ctx: FakeContext) -> None:
    ctx.cwd.rmdir()
    with pytest.raises(ToolFailure, match="does not exist"):
        await ctx.call(bash, command="pwd")


async def test_there_is_no_input(bash: Tool, ctx: FakeContext) -> None:
    assert text_of(await ctx.call(bash, command="cat; echo end")) == "end\n"


async def test_a_program_that_reads_the_terminal_does_not_hang(bash: Tool, ctx: FakeContext) -> None:
    result = await asyncio.wait_for(ctx.call(bash, command="read line < /dev/tty; echo $?"), 5)
    assert "/dev/tty" in text_of(result)


async def test_the_environment_is_that_of_a_login_shell(tmp_path: Path, ctx: FakeContext) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bash_profile").write_text(
        "echo welcome; export FROM_PROFILE='a b\nc'; export PATH=/opt/mine:/usr/bin:/bin"
    )
    login = LoginEnvironment({"PATH": "/venv/bin:/usr/bin:/bin", "HOME": str(home), "SHELL": "/bin/bash"})
    result = await ctx.call(bash_tool(login), command='echo "$FROM_PROFILE"; echo $PATH')
    assert text_of(result) == "a b\nc\n/venv/bin:/opt/mine:/usr/bin:/bin\n"
    assert "environment" not in result.details


async def test_the_login_shell_is_asked_once(tmp_path: Path, ctx: FakeContext) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bash_profile").write_text(f"echo x >> {tmp_path}/asked")
    login = LoginEnvironment({"PATH": os.environ["PATH"], "HOME": str(home)})
    login.prepare()
    tool = bash_tool(login)
    await asyncio.gather(*(ctx.call(tool, command="true") for _ in range(3)))
    assert (tmp_path / "asked").read_text() == "x\n"


async def test_a_login_shell_that_fails_leaves_our_own_environment(tmp_path: Path, ctx: FakeContext) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bash_profile").write_text("exit 7")
    login = LoginEnvironment({"PATH": os.environ["PATH"], "HOME": str(home), "MINE": "yes"})
    result = await ctx.call(bash_tool(login), command="echo $MINE")
    assert text_of(result) == "yes\n"
    assert "exit code 7" in result.details["environment"]


async def test_a_login_shell_that_hangs_leaves_our_own_environment(tmp_path: Path, ctx: FakeContext) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bash_profile").write_text("sleep 1000")
    login = LoginEnvironment({"PATH": os.environ["PATH"], "HOME": str(home), "MINE": "yes"}, timeout=0.3)
    result = await ctx.call(bash_tool(login), command="echo $MINE")
    assert text_of(result) == "yes\n"
    assert "longer than 0.3 seconds" in result.details["environment"]


async def test_scrubbed_variables_do_not_reach_a_command(login: LoginEnvironment, ctx: FakeContext) -> None:
    tool = bash_tool(login, scrub=frozenset({"A_KEY"}))
    result = await ctx.call(tool, command="echo ${A_KEY-none} $MARVIN_TEST")
    assert text_of(result) == "none here\n"


async def test_output_is_shown_as_it_comes(bash: Tool, ctx: FakeContext) -> None:
    call = asyncio.ensure_future(
        ctx.call(bash, command="echo first; until [ -e go ]; do sleep 0.02; done; echo second")
    )
    await wait_for(lambda: ctx.shown)
    assert "".join(ctx.shown) == "first\n"
    (ctx.cwd / "go").touch()
    await call
    assert "".join(ctx.shown) == "first\nsecond\n"


async def test_a_character_that_comes_in_two_pieces_is_shown_whole(bash: Tool, ctx: FakeContext) -> None:
    command = r"printf 'a\xc3'; until [ -e go ]; do sleep 0.02; done; printf '\xa9'"
    call = asyncio.ensure_future(ctx.call(bash, command=command))
    await wait_for(lambda: ctx.shown)
    (ctx.cwd / "go").touch()
    assert text_of(await call) == "aé"
    assert "".join(ctx.shown) == "aé"


async def test_of_long_output_the_end_is_kept_and_all_of_it_is_in_a_file(bash: Tool, ctx: FakeContext) -> None:
    result = await ctx.call(bash, command="seq 1 5000")
    lines = text_of(result).split("\n")
    assert lines[0] == "3501"
    assert lines[1499] == "5000"
    path = result.details["fullOutput"]
    assert f"[Lines 3501-5000 of 5000. The whole output (23.3 KB) is in {path}.]" in lines[-1]
    assert Path(path).read_text() == "".join(f"{number}\n" for number in range(1, 5001))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


async def test_output_up_to_the_limit_makes_no_file(bash: Tool, ctx: FakeContext) -> None:
    result = await ctx.call(bash, command="seq 1 1500")
    assert text_of(result).endswith("1500\n")
    assert "fullOutput" not in result.details
    assert list(ctx.scratch.iterdir()) == []


async def test_a_line_longer_than_the_limit_says_how_to_see_it(bash: Tool, ctx: FakeContext) -> None:
    result = await ctx.call(bash, command="head -c 200000 /dev/zero | tr '\\0' x")
    assert "longer than 100.0 KB" in text_of(result)
    assert result.details["fullOutput"] in text_of(result)
    assert len(text_of(result)) < 1000


async def test_fifty_megabytes_do_not_grow_the_memory(bash: Tool, ctx: FakeContext) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    await ctx.call(bash, command="seq 1 5000")
    before = resident()
    result = await ctx.call(bash, command="yes 0123456789012345678901234567890123456789012345678 | head -c 50000000")
    assert resident() - before < 10_000_000
    assert os.path.getsize(result.details["fullOutput"]) == 50_000_000
    assert sum(map(len, ctx.shown)) < 10_000_000


async def test_a_timeout_ends_the_whole_group_and_keeps_the_output(bash: Tool, ctx: FakeContext) -> None:
    sleep = nap()
    result = await ctx.call(bash, command=f"echo begun; {sleep}4 & {sleep}5; echo never", timeout="0.3")
    assert text_of(result) == "begun\nTimed out after 0.3 s: the command and all that it started were ended."
    assert result.is_error
    assert result.details["timedOut"]
    assert result.details["exitCode"] != 0
    assert not living(sleep)


async def test_a_program_that_ignores_term_is_killed_after_two_seconds(bash: Tool, ctx: FakeContext) -> None:
    sleep = nap()
    begin = time.monotonic()
    result = await ctx.call(bash, command=f"trap '' TERM; while :; do {sleep}5; done", timeout=0.2)
    assert time.monotonic() - begin >= 2
    assert result.details["timedOut"]
    assert not living(sleep)


async def test_a_command_that_no_command_line_can_have_is_told(bash: Tool, ctx: FakeContext) -> None:
    fits = ": " + "x" * (MAX_COMMAND - 3)
    assert not (await ctx.call(bash, command=fits)).is_error
    with pytest.raises(ToolFailure, match=r"longer than the 128\.0 KB .* Write what is long into a file"):
        await ctx.call(bash, command=fits + "x")
    with pytest.raises(ToolFailure, match="NUL"):
        await ctx.call(bash, command="a\0b")


async def test_an_abort_ends_the_whole_group(bash: Tool, ctx: FakeContext) -> None:
    sleep = nap()
    call = asyncio.ensure_future(ctx.call(bash, command=f"{sleep}6 & ({sleep}7; true); true"))
    await wait_for(lambda: len(living(sleep)) == 2)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not living(sleep)
    assert not zombies()


async def test_an_abort_reaches_children_in_sessions_of_their_own(bash: Tool, ctx: FakeContext) -> None:
    sleep = nap()
    call = asyncio.ensure_future(ctx.call(bash, command=f"setsid {sleep}7 & set -m; {sleep}8 & wait"))
    await wait_for(lambda: len(living(sleep)) == 2)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not living(sleep)


async def test_a_second_abort_does_not_wait_for_a_program_that_ignores_the_first(bash: Tool, ctx: FakeContext) -> None:
    sleep = nap()
    call = asyncio.ensure_future(ctx.call(bash, command=f"trap '' TERM; touch ready; while :; do {sleep}8; done"))
    await wait_for((ctx.cwd / "ready").exists)
    begin = time.monotonic()
    call.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - begin < 1.5
    await until_gone(sleep)
    assert not zombies()


async def test_a_background_child_does_not_hold_the_call(bash: Tool, ctx: FakeContext) -> None:
    begin = time.monotonic()
    result = await ctx.call(
        bash, command="(while sleep 0.05; do echo tick; echo tock >> log; done) & echo $!; echo started"
    )
    assert time.monotonic() - begin < 2
    pid = int(text_of(result).split()[0])
    assert text_of(result).startswith(f"{pid}\nstarted\n")
    assert result.details["background"]
    seen = (ctx.cwd / "log").read_text() if (ctx.cwd / "log").exists() else ""
    try:
        # It lives on although nobody reads what it says.
        await wait_for(lambda: len((ctx.cwd / "log").read_text()) > len(seen) + 20)
    finally:
        os.kill(pid, 9)


async def test_a_flooding_background_child_does_not_hold_the_call(bash: Tool, ctx: FakeContext) -> None:
    begin = time.monotonic()
    result = await ctx.call(bash, command="yes & echo $! > pid")
    try:
        assert time.monotonic() - begin < 2
        assert result.details["background"]
    finally:
        os.kill(int((ctx.cwd / "pid").read_text()), 9)


async def test_commands_run_at_the_same_time(bash: Tool, ctx: FakeContext) -> None:
    first = ctx.call(bash, command="until [ -e b ]; do sleep 0.01; done; touch a; echo one")
    second = ctx.call(bash, command="touch b; until [ -e a ]; do sleep 0.01; done; echo two")
    results = await asyncio.wait_for(asyncio.gather(first, second), 10)
    assert [text_of(result) for result in results] == ["one\n", "two\n"]


def zombies() -> list[str]:
    return [line for line in living("", state="Z") if line]
