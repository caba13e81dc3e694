"""What a hook returns or changes is what the engine does: every result field, with two hooks at it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.agent import events as out
from marvin_agent.agent.commands import Call, run_command
from marvin_agent.agent.retry import RetryPolicy
from marvin_agent.hooks.api import HookAPI
from marvin_agent.hooks.payload import Event
from marvin_agent.llm.values import Model
from marvin_agent.messages import HookMessage, ToolResultMessage, UserMessage, text_of
from marvin_agent.session.store import Session
from marvin_agent.testing.engine import MODEL, ScriptedEngine

Setup = Callable[[HookAPI], Any]


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"name": name, "arguments": arguments}


def answering(event: str, *results: Any, **options: Any) -> dict[str, Setup]:
    """Hooks a, b, ... that each answer one event with one result; a function is called with the event."""

    def make(result: Any) -> Setup:
        def setup(marvin: HookAPI) -> None:
            @marvin.on(event, **options)
            async def answer(event: Any, ctx: Any) -> Any:
                return result(event) if callable(result) else result

        return setup

    return {name: make(result) for name, result in zip("abcdef", results, strict=False)}


def hearing(event: str, heard: list[Any]) -> Setup:
    def setup(marvin: HookAPI) -> None:
        marvin.on(event, lambda event, ctx: heard.append(event))

    return setup


def entries(e: ScriptedEngine) -> list[dict[str, Any]]:
    assert e.engine.session.path
    return [json.loads(line) for line in Path(e.engine.session.path).read_text().splitlines()]


def stored(e: ScriptedEngine, role: str) -> list[dict[str, Any]]:
    return [entry for entry in entries(e) if entry["type"] == "message" and entry["message"]["role"] == role]


def tool_results(e: ScriptedEngine) -> list[ToolResultMessage]:
    return [m for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]


# chat.message


async def test_parts_of_two_hooks_are_stored_shown_and_sent_one_and_the_same(tmp_path: Path) -> None:
    hooks = answering(
        "chat.message",
        lambda event: event.output.parts.append({"type": "text", "text": "memory"}),
        lambda event: {"parts": [*event.output.parts, {"type": "text", "text": "context"}]},
    )
    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks=hooks) as e:
        await e.prompt("hi")
        (entry,) = stored(e, "user")
        (shown,) = [m for m in e.of(out.MessageEnded) if isinstance(m.message, UserMessage)]
        assert [part["text"] for part in entry["message"]["content"]] == ["hi", "memory", "context"]
        assert entry["changedBy"] == ["library:a", "library:b"] == list(shown.changed_by)
        assert text_of(shown.message.content) == "hi\nmemory\ncontext"
        sent = json.dumps(e.bodies[0]["messages"][-1]["content"])
        assert "memory" in sent and "context" in sent and "hi" in sent


async def test_a_message_that_a_hook_handled_is_stored_and_not_answered(tmp_path: Path) -> None:
    asked: list[Any] = []
    hooks = {**answering("chat.message", {"handled": True}), "later": hearing("chat.message", asked)}
    async with ScriptedEngine(tmp_path, hooks=hooks) as e:
        summary = await e.prompt("note this")
        assert (summary.error, e.bodies, asked) == (None, [], [])
        (entry,) = stored(e, "user")
        assert entry["changedBy"] == ["library:a"]


async def test_a_closed_message_handler_that_fails_fails_the_message(tmp_path: Path) -> None:
    hooks = answering("chat.message", lambda event: 1 / 0, on_error="closed")
    async with ScriptedEngine(tmp_path, hooks=hooks) as e:
        summary = await e.prompt("secret")
        assert "library:a" in str(summary.error)
        assert e.bodies == []
        assert len(e.engine.session.entries) == 0


# agent.before_start


async def test_messages_before_the_start_are_all_stored_just_before_the_users_and_sent(tmp_path: Path) -> None:
    hooks = answering(
        "agent.before_start",
        {"message": {"custom_type": "one", "content": "first", "details": {"n": 1}}},
        {"message": {"customType": "two", "content": [{"type": "text", "text": "second"}], "display": False}},
    )
    async with ScriptedEngine(tmp_path, [{"text": "ok"}], hooks=hooks) as e:
        await e.prompt("hi")
        messages = e.engine.session.messages()
        assert [text_of(m.content) for m in messages] == ["first", "second", "hi", "ok"]
        one, two = (m for m in messages if isinstance(m, HookMessage))
        assert (one.custom_type, two.custom_type, one.display, two.display) == ("one", "two", True, False)
        sent = json.dumps(e.bodies[0]["messages"])
        assert sent.index('"first"') < sent.index('"second"') < sent.index('"hi"')
        assert [entry["changedBy"] for entry in stored(e, "hookMessage")] == [["library:a"], ["library:b"]]


@pytest.mark.parametrize("message", [{"content": [1, 2]}, {"content": 7}, {"custom_type": 3}, {"no": "such"}, "text"])
async def test_a_message_that_is_none_is_reported_and_the_run_goes_on(tmp_path: Path, message: Any) -> None:
    async with ScriptedEngine(
        tmp_path, [{"text": "ok"}], hooks=answering("agent.before_start", {"message": message})
    ) as e:
        summary = await e.prompt("hi")
        assert summary.error is None
        assert [failure.hook for failure in e.of(out.HookFailed)] == ["library:a"]
        path = e.engine.session.path
    assert path and len(Session.open(path).messages()) == 2


async def test_the_system_prompt_of_the_start_holds_for_the_whole_run_and_no_longer(tmp_path: Path) -> None:
    turn = [0]
    hooks = answering(
        "agent.before_start",
        lambda event: {"system_prompt": event.system_prompt + " ALPHA"} if not turn[0] else None,
        lambda event: {"system_prompt": event.system_prompt + " BETA"} if not turn[0] else None,
    )
    replies = [{"toolCalls": [call("bash", command="true")]}, {"text": "ok"}, {"text": "again"}]
    async with ScriptedEngine(tmp_path, replies, hooks=hooks) as e:
        await e.prompt("hi")
        turn[0] = 1
        await e.prompt("more")
        systems = [body["messages"][0]["content"] for body in e.bodies]
    assert [text.endswith("ALPHA BETA") for text in systems] == [True, True, False]


# The request events, per model call.

WIRES = ["openai-completions", "anthropic-messages", "openai-responses", "google-generative-ai"]


def request_hooks(heard: list[tuple[str, str]]) -> dict[str, Setup]:
    def first(marvin: HookAPI) -> None:
        every = ("turn", "compaction", "complete")

        def note(event: Event) -> None:
            heard.append((event.type, vars(event)["purpose"]))

        @marvin.on("chat.system.transform")
        async def system(event: Any, ctx: Any) -> Any:
            note(event)
            event.output.system_prompt += " SYSTEM-A"

        @marvin.on("chat.params")
        async def params(event: Any, ctx: Any) -> Any:
            note(event)
            event.output.stream_options.temperature = 0.25

        @marvin.on("model.resolve")
        async def model(event: Any, ctx: Any) -> Any:
            note(event)
            return {"model": {"provider": "test", "id": "two"}}

        @marvin.on("auth.get")
        async def auth(event: Any, ctx: Any) -> Any:
            note(event)
            assert event.input.model_id == "two"
            return {"api_key": "key-of-a", "headers": {"x-a": "1"}}

        @marvin.on("chat.messages.transform", purposes=every)
        async def messages(event: Any, ctx: Any) -> Any:
            note(event)
            return {"messages": [*event.messages, {"role": "user", "content": [{"type": "text", "text": "MESSAGE-A"}]}]}

        @marvin.on("chat.request")
        async def request(event: Any, ctx: Any) -> Any:
            note(event)
            return {"payload": {**event.payload, "x_extra": [event.purpose]}}

        @marvin.command("ask", "a model")
        async def ask(args: str, ctx: Any) -> str:
            return str((await ctx.session.complete("be short", args)).text)

    def second(marvin: HookAPI) -> None:
        every = ("turn", "compaction", "complete")

        @marvin.on("chat.system.transform")
        async def system(event: Any, ctx: Any) -> Any:
            return {"system_prompt": event.output.system_prompt + " SYSTEM-B"}

        @marvin.on("chat.params")
        async def params(event: Any, ctx: Any) -> Any:
            assert event.output.stream_options.temperature == (None if event.purpose == "complete" else 0.25)
            return {"streamOptions": {"maxTokens": 77}}

        @marvin.on("auth.get")
        async def auth(event: Any, ctx: Any) -> Any:
            assert event.output.api_key == (None if event.purpose == "complete" else "key-of-a")
            return {"headers": {"x-b": "2"}}

        @marvin.on("chat.messages.transform", purposes=every)
        async def messages(event: Any, ctx: Any) -> Any:
            assert (text_of(event.messages[-1].content) == "MESSAGE-A") is (event.purpose != "complete")
            return {"messages": [*event.messages, {"role": "user", "content": [{"type": "text", "text": "MESSAGE-B"}]}]}

        @marvin.on("chat.request")
        async def request(event: Any, ctx: Any) -> Any:
            event.payload.setdefault("x_extra", []).append("b")

    return {"a": first, "b": second}


def two_models(api: Any) -> tuple[Model, Model]:
    bases = {"anthropic-messages": "http://scripted.invalid", "google-generative-ai": "http://scripted.invalid/v1beta"}
    base = bases.get(api, MODEL.base_url)
    one, two = (Model(provider="test", id=name, api=api, base_url=base, input=("text",)) for name in ("one", "two"))
    return one, two


@pytest.mark.parametrize("api", WIRES)
async def test_every_model_call_of_every_wire_passes_the_request_events_and_nothing_of_it_is_stored(
    tmp_path: Path, api: str
) -> None:
    heard: list[tuple[str, str]] = []
    replies = [{"text": "one"}, {"text": "summary"}, {"text": "three"}]
    async with ScriptedEngine(tmp_path, replies, hooks=request_hooks(heard), models=two_models(api)) as e:
        await e.prompt("hi")
        await e.engine.compact()
        command = e.engine.side.commands["ask"]
        assert await run_command(e.engine, Call(command.name, "what is it")) == "three"
        requests = e.models.recorded.requests
        for request, purpose in zip(requests, ("turn", "compaction", "complete"), strict=True):
            body = request.body.decode()
            # What a hook itself calls does not reach that hook's own handlers.
            own = purpose == "complete"
            assert ("SYSTEM-A SYSTEM-B" in body) is not own
            assert "SYSTEM-B" in body
            assert ("MESSAGE-A" in body) is not own
            assert "77" in body
            headers = {name.lower(): value for name, value in request.headers.items()}
            assert headers["x-b"] == "2"
            if not own:
                assert headers["x-a"] == "1"
                assert any("key-of-a" in value for value in headers.values()) or "key-of-a" in request.url
                assert json.loads(body)["x_extra"] == [purpose, "b"]
                assert "0.25" in body
                assert "two" in request.url or json.loads(body)["model"] == "two"
        assert e.engine.model.id == "one"
        file = Path(e.engine.session.path or "").read_text()
    assert not any(word in file for word in ("SYSTEM-A", "SYSTEM-B", "MESSAGE-A", "MESSAGE-B", "key-of-a"))
    names = [
        "chat.system.transform",
        "chat.params",
        "model.resolve",
        "auth.get",
        "chat.messages.transform",
        "chat.request",
    ]
    assert heard == [(name, purpose) for purpose in ("turn", "compaction") for name in names]


async def test_all_events_of_a_call_that_a_hook_makes_have_its_origin_and_it_hears_none_of_them(
    tmp_path: Path,
) -> None:
    heard: dict[str, set[tuple[str, str]]] = {"asks": set(), "listens": set()}
    names = ("chat.params", "chat.request", "chat.response", "retry.start", "retry.end", "message.update")

    def listener(name: str) -> Callable[[HookAPI], None]:
        def setup(marvin: HookAPI) -> None:
            @marvin.command(f"ask-{name}")
            async def ask(args: str, ctx: Any) -> str:
                return str((await ctx.session.complete("short", "what is it")).text)

            for event in names:

                @marvin.on(event)
                async def hear(event: Any, ctx: Any) -> None:
                    heard[name].add((event.type, event.origin))

        return setup

    replies = [{"fault": {"status": 503}}, {"text": "this"}]
    hooks = {name: listener(name) for name in heard}
    async with ScriptedEngine(tmp_path, replies, hooks=hooks, retry=RetryPolicy(base_delay=0.001)) as e:
        assert await run_command(e.engine, Call("ask-asks", "")) == "this"
    assert heard["listens"] == {(name, "hook:library:asks") for name in names if name != "message.update"}
    assert heard["asks"] == set()
