"""The same hook in marvin's process and in one of its own: the same outcome, the same report, the same line."""

# ruff: noqa: E501  # a case is a line

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from marvin_agent.agent.events import HookFailed
from marvin_agent.hooks import events as h
from marvin_agent.hooks import forms
from marvin_agent.hooks.payload import Event
from marvin_agent.messages import Text, changed, user
from marvin_agent.testing.engine import MODEL, ScriptedEngine

ONE = changed(user("one"), timestamp=1)
TWO = changed(user("two"), timestamp=2)

HEAD = """
import asyncio
import os
import time
from marvin_agent.hooks import HookAPI, Text, ToolAfterResult, ToolBeforeResult, StreamParams

def setup(marvin: HookAPI) -> None:
    on = marvin.on
"""


def before() -> Event:
    return h.ToolExecuteBefore(tool_name="bash", tool_call_id="1", input={"command": "ls", "n": [1, 2.5, None]})


def after() -> Event:
    return h.ToolExecuteAfter(
        tool_name="bash",
        tool_call_id="1",
        input={"command": "ls"},
        content=[Text(text="the secret is 42")],
        details={"a_b": 1},
        is_error=False,
        status="ok",
        duration_ms=3,
    )


def params() -> Event:
    options = h.StreamParams(temperature=None, max_tokens=100, reasoning="off", stop=[], extra={"x_y": 1})
    return h.ChatParams(
        input=h.SessionOnly(session_id="s"), output=h.ChatParamsOutput(stream_options=options), purpose="turn"
    )


def messages() -> Event:
    return h.ChatMessagesTransform(messages=[ONE, TWO], purpose="turn")


def resolve() -> Event:
    return h.ModelResolve(
        input=h.ModelInput(session_id="s", model=MODEL), output=h.ModelOutput(model=MODEL), purpose="turn"
    )


def auth() -> Event:
    return h.AuthGet(
        input=h.AuthGetInput(session_id="s", provider="p", model_id="m"),
        output=h.AuthGetOutput(api_key=None, headers={}, base_url=None),
        purpose="turn",
    )


def compact() -> Event:
    return h.SessionBeforeCompact(
        messages=[ONE],
        custom_instructions=None,
        model=h.ModelRef(provider="p", id="m"),
        reason="manual",
        first_kept_entry_id=None,
        tokens_before=5,
        input=h.SessionOnly(session_id="s"),
        output=h.BeforeCompactOutput(cancel=False, prompt=None, context=[]),
    )


def before_start() -> Event:
    return h.AgentBeforeStart(prompt="p", images=[], system_prompt="s")


def before_end() -> Event:
    return h.AgentBeforeEnd(messages=[ONE], continuations=0)


def permission() -> Event:
    return h.PermissionAsk(tool_name="bash", input={"command": "ls"}, rule=None)


def turn_start() -> Event:
    return h.TurnStart(turn_index=0)


class Case(NamedTuple):
    name: str
    event: Callable[[], Event]
    body: str


def case(name: str, event: Callable[[], Event], body: str) -> Any:
    return pytest.param(Case(name, event, body), id=name)


CASES = [
    case("refuse", before, "on('tool.execute.before', lambda e, c: {'block': True, 'reason': 'no ' + e.tool_name})"),
    case("refuse with a typed result", before, "on('tool_call', lambda e, c: ToolBeforeResult(block=True, reason='r'))"),
    case("refuse async", before, "async def f(e, c): return {'block': True}\n    on('tool.execute.before', f)"),
    case("change in place", before, "def f(e, c): e.input['command'] = 'pwd'\n    on('tool.execute.before', f)"),
    case("change deep in place", before, "def f(e, c): e.input['n'].append('x')\n    on('tool.execute.before', f)"),
    case("put another in place", before, "def f(e, c): e.input = {'command': 'x'}\n    on('tool.execute.before', f)"),
    case("change returned", before, "on('tool_call', lambda e, c: {'input': {**e.input, 'command': 'pwd'}})"),
    case("change to what it was", before, "on('tool_call', lambda e, c: {'input': dict(e.input)})"),
    case("returned wins over in place", before, "def f(e, c):\n        e.input['a'] = 1\n        return {'input': {'b': 2}}\n    on('tool_call', f)"),
    case("surrogates", before, r"on('tool_call', lambda e, c: {'input': {'command': 'a\ud83d\ude00b\udc00'}})"),
    case("bytes and tuples", before, "on('tool_call', lambda e, c: {'input': {'a': (1, 2), 'b': b'x'}})"),
    case("values of the standard library", before, "import datetime as d, decimal, uuid, enum\n    E = enum.Enum('E', {'A': 1})\n    on('tool_call', lambda e, c: {'input': {'a': [d.datetime(2026, 1, 2), d.datetime(2026, 1, 2, tzinfo=d.timezone.utc), d.date(2026, 1, 2), decimal.Decimal('1.5'), uuid.UUID(int=1), E.A]}})"),
    case("not a number", before, "on('tool_call', lambda e, c: {'input': {'a': float('nan')}})"),
    case("redact", after, "def f(e, c): return {'content': [{'type': 'text', 'text': e.content[0].text.replace('42', '**')}]}\n    on('tool_result', f)"),
    case("redact in place", after, "def f(e, c): e.content[0] = Text(text='gone')\n    on('tool_result', f)"),
    case("redact with a result", after, "on('tool_result', lambda e, c: ToolAfterResult(content=[Text(text='x')], is_error=True))"),
    case("details in camel case", after, "on('tool_result', lambda e, c: {'details': {'snake_key': 1}, 'isError': True})"),
    case("a part that is none", after, "on('tool_result', lambda e, c: {'content': [{'type': 'sound'}]})"),
    case("append", before_start, "on('agent.before_start', lambda e, c: {'message': {'custom_type': 'n', 'content': 'hi'}})"),
    case("chain a text in place", before_start, "def f(e, c): e.system_prompt += ' and more'\n    on('agent.before_start', f)"),
    case("append to a list", compact, "on('session.before_compact', lambda e, c: {'context': ['x', 'y']})"),
    case("append in place", compact, "def f(e, c): e.output.context.append('z')\n    on('session.before_compact', f)"),
    case("cancel in place", compact, "def f(e, c): e.output.cancel = True\n    on('session.before_compact', f)"),
    case("first", compact, "on('session.before_compact', lambda e, c: {'summary': 's'})"),
    case("continue", before_end, "on('agent.before_end', lambda e, c: {'continue_with': e.messages[0].content[0].text})"),
    case("strictest", permission, "on('permission.ask', lambda e, c: {'decision': 'ask'})\n    on('permission.ask', lambda e, c: {'decision': 'deny', 'reason': 'r'})"),
    case("options in place", params, "def f(e, c): e.output.stream_options.temperature = 0.5\n    on('chat.params', f)"),
    case("options returned in part", params, "on('chat.params', lambda e, c: {'stream_options': {'maxTokens': 5}})"),
    case("options typed", params, "on('chat.params', lambda e, c: {'stream_options': StreamParams(max_tokens=7, stop=['a'])})"),
    case("options wrong", params, "def f(e, c): e.output.stream_options.temperature = 'hot'\n    on('chat.params', f)"),
    case("messages dropped", messages, "def f(e, c): del e.messages[0]\n    on('context', f)"),
    case("messages returned", messages, "on('context', lambda e, c: {'messages': [*e.messages, {'role': 'user', 'content': [{'type': 'text', 'text': '3'}]}]})"),
    case("model by reference", resolve, "on('model.resolve', lambda e, c: {'model': {'provider': 'test', 'id': e.input.model.id + '!'}})"),
    case("headers merged", auth, "on('auth.get', lambda e, c: {'headers': {'A': 'b'}, 'api_key': 'k'})\n    on('auth.get', lambda e, c: {'headers': {'C': 'd'}})"),
    case("order by priority", before, "on('tool_call', lambda e, c: {'input': {'by': 'late'}}, priority=-1)\n    on('tool_call', lambda e, c: {'input': {'by': 'early'}}, priority=1)"),
    case("final refuses", before, "on('tool_call', lambda e, c: {'block': e.input['command'] == 'pwd', 'reason': 'f'}, final=True)\n    def g(e, c): e.input['command'] = 'pwd'\n    on('tool_call', g)"),
    case("final may not change", before, "def f(e, c): e.input['a'] = 1\n    on('tool_call', f, final=True)"),
    case("tools filter", before, "on('tool_call', lambda e, c: {'block': True}, tools=('wri*',))"),
    case("junk result", before, "on('tool_call', lambda e, c: 'yes')"),
    case("an object as result", before, "on('tool_call', lambda e, c: object())"),
    case("the wrong result class", before, "on('tool_call', lambda e, c: ToolAfterResult(is_error=True))"),
    case("an unknown key", before, "on('tool_call', lambda e, c: {'blok': True})"),
    case("a wrong type", before, "on('tool_call', lambda e, c: {'block': 'yes'})"),
    case("not JSON", before, "on('tool_call', lambda e, c: {'input': {'a': object()}})"),
    case("keys that are no texts", before, "on('tool_call', lambda e, c: {'input': {1: 2}})"),
    case("an observer's junk", turn_start, "on('turn.start', lambda e, c: object())"),
    case("raise open", turn_start, "def f(e, c):\n        raise ValueError('bad')\n    on('turn.start', f)"),
    case("raise closed", before, "async def f(e, c):\n        await asyncio.sleep(0)\n        raise KeyError('bad')\n    on('tool_call', f)"),
    case("raised to closed", after, "def f(e, c): 1 / 0\n    on('tool_result', f, on_error='closed')"),
    case("contributes nothing", before_start, "def f(e, c):\n        e.system_prompt = 'x'\n        raise RuntimeError()\n    on('agent.before_start', f)"),
    case("exit", before, "def f(e, c): raise SystemExit(3)\n    on('tool_call', f)"),
    case("interrupt", before, "async def f(e, c): raise KeyboardInterrupt\n    on('tool_call', f)"),
    case("own timeout", before, "async def f(e, c):\n        async with asyncio.timeout(0.01):\n            await asyncio.sleep(9)\n    on('tool_call', f)"),
    case("cancels itself", before, "async def f(e, c): asyncio.current_task().cancel(); await asyncio.sleep(1)\n    on('tool_call', f)"),
    case("deadline", before, "async def f(e, c): await asyncio.sleep(60)\n    on('tool_call', f, timeout=0.2)"),
    case("not awaited", before, "async def f(e, c):\n        if not c.ui.confirm('t'):\n            return {'block': True}\n    on('tool_call', f)"),
    case("awaited", before, "async def f(e, c):\n        if not await c.ui.confirm('t'):\n            return {'block': True, 'reason': 'nobody'}\n    on('tool_call', f)"),
    case("waited for", before, "def f(e, c):\n        if not c.ui.confirm('t'):\n            return {'block': True, 'reason': 'nobody'}\n    on('tool_call', f)"),
    case("an error of marvin", before, "def f(e, c): c.ui.notify('x', 'loud')\n    on('tool_call', f)"),
    case("an error of the engine", before, "def f(e, c): c.send_user_message('')\n    on('tool_call', f)"),
    case("a program that is not there", before, "def f(e, c): c.exec('no-such-program')\n    on('tool_call', f)"),
    case("two handlers chain", before, "def f(e, c): e.input['log'] = [1]\n    def g(e, c): e.input['log'].append(2)\n    on('tool_call', f)\n    on('tool_call', g)"),
]  # fmt: skip


def told(text: str) -> str:
    return re.sub(r" object at 0x\w+", "", text)


async def outcome(directory: Path, given: Case, *, isolated: bool) -> dict[str, Any]:
    directory.mkdir()
    file = directory / "hook.py"
    file.write_text(HEAD + "    " + given.body + "\n")
    isolate = ("flag:hook",) if isolated else ()
    async with ScriptedEngine(directory, hook_files=[str(file)], isolate=isolate) as e:
        assert e.engine.hooks.problems == []
        (hook,) = e.engine.hooks.registry.hooks
        result = await e.engine.hooks.dispatcher.dispatch(given.event())
        failures = [
            (failed.hook, failed.event, failed.place, told(failed.error), given.body.split()[0] in failed.traceback)
            for failed in e.of(HookFailed)
        ]
        return {
            "event": forms.to_plain(result.event),
            "refused": result.refused and (*result.refused[:2], told(result.refused.reason), result.refused.failed),
            "decided": forms.to_plain(result.decided),
            "decided by": result.decided_by,
            "added": forms.to_plain(result.added),
            "changes": forms.to_plain([change._asdict() for change in result.changes]),
            "failures": [failure[:4] for failure in failures],
            "places": [(handler.name, handler.place, handler.closed, handler.final) for handler in hook.handlers],
        }


@pytest.mark.parametrize("given", CASES)
async def test_a_hook_does_the_same_in_both_hosts(tmp_path: Path, given: Case) -> None:
    here = await outcome(tmp_path / "here", given, isolated=False)
    there = await outcome(tmp_path / "there", given, isolated=True)
    assert there == here
