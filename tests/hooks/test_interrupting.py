"""Esc while hooks are waited for, wherever that is; and what hooks ask for when a run is about to be over."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.agent.commands import Call, run_command
from marvin_agent.agent.queue import Prompt
from marvin_agent.hooks.api import HookAPI
from marvin_agent.messages import HookMessage, ToolResultMessage, text_of
from marvin_agent.testing.engine import ScriptedEngine

REPLIES: list[dict[str, Any]] = [
    {"toolCalls": [{"name": "bash", "arguments": {"command": "echo printed"}}]},
    {"text": "Done."},
]


class Hangs:
    """A hook that hangs in one event for good."""

    def __init__(self, event: str, **options: Any) -> None:
        self.reached = asyncio.Event()
        self.calls = 0
        self.over = False
        """For tests in which it has hung for long enough."""
        self._event = event
        self._options = options
        self._loop = asyncio.get_running_loop()

    def __call__(self, marvin: HookAPI) -> None:
        marvin.on(self._event, self.hang, timeout=0, **self._options)

    async def hang(self, event: Any, ctx: Any) -> None:
        self.calls += 1
        self._loop.call_soon_threadsafe(self.reached.set)
        while not self.over:
            await asyncio.sleep(0.01)


def results(e: ScriptedEngine) -> list[ToolResultMessage]:
    return [message for message in e.engine.session.messages() if isinstance(message, ToolResultMessage)]


@pytest.mark.parametrize("event", ["turn.end", "agent.end", "agent.settled", "message.end"])
async def test_an_abort_ends_the_wait_for_a_hook_that_is_told_of_an_end(tmp_path: Path, event: str) -> None:
    hook = Hangs(event)
    async with ScriptedEngine(tmp_path, [{"text": "Done."}], hooks={"h": hook}) as e:
        e.engine.submit(Prompt("go"))
        await hook.reached.wait()
        if event == "message.end":
            while not e.engine.last or e.engine.last.answer is None:
                await asyncio.sleep(0.01)
        while not e.engine.is_idle:
            e.engine.abort()
            await asyncio.sleep(0.01)
        hook.over = True  # else it is waited for once more when marvin is left, which is not what is tested here


@pytest.mark.parametrize(("on_error", "kept"), [("closed", False), ("open", True)])
async def test_a_result_that_a_hook_had_not_seen_to_the_end_is_withheld_if_the_hook_is_closed(
    tmp_path: Path, on_error: str, kept: bool
) -> None:
    hook = Hangs("tool.execute.after", on_error=on_error)
    async with ScriptedEngine(tmp_path, REPLIES, hooks={"h": hook}) as e:
        e.engine.submit(Prompt("go"))
        await hook.reached.wait()
        e.engine.abort()
        await e.engine.wait_until_idle()
        (result,) = results(e)
        assert ("printed" in text_of(result.content)) is kept
        assert hook.calls == 1


async def test_a_second_abort_leaves_hooks_that_are_told_of_the_first(tmp_path: Path) -> None:
    hook = Hangs("tool.execute.after")
    replies = [{"toolCalls": [{"name": "bash", "arguments": {"command": "touch began; sleep 600"}}]}]
    async with ScriptedEngine(tmp_path, replies, hooks={"h": hook}) as e:
        e.engine.submit(Prompt("go"))
        while not (e.work / "began").exists():
            await asyncio.sleep(0.01)
        e.engine.abort()
        await hook.reached.wait()
        e.engine.abort()
        await e.engine.wait_until_idle()
        assert [result.status for result in results(e)] == ["aborted"]


async def test_a_second_abort_keeps_no_result_that_a_closed_hook_has_not_seen(tmp_path: Path) -> None:
    hook = Hangs("tool.execute.after", on_error="closed")
    commands = ["while [ ! -e done ]; do sleep 0.01; done; touch began; sleep 600", "echo printed; touch done"]
    replies = [{"toolCalls": [{"name": "bash", "arguments": {"command": command}} for command in commands]}]
    async with ScriptedEngine(tmp_path, replies, hooks={"h": hook}) as e:
        e.engine.submit(Prompt("go"))
        while not (e.work / "began").exists():
            await asyncio.sleep(0.01)
        e.engine.abort()
        await hook.reached.wait()
        e.engine.abort()
        await e.engine.wait_until_idle()
        assert [result.status for result in results(e)] == ["aborted", "aborted"]
        assert not any("printed" in text_of(result.content) for result in results(e))


@pytest.mark.parametrize("event", ["agent.end", "agent.settled", "message.end"])
async def test_a_session_change_from_the_end_of_a_run_happens(tmp_path: Path, event: str) -> None:
    asked: list[Any] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on(event)
        async def leave(event: Any, ctx: Any) -> None:
            if not asked:
                asked.append(await ctx.session.new_session())

    async with ScriptedEngine(tmp_path, [{"text": "Done."}], hooks={"h": setup}) as e:
        before = e.engine.session_id
        await e.prompt("go")
        assert asked == [{"scheduled": True}]
        assert e.engine.session_id != before


async def test_a_tool_of_a_hook_does_not_wait_for_the_run_that_waits_for_it(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        @marvin.tool
        async def leave(ctx: Any) -> str:
            """Leaves."""
            try:
                await ctx.session.wait_for_idle()
            except Exception as error:
                return f"{type(error).__name__}: {await ctx.session.new_session()}"
            return "waited"

    replies = [{"toolCalls": [{"name": "leave", "arguments": {}}]}, {"text": "Done."}]
    async with ScriptedEngine(tmp_path, replies, hooks={"h": setup}) as e:
        first = e.engine.session
        await e.prompt("go")
        texts = [text_of(message.content) for message in first.messages() if isinstance(message, ToolResultMessage)]
        assert texts == ["HookError: {'scheduled': True}"]
        assert e.engine.session is not first


async def test_what_is_said_while_the_conversation_is_compacted_stays(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        @marvin.on("session.compacting")
        async def say(event: Any, ctx: Any) -> None:
            marvin.send_message({"custom_type": "note", "content": "said meanwhile"})

    async with ScriptedEngine(tmp_path, [{"text": "x" * 400}, {"text": "Summary."}], hooks={"h": setup}) as e:
        await e.prompt("go")
        await run_command(e.engine, Call("compact", ""))
        *_, last = e.engine.session.messages()
        assert isinstance(last, HookMessage) and text_of(last.content) == "said meanwhile"


async def test_a_compaction_can_be_interrupted_and_changes_nothing(tmp_path: Path) -> None:
    hook = Hangs("session.compacting")
    async with ScriptedEngine(tmp_path, [{"text": "Done."}], hooks={"h": hook}) as e:
        await e.prompt("go")
        before = e.engine.session.messages()
        compaction = asyncio.ensure_future(e.engine.compact())
        await hook.reached.wait()
        e.engine.abort()
        with pytest.raises(Exception, match="Interrupted"):
            await compaction
        assert e.engine.session.messages() == before
