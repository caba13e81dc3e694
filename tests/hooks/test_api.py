"""`marvin` and `ctx`: tools, commands, messages, providers, sessions, both faces."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.agent import events as out
from marvin_agent.agent.commands import Call, run_command
from marvin_agent.agent.queue import Prompt
from marvin_agent.errors import HookError
from marvin_agent.hooks.api import HookAPI
from marvin_agent.messages import AssistantMessage, HookMessage, ToolResultMessage, UserMessage, text_of
from marvin_agent.testing.engine import ScriptedEngine


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"name": name, "arguments": arguments}


def results(e: ScriptedEngine) -> list[str]:
    return [text_of(m.content) for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]


async def test_a_typed_function_becomes_a_tool_that_runs_on_the_hook_loop(tmp_path: Path) -> None:
    threads: list[str] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.tool
        async def shout(ctx: Any, text: str, times: int = 1) -> str:
            """Say it louder.

            Args:
                text: What to say.
            """
            threads.append(threading.current_thread().name)
            ctx.update("working")
            return text.upper() * times + ctx.cwd[:0]

        @marvin.tool
        def plain(text: str) -> dict[str, int]:
            """Count."""
            threads.append(threading.current_thread().name)
            return {"length": len(text)}

    replies = [{"toolCalls": [call("shout", text="ab", times=2), call("plain", text="xyz")]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hooks={"t": setup}) as e:
        await e.prompt("go")
        assert results(e) == ["ABAB", '{"length":3}']
        assert [event.text for event in e.of(out.ToolUpdated)] == ["working"]
        (schema,) = [t["function"] for t in e.bodies[0]["tools"] if t["function"]["name"] == "shout"]
        assert schema["description"] == "Say it louder."
        assert schema["parameters"]["required"] == ["text"]
    assert threads == ["marvin-hooks", "marvin-hook-worker"]


async def test_a_tool_by_json_schema_understands_optional(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        async def execute(args: dict[str, Any], ctx: Any) -> Any:
            if args["mode"] == "fail":
                raise ValueError("no such memory")
            if args["mode"] == "error":
                return {"content": "went wrong", "is_error": True, "details": {"code": 7}}
            return f"{args['mode']} {args.get('query')}"

        properties = {"mode": {"type": "string"}, "query": {"type": "string", "optional": True}}
        marvin.register_tool(
            {
                "name": "memory",
                "description": "Remembers.",
                "schema": {"type": "object", "properties": properties},
                "execute": execute,
            }
        )

    calls = [call("memory", mode="search"), call("memory"), call("memory", mode="fail"), call("memory", mode="error")]
    async with ScriptedEngine(tmp_path, [{"toolCalls": calls}, {"text": "ok"}], hooks={"t": setup}) as e:
        await e.prompt("go")
        texts = results(e)
        found = [m for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]
    assert texts[0] == "search None"
    assert "mode" in texts[1]
    assert "no such memory" in texts[2]
    assert texts[3] == "went wrong"
    assert [m.status for m in found] == ["ok", "invalid", "error", "error"]


async def test_a_tool_name_that_is_taken_is_an_error_unless_it_replaces(tmp_path: Path) -> None:
    def clash(marvin: HookAPI) -> None:
        @marvin.tool(name="read")
        async def mine(path: str) -> str:
            return path

    def wrap(marvin: HookAPI) -> None:
        @marvin.tool(name="read", replaces="read")
        async def mine(ctx: Any, path: str) -> str:
            """Read, politely."""
            old = await ctx.call_replaced({"path": path})
            return "politely: " + old.content[0].text

    async with ScriptedEngine(
        tmp_path, [{"toolCalls": [call("read", path="a.txt")]}, {"text": "ok"}], hooks={"clash": clash, "wrap": wrap}
    ) as e:
        (e.work / "a.txt").write_text("hello\n")
        assert [problem.hook for problem in e.engine.hooks.problems] == ["library:clash"]
        assert "read" in e.engine.hooks.problems[0].error
        await e.prompt("go")
        assert results(e) == ["politely: hello\n"]


async def test_commands_run_at_once_and_cannot_shadow_built_in_ones(tmp_path: Path) -> None:
    done: list[str] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.command("greet", "greets")
        async def greet(args: str, ctx: Any) -> None:
            done.append(args)
            ctx.ui.notify(f"hello {args}")

        def plain(args: str, ctx: Any) -> None:
            done.append("plain" + str(ctx.ui.confirm("sure?")))

        marvin.register_command("plain", handler=plain)

    def shadow(marvin: HookAPI) -> None:
        marvin.register_command("quit", handler=print)

    async with ScriptedEngine(tmp_path, hooks={"c": setup, "shadow": shadow}) as e:
        assert "own command" in e.engine.hooks.problems[0].error
        await run_command(e.engine, Call("greet", "you"))
        await run_command(e.engine, Call("plain", ""))
        assert done == ["you", "plainFalse"]
        assert ("hello you", "info", "library:c") in e.notes


async def test_send_starts_a_run_when_idle_and_follows_up_when_not(tmp_path: Path) -> None:
    apis: list[HookAPI] = []

    def setup(marvin: HookAPI) -> None:
        apis.append(marvin)
        sent = []

        @marvin.on("turn.end")
        async def more(event: Any, ctx: Any) -> None:
            if not sent:
                sent.append(1)
                marvin.send("!rm -rf /", attachments=[{"type": "document", "file_name": "n.txt", "content": b"note"}])

    async with ScriptedEngine(tmp_path, [{"text": "1"}, {"text": "2"}, {"text": "3"}], hooks={"s": setup}) as e:
        await e.prompt("go")
        users = [text_of(m.content) for m in e.engine.session.messages() if isinstance(m, UserMessage)]
        assert users == ["go", "!rm -rf /\n\n[Document: n.txt]\nnote"]
        await asyncio.to_thread(apis[0].send, "from a thread")
        while len(e.of(out.AgentEnded)) < 2:
            await asyncio.sleep(0.01)
        with pytest.raises(HookError, match="a text or an attachment"):
            apis[0].send("")


async def test_a_hook_message_is_stored_shown_told_and_sent_as_a_users(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []

    def setup(marvin: HookAPI) -> None:
        for name in ("message.start", "message.end"):

            @marvin.on(name)
            async def hear(event: Any, ctx: Any) -> None:
                told.append((event.type, event.message.role))

        @marvin.on("app.start")
        async def inject(event: Any, ctx: Any) -> None:
            marvin.send_message(
                {"custom_type": "memory", "content": "likes tea", "display": False, "details": {"n": 1}}
            )

    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks={"m": setup}) as e:
        while not e.engine.session.messages():
            await asyncio.sleep(0.01)
        await e.prompt("go")
        first = e.engine.session.messages()[0]
        assert isinstance(first, HookMessage)
        assert (first.custom_type, first.display) == ("memory", False)
        assert "likes tea" in str(e.bodies[0]["messages"])
    assert told[:2] == [("message.start", "hookMessage"), ("message.end", "hookMessage")]


async def test_a_hook_calls_tools_and_models_through_the_same_gates(tmp_path: Path) -> None:
    heard: list[tuple[str, str]] = []
    answers: list[Any] = []

    def caller(marvin: HookAPI) -> None:
        @marvin.on("tool.execute.before")
        async def own(event: Any, ctx: Any) -> None:
            heard.append(("own", event.origin))

        @marvin.on("turn.start")
        async def act(event: Any, ctx: Any) -> None:
            if event.turn_index == 0:
                answers.append(await ctx.call_tool("bash", {"command": "echo hi"}))
                answers.append(await ctx.session.complete("be short", "what?"))

    def other(marvin: HookAPI) -> None:
        @marvin.on("tool.execute.before")
        async def gate(event: Any, ctx: Any) -> None:
            heard.append(("other", event.origin))

        @marvin.on("chat.system.transform")
        async def system(event: Any, ctx: Any) -> None:
            heard.append((event.purpose, event.output.system_prompt[:8]))

    async with ScriptedEngine(
        tmp_path, [{"text": "a thing"}, {"text": "done"}], hooks={"caller": caller, "other": other}
    ) as e:
        await e.prompt("go")
    assert answers[0].text == "hi\n"
    assert answers[1].text == "a thing"
    assert ("other", "hook:library:caller") in heard
    assert ("own", "hook:library:caller") not in heard
    assert ("complete", "be short") in heard


async def test_hook_made_model_calls_are_capped(tmp_path: Path) -> None:
    errors: list[str] = []

    def greedy(marvin: HookAPI) -> None:
        @marvin.on("turn.start", timeout=0)
        async def act(event: Any, ctx: Any) -> None:
            try:
                for _ in range(100):
                    await ctx.session.complete("s", "t")
            except Exception as error:
                errors.append(str(error))

    async with ScriptedEngine(tmp_path, [{"text": "x", "repeat": True}], hooks={"g": greedy}) as e:
        await e.prompt("go")
        assert len(e.bodies) == 33
    assert "32 calls" in errors[0]


async def test_continuations_are_capped_at_eight_in_a_row(tmp_path: Path) -> None:
    def stubborn(marvin: HookAPI) -> None:
        @marvin.on("agent.before_end")
        async def again(event: Any, ctx: Any) -> dict[str, str]:
            return {"continue_with": f"go on {event.continuations}"}

    async with ScriptedEngine(tmp_path, [{"text": "x", "repeat": True}], hooks={"s": stubborn}) as e:
        summary = await e.prompt("go")
        assert summary.turns == 9
        assert any("8 continuations in a row" in event.text for event in e.of(out.Notice))


@pytest.mark.parametrize("face", ["async", "plain"])
async def test_an_answer_that_was_not_awaited_never_allows(tmp_path: Path, face: str) -> None:
    def setup(marvin: HookAPI) -> None:
        if face == "async":

            @marvin.on("tool.execute.before")
            async def gate(event: Any, ctx: Any) -> dict[str, Any] | None:
                return {"block": True, "reason": "no"} if not ctx.ui.confirm("ok?") else None
        else:

            @marvin.on("tool.execute.before")
            def gate_plain(event: Any, ctx: Any) -> dict[str, Any] | None:
                return {"block": True, "reason": "no"} if not ctx.ui.confirm("ok?") else None

    replies = [{"toolCalls": [call("bash", command="touch ran")]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hooks={"g": setup}) as e:
        await e.prompt("go")
        assert not (e.work / "ran").exists()
        (text,) = results(e)
    assert "was not awaited" in text if face == "async" else "no" in text


@pytest.mark.parametrize("test", ["{} == 'No'", "{} in ('No', 'Never')", "not {} != 'No'"])
async def test_a_choice_that_was_not_awaited_and_is_compared_never_allows(tmp_path: Path, test: str) -> None:
    source = f"""
def setup(marvin):
    @marvin.on("tool.execute.before")
    async def gate(event, ctx):
        if {test.replace("{}", "ctx.ui.select('ok?', ['Yes', 'No'])")}:
            return {{"block": True}}
"""
    (tmp_path / "gate.py").write_text(source)
    replies = [{"toolCalls": [call("bash", command="touch ran")]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hook_files=[str(tmp_path / "gate.py")]) as e:
        await e.prompt("go")
        assert not (e.work / "ran").exists()
        assert "was not awaited" in results(e)[0]


async def test_exec_kills_the_whole_group_and_tells(tmp_path: Path) -> None:
    seen: list[Any] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("turn.start")
        def run(event: Any, ctx: Any) -> None:
            seen.append(ctx.exec("sh", ["-c", "trap '' TERM; echo out; echo err >&2; sleep 60"], timeout=0.3))
            try:
                ctx.exec("no-such-program-here")
            except Exception as error:
                seen.append(error)

    async with ScriptedEngine(tmp_path, [{"text": "x"}], hooks={"x": setup}, hook_timeout=20) as e:
        await e.prompt("go")
    assert (seen[0].stdout, seen[0].stderr, seen[0].killed) == ("out\n", "err\n", True)
    assert seen[0].code != 0
    assert "no-such-program-here" in str(seen[1])


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("face", ["async", "plain"])
async def test_a_program_ends_with_the_handler_or_tool_that_waits_for_it(tmp_path: Path, face: str) -> None:
    started: list[Path] = []

    def command(name: str) -> tuple[str, list[str]]:
        started.append(tmp_path / name)
        return "sh", ["-c", f"echo $$ > {tmp_path / name}; exec sleep 60"]

    def setup(marvin: HookAPI) -> None:
        if face == "async":

            @marvin.on("turn.end", timeout=0.3)
            async def late(event: Any, ctx: Any) -> None:
                await ctx.exec(*command("handler"))

            @marvin.tool
            async def waits(ctx: Any) -> str:
                """Waits."""
                return str(await ctx.exec(*command("tool")))
        else:

            @marvin.on("turn.end", timeout=0.3)
            def late_plain(event: Any, ctx: Any) -> None:
                ctx.exec(*command("handler"))

            @marvin.tool(name="waits")
            def waits_plain(ctx: Any) -> str:
                """Waits."""
                return str(ctx.exec(*command("tool")))

    replies = [{"text": "no tool yet"}, {"toolCalls": [call("waits")]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hooks={"h": setup}) as e:
        await e.prompt("a handler that is late")
        e.engine.submit(Prompt("a tool that is aborted"))
        while not (tmp_path / "tool").exists():
            await asyncio.sleep(0.01)
        e.engine.abort()
        await e.engine.wait_until_idle()
        for path in started[:2]:
            while not path.read_text().strip():
                await asyncio.sleep(0.01)
            while alive(int(path.read_text())):
                await asyncio.sleep(0.01)


async def test_provider_keys_do_not_reach_what_exec_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("PLAIN", "kept")
    seen: list[str] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("turn.start")
        async def run(event: Any, ctx: Any) -> None:
            seen.append((await ctx.exec("env")).stdout)

    async with ScriptedEngine(
        tmp_path, [{"text": "x"}], hooks={"x": setup}, secret_names=frozenset({"OPENAI_API_KEY"})
    ) as e:
        await e.prompt("go")
    assert "sk-secret" not in seen[0]
    assert "PLAIN=kept" in seen[0]


async def test_session_changes_from_inside_a_run_are_scheduled_for_its_end(tmp_path: Path) -> None:
    answers: list[Any] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("turn.end")
        async def compact(event: Any, ctx: Any) -> None:
            answers.append(await ctx.session.summarize())
            try:
                await ctx.session.wait_for_idle()
            except HookError as error:
                answers.append(str(error))

    async with ScriptedEngine(tmp_path, [{"text": "long"}, {"text": "sum"}], hooks={"c": setup}) as e:
        await e.prompt("go")
        assert answers[0] == {"scheduled": True}
        assert "wait for itself" in answers[1]
        assert [event.summary for event in e.of(out.CompactionEnded)] == ["sum"]


async def test_a_command_gets_the_new_session_when_it_returns(tmp_path: Path) -> None:
    answers: list[Any] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.command("fresh", "")
        async def fresh(args: str, ctx: Any) -> None:
            before = ctx.session_id
            answer = await ctx.session.new_session()
            answers.append((answer["cancelled"], answer["session_id"] == ctx.session_id != before))

    def guard(marvin: HookAPI) -> None:
        @marvin.on("session.before_switch")
        async def no(event: Any, ctx: Any) -> dict[str, Any] | None:
            return {"cancel": True, "reason": "not now"} if answers else None

    async with ScriptedEngine(tmp_path, hooks={"c": setup, "guard": guard}) as e:
        await run_command(e.engine, Call("fresh", ""))
        await run_command(e.engine, Call("fresh", ""))
        assert answers == [(False, True), (True, False)]
        assert any("Switch cancelled by library:guard: not now" in event.text for event in e.of(out.Notice))


async def test_a_provider_that_a_hook_brings_can_be_used(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        marvin.register_provider(
            "corp", base_url="http://corp.invalid/v1", api="openai-completions", models=[{"id": "big"}]
        )

        @marvin.on("app.start")
        async def choose(event: Any, ctx: Any) -> None:
            marvin.set_model("corp/big")

    async with ScriptedEngine(tmp_path, [{"text": "x"}], hooks={"p": setup}) as e:
        while e.engine.model.id != "big":
            await asyncio.sleep(0.01)
        await e.prompt("go")
        assert e.bodies[0]["model"] == "big"
        assert e.of(out.ModelChanged)[-1].provider == "corp"


async def test_background_work_is_the_hooks_own_and_ends_with_it(tmp_path: Path) -> None:
    ticks: list[float] = []

    def setup(marvin: HookAPI) -> None:
        def tick() -> None:
            ticks.append(time.monotonic())
            if len(ticks) == 2:
                raise ValueError("once")

        marvin.every(0.01, tick)

    async with ScriptedEngine(tmp_path, hooks={"b": setup}) as e:
        while len(ticks) < 4:
            await asyncio.sleep(0.01)
        assert [event.error for event in e.of(out.HookFailed)] == ["ValueError: once"]
    count = len(ticks)
    await asyncio.sleep(0.1)
    assert len(ticks) == count


async def test_message_updates_carry_the_message_so_far(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("message.update")
        async def watch(event: Any, ctx: Any) -> None:
            assert isinstance(event.message, AssistantMessage)
            seen.append((event.delta["text"], event.message.text))

    async with ScriptedEngine(tmp_path, [{"text": "one two three"}], hooks={"w": setup}) as e:
        await e.prompt("go")
    assert "".join(text for text, _ in seen) == "one two three"
    assert seen[-1][1] == "one two three"


async def test_the_bus_between_hooks(tmp_path: Path) -> None:
    heard: list[Any] = []

    def listen(marvin: HookAPI) -> None:
        marvin.events.on("news", heard.append)

    def speak(marvin: HookAPI) -> None:
        @marvin.on("agent.start")
        async def say(event: Any, ctx: Any) -> None:
            marvin.events.emit("news", {"a": 1})

    setups: dict[str, Callable[[HookAPI], Any]] = {"listen": listen, "speak": speak}
    async with ScriptedEngine(tmp_path, [{"text": "x"}], hooks=setups) as e:
        await e.prompt("go")
    assert heard == [{"a": 1}]


async def test_an_error_on_the_bus_is_of_who_listens_and_listeners_go_with_their_hook(tmp_path: Path) -> None:
    path = tmp_path / "leaves.py"
    path.write_text("""
def setup(marvin):
    async def later(data):
        raise ValueError("later")
    def at_once(data):
        raise SystemExit(3)
    marvin.events.on("news", later)
    marvin.events.on("news", at_once)
""")

    def speaker(marvin: HookAPI) -> None:
        marvin.events.on("news", heard.append)

        @marvin.on("turn.start")
        async def speak(event: Any, ctx: Any) -> None:
            marvin.events.emit("news", len(heard))

    heard: list[int] = []
    async with ScriptedEngine(
        tmp_path, [{"text": "x", "repeat": True}], hooks={"s": speaker}, hook_files=[str(path)]
    ) as e:
        await e.prompt("go")
        while len(failures := e.of(out.HookFailed)) < 2:
            await asyncio.sleep(0.01)
        assert {failure.hook for failure in failures} == {"flag:leaves"}
        await e.engine.hooks.reload([])
        await e.prompt("go")
        while len(heard) < 2:
            await asyncio.sleep(0.01)
        assert len(e.of(out.HookFailed)) == 2


async def test_a_context_kept_beyond_its_handler_raises(tmp_path: Path) -> None:
    kept: list[Any] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("turn.start")
        async def keep(event: Any, ctx: Any) -> None:
            kept.append(ctx)

    async with ScriptedEngine(tmp_path, [{"text": "x"}], hooks={"k": setup}) as e:
        await e.prompt("go")
        with pytest.raises(HookError, match="has ended"):
            kept[0].steer("late")


async def test_append_entry_stores_and_raises_without_a_session(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        @marvin.on("turn.end")
        async def keep(event: Any, ctx: Any) -> None:
            marvin.append_entry("state", {"n": event.turn_index})

    async with ScriptedEngine(tmp_path, [{"text": "x"}], hooks={"k": setup}) as e:
        await e.prompt("go")
        path = e.engine.session.path
    assert path
    assert '"customType":"state","data":{"n":0}' in Path(path).read_text()


@pytest.mark.parametrize(("custom_type", "data"), [("x", object()), (None, 1), ("", 1), ("x", {"deep": object()})])
async def test_an_entry_that_cannot_be_stored_raises_where_it_is_given(
    tmp_path: Path, custom_type: Any, data: Any
) -> None:
    raised: list[str] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("turn.start")
        async def keep(event: Any, ctx: Any) -> None:
            try:
                marvin.append_entry(custom_type, data)
            except HookError as error:
                raised.append(error.message)

    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks={"h": setup}) as e:
        await e.prompt("go")
    assert len(raised) == 1


@pytest.mark.parametrize("message", [{}, {"custom_type": "note"}, "text", None])
async def test_a_message_that_says_nothing_raises_where_it_is_given(tmp_path: Path, message: Any) -> None:
    raised: list[str] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("turn.start")
        async def say(event: Any, ctx: Any) -> None:
            try:
                marvin.send_message(message)
            except Exception as error:
                raised.append(str(error))

    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks={"h": setup}) as e:
        await e.prompt("go")
    assert len(raised) == 1


async def test_marvin_exec_is_awaited_in_async_functions_and_waited_for_in_plain_ones(tmp_path: Path) -> None:
    seen: list[str] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("turn.start")
        async def awaited(event: Any, ctx: Any) -> None:
            seen.append((await marvin.exec("echo", ["awaited"])).stdout)
            try:
                seen.append("true" if marvin.exec("echo") else "false")
            except TypeError as error:
                seen.append(str(error))

        @marvin.on("turn.start")
        def plain(event: Any, ctx: Any) -> None:
            seen.append(marvin.exec("echo", ["plain"]).stdout)

    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks={"h": setup}) as e:
        await e.prompt("go")
    assert seen == ["awaited\n", "marvin.exec(...) was not awaited: write `await marvin.exec(...)`", "plain\n"]


async def test_two_hooks_that_answer_each_others_calls_with_calls_come_to_an_end(tmp_path: Path) -> None:
    calls: list[str] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("tool.execute.before")
        async def look(event: Any, ctx: Any) -> None:
            calls.append(marvin.id)
            await ctx.call_tool("ls", {"path": "."})

    replies = [{"toolCalls": [call("ls", path=".")]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hooks={"a": setup, "b": setup}) as e:
        await e.prompt("go")
    assert 4 < len(calls) < 600


@pytest.mark.parametrize("face", ["async", "plain"])
async def test_a_completion_that_waits_holds_no_other_hook_up(tmp_path: Path, face: str) -> None:
    heard = threading.Event()

    def setup(marvin: HookAPI) -> None:
        async def offers(beginning: str) -> list[str]:
            return [f"{beginning}!", str(await asyncio.to_thread(heard.wait, 30))]

        def offers_plain(beginning: str) -> list[str]:
            return [f"{beginning}!", str(heard.wait(30))]

        complete = offers if face == "async" else offers_plain
        marvin.register_command("greet", handler=lambda args, ctx: None, complete=complete)

        @marvin.on("turn.start")
        async def hear(event: Any, ctx: Any) -> None:
            heard.set()

    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks={"h": setup}) as e:
        offered = asyncio.ensure_future(e.engine.side.tools.complete("greet", "he"))
        await e.prompt("go")
        assert await offered == ["he!", "True"]
        assert await e.engine.side.tools.complete("none", "x") == []
