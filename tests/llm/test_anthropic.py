"""What is particular to Anthropic's messages: bodies, headers, and the events of it and its imitators."""

import json
from typing import Any

import pytest

from marvin_agent.errors import ContextOverflowError, OverloadedError, ProtocolError
from marvin_agent.llm.builder import Builder
from marvin_agent.llm.values import Credentials, Model, Request, ServerSentEvent, StreamOptions, ToolSpec
from marvin_agent.llm.wire import wire_for
from marvin_agent.messages import (
    AssistantMessage,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    raw,
    user,
)

WIRE = wire_for("anthropic-messages")
MARK = {"type": "ephemeral"}
TOOLS = tuple(ToolSpec(name=name, description=name, parameters={"type": "object"}) for name in ("read", "bash"))


def model(name: str = "claude-sonnet-4-5", **fields: Any) -> Model:
    base = {
        "base_url": "https://api.anthropic.com",
        "reasoning": True,
        "input": ("text", "image"),
        "max_tokens": 64_000,
    }
    return Model(provider="anthropic", id=name, api="anthropic-messages", **{**base, **fields})


def request(at: Model | None = None, *messages: Any, reasoning: Any = "off", **options: Any) -> Request:
    return Request(
        model=at or model(),
        system="Be brief.",
        messages=messages or (user("hi"),),
        tools=TOOLS,
        options=StreamOptions(reasoning=reasoning, **options),
    )


def read(*events: dict[str, Any], finish: bool = True) -> AssistantMessage:
    builder = Builder(request())
    parser = WIRE.parser(builder)
    for event in events:
        parser.feed(ServerSentEvent(event=event.get("type", "message"), data=json.dumps(event)))
    if finish:
        parser.finish()
    return builder.message()


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ends(reason: str = "end_turn", **usage: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}, {"type": "message_stop"}


def test_system_last_tool_and_last_user_block_are_marked_for_the_cache():
    body = WIRE.payload(request(None, UserMessage(content=(Text(text="a"), Text(text="b")))))
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, MARK]
    assert [block.get("cache_control") for block in body["messages"][0]["content"]] == [None, MARK]


def test_what_was_marked_for_the_cache_last_time_is_marked_again_and_nothing_before_it():
    calls = tuple(ToolCall(id=f"c{number}", name="read") for number in range(15))
    asked = AssistantMessage(content=calls, api="x", provider="x", model="x", stop_reason="toolUse")
    results = [
        ToolResultMessage(tool_call_id=call.id, tool_name="read", content=(Text(text="r"),), is_error=False)
        for call in calls
    ]
    first, second = user("one"), user("two")
    said = AssistantMessage(content=(Text(text="ok"),), api="x", provider="x", model="x", stop_reason="stop")

    def marked(*messages: Any) -> list[int]:
        sent = WIRE.payload(request(None, *messages))
        assert json.dumps(sent).count("cache_control") <= 4, "more than four are refused"
        found = enumerate(sent["messages"])
        return [place for place, message in found if any("cache_control" in block for block in message["content"])]

    assert marked(first) == [0]
    assert marked(first, asked, *results) == [0, 2]
    assert marked(first, asked, *results, said, second) == [2, 4]


def test_results_of_one_message_go_back_together_with_what_the_user_says():
    at = model()
    calls = tuple(ToolCall(id=f"toolu_{n}", name="read", arguments=raw({"path": str(n)})) for n in (1, 2))
    said = AssistantMessage(content=calls, api=at.api, provider=at.provider, model=at.id, stop_reason="toolUse")
    results = (
        ToolResultMessage(
            tool_call_id="toolu_1",
            tool_name="read",
            content=(Text(text="seen"), Image(data="AAAA", mime_type="image/png")),
            is_error=False,
        ),
        ToolResultMessage(tool_call_id="toolu_2", tool_name="read", content=(Text(text="no"),), is_error=True),
    )
    body = WIRE.payload(request(at, user("go"), said, *results, user("and?")))
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"][0] == {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "read",
        "input": {"path": "1"},
    }
    assert body["messages"][2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": [
                {"type": "text", "text": "seen"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            ],
        },
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no", "is_error": True},
        {"type": "text", "text": "and?", "cache_control": MARK},
    ]


def test_signed_and_hidden_thinking_go_back():
    at = model()
    said = AssistantMessage(
        content=(
            Thinking(thinking="hm", thinking_signature="sig"),
            Thinking(thinking="", thinking_signature="opaque", redacted=True),
            Text(text="done"),
        ),
        api=at.api,
        provider=at.provider,
        model=at.id,
        stop_reason="stop",
    )
    body = WIRE.payload(request(at, user("go"), said, user("on")))
    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "text", "text": "done"},
    ]


@pytest.mark.parametrize(
    ("level", "most", "budget", "total"),
    [
        ("minimal", 64_000, 1024, 32_000 + 1024),
        ("low", 64_000, 2048, 32_000 + 2048),
        ("medium", 64_000, 8192, 32_000 + 8192),
        ("high", 64_000, 16_384, 32_000 + 16_384),
        ("xhigh", 64_000, 16_384, 32_000 + 16_384),
        ("high", 8_192, 8_192 - 1024, 8_192),
        ("high", 1_000, 1024, 2_048),
    ],
)
def test_a_thinking_budget_leaves_room_for_the_answer(level: Any, most: int, budget: int, total: int):
    body = WIRE.payload(request(model(max_tokens=most), reasoning=level, temperature=0.2))
    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert body["max_tokens"] == total
    assert "temperature" not in body


def test_a_model_whose_map_has_xhigh_gets_the_larger_budget():
    at = model(max_tokens=128_000, compat={"thinkingLevelMap": {"xhigh": "xhigh"}})
    assert WIRE.payload(request(at, reasoning="xhigh"))["thinking"]["budget_tokens"] == 32_768


def test_thinking_does_not_begin_in_the_middle_of_a_turn():
    at = model()
    call = ToolCall(id="t1", name="read")
    thought = Thinking(thinking="hm", thinking_signature="sig")
    result = ToolResultMessage(tool_call_id="t1", tool_name="read", content=(Text(text="x"),), is_error=False)

    def thinking_after(*parts: Any) -> str:
        said = AssistantMessage(content=parts, api=at.api, provider=at.provider, model=at.id, stop_reason="toolUse")
        return WIRE.payload(request(at, user("go"), said, result, reasoning="low"))["thinking"]["type"]

    assert thinking_after(call) == "disabled"
    assert thinking_after(thought, call) == "enabled"


@pytest.mark.parametrize(
    ("name", "compat", "level", "effort", "total"),
    [
        ("claude-opus-4-6", {}, "xhigh", "max", 64_000),
        ("claude-opus-4-7", {}, "xhigh", "xhigh", 64_000),
        ("claude-sonnet-4-6", {}, "minimal", "low", 33_024),
        ("claude-sonnet-5-20270101", {}, "medium", "medium", 40_192),
        ("claude-fable-5", {}, "medium", "medium", 40_192),
        ("claude-mythos-5-2", {"thinkingLevelMap": {"high": "max"}}, "high", "max", 48_384),
        ("house-model", {"adaptiveThinking": True}, "high", "high", 48_384),
    ],
)
def test_newer_models_take_an_effort_and_room_for_it(
    name: str, compat: dict[str, Any], level: Any, effort: str, total: int
):
    body = WIRE.payload(request(model(name, compat=compat), reasoning=level))
    assert body["thinking"]["type"] == "adaptive"
    assert body["output_config"] == {"effort": effort}
    assert body["max_tokens"] == total


@pytest.mark.parametrize(
    "name", ["claude-fable-5", "claude-mythos-5-2", "claude-opus-5-5", "anthropic/claude-fable-5.1"]
)
def test_a_model_that_always_thinks_is_asked_for_little_when_thinking_is_off(name: str):
    body = WIRE.payload(request(model(name), reasoning="off"))
    assert body["thinking"]["type"] == "adaptive"
    assert body["output_config"] == {"effort": "low"}


def test_a_model_that_thinks_on_request_alone_is_not_told_to_leave_it():
    for name in ("claude-opus-4-6", "claude-opus-4-8"):
        assert "thinking" not in WIRE.payload(request(model(name)))
    for name in ("claude-sonnet-4-5", "claude-opus-4-20250514", "claude-opus-5", "claude-haiku-5-5"):
        assert WIRE.payload(request(model(name)))["thinking"] == {"type": "disabled"}


def test_newer_models_are_not_told_how_to_sample():
    for name, kept in (("claude-opus-4-6", True), ("claude-opus-4-7", False), ("claude-opus-5", False)):
        assert ("temperature" in WIRE.payload(request(model(name), temperature=0.2))) == kept


def thought_of(at: Model) -> AssistantMessage:
    parts = (Thinking(thinking="hm", thinking_signature="sig"), Text(text="done"))
    return AssistantMessage(content=parts, api=at.api, provider=at.provider, model=at.id, stop_reason="stop")


def test_thinking_that_is_bound_to_the_conversation_is_dropped_where_a_prompt_changed():
    at = model("claude-opus-5-5")
    asked = request(at, user("go"), thought_of(at), user("on"), reasoning="high")
    body = WIRE.payload(asked)
    assert body["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert body["messages"][1]["content"][0]["signature"] == "sig"
    sent = WIRE.http_request(asked, Credentials(api_key="k"), body)
    assert "thinking-binding-controls-2026-08-01" in sent.headers["anthropic-beta"]
    for other in (model("claude-opus-5"), model("claude-opus-5-5", base_url="https://proxy.test")):
        body = WIRE.payload(request(other, reasoning="high"))
        assert "block_binding" not in body["thinking"]
        sent = WIRE.http_request(request(other), Credentials(api_key="k"), body)
        assert "binding" not in sent.headers.get("anthropic-beta", "")


def test_thinking_that_is_bound_to_the_conversation_stays_here_while_thinking_is_off():
    at = model("claude-haiku-5-5")
    body = WIRE.payload(request(at, user("go"), thought_of(at), user("on")))
    assert body["thinking"] == {"type": "disabled"}
    assert body["messages"][1]["content"] == [{"type": "text", "text": "done"}]


def test_an_image_of_a_failed_call_is_sent_without_the_mark_of_an_error():
    call = ToolCall(id="t1", name="shot")
    said = AssistantMessage(content=(call,), api="x", provider="x", model="x", stop_reason="toolUse")
    parts = (Text(text="It crashed:"), Image(data="AAAA", mime_type="image/png"))
    result = ToolResultMessage(tool_call_id="t1", tool_name="shot", content=parts, is_error=True)
    block = WIRE.payload(request(model(), user("go"), said, result))["messages"][-1]["content"][0]
    assert [part["type"] for part in block["content"]] == ["text", "image"]
    assert "is_error" not in block


def test_no_thinking_is_said_so_and_a_temperature_is_kept():
    body = WIRE.payload(request(temperature=0.2, stop=("X",), max_tokens=50, extra={"top_k": 3}))
    assert (body["thinking"], body["temperature"]) == ({"type": "disabled"}, 0.2)
    assert (body["stop_sequences"], body["max_tokens"], body["top_k"]) == (["X"], 50, 3)
    assert "thinking" not in WIRE.payload(request(model(reasoning=False)))


def test_the_key_is_a_header_and_an_oauth_token_a_bearer():
    ask = request(reasoning="low")
    sent = WIRE.http_request(ask, Credentials(api_key="sk-ant-api03-x"), WIRE.payload(ask))
    assert sent.url == "https://api.anthropic.com/v1/messages"
    assert sent.headers["x-api-key"] == "sk-ant-api03-x"
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert "interleaved-thinking-2025-05-14" in sent.headers["anthropic-beta"]
    sent = WIRE.http_request(ask, Credentials(api_key="sk-ant-oat01-x"), WIRE.payload(ask))
    assert sent.headers["authorization"] == "Bearer sk-ant-oat01-x"
    assert "x-api-key" not in sent.headers
    assert "oauth-2025-04-20" in sent.headers["anthropic-beta"]


@pytest.mark.parametrize("base", ["http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1/", "http://127.0.0.1:1"])
def test_an_imitator_gets_no_betas_and_one_version_in_its_path(base: str):
    ask = request(model(base_url=base))
    sent = WIRE.http_request(ask, Credentials(api_key="k"), WIRE.payload(ask))
    assert sent.url == "http://127.0.0.1:1/v1/messages"
    assert "anthropic-beta" not in sent.headers


def test_a_whole_answer_is_read():
    message = read(
        {
            "type": "message_start",
            "message": {
                "usage": {
                    "input_tokens": 3,
                    "cache_read_input_tokens": 100,
                    "cache_creation_input_tokens": 20,
                    "output_tokens": 1,
                }
            },
        },
        start(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="Let "),
        delta(0, "thinking_delta", thinking="me"),
        delta(0, "signature_delta", signature="si"),
        delta(0, "signature_delta", signature="gned"),
        stop(0),
        start(1, type="redacted_thinking", data="opaque"),
        stop(1),
        {"type": "ping"},
        start(2, type="text", text=""),
        delta(2, "text_delta", text="Hi"),
        stop(2),
        start(3, type="tool_use", id="toolu_1", name="read", input={}),
        delta(3, "input_json_delta", partial_json=""),
        delta(3, "input_json_delta", partial_json='{"pa'),
        delta(3, "input_json_delta", partial_json='th":"a"}'),
        stop(3),
        *ends("tool_use", output_tokens=42),
    )
    thinking, hidden, text, call = message.content
    assert thinking == Thinking(thinking="Let me", thinking_signature="signed")
    assert hidden == Thinking(thinking="", thinking_signature="opaque", redacted=True)
    assert text == Text(text="Hi")
    assert isinstance(call, ToolCall)
    assert (call.id, call.name, call.input) == ("toolu_1", "read", {"path": "a"})
    assert message.stop_reason == "toolUse"
    assert message.usage is not None
    assert (message.usage.input, message.usage.output) == (3, 42)
    assert (message.usage.cache_read, message.usage.cache_write) == (100, 20)
    assert message.usage.total_tokens == 165


def test_blocks_that_end_late_and_begin_without_input_are_read():
    message = read(
        start(0, type="text"),
        delta(0, "text_delta", text="a"),
        start(1, type="tool_use", id="t1", name="bash"),
        delta(1, "input_json_delta", partial_json='{"command":"ls"}'),
        stop(0),
        stop(1),
        *ends("tool_use"),
    )
    assert message.text == "a"
    assert [call.input for call in message.tool_calls] == [{"command": "ls"}]


def test_input_that_comes_whole_counts_once():
    whole = start(0, type="tool_use", id="t1", name="bash", input={"command": "ls"})
    pieces = delta(0, "input_json_delta", partial_json='{"command":"ls"}')
    for events in ((whole, stop(0)), (whole,), (whole, pieces, stop(0))):
        assert [call.input for call in read(*events, *ends("tool_use")).tool_calls] == [{"command": "ls"}]


@pytest.mark.parametrize(
    ("reason", "ours"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("max_tokens", "length"),
        ("refusal", "refusal"),
        ("of a later time", "stop"),
    ],
)
def test_stop_reasons(reason: str, ours: str):
    assert read(start(0, type="text", text="x"), *ends(reason)).stop_reason == ours


def test_an_error_event_is_raised():
    with pytest.raises(OverloadedError, match="Overloaded"):
        read({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    with pytest.raises(ContextOverflowError):
        read({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}})


def test_a_stream_without_its_end_is_an_error():
    with pytest.raises(ProtocolError, match="message_stop"):
        read(start(0, type="text", text="x"), stop(0))


def test_nonsense_is_a_protocol_error():
    parser = WIRE.parser(Builder(request()))
    with pytest.raises(ProtocolError):
        parser.feed(ServerSentEvent(event="message", data="{not json"))


def test_a_server_that_does_not_stream_is_understood():
    message = read(
        {
            "type": "message",
            "content": [
                {"type": "text", "text": "Hi"},
                {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "ls"}},
            ],
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 1, "output_tokens": 2},
        }
    )
    assert message.text == "Hi"
    assert message.tool_calls[0].input == {"command": "ls"}
