"""What servers of the responses API do beside the book."""

import json
from typing import Any

import pytest

from marvin_agent.errors import ContextOverflowError, ProtocolError, ProviderError, RateLimitError
from marvin_agent.llm.builder import Builder
from marvin_agent.llm.values import Model, Request, ServerSentEvent, StreamOptions
from marvin_agent.llm.wire.responses import ResponsesParser
from marvin_agent.llm.wire.responses_body import body
from marvin_agent.messages import AssistantMessage, Text, Thinking, ToolCall, UserMessage

MODEL = Model(provider="openai", id="gpt-x", api="openai-responses", base_url="http://127.0.0.1:9", reasoning=True)
QUESTION = UserMessage(content=(Text(text="hi"),))


def parse(*events: dict[str, Any], model: Model = MODEL) -> AssistantMessage:
    builder = Builder(Request(model=model, system="", messages=()))
    parser = ResponsesParser(builder)
    for event in events:
        parser.feed(ServerSentEvent(event="message", data=json.dumps(event)))
        builder.drain()
    parser.finish()
    return builder.message()


def added(**item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", "item": item}


def done(**item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "item": item}


def delta(kind: str, text: str, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "delta": text, **more}


def completed(**response: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": "completed", **response}}


def test_items_without_an_index_that_are_all_done_at_the_end() -> None:
    """As llama.cpp sends them."""
    message = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "I read"}]}
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": '{"path":"a"}'}
    said = parse(
        added(**{**message, "content": []}),
        delta("output_text", "I read", item_id="msg_1"),
        added(**{**call, "arguments": ""}),
        delta("function_call_arguments", '{"path":', item_id="fc_1"),
        delta("function_call_arguments", '"a"}', item_id="fc_1"),
        done(**message),
        done(**call),
        completed(output=[message, call]),
    )
    assert said.text == "I read"
    (only,) = said.tool_calls
    assert (only.id, only.name, only.input) == ("call_1|fc_1", "read", {"path": "a"})


def test_items_that_grow_in_turns_are_told_by_their_id() -> None:
    said = parse(
        added(type="message", id="msg_1"),
        added(type="message", id="msg_2"),
        delta("output_text", "first", item_id="msg_1"),
        delta("output_text", "second", item_id="msg_2"),
        delta("output_text", " more", item_id="msg_1"),
        completed(),
    )
    assert [part.text for part in said.content if isinstance(part, Text)] == ["first more", "second"]


def test_items_whose_id_changes_with_each_event_are_told_by_their_index() -> None:
    said = parse(
        {**added(type="function_call", id="x1", call_id="call_a", name="read"), "output_index": 0},
        {**added(type="function_call", id="x2", call_id="call_b", name="read"), "output_index": 1},
        delta("function_call_arguments", '{"path":"b"}', item_id="x3", output_index=1),
        delta("function_call_arguments", '{"path":"a"}', item_id="x4", output_index=0),
        {**done(type="function_call", id="x5", call_id="call_a", name="read", arguments="{}"), "output_index": 0},
        completed(),
    )
    assert [(call.id, call.input) for call in said.tool_calls] == [("call_a", {"path": "a"}), ("call_b", {"path": "b"})]


def test_items_that_come_whole_without_deltas() -> None:
    said = parse(
        done(type="reasoning", id="rs_1", summary=[{"text": "One."}, {"text": "Two."}], encrypted_content="e"),
        done(type="message", content=[{"type": "output_text", "text": "Hello"}]),
        done(type="function_call", call_id="c1", name="read", arguments={"path": "a"}),
        done(type="function_call", call_id="c2", name="read", arguments='{"path":"b"}'),
        completed(),
    )
    assert [part.thinking for part in said.content if isinstance(part, Thinking)] == ["One.\n\nTwo."]
    assert said.text == "Hello"
    assert [(call.id, call.input) for call in said.tool_calls] == [("c1", {"path": "a"}), ("c2", {"path": "b"})]


def test_a_server_that_does_not_stream_answers_with_the_whole_response() -> None:
    said = parse(
        {
            "object": "response",
            "status": "completed",
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}],
            "usage": {"input_tokens": 3, "output_tokens": 1},
        }
    )
    assert said.text == "Hello"
    assert said.usage is not None
    assert (said.usage.input, said.usage.output) == (3, 1)


def test_deltas_alone_without_items_around_them() -> None:
    said = parse(delta("reasoning_text", "hm"), delta("output_text", "Hel"), delta("output_text", "lo"), completed())
    assert [part for part in said.content if isinstance(part, Thinking)] == [Thinking(thinking="hm")]
    assert said.text == "Hello"


def test_the_parts_of_a_summary_are_paragraphs() -> None:
    said = parse(
        added(type="reasoning", id="rs_1"),
        delta("reasoning_summary_text", "One", item_id="rs_1", summary_index=0),
        delta("reasoning_summary_text", ".", item_id="rs_1", summary_index=0),
        delta("reasoning_summary_text", "Two.", item_id="rs_1", summary_index=1),
        completed(),
    )
    assert said.content == (Thinking(thinking="One.\n\nTwo."),)


def test_hidden_reasoning_goes_back_as_the_item_that_it_was() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque", "status": "completed"}
    said = parse(
        done(**item),
        done(type="message", id="msg_1", phase="commentary", content=[{"type": "output_text", "text": "ok"}]),
        done(type="function_call", id="fc_1", call_id="c1", name="read", arguments="{}"),
        completed(),
    )
    sent = body(Request(model=MODEL, system="", messages=(QUESTION, said, QUESTION)))["input"]
    assert sent[1] == {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"}
    assert (sent[2]["id"], sent[2]["phase"]) == ("msg_1", "commentary")
    assert (sent[3]["id"], sent[3]["call_id"]) == ("fc_1", "c1")
    assert sent[4]["call_id"] == "c1"


def test_reasoning_that_ended_in_an_empty_message_does_not_go_back_alone() -> None:
    said = parse(
        done(type="reasoning", id="rs_1", summary=[], encrypted_content="opaque"),
        done(type="message", id="msg_1", content=[{"type": "output_text", "text": ""}]),
        completed(),
    )
    sent = body(Request(model=MODEL, system="", messages=(QUESTION, said, QUESTION)))["input"]
    assert [item.get("type", item.get("role")) for item in sent] == ["user", "user"]


def test_without_its_reasoning_an_item_goes_back_without_its_id() -> None:
    said = parse(
        done(type="reasoning", id="rs_1", summary=[{"text": "One."}]),
        done(type="function_call", id="fc_1", call_id="c1", name="read", arguments="{}"),
        completed(),
    )
    sent = body(Request(model=MODEL, system="", messages=(QUESTION, said)))["input"]
    assert [item.get("type", item.get("role")) for item in sent] == ["user", "function_call", "function_call_output"]
    assert "id" not in sent[1]


@pytest.mark.parametrize(
    ("reason", "stop"), [("max_output_tokens", "length"), ("content_filter", "refusal"), (None, "length")]
)
def test_an_incomplete_response_says_why(reason: str | None, stop: str) -> None:
    response = {"status": "incomplete", "incomplete_details": {"reason": reason} if reason else None}
    assert parse({"type": "response.incomplete", "response": response}).stop_reason == stop


def test_a_cut_call_is_kept_as_malformed_when_the_limit_was_reached() -> None:
    said = parse(
        added(type="function_call", id="fc_1", call_id="c1", name="read"),
        delta("function_call_arguments", '{"path":"a', item_id="fc_1"),
        {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}},
    )
    assert said.stop_reason == "length"
    assert said.tool_calls[0].malformed == '{"path":"a'


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "Rate limit reached"}, RateLimitError),
        ({"type": "error", "error": {"code": "rate_limit_exceeded", "message": "Slow"}}, RateLimitError),
        ({"error": {"message": "Your input exceeds the context window of this model"}}, ContextOverflowError),
        ({"type": "response.failed", "response": {"status": "failed", "error": None}}, ProviderError),
        ({"type": "response.cancelled", "response": {"status": "cancelled"}}, ProtocolError),
    ],
)
def test_errors_in_the_stream(event: dict[str, Any], error: type[ProviderError]) -> None:
    with pytest.raises(error):
        parse(added(type="message", id="msg_1"), event)


@pytest.mark.parametrize(
    "event", [{}, {"type": 7}, {"type": "response.output_item.done"}, {"item": []}, {"type": None}]
)
def test_missing_fields_are_tolerated(event: dict[str, Any]) -> None:
    empty = {"type": "response.output_item.added", "item": None, "output_index": None}
    assert parse(empty, event, completed(output=None, usage=None)).content == ()


def test_a_model_that_does_not_think_is_not_asked_for_reasoning() -> None:
    plain = Model(provider="openai", id="gpt-4o", api="openai-responses", base_url="http://127.0.0.1:9")
    sent = body(Request(model=plain, system="", messages=(QUESTION,), options=StreamOptions(reasoning="high")))
    assert "reasoning" not in sent
    assert "include" not in sent
    assert sent["store"] is False


def test_a_cache_key_is_cut_to_what_the_api_takes() -> None:
    sent = body(Request(model=MODEL, system="", messages=(QUESTION,), cache_key="k" * 100))
    assert sent["prompt_cache_key"] == "k" * 64


def test_the_levels_have_the_names_of_the_model() -> None:
    named = Model(
        provider="openai",
        id="gpt-y",
        api="openai-responses",
        base_url="http://127.0.0.1:9",
        reasoning=True,
        compat={"thinkingLevelMap": {"off": "none", "minimal": None}},
    )

    def effort(level: Any) -> Any:
        request = Request(model=named, system="", messages=(QUESTION,), options=StreamOptions(reasoning=level))
        return body(request)["reasoning"]

    assert effort("off") == {"effort": "none"}
    assert effort("minimal")["effort"] == "low"
    assert effort("medium") == {"effort": "medium", "summary": "auto"}


def test_a_model_of_a_host_that_takes_no_effort_is_told_none() -> None:
    for name, told in (("grok-4", None), ("grok-4.7", {"effort": "medium", "summary": "auto"})):
        at = Model(provider="x", id=name, api="openai-responses", base_url="https://api.x.ai/v1", reasoning=True)
        options = StreamOptions(reasoning="medium")
        assert body(Request(model=at, system="", messages=(QUESTION,), options=options)).get("reasoning") == told


def test_a_call_of_another_protocol_goes_out_without_an_item_id() -> None:
    foreign = AssistantMessage(
        content=(ToolCall(id="toolu_1|fc_9", name="read"),),
        api="anthropic-messages",
        provider="anthropic",
        model="claude",
        stop_reason="toolUse",
    )
    sent = body(Request(model=MODEL, system="", messages=(QUESTION, foreign)))["input"]
    assert (sent[1]["call_id"], "id" in sent[1], sent[2]["call_id"]) == ("toolu_1", False, "toolu_1")
