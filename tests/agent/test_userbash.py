"""Commands that the user runs with `!`: hooks decide first, the tool's gates see them, the model reads them or not."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.agent import events as out
from marvin_agent.agent.userbash import run_user_bash
from marvin_agent.errors import Refused
from marvin_agent.hooks import HookAPI
from marvin_agent.messages import UserMessage, text_of
from marvin_agent.testing.engine import ScriptedEngine


def said_to_model(e: ScriptedEngine) -> list[str]:
    return [text_of(m.content) for m in e.engine.session.messages() if isinstance(m, UserMessage)]


async def test_a_command_runs_is_shown_and_stands_in_the_conversation(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, auto=False) as e:
        result = await run_user_bash(e.engine, "echo $((6 * 7))", exclude_from_context=False)
        assert result.status == "ok"
        (started,), (ended,) = e.of(out.ToolStarted), e.of(out.ToolEnded)
        assert started.input == {"command": "echo $((6 * 7))"}
        assert "42" in text_of(ended.content)
        (text,) = said_to_model(e)
        assert "echo $((6 * 7))" in text and "42" in text


async def test_an_excluded_command_is_not_for_the_model(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path) as e:
        await run_user_bash(e.engine, "echo secret", exclude_from_context=True)
        assert said_to_model(e) == []
        assert len(e.of(out.ToolEnded)) == 1


async def test_hooks_see_refuse_and_change_the_command(tmp_path: Path) -> None:
    seen: list[Any] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("user.bash")
        async def gate(event: Any, ctx: Any) -> dict[str, Any] | None:
            seen.append((event.origin, event.command, event.exclude_from_context, event.cwd))
            if "rm" in event.command:
                return {"block": True, "reason": "not today"}
            return {"command": f"{event.command} changed"}

        @marvin.on("tool.execute.before")
        async def tool(event: Any, ctx: Any) -> None:
            seen.append((event.origin, event.tool_name, event.input["command"]))

    async with ScriptedEngine(tmp_path, hooks={"gate": setup}) as e:
        with pytest.raises(Refused, match="library:gate: not today"):
            await run_user_bash(e.engine, "rm x", exclude_from_context=False)
        assert e.of(out.ToolStarted) == []
        result = await run_user_bash(e.engine, "echo", exclude_from_context=True)
        assert "changed" in text_of(result.content)
        assert result.changed_by == ("library:gate",)
        work = str(e.work)
        assert seen == [
            ("user", "rm x", False, work),
            ("user", "echo", True, work),
            ("user", "bash", "echo changed"),
        ]


async def test_a_hook_that_supplies_the_result_runs_nothing(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        marvin.on("user.bash", answer)

    async def answer(event: Any, ctx: Any) -> dict[str, Any]:
        return {"result": {"output": "made up", "exit_code": 3}}

    async with ScriptedEngine(tmp_path, hooks={"oracle": setup}) as e:
        result = await run_user_bash(e.engine, "touch made", exclude_from_context=False)
        assert not (e.work / "made").exists()
        assert (result.status, text_of(result.content), result.changed_by) == ("error", "made up", ("library:oracle",))
        assert "made up" in said_to_model(e)[0]


async def test_a_gate_that_fails_refuses(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        @marvin.on("user.bash")
        async def broken(event: Any, ctx: Any) -> None:
            raise ValueError("broken")

    async with ScriptedEngine(tmp_path, hooks={"gate": setup}) as e:
        with pytest.raises(Refused, match="broken"):
            await run_user_bash(e.engine, "touch made", exclude_from_context=False)
        assert not (e.work / "made").exists()


async def test_a_command_that_runs_while_the_agent_works_is_stored_when_it_is_done(tmp_path: Path) -> None:
    replies = [
        {"toolCalls": [{"name": "bash", "arguments": {"command": "until [ -e done ]; do sleep 0.01; done"}}]},
        {"text": "finished"},
    ]
    async with ScriptedEngine(tmp_path, replies) as e:
        import asyncio

        work = asyncio.ensure_future(e.prompt("go"))
        while not e.of(out.ToolStarted):
            await asyncio.sleep(0.005)
        await run_user_bash(e.engine, "touch done; echo mine", exclude_from_context=False)
        await work
        roles = [type(message).__name__ for message in e.engine.session.messages()]
        assert roles == ["UserMessage", "AssistantMessage", "ToolResultMessage", "AssistantMessage", "UserMessage"]


async def test_an_abort_ends_the_command_and_keeps_what_it_printed(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path) as e:
        running = asyncio.ensure_future(run_user_bash(e.engine, "echo begun; sleep 60", exclude_from_context=False))
        while not e.of(out.ToolUpdated):
            await asyncio.sleep(0.01)
        e.engine.abort()
        result = await running
        assert result.status == "aborted"
        assert text_of(result.content).startswith("begun\nInterrupted after ")
        (ended,) = e.of(out.ToolEnded)
        assert ended.status == "aborted"
        assert "begun" in said_to_model(e)[0]


async def test_an_abort_while_hooks_still_judge_the_command_runs_nothing(tmp_path: Path) -> None:
    asked, loop = asyncio.Event(), asyncio.get_running_loop()

    def setup(marvin: HookAPI) -> None:
        @marvin.on("tool.execute.before")
        async def slow(event: Any, ctx: Any) -> None:
            loop.call_soon_threadsafe(asked.set)
            await asyncio.sleep(60)

    async with ScriptedEngine(tmp_path, hooks={"slow": setup}) as e:
        running = asyncio.ensure_future(run_user_bash(e.engine, "touch made", exclude_from_context=False))
        await asked.wait()
        e.engine.abort()
        assert (await running).status == "aborted"
        assert not (e.work / "made").exists()
        assert said_to_model(e) == []
