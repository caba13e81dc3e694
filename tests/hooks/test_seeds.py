"""What the design documents of the hooks (seeds 000 to 004) promise, a test for each criterion and planned test."""

import asyncio
import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.agent import events as out
from marvin_agent.agent.commands import Call, run_command
from marvin_agent.errors import Refused, SessionError
from marvin_agent.hooks.api import HookAPI
from marvin_agent.hooks.dispatch import Limits
from marvin_agent.llm.values import Model
from marvin_agent.messages import HookMessage, ToolResultMessage, text_of
from marvin_agent.session.entries import CompactionEntry
from marvin_agent.session.store import Session
from marvin_agent.testing.engine import MODEL, ScriptedEngine
from marvin_agent.testing.person import Person
from program import Marvin

Setup = Callable[[HookAPI], Any]
TWO = Model(provider="test", id="two", api=MODEL.api, base_url=MODEL.base_url)


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"name": name, "arguments": arguments}


def on(event: str, handler: Callable[[Any, Any], Any], **options: Any) -> Setup:
    def setup(marvin: HookAPI) -> None:
        marvin.on(event, handler, **options)

    return setup


def returning(event: str, result: Any) -> Setup:
    return on(event, lambda event, ctx: result)


def hearing(event: str, heard: list[Any]) -> Setup:
    return on(event, lambda event, ctx: heard.append(event))


def results(e: ScriptedEngine) -> list[ToolResultMessage]:
    return [m for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]


def fail(*_: Any) -> Any:
    raise ValueError("as planned")


# 000


async def test_seed_000_a_chat_message_handler_that_throws_leaves_the_original_parts(tmp_path: Path) -> None:
    def spoil(event: Any, ctx: Any) -> None:
        event.output.parts.clear()
        raise ValueError("spoilt")

    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks={"a": on("chat.message", spoil)}) as e:
        await e.prompt("hi")
        assert text_of(e.engine.session.messages()[0].content) == "hi"
        assert [failure.error for failure in e.of(out.HookFailed)] == ["ValueError: spoilt"]


async def test_seed_000_chat_message_mutates_the_parts(tmp_path: Path) -> None:
    def change(event: Any, ctx: Any) -> None:
        event.output.parts[0] = {"type": "text", "text": "bye"}
        event.output.parts.append({"type": "text", "text": "and more"})

    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks={"a": on("chat.message", change)}) as e:
        await e.prompt("hi")
        assert [part.text for part in e.engine.session.messages()[0].content] == ["bye", "and more"]
        sent = json.dumps(e.bodies[0])
        assert "bye" in sent and "and more" in sent and '"hi"' not in sent


async def test_seed_000_tool_execute_after_fires_on_a_tools_error(tmp_path: Path) -> None:
    heard: list[Any] = []
    replies = [{"toolCalls": [call("read", path="none")]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hooks={"a": hearing("tool.execute.after", heard)}) as e:
        await e.prompt("go")
    assert [(event.tool_name, event.is_error, event.status) for event in heard] == [("read", True, "error")]


async def test_seed_000_invalid_arguments_of_a_hook_come_back_to_the_model_as_an_error(tmp_path: Path) -> None:
    hooks = {"a": returning("tool.execute.before", {"input": {"command": 7}})}
    replies = [{"toolCalls": [call("bash", command="touch ran")]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hooks=hooks) as e:
        await e.prompt("go")
        (result,) = results(e)
        assert result.is_error and "what bash does not take" in text_of(result.content)
        assert "what bash does not take" in json.dumps(e.bodies[1])
        assert not (e.work / "ran").exists()


async def test_seed_000_append_entry_without_a_session_raises_where_the_seed_said_nothing_happens(
    tmp_path: Path,
) -> None:
    raised: list[Exception] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.on("agent.start")
        def keep(event: Any, ctx: Any) -> None:
            try:
                marvin.append_entry("note", {})
            except SessionError as error:
                raised.append(error)

    async with ScriptedEngine(
        tmp_path, [{"text": "ok"}], hooks={"a": setup}, session=Session.in_memory(str(tmp_path))
    ) as e:
        await e.prompt("go")
    assert "--no-session" in str(raised[0])


async def test_seed_000_custom_entries_appear_in_the_session_file(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        marvin.on("agent.start", lambda event, ctx: marvin.append_entry("note", {"n": 1}))

    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks={"a": setup}) as e:
        await e.prompt("go")
        lines = [json.loads(line) for line in Path(e.engine.session.path or "").read_text().splitlines()]
    (entry,) = [line for line in lines if line["type"] == "custom"]
    assert (entry["customType"], entry["data"]) == ("note", {"n": 1})


async def test_seed_000_hook_errors_are_told_and_do_not_end_the_agent(tmp_path: Path) -> None:
    heard: list[Any] = []
    hooks = {"a": on("turn.start", fail), "b": hearing("hook.error", heard)}
    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks=hooks) as e:
        assert (await e.prompt("go")).error is None
    assert [(event.hook, event.error) for event in heard] == [("library:a", "ValueError: as planned")]
    assert "as planned" in heard[0].traceback


async def test_seed_000_no_parts_left_means_the_original_text(tmp_path: Path) -> None:
    hooks = {"a": returning("chat.message", {"parts": []})}
    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks=hooks) as e:
        await e.prompt("hi")
        assert text_of(e.engine.session.messages()[0].content) == "hi"


@pytest.mark.parametrize("url", ["nonsense", "ftp://x", "http://", "http://[::1", "http://a b", 7])
async def test_seed_000_an_invalid_base_url_drops_the_handlers_output_and_is_told(tmp_path: Path, url: Any) -> None:
    hooks = {"a": returning("auth.get", {"base_url": url, "headers": {"x-a": "1"}})}
    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks=hooks) as e:
        assert (await e.prompt("hi")).error is None
        (request,) = e.models.recorded.requests
        assert request.url.startswith(MODEL.base_url)
        assert "x-a" not in {name.lower() for name in request.headers}
        assert len(e.of(out.HookFailed)) == 1


async def test_seed_000_a_hooks_tool_is_offered_and_called_and_its_failure_told_to_the_model(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        @marvin.tool
        async def memory(text: str) -> str:
            """Remember."""
            if text == "bad":
                raise ValueError("no such memory")
            return f"kept {text}"

    calls = [call("memory", text="good"), call("memory", text="bad"), call("bash", command="echo builtin")]
    async with ScriptedEngine(tmp_path, [{"toolCalls": calls}, {"text": "ok"}], hooks={"a": setup}) as e:
        await e.prompt("go")
        assert "memory" in [tool["function"]["name"] for tool in e.bodies[0]["tools"]]
        good, bad, builtin = results(e)
    assert (text_of(good.content), good.is_error) == ("kept good", False)
    assert bad.is_error and "no such memory" in text_of(bad.content)
    assert text_of(builtin.content) == "builtin\n"


@pytest.mark.parametrize("reported", [True, False])
async def test_seed_000_turn_end_has_the_tokens_that_the_provider_reported_or_none(
    tmp_path: Path, reported: bool
) -> None:
    turns: list[Any] = []
    ends: list[Any] = []
    usage = {"input": 100, "output": 50, "cacheRead": 7} if reported else None
    replies = [{"toolCalls": [call("bash", command="true")], "usage": usage}, {"text": "ok", "usage": usage}]
    hooks = {"a": hearing("turn.end", turns), "b": hearing("agent.end", ends)}
    async with ScriptedEngine(tmp_path, replies, hooks=hooks) as e:
        await e.prompt("go")
    assert [event.context_limit for event in turns] == [100_000, 100_000]
    if not reported:
        assert [event.tokens for event in turns] == [None, None]
        assert ends[0].total_tokens is None
        return
    assert [(t.tokens.output, t.tokens.cache_read) for t in turns] == [(50, 7), (50, 7)]
    for tokens in (turns[0].tokens, ends[0].total_tokens):
        assert tokens.total == tokens.input + tokens.output + tokens.cache_read + tokens.cache_write
    assert ends[0].total_tokens.total == 2 * turns[0].tokens.total > 0


async def test_seed_000_summarize_from_turn_end_compacts_when_the_run_is_over(tmp_path: Path) -> None:
    answers: list[Any] = []

    async def compact(event: Any, ctx: Any) -> None:
        if event.tokens.total > 10:
            answers.append(await ctx.session.summarize())

    replies = [{"text": "long", "usage": {"input": 90, "output": 10}}, {"text": "a summary"}]
    async with ScriptedEngine(tmp_path, replies, hooks={"a": on("turn.end", compact)}) as e:
        await e.prompt("go")
        assert answers == [{"scheduled": True}]
        assert [entry.summary for entry in e.engine.session.entries if isinstance(entry, CompactionEntry)] == [
            "a summary"
        ]


async def test_seed_000_auth_and_model_overrides_reach_the_wire(tmp_path: Path) -> None:
    hooks = {
        "a": returning(
            "auth.get", {"apiKey": "hook-key", "headers": {"x-a": "1"}, "baseUrl": "http://away.invalid/v1"}
        ),
        "b": returning("model.resolve", {"model": {"provider": "test", "id": "two"}}),
    }
    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks=hooks, models=(MODEL, TWO), key=False) as e:
        assert (await e.prompt("hi")).error is None
        (request,) = e.models.recorded.requests
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert request.url.startswith("http://away.invalid/v1")
    assert (headers["authorization"], headers["x-a"]) == ("Bearer hook-key", "1")
    assert json.loads(request.body)["model"] == "two"


async def test_seed_000_a_cancelled_dialog_is_none_and_toast_is_a_line_headless(tmp_path: Path) -> None:
    answers: list[Any] = []

    async def ask(event: Any, ctx: Any) -> None:
        answers.extend([await ctx.ui.select("t", ["a"]), await ctx.ui.input("t"), await ctx.ui.confirm("t")])
        ctx.session.toast("Memory", "saved", "success")

    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks={"a": on("agent.start", ask)}) as e:
        await e.prompt("go")
        assert e.notes == [("Memory: saved", "success", "library:a")]
    assert answers == [None, None, False]


async def test_seed_000_a_hidden_hook_message_is_sent_and_a_command_is_not_queued_as_a_message(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        @marvin.command("remember", "keeps it")
        async def remember(args: str, ctx: Any) -> str:
            marvin.send_message({"custom_type": "memory", "content": f"MEMORY {args}", "display": False})
            return "kept"

    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks={"a": setup}) as e:
        assert await run_command(e.engine, Call("remember", "me")) == "kept"
        assert e.bodies == []
        await e.prompt("go")
        assert "MEMORY me" in json.dumps(e.bodies[0])
        (message,) = [m for m in e.engine.session.messages() if isinstance(m, HookMessage)]
        assert message.display is False


def test_seed_000_headless_respects_transforms_and_injects_before_the_call(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "wrong"}, {"text": "It saw the memory.", "match": "MEMORY"})
    (marvin.config_dir / "hooks").mkdir()
    (marvin.config_dir / "hooks" / "memory.py").write_text(
        "def setup(marvin):\n"
        "    @marvin.on('chat.message')\n"
        "    def inject(event, ctx):\n"
        "        event.output.parts.append({'type': 'text', 'text': 'MEMORY'})\n"
    )
    assert marvin.run("-p", "hi").stdout == "It saw the memory.\n"


# 001


@pytest.mark.parametrize("key", ["hooks", "hookTimeout"])
def test_seed_001_timeout_of_1000_ms_is_used(tmp_path: Path, key: str) -> None:
    marvin = Marvin(tmp_path)
    marvin.configure(**({"hooks": {"timeoutMs": 1000}} if key == "hooks" else {"hookTimeout": 1000}))
    marvin.script({"text": "ok"})
    path = marvin.home / "slow.py"
    path.write_text(
        "import asyncio\n"
        "def setup(marvin):\n"
        "    @marvin.on('turn.start')\n"
        "    async def slow(event, ctx):\n"
        "        await asyncio.sleep(60)\n"
    )
    done = marvin.run("-p", "--hook", str(path), "hi")
    assert (done.code, done.stdout) == (0, "ok\n")
    assert "no answer within 1 s" in done.stderr


def test_seed_001_timeout_is_30000_ms_by_default(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    shown = marvin.run("config", "show").stdout
    assert re.search(r"timeoutMs\W+30000", shown), shown
    limits = Limits()
    assert (limits.handler, limits.gate) == (30.0, 600.0)


async def test_seed_001_an_attachment_of_send_reaches_conversation_and_model(tmp_path: Path) -> None:
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()

    def setup(marvin: HookAPI) -> None:
        @marvin.command("attach", "sends")
        async def attach(args: str, ctx: Any) -> None:
            image = {"type": "image", "file_name": "a.png", "mime_type": "image/png", "content": png}
            text = {"type": "document", "file_name": "n.txt", "mime_type": "text/plain", "content": b"the notes"}
            marvin.send("look", [image, text])

    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks={"a": setup}) as e:
        await run_command(e.engine, Call("attach", ""))
        while not e.of(out.AgentSettled):
            await asyncio.sleep(0.01)
        sent = json.dumps(e.bodies[0]["messages"])
        assert png in sent and "the notes" in sent and "[Document: n.txt]" in sent
        assert png in Path(e.engine.session.path or "").read_text()


async def test_seed_001_model_change_is_told_on_a_cycle_with_both_models(tmp_path: Path) -> None:
    heard: list[Any] = []
    async with ScriptedEngine(tmp_path, hooks={"a": hearing("model.change", heard)}, models=(MODEL, TWO)) as e:
        await e.engine.set_model(TWO, source="cycle")
    (event,) = heard
    assert (event.previous_provider, event.previous_model_id) == ("test", "one")
    assert (event.new_provider, event.new_model_id, event.source) == ("test", "two", "cycle")


@pytest.mark.parametrize("reason", ["not now", None])
async def test_seed_001_clear_is_cancelled_with_a_message_and_the_session_preserved(
    tmp_path: Path, reason: str | None
) -> None:
    cancel = {"cancel": True, "reason": reason} if reason else {"cancel": True}
    heard: list[Any] = []
    hooks = {"guard": returning("session.before_clear", cancel), "b": hearing("session.clear", heard)}
    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks=hooks) as e:
        await e.prompt("hi")
        before = e.engine.session_id
        with pytest.raises(Refused) as refused:
            await e.engine.conversation.clear()
        wanted = "Clear cancelled by library:guard"
        assert refused.value.message == (f"{wanted}: {reason}" if reason else wanted)
        assert (e.engine.session_id, len(e.engine.session.messages()), heard) == (before, 2, [])


async def test_seed_001_clear_goes_on_when_the_hook_says_nothing(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, hooks={"a": returning("session.before_clear", None)}) as e:
        before = e.engine.session_id
        await e.engine.conversation.clear()
        assert e.engine.session_id != before


async def test_seed_001_compaction_is_cancelled(tmp_path: Path) -> None:
    hooks = {"a": returning("compact.before", {"cancel": True, "reason": "keep all"})}
    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks=hooks) as e:
        await e.prompt("hi")
        with pytest.raises(Refused, match="Compaction cancelled by library:a: keep all"):
            await e.engine.compact()
        assert len(e.bodies) == 1


@pytest.mark.parametrize("own", [True, False])
async def test_seed_001_an_own_summary_needs_no_model_call_and_from_hook_says_whose_it_is(
    tmp_path: Path, own: bool
) -> None:
    heard: list[Any] = []
    hooks = {"b": hearing("compact.after", heard)}
    if own:
        hooks["a"] = returning("compact.before", {"summary": "custom"})
    async with ScriptedEngine(tmp_path, [{"text": "ok"}, {"text": "the model's"}], hooks=hooks) as e:
        await e.prompt("hi")
        done = await e.engine.compact()
        assert done.from_hook is own
        assert done.summary == ("custom" if own else "the model's")
        assert len(e.bodies) == (1 if own else 2)
    assert [(event.summary, event.from_hook) for event in heard] == [(done.summary, own)]


async def test_seed_001_compaction_works_without_any_hook(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, [{"text": "ok"}, {"text": "the model's"}]) as e:
        await e.prompt("hi")
        done = await e.engine.compact()
        assert (done.summary, done.from_hook) == ("the model's", False)


# 002


def test_seed_002_global_and_project_hooks_are_found_deduped_and_a_gate_denies_headless(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    gate = (
        "def setup(marvin):\n"
        "    @marvin.on('tool_call')\n"
        "    def gate(event, ctx):\n"
        "        if 'rm -rf' in event.input.get('command', ''):\n"
        "            if not ctx.has_ui or not ctx.ui.confirm('Dangerous', event.input['command']):\n"
        "                return {'block': True, 'reason': 'nobody to ask'}\n"
    )
    for directory, name in ((marvin.config_dir / "hooks", "gate"), (marvin.work / ".marvin" / "hooks", "say")):
        directory.mkdir(parents=True)
        (directory / f"{name}.py").write_text(gate)
    (marvin.config_dir / "hooks" / "again.py").symlink_to(marvin.config_dir / "hooks" / "gate.py")
    (marvin.work / "build").mkdir()
    marvin.script({"toolCalls": [call("bash", command="rm -rf build")]}, {"text": "Refused.", "match": "nobody to ask"})
    done = marvin.run("-p", "--auto", "--trust-project", "clean")
    assert done.stdout == "Refused.\n", done.stderr
    assert (marvin.work / "build").exists()
    listed = marvin.run("hooks", "list").stdout
    assert "project:say" in listed
    assert len(re.findall(r"global:\w+ +loaded", listed)) == 1


async def test_seed_002_turn_indexes_are_in_order_and_a_turn_ends_before_the_next_begins(tmp_path: Path) -> None:
    order: list[tuple[str, int]] = []

    async def slowly(event: Any, ctx: Any) -> None:
        await asyncio.sleep(0.01)
        order.append((event.type, event.turn_index))

    hooks = {"a": on("turn_start", slowly), "b": on("turn_end", slowly)}
    replies = [*({"toolCalls": [call("bash", command="true")]} for _ in range(2)), {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hooks=hooks) as e:
        await e.prompt("go")
    assert order == [(name, index) for index in range(3) for name in ("turn.start", "turn.end")]


# 003


def test_seed_003_configured_paths_load_missing_ones_are_told_and_none_loads_twice(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    said = "def setup(marvin):\n    marvin.on('agent.start', lambda event, ctx: ctx.ui.notify('HEARD'))\n"
    (marvin.config_dir / "mine.py").write_text(said)
    marvin.configure(hooks={"paths": ["mine.py", "~/.config/marvin/mine.py", "none.py"]})
    marvin.script({"text": "ok"})
    done = marvin.run("-p", "hi")
    assert (done.code, done.stdout) == (0, "ok\n")
    assert done.stderr.count("HEARD") == 1
    assert "none.py" in done.stderr


def test_seed_003_project_hooks_run_once_trusted_and_a_missing_directory_is_no_error(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "ok", "repeat": True})
    assert marvin.run("-p", "hi").stderr == ""
    hooks = marvin.work / ".marvin" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "a.py").write_text(
        "def setup(marvin):\n    marvin.on('agent.start', lambda event, ctx: ctx.ui.notify('HEARD'))\n"
    )
    assert "HEARD" not in marvin.run("-p", "hi").stderr
    marvin.run("trust", "--yes")
    assert "HEARD" in marvin.run("-p", "hi").stderr


async def test_seed_003_a_failing_tool_fires_after_with_is_error_and_odd_errors_are_told(tmp_path: Path) -> None:
    heard: list[Any] = []

    def setup(marvin: HookAPI) -> None:
        @marvin.tool
        async def odd(text: str) -> str:
            """Fails oddly."""
            raise SystemExit("odd")

    calls = [call("read", path="none"), call("odd", text="x")]
    hooks = {"a": hearing("tool.execute.after", heard), "b": setup}
    async with ScriptedEngine(tmp_path, [{"toolCalls": calls}, {"text": "ok"}], hooks=hooks) as e:
        await e.prompt("go")
    assert [event.is_error for event in heard] == [True, True]
    assert "none" in heard[0].content[0].text and "odd" in heard[1].content[0].text


async def test_seed_003_empty_attachments_are_none(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        marvin.command("go", "sends")(lambda args, ctx: marvin.send("text", []))

    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks={"a": setup}) as e:
        await run_command(e.engine, Call("go", ""))
        while not e.of(out.AgentSettled):
            await asyncio.sleep(0.01)
        assert len(e.engine.session.messages()[0].content) == 1


# 004: its conflict table (as hooks.md section 8 decides it), then its four examples.


async def test_seed_004_conflicts_the_first_block_wins_and_later_handlers_are_not_asked(tmp_path: Path) -> None:
    asked: list[Any] = []
    hooks = {
        "a": returning("tool_call", {"block": False, "reason": "a"}),
        "b": returning("tool_call", {"block": True, "reason": "b"}),
        "c": on("tool_call", lambda event, ctx: asked.append(event) or {"block": True, "reason": "c"}),
    }
    replies = [{"toolCalls": [call("bash", command="touch ran")]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hooks=hooks) as e:
        await e.prompt("go")
        (result,) = results(e)
        assert result.status == "blocked" and "library:b refused the call: b" in text_of(result.content)
        assert (asked, (e.work / "ran").exists()) == ([], False)


async def test_seed_004_conflicts_the_first_command_and_the_first_renderer_win_and_the_second_is_told(
    tmp_path: Path,
) -> None:
    def commanding(marvin: HookAPI) -> None:
        marvin.command("hello", f"of {marvin.id}")(lambda args, ctx: None)

    def drawing(marvin: HookAPI) -> None:
        marvin.register_message_renderer("note", lambda message, expanded, theme: marvin.id)

    hooks = {"a": commanding, "b": commanding, "c": drawing, "d": drawing}
    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks=hooks) as e:
        await e.prompt("hi")
        assert [(failure.hook, failure.error) for failure in e.of(out.HookFailed)] == [
            ("library:b", "the command /hello is taken by library:a"),
        ]
        # What is only drawn otherwise costs a hook nothing else of what it does.
        assert [(notice.source, notice.text) for notice in e.of(out.Notice)] == [
            ("library:d", "messages of type 'note' are rendered by library:c already"),
        ]


async def test_seed_004_conflicts_a_tool_call_handler_that_throws_blocks(tmp_path: Path) -> None:
    replies = [{"toolCalls": [call("bash", command="touch ran")]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hooks={"a": on("tool_call", fail)}) as e:
        await e.prompt("go")
        assert "as planned" in text_of(results(e)[0].content)
        assert not (e.work / "ran").exists()


async def test_seed_004_conflicts_after_goes_by_field(tmp_path: Path) -> None:
    hooks = {
        "a": returning("tool_result", {"content": [{"type": "text", "text": "REDACTED"}]}),
        "b": returning("tool_result", {"details": {"by": "b"}}),
        "c": returning("tool_result", {"isError": True}),
    }
    replies = [{"toolCalls": [call("bash", command="echo secret")]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hooks=hooks) as e:
        await e.prompt("go")
        (result,) = results(e)
    assert (text_of(result.content), result.details_data, result.is_error) == ("REDACTED", {"by": "b"}, True)


async def test_seed_004_conflicts_every_message_before_the_start_is_kept(tmp_path: Path) -> None:
    hooks = {
        name: returning("before_agent_start", {"message": {"custom_type": name, "content": f"from {name}"}})
        for name in "ab"
    }
    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks=hooks) as e:
        await e.prompt("go")
        said = json.dumps(e.bodies[0])
    assert said.index("from a") < said.index("from b")


async def test_seed_004_conflicts_a_cancel_ends_the_event_and_instructions_are_chained(tmp_path: Path) -> None:
    def longer(word: str) -> Setup:
        return on("session.compacting", lambda event, ctx: {"prompt": f"{event.output.prompt or ''} {word}"})

    hooks = {"a": longer("ONE"), "b": longer("TWO")}
    async with ScriptedEngine(tmp_path, [{"text": "ok"}, {"text": "summed up"}], hooks=hooks) as e:
        await e.prompt("go")
        await e.engine.compact()
        assert "ONE TWO" in json.dumps(e.bodies[1])
    asked: list[Any] = []
    hooks = {
        "a": returning("session_before_switch", {"cancel": True, "reason": "stay"}),
        "b": hearing("session_before_switch", asked),
    }
    async with ScriptedEngine(tmp_path, hooks=hooks) as e:
        with pytest.raises(Refused, match="library:a: stay"):
            await e.engine.conversation.new()
    assert asked == []


async def test_seed_004_conflicts_context_is_chained_and_the_first_own_compaction_decides(tmp_path: Path) -> None:
    say = [{"role": "user", "content": [{"type": "text", "text": "CHAINED"}]}]
    hooks = {
        "a": on("context", lambda event, ctx: {"messages": [*event.messages, *say]}),
        "b": on("context", lambda event, ctx: {"messages": [*event.messages, *say]}),
        "c": returning("session_before_compact", {"compaction": {"summary": "c's"}}),
        "d": returning("session_before_compact", {"compaction": {"summary": "d's"}}),
    }
    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks=hooks) as e:
        await e.prompt("go")
        assert json.dumps(e.bodies[0]).count("CHAINED") == 2
        done = await e.engine.compact()
        assert (done.summary, done.from_hook) == ("c's", True)


@pytest.mark.parametrize(("answers", "reason"), [(None, "no UI"), ([False], "user denied command"), ([True], None)])
async def test_seed_004_example_block_unsafe_commands(
    tmp_path: Path, answers: list[bool] | None, reason: str | None
) -> None:
    async def gate(event: Any, ctx: Any) -> Any:
        if event.tool_name != "bash" or "rm -rf" not in event.input.get("command", ""):
            return None
        if not ctx.has_ui:
            return {"block": True, "reason": "rm -rf blocked (no UI)"}
        if not await ctx.ui.confirm("Dangerous command", f"Allow: {event.input['command']}"):
            return {"block": True, "reason": "user denied command"}
        return None

    replies = [{"toolCalls": [call("bash", command="rm -rf build")]}, {"text": "ok"}]
    hooks = {"a": on("tool_call", gate)}
    async with ScriptedEngine(tmp_path, replies, hooks=hooks, interface=Person(answers)) as e:
        (e.work / "build").mkdir()
        await e.prompt("clean")
        assert (e.work / "build").exists() is (reason is not None)
        assert reason is None or reason in text_of(results(e)[0].content)


async def test_seed_004_example_redact_tool_output(tmp_path: Path) -> None:
    def redact(event: Any, ctx: Any) -> Any:
        if event.tool_name != "read" or event.is_error:
            return None
        return {
            "content": [{"type": "text", "text": part.text.replace("k-123", "[REDACTED]")} for part in event.content]
        }

    replies = [{"toolCalls": [call("read", path="env")]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hooks={"a": on("tool_result", redact)}) as e:
        (e.work / "env").write_text("API_KEY=k-123\n")
        await e.prompt("go")
        assert "k-123" not in json.dumps(e.bodies)
        assert "[REDACTED]" in json.dumps(e.bodies[1])


async def test_seed_004_example_modify_the_context_of_a_call(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        marvin.on(
            "agent.start", lambda event, ctx: marvin.send_message({"custom_type": "debug-only", "content": "DEBUG"})
        )
        marvin.on(
            "context",
            lambda event, ctx: {
                "messages": [m for m in event.messages if getattr(m, "custom_type", None) != "debug-only"]
            },
        )

    async with ScriptedEngine(tmp_path, [{"text": "ok"}, {"text": "ok"}], hooks={"a": setup}) as e:
        await e.prompt("go")
        await e.prompt("more")
        assert "DEBUG" not in json.dumps(e.bodies)
        assert any(isinstance(m, HookMessage) for m in e.engine.session.messages())


async def test_seed_004_example_handoff_to_a_new_session_with_a_message(tmp_path: Path) -> None:
    def setup(marvin: HookAPI) -> None:
        @marvin.command("handoff", "goes on in a new session")
        async def handoff(args: str, ctx: Any) -> str:
            await ctx.session.wait_for_idle()
            parent = ctx.sessions.session_path

            def write(session: Any) -> None:
                session.append_message({"role": "user", "content": [{"type": "text", "text": "Continue."}]})

            return str(await ctx.session.new_session(parent=parent, setup=write))

    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks={"a": setup}) as e:
        await e.prompt("hi")
        old = e.engine.session_id
        await run_command(e.engine, Call("handoff", ""))
        assert e.engine.session_id != old
        assert [text_of(m.content) for m in e.engine.session.messages()] == ["Continue."]
        path = e.engine.session.path
    assert path and Session.open(path).messages()
