"""`marvin` and `ctx` in a process of its own: everything that a hook can reach is reached."""

# ruff: noqa: E501  # hooks are written as they come

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from test_host_life import before, hook, host_of, is_there, problems, send, until

from marvin_agent import hooks, messages
from marvin_agent.agent import events as out
from marvin_agent.agent.commands import Call, run_command
from marvin_agent.agent.nobody import Nobody
from marvin_agent.agent.queue import Prompt
from marvin_agent.errors import HookError
from marvin_agent.hooks import events as h
from marvin_agent.hooks.api import HookAPI
from marvin_agent.hooks.engine import Engine, Interface
from marvin_agent.hooks.hosts import services
from marvin_agent.hooks.hosts.child import values
from marvin_agent.hooks.hosts.process import environment_for
from marvin_agent.hooks.hosts.rpc import RpcError
from marvin_agent.hooks.payload import Mode
from marvin_agent.llm.values import Model
from marvin_agent.messages import AssistantMessage, HookMessage, Text, ToolResultMessage, Usage, encode, text_of
from marvin_agent.testing.engine import ScriptedEngine
from program import Marvin


class Person(Nobody):
    """Somebody who answers after a while."""

    has_person = True

    def __init__(self, pause: float = 0.0) -> None:
        super().__init__(lambda text, level, source: None)
        self.pause = pause
        self.asked: list[str] = []

    async def confirm(self, title: str, message: str, timeout: float | None) -> bool:
        self.asked.append(title)
        await asyncio.sleep(self.pause)
        return True

    async def select(self, title: str, options: Any, timeout: float | None) -> str | None:
        return str(options[-1])

    async def permission(self, question: Mapping[str, Any]) -> dict[str, Any]:
        return {"decision": "allow", "reason": question["tool_name"], "remember": None}


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"name": name, "arguments": arguments}


def results(e: ScriptedEngine) -> list[str]:
    return [text_of(m.content) for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]


async def answer(tmp_path: Path, body: str, **options: Any) -> Any:
    """What a handler wrote into `event.input["it"]`."""
    text = "@marvin.on('tool.execute.before')\n" + body
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, text)], **options) as e:
        outcome = await send(e, before())
        assert outcome.refused is None, outcome.refused
        return outcome.event.input["it"]


@pytest.mark.parametrize("wait", ["", "await "])
async def test_a_person_is_asked_from_plain_and_async_handlers_while_the_clock_stands(
    tmp_path: Path, wait: str
) -> None:
    body = f"""
{"async " if wait else ""}def f(event, ctx):
    event.input["it"] = [
        {wait}ctx.ui.confirm("sure?"), {wait}ctx.ui.select("which", ["a", "b"]), ctx.has_ui,
        ({wait}ctx.ui.permission({{"tool_name": "bash"}}))["reason"],
    ]
"""
    person = Person(0.6)
    path = hook(tmp_path, f"@marvin.on('tool.execute.before', timeout=0.4)\n{body.strip()}")
    async with ScriptedEngine(tmp_path, hook_files=[path], interface=person) as e:
        outcome = await send(e, before())
        assert outcome.refused is None, outcome.refused
        assert outcome.event.input["it"] == [True, "b", True, "bash"]
    assert person.asked == ["sure?"]


async def test_a_dialog_that_is_open_when_the_run_is_aborted_costs_no_process(tmp_path: Path) -> None:
    body = "@marvin.on('tool.execute.before')\ndef f(event, ctx):\n    ctx.ui.confirm('sure?')"
    person = Person(60)
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)], interface=person) as e:
        work = asyncio.ensure_future(send(e, before()))
        await until(lambda: person.asked)
        work.cancel()
        await asyncio.wait({work})
        process = host_of(e)._process
        await until(lambda: process.calls == 0)
        await asyncio.sleep(1.2)
        assert problems(e, "process") == []


async def test_programs_tools_and_models_are_reached(tmp_path: Path) -> None:
    body = """
async def f(event, ctx):
    done = await ctx.exec("sh", ["-c", "echo out; echo err >&2; exit 3"])
    (open(ctx.cwd + "/a.txt", "w")).write("content\\n")
    tool = await ctx.call_tool("read", {"path": "a.txt"})
    said = await ctx.session.complete("be short", "hello")
    late = await marvin.exec("echo", ["x"])
    event.input["it"] = [done.stdout, done.stderr, done.code, done.killed, tool.text.strip(), tool.is_error,
        tool.content[0].text == tool.text, said.text, said.stop_reason, late.stdout]
"""
    it = await answer(tmp_path, body, replies=[{"text": "short"}])
    assert it[:4] == ["out\n", "err\n", 3, False]
    assert "content" in it[4]
    assert it[5:] == [False, True, "short", "stop", "x\n"]


async def test_what_ctx_and_marvin_tell_is_the_same_as_here(tmp_path: Path) -> None:
    body = """
def f(event, ctx):
    event.input["it"] = [ctx.cwd, ctx.config_dir, ctx.project_root, ctx.session_id, ctx.session_path, ctx.mode,
        ctx.model.ref, ctx.model.context_window, ctx.model.images, ctx.is_idle(), ctx.aborted, marvin.id,
        marvin.settings, marvin.thinking_level, list(marvin.active_tools), ctx.context_usage(), ctx.session.token_usage(),
        ctx.session.context_limit(), ctx.ui.get_editor_text(), ctx.ui.theme]
"""
    seen: list[Any] = []

    def setup(marvin: HookAPI) -> None:
        def look(event: Any, ctx: Any) -> None:
            room: dict[str, Any] = {"marvin": marvin}
            exec(body.strip(), room)
            copy = h.ToolExecuteBefore(input={})
            room["f"](copy, ctx)
            seen.append(copy.input["it"])

        marvin.on("tool.execute.before", look)

    settings = {"flag:own": {"a": [1]}, "library:here": {"a": [1]}}
    text = "@marvin.on('tool.execute.before')\n" + body
    path = hook(tmp_path, text)
    async with ScriptedEngine(tmp_path, hook_files=[path], settings=settings, hooks={"here": setup}) as e:
        there = (await send(e, before())).event.input["it"]
    (here,) = seen
    assert (here.pop(11), there.pop(11)) == ("library:here", "flag:own")
    assert there == here


async def test_a_run_with_tools_commands_messages_and_entries_of_an_isolated_hook(tmp_path: Path) -> None:
    body = """
from typing import Annotated, Literal, TypedDict
class Place(TypedDict):
    x: int
@marvin.tool
async def shout(ctx, text: Annotated[str, "What to say."], times: int = 1, how: Literal["loud", "soft"] = "loud",
                at: Place | None = None) -> str:
    '''Say it louder.'''
    ctx.update("working")
    return text.upper() * times + how + str(at) + ctx.call_id[:4] + str(os.getpid() == pid)
@marvin.tool(name="count")
def count_letters(text: str, only: list[str] | None = None) -> dict[str, int]:
    '''Count.'''
    if text == "bad":
        raise ValueError("bad text")
    return {"length": len(text)}
@marvin.tool(name="ls", replaces="ls")
async def better(ctx, path: str = ".") -> str:
    '''List, but better.'''
    old = await ctx.call_replaced({"path": path})
    return "better: " + old.content[0].text
marvin.register_tool({"name": "given", "description": "d", "schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    "execute": lambda args, ctx: {"content": f"n is {args['n']} {ctx.mode}", "details": {"k": 1}}})
pid = os.getpid()
@marvin.command("greet", "Say hello")
async def greet(args, ctx):
    if args == "fail":
        raise RuntimeError("no")
    ctx.ui.notify(f"hello {args} {ctx.mode}")
    marvin.send(f"go on {args}")
@marvin.on("agent.start")
def begin(event, ctx):
    marvin.append_entry("note", {"pid": True})
    marvin.send_message({"custom_type": "hint", "content": "psst", "display": False})
"""
    lines = [
        call("shout", text="ab", times=2, how="soft", at={"x": 1}),
        call("count", text="xyz"),
        call("count", text="bad"),
    ]
    lines += [call("shout", text="a", times="many"), call("ls"), call("given", n=3)]
    replies = [{"toolCalls": lines}, {"text": "ok"}, {"text": "hello back"}]
    async with ScriptedEngine(tmp_path, replies, hook_files=[hook(tmp_path, body)]) as e:
        assert e.engine.hooks.problems == []
        (e.work / "there.txt").touch()
        await e.prompt("go")
        found = results(e)
        assert found[0].startswith("ABABsoft{'x': 1}")
        assert found[0].endswith("True")
        assert found[1] == '{"length":3}'
        assert found[2] == "count failed: ValueError: bad text"
        assert "times" in found[3]
        assert found[4].startswith("better: there.txt")
        assert found[5] == "n is 3 library"
        assert [event.text for event in e.of(out.ToolUpdated)] == ["working"]
        schema = next(t["function"] for t in e.bodies[0]["tools"] if t["function"]["name"] == "shout")
        properties = schema["parameters"]["properties"]
        assert schema["description"] == "Say it louder."
        assert schema["parameters"]["required"] == ["text"]
        assert properties["text"]["description"] == "What to say."
        assert properties["how"]["enum"] == ["loud", "soft"]
        assert properties["at"]["properties"]["x"] == {"type": "integer"}
        assert [entry.custom_type for entry in e.engine.session.entries if entry.type == "custom"] == ["note"]
        assert "psst" in str(e.bodies[1])
        await run_command(e.engine, Call("greet", "you"))
        await until(lambda: len(e.bodies) == 3 and e.engine.is_idle)
        assert ("hello you library", "info", "flag:own") in e.notes
        assert "go on you" in str(e.bodies[2])
        with pytest.raises(HookError, match="RuntimeError: no"):
            await run_command(e.engine, Call("greet", "fail"))
        await e.engine.hooks.reload([])
        assert "shout" not in e.engine.setup.tools
        assert e.engine.side.commands == {}


@pytest.mark.parametrize("wait", ["", "await "])
async def test_what_exec_started_ends_with_the_handler_or_tool_that_waits_for_it(tmp_path: Path, wait: str) -> None:
    body = f"""
def started(name):
    return "sh", ["-c", f"echo $$ > {tmp_path}/{{name}}; exec sleep 60"]
@marvin.on("turn.end", timeout=0.3)
{"async " if wait else ""}def late(event, ctx):
    {wait}ctx.exec(*started("handler"))
@marvin.tool
{"async " if wait else ""}def waits(ctx) -> str:
    "Waits."
    return str({wait}ctx.exec(*started("tool")))
"""
    pids = [tmp_path / "handler", tmp_path / "tool"]
    replies = [{"text": "no tool yet"}, {"toolCalls": [call("waits")]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hook_files=[hook(tmp_path, body)]) as e:
        await e.prompt("a handler that is late")
        e.engine.submit(Prompt("a tool that is aborted"))
        await until(lambda: pids[1].exists() and pids[1].read_text().strip())
        e.engine.abort()
        await e.engine.wait_until_idle()
        await until(lambda: not any(is_there(int(path.read_text())) for path in pids))
        assert {failure.error for failure in e.of(out.HookFailed)} == {"no answer within 0.3 s"}


async def test_tools_and_commands_survive_a_restart(tmp_path: Path) -> None:
    body = """
@marvin.tool
def pid() -> int:
    '''The process.'''
    return os.getpid()
@marvin.tool
def die() -> None:
    '''End.'''
    os._exit(1)
"""
    replies = [{"toolCalls": [call("pid")]}, {"toolCalls": [call("die")]}, {"text": "x"}]
    replies += [{"toolCalls": [call("pid")]}, {"text": "x"}]
    async with ScriptedEngine(tmp_path, replies, hook_files=[hook(tmp_path, body)]) as e:
        await e.prompt("one")
        await until(lambda: host_of(e).down is None)
        await e.prompt("two")
        first, died, second = results(e)
        assert first != second
        assert "it ended with exit code 1 while it ran" in died


async def test_sessions_are_read_with_the_same_attributes(tmp_path: Path) -> None:
    body = """
@marvin.on("agent.end")
def look(event, ctx):
    s = ctx.sessions
    stored = s.load(s.session_path)
    entry = s.entries()[-1]
    last = event.messages[-1]
    marvin.append_entry("seen", [
        s.session_id == ctx.session_id, s.leaf_id == entry.id, [e.type for e in s.branch()][-1], entry.message.role,
        s.get(entry.id) == entry, s.get("nothing"), entry.parent_id is not None, s.tree()[0].entry.type,
        len(s.list()), s.find(s.session_id).id == s.session_id, s.find("zzz"), stored.id == s.session_id,
        stored.entries[-1].id == entry.id, [m.role for m in stored.messages()], stored.header.cwd == ctx.cwd,
        s.compaction_state(), s.load_latest().id == s.session_id,
        last.text, last.stop_reason, last.usage.total_tokens > 0, last.model, last.tool_calls[0].input if last.tool_calls else None,
        [type(p).__name__ for m in event.messages for p in m.content], event.total_tokens.total > 0,
    ])
    try:
        s.load("/nothing/here")
    except Exception as error:
        marvin.append_entry("error", type(error).__name__)
    try:
        s.append_message
    except AttributeError as error:
        marvin.append_entry("error", str(error))
"""
    replies = [{"toolCalls": [call("ls")]}, {"text": "done"}]
    async with ScriptedEngine(tmp_path, replies, hook_files=[hook(tmp_path, body)]) as e:
        await e.prompt("go")
        assert problems(e, "agent.end") == []
        await until(lambda: len([x for x in e.engine.session.entries if x.type == "custom"]) == 3)
        seen, error, forbidden = [json.loads(bytes(x.data)) for x in e.engine.session.entries if x.type == "custom"]
        roles = ["user", "assistant", "toolResult", "assistant"]
        assert seen == [
            *(True, True, "message", "assistant", True, None, True, "message", 1, True, None, True, True, roles, True),
            *(None, True, "done", "stop", True, "one", None, ["Text", "ToolCall", "Text", "Text"], True),
        ]
        assert error == "SessionError"
        assert "append_message" in forbidden


async def test_the_bus_joins_hooks_of_both_hosts(tmp_path: Path) -> None:
    body = """
marvin.events.on("ping", lambda data: marvin.events.emit("pong", {"from": data["n"] + 1}))
async def later(data):
    marvin.events.emit("pong", "async")
marvin.events.on("ping", later)
off = marvin.events.on("ping", lambda data: marvin.events.emit("pong", "never"))
off()
"""
    heard: list[Any] = []
    apis: list[HookAPI] = []

    def setup(marvin: HookAPI) -> None:
        marvin.events.on("pong", heard.append)
        apis.append(marvin)

    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)], hooks={"here": setup}):
        apis[0].events.emit("ping", {"n": 1})
        await until(lambda: len(heard) == 2)
        assert {"from": 2} in heard
        assert "async" in heard


async def test_a_new_session_is_written_by_its_setup(tmp_path: Path) -> None:
    body = """
@marvin.command("fresh", "Begin anew")
async def fresh(args, ctx):
    def write(session):
        session.append_message({"role": "user", "content": [{"type": "text", "text": "from before"}]})
        session.append_entry("origin", {"parent": True})
    done = await ctx.session.new_session(setup=write)
    ctx.ui.notify(f"cancelled {done['cancelled']}")
@marvin.on("tool.execute.before")
async def inside(event, ctx):
    ctx.ui.notify(repr(await ctx.session.summarize()))
    try:
        await ctx.session.wait_for_idle()
    except Exception as error:
        ctx.ui.notify(type(error).__name__)
"""
    replies = [{"toolCalls": [call("ls")]}, {"text": "ok"}, {"text": "summary"}]
    async with ScriptedEngine(tmp_path, replies, hook_files=[hook(tmp_path, body)]) as e:
        await run_command(e.engine, Call("fresh", ""))
        assert "from before" in str(e.engine.session.messages())
        assert [x.custom_type for x in e.engine.session.entries if x.type == "custom"] == ["origin"]
        assert ("cancelled False", "info", "flag:own") in e.notes
        await e.prompt("go")
        assert [text for text, _, _ in e.notes][1:3] == ["{'scheduled': True}", "HookError"]


async def test_timers_background_work_and_flags_work_there(tmp_path: Path) -> None:
    body = """
ticks = []
marvin.register_flag("depth", int, 3)
marvin.every(0.01, lambda: ticks.append(1))
async def work():
    await asyncio.sleep(0)
    marvin.append_entry("background", marvin.flag("depth"))
marvin.background(work())
off = marvin.on("turn.start", lambda event, ctx: marvin.append_entry("heard", None))
@marvin.on("tool.execute.before")
async def f(event, ctx):
    while len(ticks) < 3:
        await asyncio.sleep(0.01)
    off()
    marvin.on("turn.end", lambda event, ctx: None)
    marvin.thinking_level = "low"
    marvin.active_tools = ["read"]
"""
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)]) as e:
        assert (await send(e, before())).refused is None
        await until(lambda: e.engine.session.entries)
        assert bytes(e.engine.session.entries[0].data) == b"3"
        listening = e.engine.hooks.registry.listening
        assert ("turn.start" in listening, "turn.end" in listening) == (False, True)
        await until(lambda: e.engine.thinking == "low")
        assert e.engine.active == frozenset(["read"])


@pytest.mark.parametrize("mode", ["tui", "print"])
async def test_what_cannot_work_there_raises(tmp_path: Path, mode: Mode) -> None:
    body = """
def told(function):
    try:
        return function()
    except Exception as error:
        return type(error).__name__ + ": " + str(error)
renderer = told(lambda: marvin.register_message_renderer("x", print))
@marvin.on("tool.execute.before")
def f(event, ctx):
    event.input["it"] = [renderer, told(lambda: ctx.ui.custom(print)), told(lambda: ctx.ui.set_widget("k", object())),
        told(lambda: ctx._engine.forget("flag:own")), told(lambda: ctx._engine.nothing), told(lambda: marvin.flag("zz"))]
"""
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)], mode=mode) as e:
        it = (await send(e, before())).event.input["it"]
        assert it[0].startswith("HookError: a renderer needs marvin's own process")
        if mode == "tui":
            assert it[1].startswith("HookError: ctx.ui.custom needs marvin's own process")
        else:
            assert it[1] is None  # as from a hook in marvin's own process
        assert it[2].startswith("HookError: set_widget")
        assert "'forget'" in it[3]
        assert it[4].startswith("AttributeError")
        assert it[5].startswith("HookError: there is no flag")


async def test_a_ctx_is_not_kept_beyond_its_handler(tmp_path: Path) -> None:
    body = """
kept = []
@marvin.on("tool.execute.before")
async def f(event, ctx):
    if kept:
        try:
            kept[0].ui.notify("late")
        except Exception as error:
            event.input["it"] = str(error)
    kept.append(ctx)
"""
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)]) as e:
        await send(e, before())
        assert "keep no ctx" in (await send(e, before())).event.input["it"]


async def test_keys_do_not_reach_the_process_unless_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("LC_TIME", "C")
    body = "def f(event, ctx):\n    event.input['it'] = dict(os.environ)"
    it = await answer(tmp_path, body, hook_env={"flag:own": ("OPENAI_API_KEY",)})
    assert it["OPENAI_API_KEY"] == "sk-secret"
    assert it["LC_TIME"] == "C"
    assert set(it) <= set(environment_for(["OPENAI_API_KEY"])) | {"LC_CTYPE"}
    assert "ANTHROPIC_API_KEY" not in it
    assert "VIRTUAL_ENV" not in it


def test_the_configuration_isolates_a_hook_and_names_its_variables(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "done"})
    config = (
        json.loads((marvin.config_dir / "config.json").read_text())
        if (marvin.config_dir / "config.json").exists()
        else {}
    )
    marvin.configure(**config, hooks={"isolate": ["flag:plain"], "env": {"flag:plain": ["MY_TOKEN"]}})
    path = tmp_path / "plain.py"
    path.write_text(
        "import os, sys\n"
        "def setup(marvin):\n"
        "    marvin.on('agent.start', lambda e, ctx: ctx.ui.notify("
        "f\"{os.environ.get('MY_TOKEN')} {os.environ.get('OTHER_TOKEN')} {'msgspec' in sys.modules} {sys.flags.isolated}\"))\n"
    )
    done = marvin.run("-p", "hi", "--hook", str(path), env={"MY_TOKEN": "one", "OTHER_TOKEN": "two"})
    assert done.stdout == "done\n"
    assert "one None False 1" in done.stderr


async def test_a_process_speaks_for_its_own_hook_whatever_it_says(tmp_path: Path) -> None:
    settings = {"flag:own": {"of": "own"}, "flag:other": {"of": "other"}}
    path = hook(tmp_path, "pass")
    async with ScriptedEngine(tmp_path, hook_files=[path], settings=settings) as e:
        service = host_of(e)._service
        assert service.engine("setting", ["flag:other"], {}, None) == {"of": "own"}
        assert service.engine("setting", [], {"hook": "flag:other"}, None) == {"of": "own"}


async def test_a_process_reaches_what_hooks_may_and_nothing_else(tmp_path: Path) -> None:
    path = hook(tmp_path, "pass")
    async with ScriptedEngine(tmp_path, hook_files=[path]) as e:
        service = host_of(e)._service
        for dialog in (["forget", "flag:own"], ["notify", "x", "info", "y"], []):
            with pytest.raises(RpcError, match="no dialog"):
                await service.engine("ask", dialog, {}, None)
        for member in ("forget", "post", "_engine", "interface"):
            with pytest.raises(RpcError, match="for hooks"):
                service.engine(member, [], {}, None)
        for member in ("_current", "append_message"):
            with pytest.raises(AttributeError):
                service.sessions(None, member, [])
        with pytest.raises(HookError, match="has ended"):
            service.engine("abort", [], {}, 77)


def test_every_member_that_hooks_reach_is_served_or_left_out_on_purpose() -> None:
    def public(protocol: type) -> set[str]:
        return {name for name in vars(protocol) if not name.startswith("_")}

    left_out = public(Engine) - set(services._ENGINE)
    assert left_out == {"forget", "post", "on_engine", "interface", "sessions", "register_renderer", "ask"}
    assert public(Interface) - set(services._INTERFACE) - {"custom", "forget"} == services._DIALOGS


def test_stand_ins_have_the_attributes_of_the_values() -> None:
    for name in set(values.PUBLIC) - {"changed"}:
        real: Any = Model if name == "Model" else getattr(messages, name)
        stand: Any = getattr(values, name)
        assert set(real.__struct_fields__) == set(stand._kinds), name
        made = {p for p in dir(real) if not p.startswith("_")}
        assert made <= {p for p in dir(stand) if not p.startswith("_")}, name
        assert getattr(hooks, name) is real


def test_a_stand_in_reads_and_gives_back_the_json_of_a_value() -> None:
    message = AssistantMessage(
        content=(Text(text="hi"),), api="a", provider="p", model="m", stop_reason="stop", usage=Usage(input=3)
    )
    json_form = json.loads(encode(message))
    stand = values.tagged(json_form)
    assert (stand.text, stand.stop_reason, stand.usage.input, stand.error_message) == ("hi", "stop", 3, None)
    assert values.json_of(stand) == json_form
    with pytest.raises(AttributeError, match="frozen"):
        stand.model = "other"


def test_a_value_and_its_stand_in_are_read_and_changed_alike() -> None:
    result = ToolResultMessage(
        tool_call_id="1", tool_name="read", content=(Text(text="a"), Text(text="b")), is_error=False
    )
    note = HookMessage(custom_type="note", content=(Text(text="a"),), details=messages.raw({"n": [1]}))
    for made, change in ((result, messages.changed), (values.tagged(json.loads(encode(result))), values.changed)):
        assert (made.text, made.details_data, made.role) == ("a\nb", None, "toolResult")
        assert [part.text for part in change(made, content=(Text(text="c"),)).content] == ["c"]
        assert change(made, tool_name="write").content == made.content
    for made in (note, values.tagged(json.loads(encode(note)))):
        assert (made.text, made.details_data) == ("a", {"n": [1]})


async def test_it_sees_only_its_event_types(tmp_path: Path) -> None:
    body = "marvin.on('turn.start', lambda event, ctx: marvin.append_entry('kind', type(event).__name__))"
    async with ScriptedEngine(tmp_path, hook_files=[hook(tmp_path, body)]) as e:
        await send(e, h.TurnStart(turn_index=4))
        await until(lambda: e.engine.session.entries)
        assert bytes(e.engine.session.entries[0].data) == b'"TurnStart"'
