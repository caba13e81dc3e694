"""Each dialect sends the events that its vendor's server sends, in that order."""

import json
from typing import Any

import msgspec
import pytest

from marvin_agent.llm.offline.dialects.completions import Completions
from marvin_agent.llm.offline.dialects.dialect import Asked, Dialect
from marvin_agent.llm.offline.dialects.gemini import Gemini
from marvin_agent.llm.offline.dialects.messages import Messages
from marvin_agent.llm.offline.dialects.responses import Responses
from marvin_agent.llm.offline.exchange import answer
from marvin_agent.llm.offline.script import Script

FULL = {
    "thinking": "let me",
    "text": "I look",
    "toolCalls": [{"name": "read", "arguments": {"path": "a"}, "id": "c1"}, {"name": "ls", "id": "c2"}],
    "usage": {"input": 7, "output": 11, "cacheRead": 5, "cacheWrite": 3},
}


def render(dialect: Dialect, reply: dict[str, Any], path: str = "/v1/x", **body: Any) -> bytes:
    asked = Asked(path, msgspec.json.encode({"stream": True, "model": "m", **body}))
    return b"".join(answer(Script.of(reply), dialect, asked).chunks)


def named(data: bytes) -> list[tuple[str, Any]]:
    """The events of a stream whose events have names; each name is in the data too."""
    found = []
    for part in data.decode().removesuffix("\n\n").split("\n\n"):
        first, second = part.split("\n")
        value = json.loads(second.removeprefix("data: "))
        assert first == f"event: {value['type']}"
        found.append((value["type"], value))
    return found


def unnamed(data: bytes) -> list[Any]:
    parts = data.decode().removesuffix("\r\n\r\n").split("\r\n\r\n")
    return [json.loads(part.removeprefix("data: ")) for part in parts]


def test_anthropic_sends_blocks_one_after_the_other() -> None:
    found = named(render(Messages(), FULL))
    assert [name.removeprefix("content_block_") for name, _ in found] == [
        "message_start",
        *("start", "ping", "delta", "delta", "delta", "stop"),
        *("start", "delta", "delta", "stop"),
        *("start", "delta", "delta", "stop"),
        *("start", "delta", "delta", "stop"),
        "message_delta",
        "message_stop",
    ]
    blocks = [value["content_block"] for name, value in found if name == "content_block_start"]
    assert blocks == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "c1", "name": "read", "input": {}},
        {"type": "tool_use", "id": "c2", "name": "ls", "input": {}},
    ]
    deltas = [(value["index"], value["delta"]) for name, value in found if name == "content_block_delta"]
    assert [(index, delta["type"]) for index, delta in deltas] == [
        *((0, "thinking_delta"), (0, "thinking_delta"), (0, "signature_delta")),
        *((1, "text_delta"), (1, "text_delta")),
        *((2, "input_json_delta"), (2, "input_json_delta")),
        *((3, "input_json_delta"), (3, "input_json_delta")),
    ]
    assert "".join(delta.get("partial_json", "") for index, delta in deltas if index == 2) == '{"path":"a"}'
    assert deltas[2][1]["signature"]


def test_anthropic_reports_usage_at_the_start_and_at_the_end() -> None:
    found = dict(named(render(Messages(), FULL)))
    message = found["message_start"]["message"]
    assert (message["role"], message["model"], message["content"], message["stop_reason"]) == (
        "assistant",
        "m",
        [],
        None,
    )
    assert message["usage"] == {
        "input_tokens": 7,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 5,
        "output_tokens": 1,
    }
    assert found["message_delta"]["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}
    assert found["message_delta"]["usage"]["output_tokens"] == 11


def test_responses_send_items_with_their_parts_and_running_numbers() -> None:
    found = named(render(Responses(), FULL, include=["reasoning.encrypted_content"]))
    assert [name.removeprefix("response.") for name, _ in found] == [
        *("created", "in_progress"),
        *("output_item.added", "reasoning_summary_part.added"),
        *("reasoning_summary_text.delta", "reasoning_summary_text.delta", "reasoning_summary_text.done"),
        *("reasoning_summary_part.done", "output_item.done"),
        *("output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.done"),
        *("content_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        "completed",
    ]
    assert [value["sequence_number"] for _, value in found] == list(range(len(found)))
    done = [value for name, value in found if name == "response.output_item.done"]
    assert [value["output_index"] for value in done] == [0, 1, 2, 3]
    last = found[-1][1]["response"]
    assert last["output"] == [value["item"] for value in done]
    assert last["status"] == "completed"
    assert last["output"][0]["encrypted_content"]
    assert last["output"][2]["call_id"] == "c1"
    assert last["output"][2]["arguments"] == '{"path":"a"}'
    assert last["usage"] == {
        "input_tokens": 15,
        "input_tokens_details": {"cached_tokens": 5},
        "output_tokens": 11,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 26,
    }
    ids = {value["item_id"] for name, value in found if name.endswith("delta")}
    assert ids == {item["id"] for item in last["output"]}


def test_responses_send_encrypted_reasoning_only_when_it_was_asked_for() -> None:
    found = named(render(Responses(), {"thinking": "hm"}))
    assert "encrypted_content" not in found[-1][1]["response"]["output"][0]


@pytest.mark.parametrize(
    ("reply", "status", "reason"),
    [
        ({"text": "a", "stopReason": "length"}, "incomplete", "max_output_tokens"),
        ({"stopReason": "refusal"}, "incomplete", "content_filter"),
    ],
)
def test_responses_say_why_an_answer_is_incomplete(reply: dict[str, Any], status: str, reason: str) -> None:
    name, value = named(render(Responses(), reply))[-1]
    assert name == f"response.{status}"
    assert value["response"]["incomplete_details"] == {"reason": reason}


def test_responses_send_a_refusal_in_words_as_a_part_of_its_own() -> None:
    found = named(render(Responses(), {"text": "no way", "stopReason": "refusal"}))
    assert [value["delta"] for name, value in found if name == "response.refusal.delta"] == ["no", " way"]
    assert found[-1][1]["response"]["output"][0]["content"] == [{"type": "refusal", "refusal": "no way"}]


def test_gemini_sends_parts_with_usage_in_each_chunk_and_calls_whole() -> None:
    found = unnamed(render(Gemini(), FULL, "/v1beta/models/g-1:streamGenerateContent"))
    parts = [chunk["candidates"][0]["content"]["parts"][0] for chunk in found]
    assert parts[:4] == [
        {"text": "let", "thought": True},
        {"text": " me", "thought": True},
        {"text": "I"},
        {"text": " look"},
    ]
    assert [part["functionCall"]["name"] for part in parts[4:6]] == ["read", "ls"]
    assert parts[4]["functionCall"]["args"] == {"path": "a"}
    assert "thoughtSignature" in parts[4]
    assert "thoughtSignature" not in parts[5]
    assert [chunk["candidates"][0].get("finishReason") for chunk in found] == [None] * 6 + ["STOP"]
    assert found[-1]["usageMetadata"] == {
        "promptTokenCount": 15,
        "candidatesTokenCount": 9,
        "thoughtsTokenCount": 2,
        "totalTokenCount": 26,
        "cachedContentTokenCount": 5,
    }
    assert {chunk["modelVersion"] for chunk in found} == {"g-1"}


def test_gemini_stops_at_arguments_that_are_not_an_object() -> None:
    reply = {"toolCalls": [{"name": "read", "rawArguments": "{oops"}]}
    found = unnamed(render(Gemini(), reply, "/v1beta/models/g:streamGenerateContent"))
    assert len(found) == 1
    assert found[0]["candidates"][0]["finishReason"] == "MALFORMED_FUNCTION_CALL"


@pytest.mark.parametrize("dialect", [Completions(), Messages(), Responses(), Gemini()])
def test_an_empty_reply_is_still_an_answer(dialect: Dialect) -> None:
    data = render(dialect, {}, "/v1beta/models/g:streamGenerateContent")
    assert b"null" in data or b"STOP" in data


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        (Completions(), {"messages": [{"role": "user", "content": "a"}, {"role": "tool", "content": "needle"}]}),
        (Messages(), {"messages": [{"role": "user", "content": [{"type": "text", "text": "needle"}]}]}),
        (
            Messages(),
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "tool_result", "content": [{"type": "text", "text": "needle"}]}],
                    }
                ]
            },
        ),
        (Messages(), {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "needle"}]}]}),
        (Responses(), {"input": "needle"}),
        (Responses(), {"input": [{"role": "user", "content": [{"type": "input_text", "text": "needle"}]}]}),
        (
            Responses(),
            {"input": [{"role": "user", "content": "x"}, {"type": "function_call_output", "output": "needle"}]},
        ),
        (Gemini(), {"contents": [{"role": "user", "parts": [{"text": "needle"}]}, {"role": "model", "parts": []}]}),
        (
            Gemini(),
            {
                "contents": [
                    {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {"output": "needle"}}}]}
                ]
            },
        ),
    ],
)
def test_each_dialect_knows_the_last_text_of_a_request(dialect: Dialect, body: dict[str, Any]) -> None:
    assert "needle" in dialect.last_text(Asked("/", msgspec.json.encode(body)))


@pytest.mark.parametrize("dialect", [Completions(), Messages(), Responses(), Gemini()])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"not json",
        b'{"messages": 3, "input": 3, "contents": 3}',
        b'{"messages": [3], "contents": [{"parts": 3}]}',
    ],
)
def test_a_request_that_makes_no_sense_has_no_last_text(dialect: Dialect, data: bytes) -> None:
    assert dialect.last_text(Asked("/", data)) == ""


@pytest.mark.parametrize(
    ("dialect", "status", "place", "expected"),
    [
        (Completions(), 401, ("error", "code"), "invalid_api_key"),
        (Completions(), 429, ("error", "type"), "rate_limit_error"),
        (Messages(), 529, ("error", "type"), "overloaded_error"),
        (Messages(), 400, ("error", "type"), "invalid_request_error"),
        (Responses(), 500, ("error", "type"), "server_error"),
        (Gemini(), 503, ("error", "status"), "UNAVAILABLE"),
    ],
)
def test_errors_have_the_vendors_form(dialect: Dialect, status: int, place: tuple[str, str], expected: str) -> None:
    error = json.loads(dialect.error(status, "why"))
    assert error[place[0]][place[1]] == expected
    assert error["error"]["message"] == "why"


def test_whole_answers_hold_what_the_stream_holds() -> None:
    body: dict[str, Any] = {"stream": False}
    message = json.loads(render(Messages(), FULL, **body))
    assert [part["type"] for part in message["content"]] == ["thinking", "text", "tool_use", "tool_use"]
    assert message["content"][2]["input"] == {"path": "a"}
    response = json.loads(render(Responses(), FULL, **body))
    assert [item["type"] for item in response["output"]] == ["reasoning", "message", "function_call", "function_call"]
    gemini = json.loads(render(Gemini(), FULL, "/v1beta/models/g:generateContent"))
    assert len(gemini["candidates"][0]["content"]["parts"]) == 4
    assert gemini["candidates"][0]["finishReason"] == "STOP"


@pytest.mark.parametrize("dialect", [Messages(), Responses(), Gemini()])
def test_error_events_are_told_by_every_dialect(dialect: Dialect) -> None:
    reply = {"text": "a b c", "fault": {"kind": "errorEvent", "message": "too busy"}}
    data = render(dialect, reply, "/v1beta/models/g:streamGenerateContent")
    assert b"too busy" in data
    assert b'" b"' not in data
    assert data.endswith((b"\n\n", b"\r\n\r\n"))
