"""What every wire has to do, whatever its protocol: one list of scenarios, run against each."""

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from wire_adapters import ADAPTERS, Adapter, Call, Say, Script, Think

from marvin_agent.errors import OverloadedError, ProtocolError, ProviderError, RateLimitError
from marvin_agent.llm.call import ModelCall
from marvin_agent.llm.values import (
    Credentials,
    Finished,
    HttpRequest,
    Request,
    StreamEvent,
    StreamOptions,
    TextDelta,
    ToolCallDelta,
    ToolSpec,
)
from marvin_agent.messages import (
    AssistantMessage,
    HookMessage,
    Image,
    Message,
    Raw,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    changed,
)

KEY = "test-key-0123456789"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TOOL = ToolSpec(
    name="read",
    description="Read a file",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        "required": ["path"],
        "additionalProperties": False,
    },
)
SHORT = Script.of(Think(("hm",)), Say(("né 🦉",)), Call("call_1", "read", ('{"path":"ü"}',)))

every_wire = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.model.api)


class FakeResponse:
    def __init__(self, status: int, chunks: Iterable[bytes], content_type: str) -> None:
        self.status = status
        self.headers = {"content-type": content_type, "x-request-id": "req-1"}
        self._chunks = chunks

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


class FakeTransport:
    """Answers every request with the same bytes, and keeps what was sent."""

    def __init__(self, chunks: Iterable[bytes], status: int = 200, content_type: str = "text/event-stream") -> None:
        self.sent: list[HttpRequest] = []
        self._answer = (status, list(chunks), content_type)

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncGenerator[FakeResponse, None]:
        self.sent.append(request)
        yield FakeResponse(*self._answer)

    async def close(self) -> None:
        pass


def body_of(adapter: Adapter, script: Script, line_end: str = "\n") -> bytes:
    return "".join(event + "\n\n" for event in adapter.events(script)).replace("\n", line_end).encode()


def request(adapter: Adapter, *messages: Message, **more: Any) -> Request:
    return Request(
        model=adapter.model,
        system="Be brief.",
        messages=messages or (UserMessage(content=(Text(text="hi"),)),),
        tools=(TOOL,),
        **more,
    )


async def events_of(adapter: Adapter, *chunks: bytes, **answer: Any) -> list[StreamEvent]:
    call = ModelCall(request(adapter), Credentials(api_key=KEY), FakeTransport(chunks, **answer))
    return [event async for event in call.events()]


async def said(adapter: Adapter, script: Script) -> AssistantMessage:
    last = (await events_of(adapter, body_of(adapter, script)))[-1]
    assert isinstance(last, Finished)
    return last.message


def heard(message: AssistantMessage) -> list[tuple[str, object]]:
    """The message without what differs between protocols: signatures and the form of ids."""
    found: list[tuple[str, object]] = []
    for part in message.content:
        match part:
            case Text() if part.text:
                found.append(("text", part.text))
            case Thinking():
                found.append(("thinking", part.thinking))
            case ToolCall():
                found.append((f"{part.name} {part.id.partition('|')[0]}", part.input))
    return found


def payload(adapter: Adapter, *messages: Message, **more: Any) -> dict[str, Any]:
    body = ModelCall(request(adapter, *messages, **more), Credentials(), FakeTransport(())).payload
    plain: dict[str, Any] = json.loads(json.dumps(body))
    return plain


@every_wire
async def test_text_streams_in_pieces_and_becomes_one_part(adapter: Adapter) -> None:
    events = await events_of(adapter, *(body_of(adapter, Script.of(Say(("Hel", "lo")))).splitlines(keepends=True)))
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hel", "lo"]
    assert events[0].request_id == "req-1"
    assert isinstance(events[-1], Finished)
    assert heard(events[-1].message) == [("text", "Hello")]
    assert events[-1].message.stop_reason == "stop"
    assert events[-1].message.api == adapter.model.api


@every_wire
async def test_thinking_comes_before_the_text_and_goes_back_with_its_signature(adapter: Adapter) -> None:
    message = await said(adapter, Script.of(Think(("I ", "wonder"), signature="opaque=="), Say(("yes",))))
    assert heard(message) == [("thinking", "I wonder"), ("text", "yes")]
    question = UserMessage(content=(Text(text="and?"),))
    expected = "I wonder" if adapter.model.api == "openai-completions" else "opaque=="
    assert adapter.thinking_sent(payload(adapter, question, message, question)) == expected


@every_wire
async def test_thinking_of_another_provider_goes_back_as_text(adapter: Adapter) -> None:
    message = await said(adapter, Script.of(Think(("I wonder",), signature="opaque=="), Say(("yes",))))
    question = UserMessage(content=(Text(text="and?"),))
    sent = json.dumps(payload(adapter, question, changed(message, provider="elsewhere"), question))
    assert "<thinking>" in sent
    assert "opaque" not in sent


@every_wire
async def test_two_tool_calls_in_one_message(adapter: Adapter) -> None:
    calls = (Call("call_a", "read", ('{"path":"a"}',)), Call("call_b", "read", ('{"path":"b"}',)))
    message = await said(adapter, Script.of(Say(("both",)), *calls))
    assert heard(message) == [("text", "both"), ("read call_a", {"path": "a"}), ("read call_b", {"path": "b"})]
    assert message.stop_reason == "toolUse"
    results = [
        ToolResultMessage(tool_call_id=call.id, tool_name="read", content=(Text(text=f"of {call.id}"),), is_error=False)
        for call in message.tool_calls
    ]
    sent = json.dumps(payload(adapter, UserMessage(content=(Text(text="q"),)), message, *results))
    assert sent.count("call_a") >= 2
    assert sent.count("call_b") >= 2


@every_wire
async def test_arguments_in_many_pieces_are_joined_and_told_as_they_come(adapter: Adapter) -> None:
    arguments = json.dumps({"path": "ü" * 40 + "\n\\", "limit": 3}, ensure_ascii=False)
    script = Script.of(Call("call_a", "read", tuple(arguments)))
    body = body_of(adapter, script)
    events = await events_of(adapter, *(body[at : at + 40] for at in range(0, len(body), 40)))
    deltas = [event for event in events if isinstance(event, ToolCallDelta)]
    assert json.loads("".join(delta.text for delta in deltas)) == json.loads(arguments)
    assert {(delta.name, delta.id.partition("|")[0]) for delta in deltas} == {("read", "call_a")}
    last = events[-1]
    assert isinstance(last, Finished)
    assert last.message.tool_calls[0].input == json.loads(arguments)


@every_wire
async def test_images_reach_the_model_from_users_and_from_tools(adapter: Adapter) -> None:
    image = Image(data=PIXEL, mime_type="image/png")
    call = await said(adapter, Script.of(Call("call_a", "read", ('{"path":"a.png"}',))))
    result = ToolResultMessage(
        tool_call_id=call.tool_calls[0].id,
        tool_name="read",
        content=(Text(text="Read a.png"), image),
        is_error=False,
    )
    question = UserMessage(content=(Text(text="What is this?"), image))
    sent = json.dumps(payload(adapter, question, call, result))
    assert sent.count(PIXEL) == 2
    assert "Read a.png" in sent
    blind = request(adapter, question, call, result)
    blind = changed(blind, model=changed(adapter.model, input=("text",)))
    sent = json.dumps(ModelCall(blind, Credentials(), FakeTransport(())).payload)
    assert PIXEL not in sent
    assert "image" in sent


@every_wire
async def test_usage_counts_what_the_cache_gave_apart_and_reasoning_once(adapter: Adapter) -> None:
    usage = (await said(adapter, Script.of(Say(("ok",)), input=100, cached=900, output=50))).usage
    assert usage is not None
    assert (usage.input, usage.cache_read, usage.output, usage.total_tokens) == (100, 900, 50, 1050)


@every_wire
async def test_an_answer_cut_at_the_token_limit_says_so(adapter: Adapter) -> None:
    message = await said(adapter, Script.of(Say(("half a sen",)), stop="length"))
    assert (heard(message), message.stop_reason) == ([("text", "half a sen")], "length")


@every_wire
async def test_a_refusal_says_so_and_keeps_its_words(adapter: Adapter) -> None:
    message = await said(adapter, Script.of(Say(("I cannot help with that",)), stop="refusal"))
    assert (heard(message), message.stop_reason) == ([("text", "I cannot help with that")], "refusal")


@every_wire
async def test_an_error_in_the_stream_is_raised_and_what_came_before_is_kept(adapter: Adapter) -> None:
    script = Script.of(Say(("so far",)), error=("overloaded_error", "Overloaded, try again later"))
    call = ModelCall(request(adapter), Credentials(), FakeTransport([body_of(adapter, script)]))
    with pytest.raises(OverloadedError, match="Overloaded, try again later") as raised:
        _ = [event async for event in call.events()]
    assert raised.value.provider == "test"
    assert raised.value.request_id == "req-1"
    partial = call.partial("error", "Overloaded")
    assert (heard(partial), partial.stop_reason) == ([("text", "so far")], "error")


@every_wire
@pytest.mark.parametrize("parts", [(Say(("so far",)),), (Call("call_a", "read", ('{"path":"a"',)),), ()])
async def test_a_stream_that_ends_without_an_end_is_an_error_and_its_half_calls_are_gone(
    adapter: Adapter, parts: tuple[Say | Call, ...]
) -> None:
    call = ModelCall(request(adapter), Credentials(), FakeTransport([body_of(adapter, Script.of(*parts, stop=None))]))
    with pytest.raises(ProtocolError) as raised:
        _ = [event async for event in call.events()]
    assert raised.value.retryable
    assert call.partial("error").tool_calls == ()


@every_wire
async def test_bytes_may_be_split_anywhere(adapter: Adapter) -> None:
    body = body_of(adapter, SHORT)
    whole = heard(await said(adapter, SHORT))
    assert whole == [("thinking", "hm"), ("text", "né 🦉"), ("read call_1", {"path": "ü"})]
    for at in range(1, len(body)):
        events = await events_of(adapter, body[:at], body[at:])
        assert heard(events[-1].message) == whole, body[:at]
    events = await events_of(adapter, *(bytes([byte]) for byte in body))
    assert heard(events[-1].message) == whole


@every_wire
@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
async def test_other_line_ends_mean_the_same(adapter: Adapter, line_end: str) -> None:
    events = await events_of(adapter, body_of(adapter, SHORT, line_end))
    assert heard(events[-1].message) == heard(await said(adapter, SHORT))


@every_wire
async def test_comments_pings_and_unknown_events_are_passed_over(adapter: Adapter) -> None:
    events = adapter.events(SHORT)
    noise = [": ping", "retry: 100", adapter.unknown(), ": OPENROUTER PROCESSING"]
    body = "".join(f"{piece}\n\n" for event in events for piece in (*noise, event)).encode()
    assert heard((await events_of(adapter, body))[-1].message) == heard(await said(adapter, SHORT))


@every_wire
async def test_a_last_event_without_the_blank_line_after_it_counts(adapter: Adapter) -> None:
    events = await events_of(adapter, body_of(adapter, SHORT).rstrip(b"\n"))
    assert heard(events[-1].message) == heard(await said(adapter, SHORT))


@every_wire
async def test_what_is_no_json_is_an_error_that_can_be_tried_again(adapter: Adapter) -> None:
    with pytest.raises(ProtocolError):
        await events_of(adapter, b"data: <html>Bad gateway</html>\n\n")


@every_wire
async def test_an_error_status_is_an_error_of_the_tree(adapter: Adapter) -> None:
    body = json.dumps({"error": {"type": "rate_limit_error", "message": "Slow down", "status": "RESOURCE_EXHAUSTED"}})
    with pytest.raises(RateLimitError, match="Slow down"):
        await events_of(adapter, body.encode(), status=429, content_type="application/json")


@every_wire
async def test_the_key_stands_in_a_header_alone(adapter: Adapter) -> None:
    transport = FakeTransport([body_of(adapter, SHORT)])
    call = ModelCall(request(adapter), Credentials(api_key=KEY, headers={"X-Team": "a"}), transport)
    _ = [event async for event in call.events()]
    (sent,) = transport.sent
    assert sent.url.startswith("http://127.0.0.1:9/base/")
    assert KEY not in sent.url
    assert KEY not in sent.body.decode()
    assert sum(KEY in value for value in sent.headers.values()) == 1
    assert sent.headers["x-team"] == "a"


@every_wire
async def test_a_key_that_the_server_quotes_is_not_shown(adapter: Adapter) -> None:
    body = json.dumps({"error": {"type": "authentication_error", "message": f"Incorrect API key: {KEY}"}}).encode()
    with pytest.raises(ProviderError) as raised:
        await events_of(adapter, body, status=401, content_type="application/json")
    assert KEY not in raised.value.show()


@every_wire
async def test_settings_reach_the_body_and_the_extra_ones_win(adapter: Adapter) -> None:
    options = StreamOptions(temperature=0.25, max_tokens=321, extra={"vendor_option": [1]})
    body = payload(adapter, options=options)
    assert body["vendor_option"] == [1]
    sent = json.dumps(body)
    assert "321" in sent
    assert "0.25" in sent
    assert "Be brief." in sent
    assert "Read a file" in sent


# Pinned bodies


def conversation(adapter: Adapter) -> tuple[Message, ...]:
    """A question, two calls of this model, a note of a hook, and an answer of another model."""
    model = adapter.model
    signature = {
        "openai-responses": '{"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "opaque=="}',
        "openai-completions": "reasoning_content",
    }.get(model.api, "opaque==")
    first, second = ("call_a|fc_1", "call_b|fc_2") if model.api == "openai-responses" else ("call_a", "call_b")
    own = {"api": model.api, "provider": model.provider, "model": model.id}
    image = Image(data=PIXEL, mime_type="image/png")
    return (
        UserMessage(content=(Text(text="What is in these files?"), image)),
        AssistantMessage(
            content=(
                Thinking(thinking="I read both.", thinking_signature=signature),
                Text(text="I look."),
                ToolCall(id=first, name="read", arguments=Raw(b'{"path":"a.txt"}')),
                ToolCall(id=second, name="read", arguments=Raw(b'{"path":"b.png","limit":3}')),
            ),
            stop_reason="toolUse",
            **own,
        ),
        ToolResultMessage(
            tool_call_id=second, tool_name="read", content=(Text(text="Read b.png"), image), is_error=False
        ),
        ToolResultMessage(tool_call_id=first, tool_name="read", content=(Text(text="No such file"),), is_error=True),
        HookMessage(custom_type="note", content=(Text(text="The user is in a hurry."),)),
        AssistantMessage(
            content=(Thinking(thinking="A pixel.", thinking_signature="foreign"), Text(text="A pixel.")),
            api="openai-completions",
            provider="elsewhere",
            model="other",
            stop_reason="stop",
        ),
        UserMessage(content=(Text(text="Thanks — and now?"),)),
    )


@every_wire
def test_the_body_of_a_common_conversation_is_pinned(adapter: Adapter) -> None:
    options = StreamOptions(max_tokens=1000, reasoning="medium")
    body = payload(adapter, *conversation(adapter), options=options, cache_key="session-1")
    pinned = Path(__file__).parent / "bodies" / f"{adapter.model.api}.json"
    text = json.dumps(body, indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("MARVIN_PIN_BODIES"):  # set it to accept what is sent now, then read the difference
        pinned.write_text(text)
    assert json.loads(pinned.read_text()) == body
