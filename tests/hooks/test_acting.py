"""What hooks do to the run and the session: messages of their own, caps, new sessions, attachments, the abort."""

import asyncio
import base64
import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.agent import events as out
from marvin_agent.agent.commands import Call, run_command
from marvin_agent.errors import HookError, UsageError
from marvin_agent.hooks.api import HookAPI
from marvin_agent.messages import HookMessage, text_of
from marvin_agent.testing.engine import ScriptedEngine

AGAIN = [{"text": "x", "repeat": True}]


def said(e: ScriptedEngine) -> list[str]:
    """What the model was told in each request, after the system prompt."""
    return [" | ".join(str(message["content"]) for message in body["messages"][1:]) for body in e.bodies]


@pytest.mark.parametrize("event", ["turn.end", "agent.before_end", "agent.end", "agent.settled"])
@pytest.mark.parametrize("deliver_as", [None, "steer", "follow_up"])
async def test_a_message_that_triggers_a_turn_does_so_wherever_the_run_is(
    tmp_path: Path, event: str, deliver_as: str | None
) -> None:
    def setup(marvin: HookAPI) -> None:
        told: list[int] = []

        @marvin.on(event)
        async def tell(event: Any, ctx: Any) -> None:
            if not told:
                told.append(1)
                marvin.send_message({"custom_type": "news", "content": "NEWS"}, True, deliver_as)

    async with ScriptedEngine(tmp_path, AGAIN, hooks={"t": setup}) as e:
        await e.prompt("go")
        assert said(e) == ["go", "go | x | NEWS"]
        stored = [m for m in e.engine.session.messages() if isinstance(m, HookMessage)]
        assert [text_of(m.content) for m in stored] == ["NEWS"]


async def test_a_follow_up_message_waits_until_the_agent_would_stop_and_a_steering_one_does_not(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        @marvin.on("tool.execute.before")
        async def tell(event: Any, ctx: Any) -> None:
            marvin.send_message({"custom_type": "a", "content": "LATER"}, deliver_as="follow_up")
            marvin.send_message({"custom_type": "a", "content": "SOON"}, deliver_as="steer")

    tool = {"toolCalls": [{"name": "bash", "arguments": {"command": "echo out"}}]}
    async with ScriptedEngine(tmp_path, [tool, {"text": "one"}, {"text": "two"}], hooks={"t": setup}) as e:
        await e.prompt("go")
        _, second, third = said(e)
        assert second.endswith("SOON")
        assert "LATER" not in second
        assert third.endswith("one | LATER")


@pytest.mark.parametrize("how", ["steer", "follow_up", "send", "send_message"])
async def test_a_hook_that_keeps_the_run_going_is_stopped_visibly(tmp_path: Path, how: str) -> None:
    def setup(marvin: HookAPI) -> None:
        @marvin.on("turn.end")
        async def more(event: Any, ctx: Any) -> None:
            if how == "send_message":
                marvin.send_message({"custom_type": "m", "content": "more"}, trigger_turn=True)
            else:
                getattr(marvin, how)("more")

    async with ScriptedEngine(tmp_path, AGAIN, hooks={"t": setup}) as e:
        await asyncio.wait_for(e.prompt("go"), 30)
        assert len(e.bodies) == 33
        assert any("may not call the model again" in notice.text for notice in e.of(out.Notice))


async def test_an_idle_agent_that_a_hook_wakes_again_and_again_is_capped_until_a_person_speaks(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        @marvin.on("agent.settled")
        async def again(event: Any, ctx: Any) -> None:
            marvin.send_message({"custom_type": "m", "content": "more"}, trigger_turn=True)

    async with ScriptedEngine(tmp_path, AGAIN, hooks={"t": setup}) as e:
        await asyncio.wait_for(e.prompt("go"), 30)
        for _ in range(3):
            await asyncio.sleep(0)
            await e.engine.wait_until_idle()
        assert len(e.bodies) == 33


def fresh(setup: Callable[[Any], Any]) -> Callable[[HookAPI], None]:
    def hook(marvin: HookAPI) -> None:
        @marvin.command("fresh")
        async def command(args: str, ctx: Any) -> str:
            return str(await ctx.session.new_session(setup=setup))

        @marvin.on("turn.end")
        async def in_a_run(event: Any, ctx: Any) -> None:
            assert await ctx.session.new_session(setup=setup) == {"scheduled": True}

    return hook


async def test_a_new_session_gets_the_messages_and_entries_that_its_setup_writes(tmp_path: Path) -> None:
    def write(session: Any) -> None:
        session.append_message({"role": "user", "content": [{"type": "text", "text": "handed over"}]})
        session.append_entry("mine", {"a": 1})

    async with ScriptedEngine(tmp_path, AGAIN, hooks={"t": fresh(write)}) as e:
        await e.prompt("go")
        before = e.engine.session.id
        assert [entry.type for entry in e.engine.session.entries] == ["message", "custom"]
        await run_command(e.engine, Call("fresh", ""))
        assert e.engine.session.id != before
        assert [text_of(m.content) for m in e.engine.session.messages()] == ["handed over"]


@pytest.mark.parametrize("kind", ["raises", "exits", "gives junk", "is late"])
async def test_a_setup_that_fails_leaves_the_session_as_it_was(tmp_path: Path, kind: str) -> None:
    async def write(session: Any) -> None:
        session.append_entry("half", 1)
        match kind:
            case "raises":
                raise ValueError("oops")
            case "exits":
                raise SystemExit(3)
            case "gives junk":
                session.append_message({"role": "nobody"})
            case _:
                await asyncio.sleep(60)

    async with ScriptedEngine(tmp_path, AGAIN, hooks={"t": fresh(write)}, hook_timeout=0.2) as e:
        before = e.engine.session.id
        await e.prompt("go")
        with pytest.raises(HookError, match="there is no new session"):
            await run_command(e.engine, Call("fresh", ""))
        assert e.engine.session.id == before
        assert [entry.type for entry in e.engine.session.entries] == ["message", "message"]
        assert any("there is no new session" in notice.text for notice in e.of(out.Notice))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("h.py", "a list"),
        ({"type": "image"}, "a list"),
        ([{"type": "video", "content": b"x"}], "image or document"),
        ([{"content": b"x"}], "image or document"),
        ([{"type": "image", "content": "not base64!!"}], "neither bytes nor base64"),
        ([{"type": "document"}], "neither bytes nor base64"),
        ([5], "a path or a mapping, not int"),
        (["missing.txt"], "No such file"),
    ],
)
async def test_attachments_that_are_none_raise_where_they_are_given(tmp_path: Path, given: Any, why: str) -> None:
    raised: list[BaseException] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("turn.end")
        async def send(event: Any, ctx: Any) -> None:
            try:
                marvin.send("look", given)
            except UsageError as error:
                raised.append(error)

    async with ScriptedEngine(tmp_path, AGAIN, hooks={"t": setup}) as e:
        await e.prompt("go")
        assert why in str(raised[0])
        assert len(e.bodies) == 1


async def test_base64_in_lines_is_base64(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        @marvin.command("show")
        def show(args: str, ctx: Any) -> None:
            text = base64.encodebytes(b"word " * 40).decode()
            marvin.send("", [{"type": "document", "fileName": "a.txt", "content": text}])

    async with ScriptedEngine(tmp_path, AGAIN, hooks={"t": setup}) as e:
        await run_command(e.engine, Call("show", ""))
        await asyncio.sleep(0)
        await e.engine.wait_until_idle()
        assert "[Document: a.txt]\nword word" in e.bodies[0]["messages"][1]["content"]


async def test_the_signal_is_set_when_the_run_is_aborted(tmp_path: Path) -> None:
    seen: list[Any] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.tool
        async def patient(ctx: Any) -> str:
            """Wait."""
            seen.extend([ctx.signal.is_set(), await ctx.signal.wait(0.01)])
            marvin.background(until_aborted(ctx))
            await asyncio.sleep(60)
            return "late"

        async def until_aborted(ctx: Any) -> None:
            seen.append("waiting")
            ctx.abort()
            seen.append(await ctx.signal.wait())

    replies = [{"toolCalls": [{"name": "patient", "arguments": {}}]}]
    async with ScriptedEngine(tmp_path, replies, hooks={"t": setup}) as e:
        await e.prompt("go")
    assert seen[:3] == [False, False, "waiting"]


@pytest.mark.parametrize("plain", [True, False], ids=["plain", "async"])
async def test_a_command_that_exits_ends_nothing_but_itself(tmp_path: Path, plain: bool) -> None:
    def setup(marvin: HookAPI) -> None:
        def leave(args: str, ctx: Any) -> None:
            raise SystemExit(3)

        async def leave_too(args: str, ctx: Any) -> None:
            raise SystemExit(3)

        marvin.register_command("leave", handler=leave if plain else leave_too)

    async with ScriptedEngine(tmp_path, AGAIN, hooks={"t": setup}) as e:
        with pytest.raises(HookError, match=r"/leave of library:t failed at .*: SystemExit: 3"):
            await run_command(e.engine, Call("leave", ""))
        assert not e.of(out.HookFailed)
        assert (await e.prompt("go")).stop_reason == "stop"


async def test_background_work_that_waits_for_something_of_its_own_is_not_collected(tmp_path: Path) -> None:
    waiting: list[weakref.ref[asyncio.Event]] = []
    ended = asyncio.Event()
    here = asyncio.get_running_loop()

    def setup(marvin: HookAPI) -> None:
        async def wait() -> None:
            news = asyncio.Event()
            waiting.append(weakref.ref(news))
            await news.wait()
            here.call_soon_threadsafe(ended.set)

        marvin.background(wait())

    async with ScriptedEngine(tmp_path, AGAIN, hooks={"t": setup}) as e:
        while not waiting:
            await asyncio.sleep(0.01)
        await e.engine.hooks.loop.call(one_round)
        gc.collect()
        news = waiting[0]()
        assert news
        e.engine.hooks.loop.post(news.set)
        await ended.wait()


async def one_round() -> None:
    await asyncio.sleep(0)


async def test_what_a_hook_made_of_a_request_is_sent_again_when_the_first_attempt_fails(tmp_path: Path) -> None:
    calls: list[int] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("chat.request")
        async def mark(event: Any, ctx: Any) -> None:
            calls.append(1)
            event.payload["user"] = "me"

    async with ScriptedEngine(tmp_path, [{"fault": {"status": 503}}, {"text": "x"}], hooks={"t": setup}) as e:
        await e.prompt("go")
        assert [body["user"] for body in e.bodies] == ["me", "me"]
        assert len(calls) == 1


@pytest.mark.parametrize("headers", [{"x y": "1"}, {"x": "1\r\nhost: elsewhere"}, {"": "1"}, {"x": "\u00e9"}])
async def test_a_header_that_cannot_be_sent_as_it_is_is_told_and_not_sent(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    def setup(marvin: HookAPI) -> None:
        marvin.on("auth.get", lambda event, ctx: {"headers": headers, "api_key": "k"})

    async with ScriptedEngine(tmp_path, AGAIN, hooks={"t": setup}) as e:
        await e.prompt("go")
        (failed,) = e.of(out.HookFailed)
        assert "cannot be sent as it is" in failed.error
        (request,) = e.models.recorded.requests
        assert not headers.keys() & request.headers.keys()
        assert "authorization" not in request.headers, "a handler contributes all or nothing"


async def test_one_tool_as_a_text_is_that_tool_and_not_its_letters(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        @marvin.on("tool.execute.before", tools="bash")
        async def gate(event: Any, ctx: Any) -> dict[str, bool]:
            return {"block": True}

    tool = {"toolCalls": [{"name": "bash", "arguments": {"command": "touch ran"}}]}
    async with ScriptedEngine(tmp_path, [tool, {"text": "ok"}], hooks={"t": setup}) as e:
        await e.prompt("go")
        assert not (e.work / "ran").exists()


@pytest.mark.parametrize(
    ("keywords", "why"),
    [
        ({"priority": "high"}, "priority is a whole number, not 'high'"),
        ({"timeout": -1}, "timeout is in seconds"),
        ({"timeout": "5"}, "timeout is in seconds"),
        ({"timeout": float("nan")}, "timeout is in seconds"),
        ({"purposes": ("all",)}, "a purpose is one of turn, compaction, branch_summary, complete, not 'all'"),
    ],
)
async def test_what_on_cannot_take_is_an_error_at_load(tmp_path: Path, keywords: dict[str, Any], why: str) -> None:
    def setup(marvin: HookAPI) -> None:
        marvin.on("chat.params", lambda event, ctx: None, **keywords)

    async with ScriptedEngine(tmp_path, AGAIN, hooks={"t": setup}) as e:
        assert why in e.engine.hooks.problems[0].error


NONSENSE: dict[str, Callable[[Any], Any]] = {
    "a command without a function": lambda marvin: marvin.register_command("x", handler=5),
    "a tool with a name that models do not take": lambda marvin: marvin.register_tool(
        {"name": "no good!", "description": "d", "schema": {"type": "object"}, "execute": lambda args, ctx: 1}
    ),
    "a flag with a space": lambda marvin: marvin.register_flag("x y"),
    "a shortcut without a key": lambda marvin: marvin.register_shortcut("", lambda ctx: None),
    "a timer without time": lambda marvin: marvin.every(0, lambda: None),
    "a timer that goes back": lambda marvin: marvin.every(-1, lambda: None),
    "work that is none": lambda marvin: marvin.background(5),
    "a listener that is none": lambda marvin: marvin.events.on("channel", 5),
}


@pytest.mark.parametrize("what", NONSENSE)
async def test_what_cannot_work_is_an_error_at_load(tmp_path: Path, what: str) -> None:
    async with ScriptedEngine(tmp_path, hooks={"h": NONSENSE[what]}) as e:
        (problem,) = e.engine.hooks.problems
        assert problem.event == "setup"


async def test_a_handler_that_is_no_function_is_an_error_at_load(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, AGAIN, hooks={"t": lambda marvin: marvin.on("turn.start", 5)}) as e:
        assert "a handler is a function of (event, ctx), not int" in e.engine.hooks.problems[0].error


async def test_messages_and_parts_say_what_they_are(tmp_path: Path) -> None:
    seen: list[Any] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("agent.end")
        async def look(event: Any, ctx: Any) -> None:
            seen.extend((message.role, message.content[0].type) for message in event.messages)

    tool = {"toolCalls": [{"name": "bash", "arguments": {"command": "true"}}]}
    async with ScriptedEngine(tmp_path, [tool, {"text": "ok"}], hooks={"t": setup}) as e:
        await e.prompt("go")
    assert seen == [("user", "text"), ("assistant", "toolCall"), ("toolResult", "text"), ("assistant", "text")]
