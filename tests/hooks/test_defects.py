"""The hook defects W1 to W26 of the program that this one follows: none of them is here."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_results import call, hearing, stored, tool_results

from marvin_agent.agent import events as out
from marvin_agent.agent.commands import Call, run_command
from marvin_agent.errors import HookError
from marvin_agent.hooks.api import HookAPI
from marvin_agent.hooks.spec import ROWS
from marvin_agent.messages import text_of
from marvin_agent.testing.engine import ScriptedEngine
from marvin_agent.testing.person import Person
from program import Marvin

Setup = Callable[[HookAPI], Any]
ECHO = {"toolCalls": [call("bash", command="echo original")]}
OK = {"text": "ok"}


def on(event: str, handler: Callable[[Any, Any], Any], **options: Any) -> Setup:
    def setup(marvin: HookAPI) -> None:
        marvin.on(event, handler, **options)

    return setup


async def test_w01_a_returned_input_is_what_runs_is_shown_stored_and_sent(tmp_path: Path) -> None:
    hooks = {"a": on("tool.execute.before", lambda event, ctx: {"input": {"command": "echo changed"}})}
    async with ScriptedEngine(tmp_path, [ECHO, OK], hooks=hooks) as e:
        await e.prompt("go")
        assert text_of(tool_results(e)[0].content) == "changed\n"
        assert [event.input for event in e.of(out.ToolStarted)] == [{"command": "echo changed"}]
        (entry,) = stored(e, "toolResult")
        assert (entry["message"]["input"], entry["changedBy"]) == ({"command": "echo changed"}, ["library:a"])
        sent = json.dumps(e.bodies[1])
        assert "echo changed" in sent and "echo original" not in sent


async def test_w02_w03_after_results_compose_by_field_and_is_error_counts(tmp_path: Path) -> None:
    hooks = {
        "a": on("tool.execute.after", lambda event, ctx: {"content": [{"type": "text", "text": "REDACTED"}]}),
        "b": on("tool.execute.after", lambda event, ctx: {"details": {"by": "b"}, "isError": True}),
    }
    async with ScriptedEngine(tmp_path, [ECHO, OK], hooks=hooks) as e:
        await e.prompt("go")
        (result,) = tool_results(e)
        assert (text_of(result.content), result.is_error, result.status) == ("REDACTED", True, "error")
        assert e.of(out.ToolEnded)[0].details == {"by": "b"}
        assert "original" not in json.dumps([m for m in e.bodies[1]["messages"] if m["role"] == "tool"])


@pytest.mark.parametrize("event", ["app.start", "turn.start", "tool.execute.after", "session.shutdown"])
async def test_w04_no_handler_holds_anything_up_for_ever(tmp_path: Path, event: str) -> None:
    async def hang(event: Any, ctx: Any) -> None:
        await asyncio.Event().wait()

    async with ScriptedEngine(tmp_path, [ECHO, OK], hooks={"a": on(event, hang)}, hook_timeout=0.2) as e:
        assert (await e.prompt("go")).error is None


async def test_w05_a_failing_transform_leaves_nothing_behind(tmp_path: Path) -> None:
    def half(event: Any, ctx: Any) -> None:
        event.output.system_prompt = "HALF"
        raise ValueError("half way")

    def empty(event: Any, ctx: Any) -> None:
        event.messages.clear()
        raise ValueError("emptied")

    hooks = {"a": on("chat.system.transform", half), "b": on("chat.messages.transform", empty)}
    async with ScriptedEngine(tmp_path, [OK], hooks=hooks) as e:
        await e.prompt("hello")
        assert "HALF" not in json.dumps(e.bodies) and "hello" in json.dumps(e.bodies)


async def test_w06_send_works_from_app_start_on(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        marvin.on("app.start", lambda event, ctx: marvin.send("from the start"))

    async with ScriptedEngine(tmp_path, [OK], hooks={"a": setup}) as e:
        while not e.of(out.AgentSettled):
            await asyncio.sleep(0.01)
        assert "from the start" in json.dumps(e.bodies[0])


async def test_w07_handlers_of_parallel_calls_run_one_after_the_other_in_call_order(tmp_path: Path) -> None:
    inside: list[str] = []
    order: list[str] = []

    async def handle(event: Any, ctx: Any) -> None:
        assert not inside
        inside.append(event.type)
        await asyncio.sleep(0.01)
        order.append(f"{event.type} {event.input['command']}")
        inside.pop()

    hooks = {"a": on("tool.execute.before", handle), "b": on("tool.execute.after", handle)}
    replies = [{"toolCalls": [call("bash", command="sleep 0.1"), call("bash", command="true")]}, OK]
    async with ScriptedEngine(tmp_path, replies, hooks=hooks) as e:
        await e.prompt("go")
        assert e.of(out.HookFailed) == []
    assert [line.split(" ", 1)[1] for line in order] == ["sleep 0.1", "true"] * 2


async def test_w08_w09_messages_before_the_start_reach_the_model_once_and_steering_passes_chat_message(
    tmp_path: Path,
) -> None:
    starts: list[int] = []
    heard: list[str] = []

    def before(event: Any, ctx: Any) -> Any:
        starts.append(1)
        ctx.steer("STEERED")
        return {"message": {"custom_type": "m", "content": "INJECT"}}

    def message(event: Any, ctx: Any) -> None:
        heard.append(event.input.text)
        event.output.parts.append({"type": "text", "text": "MEMORY"})

    hooks = {"a": on("agent.before_start", before), "b": on("chat.message", message)}
    async with ScriptedEngine(tmp_path, [OK, OK], hooks=hooks) as e:
        await e.prompt("hello")
        sent, file = json.dumps(e.bodies[-1]), Path(e.engine.session.path or "").read_text()
    assert (len(starts), heard) == (1, ["hello", "STEERED"])
    for text in (sent, file):
        assert (text.count("INJECT"), text.count("MEMORY")) == (1, 2)


async def test_w10_totals_are_totals(tmp_path: Path) -> None:
    heard: list[Any] = []
    usage = {"input": 100, "output": 50}
    async with ScriptedEngine(
        tmp_path, [{**ECHO, "usage": usage}, {**OK, "usage": usage}], hooks={"a": hearing("agent.end", heard)}
    ) as e:
        await e.prompt("go")
    assert (heard[0].total_tokens.input, heard[0].total_tokens.output) == (200, 100)


async def test_w11_request_events_run_for_every_call(tmp_path: Path) -> None:
    heard: list[Any] = []
    async with ScriptedEngine(tmp_path, [ECHO, OK, OK], hooks={"a": hearing("chat.request", heard)}) as e:
        await e.prompt("go")
        await e.engine.compact()
    assert [event.purpose for event in heard] == ["turn", "turn", "compaction"]


async def test_w12_what_cannot_be_used_raises_and_send_message_reaches_the_model(tmp_path: Path) -> None:
    """Widgets and renderers are a screen's; what is wrong with them is an error where they are given."""

    def setup(marvin: HookAPI) -> None:
        with pytest.raises(HookError):
            marvin.register_message_renderer("t", "no function")
        with pytest.raises(HookError):
            marvin.register_shortcut("ctrl+x", None)
        marvin.on("app.start", lambda event, ctx: marvin.send_message({"custom_type": "t", "content": "NOTE"}))

    async with ScriptedEngine(tmp_path, [OK], hooks={"a": setup}) as e:
        assert e.engine.hooks.problems == []
        await e.prompt("go")
        assert "NOTE" in json.dumps(e.bodies[0])


async def test_w13_an_error_names_hook_event_place_and_stack(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, [OK], hooks={"a": on("turn.start", lambda event, ctx: 1 / 0)}) as e:
        await e.prompt("go")
        (failed,) = e.of(out.HookFailed)
    assert (failed.hook, failed.event) == ("library:a", "turn.start")
    assert failed.place.startswith("test_defects.py:")
    assert "ZeroDivisionError" in failed.error and "Traceback" in failed.traceback


async def test_w14_w15_order_by_priority_unsubscribing_and_switching_off(tmp_path: Path) -> None:
    order: list[str] = []
    leaves: list[Callable[[], None]] = []

    def named(name: str, **options: Any) -> Setup:
        def setup(marvin: HookAPI) -> None:
            leaves.append(marvin.on("turn.start", lambda event, ctx: order.append(name), **options))

        return setup

    hooks = {"late": named("late"), "early": named("early", priority=5), "off": named("off")}
    async with ScriptedEngine(tmp_path, [OK, OK], hooks=hooks, disabled=("library:off",)) as e:
        await e.prompt("go")
        leaves[0]()
        await e.prompt("go")
    assert order == ["early", "late", "early"]


async def test_w16_an_exit_in_a_hook_ends_nothing(tmp_path: Path) -> None:
    """Endless loops and exits past Python are tested with the installed program and the process host."""
    async with ScriptedEngine(tmp_path, [OK], hooks={"a": on("turn.start", lambda event, ctx: sys.exit(3))}) as e:
        assert (await e.prompt("go")).error is None


def test_w17_nothing_of_a_project_runs_before_it_is_trusted(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "ok", "repeat": True})
    hooks = marvin.work / ".marvin" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "a.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\ndef setup(marvin):\n    pass\n")
    for command in (["-p", "hi"], ["validate"], ["hooks", "check"], ["hooks", "list"]):
        marvin.run(*command)
    assert not (tmp_path / "ran").exists()
    marvin.run("-p", "--trust-project", "hi")
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("text", ["!touch ran", "/clear"])
async def test_w18_what_is_sent_is_never_a_command(tmp_path: Path, text: str) -> None:
    def setup(marvin: HookAPI) -> None:
        marvin.command("go", "sends")(lambda args, ctx: marvin.send(text))

    async with ScriptedEngine(tmp_path, [OK], hooks={"a": setup}) as e:
        before = e.engine.session_id
        await run_command(e.engine, Call("go", ""))
        while not e.of(out.AgentSettled):
            await asyncio.sleep(0.01)
        assert text in json.dumps(e.bodies[0]["messages"])
        assert e.engine.session_id == before and not (e.work / "ran").exists()


async def test_w19_two_dialogs_at_once_are_asked_one_after_the_other(tmp_path: Path) -> None:
    class OneAtATime(Person):
        open = 0

        async def confirm(self, title: str, message: str, timeout: float | None) -> bool:
            assert self.open == 0, "a second dialog took the place of the first"
            self.open += 1
            await asyncio.sleep(0.01)
            self.open -= 1
            return await super().confirm(title, message, timeout)

    async def gate(event: Any, ctx: Any) -> Any:
        agreed = await asyncio.gather(*(ctx.ui.confirm(f"{event.tool_call_id} {n}") for n in range(2)))
        return None if all(agreed) else {"block": True, "reason": str(agreed)}

    person = OneAtATime([True, True, True, False])
    replies = [{"toolCalls": [{**call("bash", command="true"), "id": each} for each in "ab"]}, OK]
    hooks = {"gate": on("tool.execute.before", gate)}
    async with ScriptedEngine(tmp_path, replies, hooks=hooks, interface=person) as e:
        await e.prompt("go")
        first, second = tool_results(e)
        assert (first.status, second.status) == ("ok", "blocked")
        assert "[True, False]" in second.text
    assert [question.title for question in person.asked] == ["a 0", "a 1", "b 0", "b 1"]


async def test_w20_exec_kills_tells_and_raises(tmp_path: Path) -> None:
    done: list[Any] = []

    async def run(event: Any, ctx: Any) -> None:
        done.append(await ctx.exec("sh", ["-c", "trap '' TERM; sleep 30"], timeout=0.1))
        with pytest.raises(Exception, match="no-such-program"):
            await ctx.exec("no-such-program")

    async with ScriptedEngine(tmp_path, [OK], hooks={"a": on("turn.start", run, timeout=20)}) as e:
        await e.prompt("go")
        assert e.of(out.HookFailed) == []
    assert done[0].killed and done[0].code != 0


async def test_w21_names_that_are_taken_are_errors(tmp_path: Path) -> None:
    def tool(marvin: HookAPI) -> None:
        @marvin.tool
        def bash(command: str) -> str:
            """Run something else."""
            return command

    def command(marvin: HookAPI) -> None:
        marvin.command("quit", "shadows")(lambda args, ctx: None)

    async with ScriptedEngine(tmp_path, hooks={"a": tool, "b": command}) as e:
        assert [problem.hook for problem in e.engine.hooks.problems] == ["library:a", "library:b"]
        errors = [problem.error for problem in e.engine.hooks.problems]
    assert "builtin has added already" in errors[0] and 'replaces="bash"' in errors[0]
    assert "/quit is marvin's own command" in errors[1]


async def test_w22_w23_changed_input_is_checked_again_and_after_fires_for_what_did_not_run(tmp_path: Path) -> None:
    heard: list[Any] = []
    hooks = {
        "a": on("tool.execute.before", lambda event, ctx: {"input": {"command": []}}),
        "b": hearing("tool.execute.after", heard),
    }
    replies = [{"toolCalls": [*ECHO["toolCalls"], call("unknown"), call("read")]}, OK]
    async with ScriptedEngine(tmp_path, replies, hooks=hooks) as e:
        await e.prompt("go")
    assert [event.status for event in heard] == ["blocked", "invalid", "invalid"]


def test_w24_the_events_that_were_missing_are_in_the_table() -> None:
    """That each is fired is `test_sequences`."""
    names = {row.name for row in ROWS}
    assert names >= {"session.before_clear", "session.before_switch", "session.before_tree", "model.change"}
    assert names >= {"retry.start", "permission.ask", "hook.error", "message.update", "session.before_compact"}


async def test_w25_compaction_asked_for_inside_a_run_happens_at_its_end(tmp_path: Path) -> None:
    async def compact(event: Any, ctx: Any) -> None:
        assert await ctx.session.summarize() == {"scheduled": True}

    async with ScriptedEngine(tmp_path, [OK, {"text": "summed"}], hooks={"a": on("turn.end", compact)}) as e:
        await e.prompt("go")
        assert [event.summary for event in e.of(out.CompactionEnded)] == ["summed"]


async def test_w26_an_unknown_event_is_an_error_that_suggests_the_nearest(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, hooks={"a": on("tool.execute.befor", print)}) as e:
        (problem,) = e.engine.hooks.problems
    assert "did you mean 'tool.execute.before'?" in problem.error
