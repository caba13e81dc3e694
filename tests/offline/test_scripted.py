"""The scripted transport answers as a chat-completions server does."""

import json
from typing import Any

import pytest

from marvin_agent.errors import NetworkError, SilenceError
from marvin_agent.llm.offline.script import Script
from marvin_agent.llm.offline.scripted import ScriptedTransport
from marvin_agent.llm.values import HttpRequest


def asked(text: str = "hi", **body: Any) -> HttpRequest:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], "stream": True, **body}
    return HttpRequest(url="http://scripted/v1/chat/completions", headers={}, body=json.dumps(body).encode())


class Clock:
    """A sleep that only counts."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


async def send(transport: ScriptedTransport, request: HttpRequest | None = None) -> tuple[int, dict[str, str], bytes]:
    data = b""
    async with transport.send(request or asked()) as response:
        async for chunk in response.chunks():
            data += chunk
        return response.status, response.headers, data


def events(data: bytes) -> list[Any]:
    """The data of each event, decoded; the end mark as it is."""
    assert data.endswith(b"\n\n")
    lines = [part.decode().removeprefix("data: ") for part in data.split(b"\n\n") if part]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def deltas(data: bytes) -> list[dict[str, Any]]:
    return [event["choices"][0]["delta"] for event in events(data) if event != "[DONE]" and event["choices"]]


async def test_text_is_streamed_by_words_between_a_role_and_a_finish_reason_and_done() -> None:
    status, headers, data = await send(ScriptedTransport(Script.of({"text": "Hello to  you\n"})))
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    found = events(data)
    assert [event["choices"][0]["delta"] for event in found[:-1]] == [
        {"role": "assistant", "content": ""},
        {"content": "Hello"},
        {"content": " to"},
        {"content": "  you"},
        {"content": "\n"},
        {},
    ]
    assert [event["choices"][0]["finish_reason"] for event in found[:-1]] == [None] * 5 + ["stop"]
    assert found[-1] == "[DONE]"
    assert {event["model"] for event in found[:-1]} == {"m"}


async def test_thinking_comes_before_the_text_and_tool_calls_after_it() -> None:
    reply = {
        "thinking": "hm",
        "text": "ok",
        "toolCalls": [{"name": "read", "arguments": {"path": "a b"}}, {"name": "ls"}],
    }
    *_, data = await send(ScriptedTransport(Script.of(reply)))
    found = deltas(data)
    assert found[1:3] == [{"reasoning_content": "hm"}, {"content": "ok"}]
    calls = [call for delta in found for call in delta.get("tool_calls", [])]
    starts = [call for call in calls if "id" in call]
    assert [(call["index"], call["id"], call["function"]["name"]) for call in starts] == [
        (0, "call_1_0", "read"),
        (1, "call_1_1", "ls"),
    ]
    written = ["".join(call["function"]["arguments"] for call in calls if call["index"] == index) for index in (0, 1)]
    assert [json.loads(text) for text in written] == [{"path": "a b"}, {}]
    assert events(data)[-2]["choices"][0]["finish_reason"] == "tool_calls"


async def test_arguments_that_are_not_json_are_sent_as_they_are() -> None:
    script = Script.of({"toolCalls": [{"name": "read", "rawArguments": '{"path": ', "id": "mine"}]})
    *_, data = await send(ScriptedTransport(script))
    calls = [call for delta in deltas(data) for call in delta.get("tool_calls", [])]
    assert "".join(call["function"]["arguments"] for call in calls) == '{"path": '
    assert calls[0]["id"] == "mine"


@pytest.mark.parametrize(
    ("chunk", "pieces"), [(2, ["ab", "cd", "e"]), (["a", "bcd", "e"], ["a", "bcd", "e"]), (None, ["abcde"])]
)
async def test_a_script_says_how_text_is_cut(chunk: Any, pieces: list[str]) -> None:
    *_, data = await send(ScriptedTransport(Script.of({"text": "abcde", "chunk": chunk})))
    assert [delta["content"] for delta in deltas(data)[1:-1]] == pieces


async def test_usage_is_sent_after_the_last_chunk_when_it_was_asked_for() -> None:
    usage = {"input": 10, "output": 5, "cacheRead": 3, "cacheWrite": 2}
    script = Script.of({"text": "a", "usage": usage, "repeat": True})
    *_, data = await send(ScriptedTransport(script), asked(stream_options={"include_usage": True}))
    last = events(data)[-2]
    assert last["choices"] == []
    assert last["usage"]["prompt_tokens"] == 15
    assert last["usage"]["completion_tokens"] == 5
    assert last["usage"]["total_tokens"] == 20
    assert last["usage"]["prompt_tokens_details"] == {"cached_tokens": 3, "cache_write_tokens": 2}
    *_, data = await send(ScriptedTransport(script))
    assert all("usage" not in event for event in events(data)[:-1])


async def test_usage_is_estimated_unless_the_script_says_none() -> None:
    script = Script.of({"text": "one two three"}, {"text": "a", "usage": None})
    transport = ScriptedTransport(script)
    request = asked(stream_options={"include_usage": True})
    *_, data = await send(transport, request)
    assert events(data)[-2]["usage"]["completion_tokens"] == 3
    *_, data = await send(transport, request)
    assert events(data)[-2]["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize(("stop", "finish"), [("length", "length"), ("refusal", "content_filter"), ("stop", "stop")])
async def test_the_stop_reason_is_the_scripts(stop: str, finish: str) -> None:
    *_, data = await send(ScriptedTransport(Script.of({"text": "a", "stopReason": stop})))
    assert events(data)[-2]["choices"][0]["finish_reason"] == finish


async def test_a_reply_that_matches_goes_before_those_in_order_and_a_repeated_one_stays() -> None:
    script = Script.of(
        {"text": "first"},
        {"text": "second"},
        {"text": "weather", "match": "(?i)RAIN"},
        {"text": "echo", "match": "e+cho", "repeat": True},
    )
    transport = ScriptedTransport(script)
    answers = []
    for question in ("rain?", "eecho", "rain?", "echo", "else"):
        *_, data = await send(transport, asked(question))
        answers.append(deltas(data)[1]["content"])
    assert answers == ["weather", "echo", "first", "echo", "second"]


async def test_match_looks_at_the_last_tool_result_when_that_is_what_came_last() -> None:
    script = Script.of({"text": "wrong", "match": "user"}, {"text": "right", "match": "done"})
    messages = [
        {"role": "user", "content": "user"},
        {"role": "tool", "content": [{"type": "text", "text": "done"}]},
        {"role": "assistant", "content": "user"},
    ]
    *_, data = await send(ScriptedTransport(script), asked(messages=messages))
    assert deltas(data)[1]["content"] == "right"


async def test_a_script_that_is_used_up_says_so() -> None:
    transport = ScriptedTransport(Script.of({"text": "a"}))
    await send(transport)
    status, _, data = await send(transport)
    assert status == 400
    message = json.loads(data)["error"]["message"]
    assert "used up" in message
    assert "1 reply" in message
    assert "request 2" in message


async def test_a_script_whose_replies_match_something_else_says_what_was_asked() -> None:
    status, _, data = await send(ScriptedTransport(Script.of({"text": "a", "match": "rain"})), asked("sunshine"))
    assert status == 400
    assert "sunshine" in json.loads(data)["error"]["message"]


async def test_delays_are_waited_before_the_answer_and_before_each_piece() -> None:
    clock = Clock()
    script = Script.of({"text": "a b", "delayMs": 1500, "chunkDelayMs": 20})
    await send(ScriptedTransport(script, sleep=clock.sleep))
    assert clock.slept == [1.5, 0.02, 0.02, 0.02]


async def test_a_delay_beyond_the_idle_timeout_is_silence() -> None:
    clock = Clock()
    transport = ScriptedTransport(Script.of({"text": "a", "delayMs": 9000}), idle_timeout=5, sleep=clock.sleep)
    with pytest.raises(SilenceError):
        await send(transport)
    assert clock.slept == [5]


async def test_a_status_fault_is_an_error_answer_with_the_time_to_wait() -> None:
    script = Script.of(
        {"fault": {"status": 429, "retryAfter": 1.5, "message": "slow down"}},
        {"fault": {"status": 502, "body": "<html>"}},
        {"fault": {"status": 400, "body": {"error": "odd"}}},
        {"text": "ok"},
    )
    transport = ScriptedTransport(script)
    status, headers, data = await send(transport)
    assert (status, headers["retry-after"]) == (429, "1.5")
    assert json.loads(data)["error"]["message"] == "slow down"
    assert (await send(transport))[::2] == (502, b"<html>")
    assert (await send(transport))[::2] == (400, b'{"error":"odd"}')
    assert (await send(transport))[0] == 200


async def test_a_connect_fault_is_a_refused_connection() -> None:
    with pytest.raises(NetworkError, match="refused"):
        await send(ScriptedTransport(Script.of({"fault": "connect"})))


async def broken(fault: Any, error: type[Exception] | None, clock: Clock | None = None) -> bytes:
    """What arrives of an answer with a fault."""
    script = Script.of({"text": "one two three", "fault": fault})
    transport = ScriptedTransport(script, idle_timeout=7, sleep=(clock or Clock()).sleep)
    data = b""
    raised: type[Exception] | None = None
    async with transport.send(asked()) as response:
        try:
            async for chunk in response.chunks():
                data += chunk
        except (NetworkError, SilenceError) as caught:
            raised = type(caught)
    assert raised is error
    return data


async def test_a_cut_breaks_the_connection_after_so_many_pieces() -> None:
    data = await broken({"kind": "cut", "afterChunks": 2}, NetworkError)
    assert [delta.get("content") for delta in deltas(data)] == ["", "one", " two"]
    assert len(deltas(await broken("cut", NetworkError))) == 2


async def test_silence_lasts_for_the_idle_timeout() -> None:
    clock = Clock()
    data = await broken({"kind": "silence", "afterChunks": 0}, SilenceError, clock)
    assert len(deltas(data)) == 1
    assert clock.slept == [7]


async def test_a_stream_without_an_end_has_neither_finish_reason_nor_done() -> None:
    found = events(await broken("noEnd", None))
    assert len(found) == 4
    assert all(event["choices"][0]["finish_reason"] is None for event in found)


async def test_an_error_event_comes_in_the_middle_of_a_stream() -> None:
    found = events(await broken({"kind": "errorEvent", "message": "oh", "afterChunks": 1}, None))
    assert len(found) == 3
    assert found[-1]["error"]["message"] == "oh"


async def test_garbage_is_a_chunk_that_is_not_json() -> None:
    data = await broken("garbage", None)
    parts = data.split(b"\n\n")
    with pytest.raises(json.JSONDecodeError):
        json.loads(parts[2].removeprefix(b"data: "))
    assert data.endswith(b"[DONE]\n\n")


async def test_a_request_without_stream_gets_one_whole_answer() -> None:
    reply = {"text": "hi", "thinking": "hm", "toolCalls": [{"name": "ls"}]}
    _, headers, data = await send(ScriptedTransport(Script.of(reply)), asked(stream=False))
    assert headers["content-type"] == "application/json"
    choice = json.loads(data)["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "hi"
    assert choice["message"]["reasoning_content"] == "hm"
    assert choice["message"]["tool_calls"][0]["function"] == {"name": "ls", "arguments": "{}"}
