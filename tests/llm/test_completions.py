"""What is particular to chat completions: the habits of the many servers that speak them."""

import json
from typing import Any

import pytest

from marvin_agent.errors import ConfigError, ContextOverflowError, OverloadedError, ProtocolError, ProviderError
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
    changed,
    raw,
    user,
)

WIRE = wire_for("openai-completions")
TOOL = ToolSpec(name="read", description="Read", parameters={"type": "object"})
OPENAI = "https://api.openai.com/v1"
LOCAL = "http://127.0.0.1:11434/v1"


def model(base_url: str = LOCAL, **fields: Any) -> Model:
    return Model(provider="p", id="m", api="openai-completions", base_url=base_url, **fields)


def body(at: Model, *messages: Any, tools: tuple[ToolSpec, ...] = (), reasoning: Any = "off", **more: Any) -> dict:
    options = StreamOptions(reasoning=reasoning, **more.pop("options", {}))
    return WIRE.payload(
        Request(model=at, system="Be brief.", messages=messages or (user("hi"),), tools=tools, options=options, **more)
    )


def read(*chunks: dict[str, Any] | str, end: bool = True) -> AssistantMessage:
    builder = Builder(Request(model=model(), system="", messages=()))
    parser = WIRE.parser(builder)
    for chunk in chunks:
        parser.feed(ServerSentEvent(event="message", data=chunk if isinstance(chunk, str) else json.dumps(chunk)))
    if end:
        parser.feed(ServerSentEvent(event="message", data="[DONE]"))
    parser.finish()
    return builder.message()


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def piece(name: str | None = None, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    return delta(tool_calls=[{**fields, "function": {"name": name, "arguments": arguments}}])


def calls(message: AssistantMessage) -> list[tuple[str, Any]]:
    return [(call.name, call.input) for call in message.tool_calls]


# Bodies


def test_openai_itself_gets_its_own_words():
    ask = body(
        model(OPENAI, reasoning=True),
        tools=(TOOL,),
        reasoning="high",
        options={"max_tokens": 9, "temperature": 0.1, "stop": ("X",), "extra": {"seed": 1}},
        cache_key="s",
    )
    assert ask["messages"][0] == {"role": "developer", "content": "Be brief."}
    assert (ask["max_completion_tokens"], ask["store"], ask["prompt_cache_key"]) == (9, False, "s")
    assert (ask["reasoning_effort"], ask["temperature"], ask["stop"], ask["seed"]) == ("high", 0.1, ["X"], 1)
    assert ask["stream_options"] == {"include_usage": True}
    assert ask["tools"][0]["function"] == {
        "name": "read",
        "description": "Read",
        "parameters": {"type": "object"},
        "strict": False,
    }


def test_an_unknown_server_gets_only_what_all_understand():
    ask = body(model(), tools=(TOOL,), options={"max_tokens": 9}, cache_key="s")
    assert set(ask) == {"model", "messages", "stream", "stream_options", "max_tokens", "tools"}
    assert ask["messages"][0]["role"] == "system"
    assert "strict" not in ask["tools"][0]["function"]


def test_what_nobody_asked_for_is_left_to_the_server():
    assert set(body(model())) == {"model", "messages", "stream", "stream_options"}


@pytest.mark.parametrize(
    ("base_url", "compat", "level", "fields"),
    [
        (LOCAL, {}, "medium", {"reasoning_effort": "medium"}),
        (LOCAL, {}, "off", {}),
        (LOCAL, {"supportsReasoningEffort": False}, "medium", {}),
        (LOCAL, {"thinkingLevelMap": {"off": "none"}}, "off", {"reasoning_effort": "none"}),
        (LOCAL, {"thinkingLevelMap": {"high": "default"}}, "high", {"reasoning_effort": "default"}),
        ("https://openrouter.ai/api/v1", {}, "low", {"reasoning": {"effort": "low"}}),
        ("https://openrouter.ai/api/v1", {}, "off", {"reasoning": {"effort": "none"}}),
        ("https://api.z.ai/api/paas/v4", {}, "low", {"thinking": {"type": "enabled"}}),
        ("https://api.z.ai/api/paas/v4", {}, "off", {"thinking": {"type": "disabled"}}),
        ("https://api.moonshot.ai/v1", {"supportsReasoningEffort": False}, "off", {"thinking": {"type": "disabled"}}),
        ("https://api.deepseek.com", {}, "high", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("https://api.x.ai/v1", {}, "high", {}),
        ("https://api.x.ai/v1", {"id": "grok-4.7"}, "xhigh", {"reasoning_effort": "xhigh"}),
        ("https://api.x.ai/v1", {"id": "grok-4.3"}, "off", {"reasoning_effort": "none"}),
        ("https://api.mistral.ai/v1", {"id": "mistral-small-2603"}, "low", {"reasoning_effort": "high"}),
        ("https://api.mistral.ai/v1", {"id": "mistral-small-2603"}, "off", {"reasoning_effort": "none"}),
        ("https://api.groq.com/openai/v1", {"id": "qwen/qwen3-32b"}, "off", {"reasoning_effort": "none"}),
        ("https://api.moonshot.ai/v1", {"id": "kimi-k3"}, "xhigh", {"reasoning_effort": "max"}),
        (
            "https://api.z.ai/api/paas/v4",
            {"id": "glm-5.3"},
            "medium",
            {"thinking": {"type": "enabled"}, "reasoning_effort": "low"},
        ),
        (LOCAL, {"thinkingFormat": "qwen"}, "low", {"enable_thinking": True}),
        (LOCAL, {"thinkingFormat": "qwen-chat-template"}, "off", {"chat_template_kwargs": {"enable_thinking": False}}),
    ],
)
def test_thinking_is_asked_for_in_the_servers_own_way(base_url: str, compat: dict, level: Any, fields: dict):
    own = {name: value for name, value in compat.items() if name != "id"}
    at = changed(model(base_url, reasoning=True, compat=own), id=compat.get("id", "m"))
    ask = body(at, reasoning=level)
    words = {"reasoning", "reasoning_effort", "thinking", "enable_thinking", "chat_template_kwargs"}
    assert {name: ask[name] for name in words & set(ask)} == fields


def test_compat_of_the_wrong_type_is_a_configuration_error():
    with pytest.raises(ConfigError, match="maxTokensField"):
        body(model(compat={"maxTokensField": "tokens"}))


def test_images_of_results_follow_as_a_users_message():
    at = model(input=("text", "image"))
    said = AssistantMessage(
        content=tuple(ToolCall(id=f"c{n}", name="read", arguments=raw({"n": n})) for n in (1, 2)),
        api=at.api,
        provider=at.provider,
        model=at.id,
        stop_reason="toolUse",
    )
    image = Image(data="AAAA", mime_type="image/png")
    first = ToolResultMessage(tool_call_id="c1", tool_name="read", content=(image,), is_error=False)
    second = ToolResultMessage(tool_call_id="c2", tool_name="read", content=(Text(text="x"),), is_error=False)
    _, _, asked, one, two, images, last = body(at, user("go"), said, first, second, user("and?"))["messages"]
    assert [call["id"] for call in asked["tool_calls"]] == ["c1", "c2"]
    assert asked["content"] is None
    assert (one["role"], one["tool_call_id"]) == ("tool", "c1")
    assert "image" in one["content"]
    assert two == {"role": "tool", "tool_call_id": "c2", "content": "x"}
    assert images["content"][1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert last == {"role": "user", "content": "and?"}


def test_an_image_of_the_user_is_a_part():
    parts = (Text(text="see"), Image(data="AAAA", mime_type="image/png"))
    ask = body(model(input=("text", "image")), UserMessage(content=parts))
    assert [part["type"] for part in ask["messages"][1]["content"]] == ["text", "image_url"]


def thought(at: Model, field: str = "reasoning_content", *more: Any) -> AssistantMessage:
    return AssistantMessage(
        content=(Thinking(thinking="hm", thinking_signature=field), *(more or (Text(text="hi"),))),
        api=at.api,
        provider=at.provider,
        model=at.id,
        stop_reason="stop",
    )


def test_thinking_goes_back_in_the_field_in_which_it_came():
    at = model(reasoning=True)
    said = body(at, user("a"), thought(at, "reasoning"), user("b"))["messages"][2]
    assert said == {"role": "assistant", "content": "hi", "reasoning": "hm"}


def test_thinking_goes_back_as_text_where_the_server_takes_no_other():
    at = model(reasoning=True, compat={"requiresThinkingAsText": True})
    said = body(at, user("a"), thought(at), user("b"))["messages"][2]
    assert said == {"role": "assistant", "content": "hm\n\nhi"}


def test_thinking_that_came_as_a_piece_of_the_content_goes_back_as_one():
    at = model("https://api.mistral.ai/v1", reasoning=True)
    piece = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    said = body(at, user("a"), thought(at, "content"), user("b"))["messages"][2]
    assert said == {"role": "assistant", "content": [piece, {"type": "text", "text": "hi"}]}
    other = changed(at, id="another")
    assert body(other, user("a"), thought(at, "content"), user("b"))["messages"][2]["content"] == (
        "<thinking>\nhm\n</thinking>hi"
    )


def test_a_host_with_many_caches_is_told_which_conversation_it_is():
    def sent(base_url: str) -> dict[str, str]:
        ask = Request(model=model(base_url), system="", messages=(user("hi"),), cache_key="s1")
        return WIRE.http_request(ask, Credentials(), WIRE.payload(ask)).headers

    assert sent("https://api.x.ai/v1")["x-grok-conv-id"] == "s1"
    assert "x-grok-conv-id" not in sent(LOCAL)


def test_a_server_that_wants_reasoning_on_every_message_gets_it():
    at = model("https://api.deepseek.com", reasoning=True)
    said = AssistantMessage(
        content=(Text(text="hi"),), api=at.api, provider=at.provider, model=at.id, stop_reason="stop"
    )
    assert body(at, user("a"), said, user("b"))["messages"][2]["reasoning_content"] == ""


ROUTER = "https://openrouter.ai/api/v1"


def detail(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"reasoning.{kind}", "format": "f", **fields}


def sent_back(message: AssistantMessage, name: str) -> dict[str, Any]:
    """An answer as the same model is told of it on the next turn."""
    at = Model(provider="p", id=name, api="openai-completions", base_url=ROUTER, reasoning=True)
    said = changed(message, provider="p", model=name)
    sent: dict[str, Any] = body(at, user("a"), said, user("b"))["messages"][2]
    return sent


def test_a_routers_reasoning_goes_back_as_it_came_with_its_pieces_put_together():
    message = read(
        delta(reasoning="Let me ", reasoning_details=[detail("text", index=0, text="Let me ")]),
        delta(reasoning="see.", reasoning_details=[detail("text", index=0, text="see.", signature=None)]),
        delta(reasoning_details=[detail("text", index=0, text="", signature="sig")]),
        delta(reasoning_details=[detail("encrypted", index=1, data="opaque", id="t1")]),
        piece("read", '{"path":"x"}', index=0, id="t1"),
        delta("tool_calls"),
    )
    assert [part.thinking for part in message.content if isinstance(part, Thinking)] == ["Let me see."]
    said = sent_back(message, "anthropic/claude-opus-4.6")
    assert said["reasoning_details"] == [
        detail("text", index=0, text="Let me see.", signature="sig"),
        detail("encrypted", index=1, data="opaque", id="t1"),
    ]
    assert "reasoning" not in said
    assert "reasoning_details" not in sent_back(changed(message, api="anthropic-messages"), "other/model")


def test_a_character_that_is_cut_in_two_in_a_routers_reasoning_is_joined():
    halves = [delta(reasoning_details=[detail("text", index=0, text=half)]) for half in ("\ud83d", "\ude00")]
    message = read(*halves, delta("stop", content="x"))
    assert sent_back(message, "some/model")["reasoning_details"][0]["text"] == "😀"


def test_reasoning_of_which_nothing_is_shown_goes_back_even_when_it_comes_last():
    message = read(
        piece("read", '{"path":"x"}', index=0, id="t1"),
        delta(reasoning_details=[detail("encrypted", index=0, data="opaque", id="t1")]),
        delta(content="on "),
        delta(content="we go"),
        delta("tool_calls"),
    )
    assert message.text == "on we go"
    said = sent_back(message, "google/gemini-3-pro-preview")
    assert said["reasoning_details"] == [detail("encrypted", index=0, data="opaque", id="t1")]
    assert said["tool_calls"][0]["id"] == "t1"


def answered(at: Model) -> AssistantMessage:
    return AssistantMessage(
        content=(Text(text="ok"),), api=at.api, provider=at.provider, model=at.id, stop_reason="stop"
    )


@pytest.mark.parametrize("name", ["anthropic/claude-opus-4.6", "~anthropic/claude-sonnet-latest"])
def test_claude_behind_a_router_has_marks_for_the_cache(name: str):
    at = changed(model(ROUTER), id=name)
    mark = {"cache_control": {"type": "ephemeral"}}
    sent = body(at, user("a"), tools=(TOOL, TOOL))
    assert sent["messages"] == [
        {"role": "system", "content": [{"type": "text", "text": "Be brief.", **mark}]},
        {"role": "user", "content": [{"type": "text", "text": "a", **mark}]},
    ]
    assert ["cache_control" in tool for tool in sent["tools"]] == [False, True]
    call = AssistantMessage(
        content=(ToolCall(id="t1", name="read"),), api="x", provider="x", model="x", stop_reason="toolUse"
    )
    result = ToolResultMessage(tool_call_id="t1", tool_name="read", content=(Text(text="r"),), is_error=False)
    last = body(at, user("a"), call, result)["messages"]
    assert last[1]["content"] == [{"type": "text", "text": "a", **mark}]
    assert last[3]["content"] == [{"type": "text", "text": "r", **mark}]
    grown = body(at, user("a"), call, result, answered(at), user("b"), tools=(TOOL,))
    assert json.dumps(grown).count("cache_control") == 4
    assert grown["messages"][1]["content"] == "a"
    assert "cache_control" not in json.dumps(body(model(ROUTER), user("a"), tools=(TOOL,)))


def test_without_tools_nothing_is_said_of_them():
    call = AssistantMessage(
        content=(ToolCall(id="t1", name="read"),), api="x", provider="x", model="x", stop_reason="toolUse"
    )
    result = ToolResultMessage(tool_call_id="t1", tool_name="read", content=(Text(text="r"),), is_error=False)
    assert "tools" not in body(model(), user("a"), call, result)


@pytest.mark.parametrize("reason", ["abort", "network_error", "insufficient_system_resource"])
def test_a_message_that_the_provider_broke_off_is_tried_again(reason: str):
    with pytest.raises(ProviderError, match=reason) as caught:
        read(delta(content="x"), delta(reason))
    assert caught.value.retryable


def test_mistral_gets_names_short_ids_and_an_answer_after_results():
    at = model("https://api.mistral.ai/v1", compat={"requiresMistralToolIds": True})
    call = ToolCall(id="call_that_is_long", name="read")
    said = AssistantMessage(content=(call,), api=at.api, provider=at.provider, model=at.id, stop_reason="toolUse")
    done = ToolResultMessage(
        tool_call_id="call_that_is_long", tool_name="read", content=(Text(text="x"),), is_error=False
    )
    ask = body(at, user("a"), said, done, user("b"))
    _, _, asked, result, between, last = ask["messages"]
    assert result["name"] == "read"
    assert result["tool_call_id"] == asked["tool_calls"][0]["id"]
    assert "stream_options" not in ask
    assert (between["role"], last["role"]) == ("assistant", "user")


def test_mistral_gets_an_answer_between_results_and_their_images_too():
    at = model("https://api.mistral.ai/v1", input=("text", "image"))
    said = AssistantMessage(
        content=(ToolCall(id="c1", name="read"),), api="x", provider="x", model="x", stop_reason="toolUse"
    )
    image = Image(data="AAAA", mime_type="image/png")
    result = ToolResultMessage(tool_call_id="c1", tool_name="read", content=(image,), is_error=False)
    roles = [message["role"] for message in body(at, user("go"), said, result)["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


def test_the_address_keeps_its_query_and_no_key_is_no_header():
    ask = Request(model=model("http://127.0.0.1:1/v1/?v=2"), system="", messages=(user("x"),))
    sent = WIRE.http_request(ask, Credentials(), WIRE.payload(ask))
    assert sent.url == "http://127.0.0.1:1/v1/chat/completions?v=2"
    assert "authorization" not in sent.headers


# Answers


def test_thinking_then_text_then_thinking_are_parts_of_their_own():
    message = read(
        delta(reasoning_content="a"),
        delta(reasoning_content="b"),
        delta(content="", reasoning_content=None),
        delta(content="c"),
        delta(reasoning="d"),
        delta("stop"),
    )
    assert message.content == (
        Thinking(thinking="ab", thinking_signature="reasoning_content"),
        Text(text="c"),
        Thinking(thinking="d", thinking_signature="reasoning"),
    )


def test_the_same_thinking_in_two_fields_counts_once():
    assert read(delta("stop", reasoning_content="a", reasoning="a")).content == (
        Thinking(thinking="a", thinking_signature="reasoning_content"),
    )


def test_content_in_pieces_with_types_is_read():
    chunk = delta(
        content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "x"}]
    )
    assert read(chunk, delta("stop")).content == (
        Thinking(thinking="hm", thinking_signature="content"),
        Text(text="x"),
    )


@pytest.mark.parametrize(
    "chunks",
    [
        # by index, as OpenAI does
        (
            piece("a", "", index=0, id="1"),
            piece(None, '{"x"', index=0),
            piece(None, ":1}", index=0),
            piece("b", "", index=1, id="2"),
            piece(None, '{"y":2}', index=1),
        ),
        # interleaved
        (
            piece("a", "", index=0, id="1"),
            piece("b", "", index=1, id="2"),
            piece(None, '{"x":', index=0),
            piece(None, '{"y":', index=1),
            piece(None, "1}", index=0),
            piece(None, "2}", index=1),
        ),
        # the id and the name again with every piece
        (
            piece("a", '{"x"', index=0, id="1"),
            piece("a", ":1}", index=0, id="1"),
            piece("b", '{"y"', index=1, id="2"),
            piece("b", ":2}", index=1, id="2"),
        ),
        # another id with every piece
        (
            piece("a", "", index=0, id="1"),
            piece(None, '{"x"', index=0, id="2"),
            piece(None, ":1}", index=0, id="3"),
            piece("b", '{"y":2}', index=1, id="4"),
        ),
        # whole calls, each counted as the first
        (piece("a", '{"x":1}', index=0, id="1"), piece("b", '{"y":2}', index=0, id="2")),
        # whole calls without an id, each counted as the first
        (piece("a", '{"x":1}', index=0), piece("b", '{"y":2}', index=0)),
        (piece("a", '{"x":1}', index=0, id=""), piece("b", '{"y":2}', index=0, id="")),
        # no index
        (piece("a", '{"x":1}', id="1"), piece("b", '{"y":2}', id="2")),
        (piece("a", "", id="1"), piece(None, '{"x":1}'), piece("b", "", id="2"), piece(None, '{"y":2}')),
        # both in one chunk, without index or id, arguments as objects
        (
            delta(
                tool_calls=[
                    {"function": {"name": "a", "arguments": {"x": 1}}},
                    {"function": {"name": "b", "arguments": {"y": 2}}},
                ]
            ),
        ),
    ],
)
def test_calls_however_they_are_counted(chunks: tuple[dict, ...]):
    message = read(*chunks, delta("tool_calls"))
    assert calls(message) == [("a", {"x": 1}), ("b", {"y": 2})]
    assert len({call.id for call in message.tool_calls}) == 2
    assert message.stop_reason == "toolUse"


def test_a_piece_that_repeats_the_name_and_begins_an_inner_object_goes_on_with_the_call():
    message = read(piece("a", '{"x":', index=0), piece("a", '{"y":1}}', index=0), delta("tool_calls"))
    assert calls(message) == [("a", {"x": {"y": 1}})]


def test_a_call_of_the_same_tool_again_is_another_call():
    message = read(piece("a", '{"x":1}', index=0), piece("a", '{"x":1}', index=0), delta("tool_calls"))
    assert calls(message) == [("a", {"x": 1})] * 2


@pytest.mark.parametrize(
    "chunks",
    [
        (delta(content="x"), {**delta("stop"), "usage": {"prompt_tokens": 10, "completion_tokens": 2}}),
        (delta(content="x"), delta("stop"), {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}),
        (
            {**delta(content="x"), "usage": {"prompt_tokens": 10, "completion_tokens": 2}},
            {**delta("stop"), "usage": None},
        ),
        (
            delta(content="x"),
            {
                "choices": [
                    {"delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 10, "completion_tokens": 2}}
                ]
            },
        ),
    ],
)
def test_usage_wherever_it_stands(chunks: tuple[dict, ...]):
    usage = read(*chunks).usage
    assert usage is not None
    assert (usage.input, usage.output, usage.total_tokens) == (10, 2, 12)


@pytest.mark.parametrize(
    "cached",
    [
        {"prompt_tokens_details": {"cached_tokens": 6}},
        {"prompt_cache_hit_tokens": 6},
        {"cached_tokens": 6, "prompt_tokens_details": None},
    ],
)
def test_input_is_without_what_the_cache_gave_and_reasoning_is_not_added_twice(cached: dict):
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 4}}
    told = read(delta("stop", content="x"), {"choices": [], "usage": {**usage, **cached}}).usage
    assert told is not None
    assert (told.input, told.cache_read, told.output, told.total_tokens) == (4, 6, 5, 15)


def test_reasoning_that_is_counted_beside_the_answer_is_added():
    usage = {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135}
    thought = {"completion_tokens_details": {"reasoning_tokens": 94}}
    told = read(delta("stop", content="x"), {"choices": [], "usage": {**usage, **thought}}).usage
    assert told is not None
    assert (told.input, told.output, told.total_tokens) == (32, 103, 135)


def test_no_usage_is_none():
    assert read(delta("stop", content="x")).usage is None


@pytest.mark.parametrize(
    ("reason", "ours"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "refusal"), ("STOP", "stop"), ("new", "stop")],
)
def test_stop_reasons(reason: str, ours: str):
    assert read(delta(reason, content="x")).stop_reason == ours


def test_a_refusal_is_text_and_says_so():
    message = read(delta(refusal="No."), delta("stop"))
    assert message.text == "No."
    assert message.stop_reason == "refusal"


def test_chunks_that_lack_everything_are_nothing():
    chunks = ({}, {"choices": None}, {"choices": [{}]}, {"choices": [{"delta": None}]}, delta(tool_calls=None), "  ")
    assert read(*chunks, delta("stop", content="x")).text == "x"


def test_characters_cut_in_two_by_the_server_are_joined():
    half = '{"choices":[{"delta":{"content":"%s"}}]}'
    assert read(half % "\\ud83d", half % "\\ude00").text == "\U0001f600"


@pytest.mark.parametrize("end", [delta("stop"), "[DONE]"])
def test_a_finish_reason_or_done_is_an_end(end: dict | str):
    assert read(delta(content="x"), end, end=False).text == "x"


def test_neither_is_none():
    with pytest.raises(ProtocolError, match="without an end"):
        read(delta(content="x"), end=False)


def test_a_message_cut_off_by_length_marks_the_call_that_is_not_whole():
    message = read(piece("a", '{"x":', index=0, id="1"), delta("length"))
    assert message.stop_reason == "length"
    assert message.tool_calls[0].malformed == '{"x":'


@pytest.mark.parametrize(
    ("chunk", "kind"),
    [
        ({"error": {"message": "Overloaded", "code": 503}}, OverloadedError),
        ({"error": {"message": "maximum context length is 8192 tokens", "code": 400}}, ContextOverflowError),
        ({"error": "something broke"}, ProviderError),
        ({"object": "error", "message": "maximum context length is 8192 tokens", "code": 400}, ContextOverflowError),
        (delta("error"), ProviderError),
        ("{", ProtocolError),
        ("[]", ProtocolError),
        ("[" * 100_000, ProtocolError),
    ],
)
def test_errors_in_the_stream(chunk: Any, kind: type[Exception]):
    with pytest.raises(kind):
        read(chunk)


def test_an_error_that_is_named_by_its_event_is_told_by_its_words():
    parser = WIRE.parser(Builder(Request(model=model(), system="", messages=())))
    with pytest.raises(OverloadedError, match=r"^the slot is busy$") as caught:
        parser.feed(ServerSentEvent(event="error", data='{"code":503,"message":"the slot is busy","type":"x"}'))
    assert caught.value.status == 503
