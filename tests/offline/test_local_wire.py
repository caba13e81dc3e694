"""The embedded model's wire, without the model: what it is asked, and how what it writes is read."""

import json
from typing import Any

import pytest

from marvin_agent.agent.default_model import LOCAL
from marvin_agent.errors import ProtocolError, ProviderError
from marvin_agent.llm.builder import Builder
from marvin_agent.llm.values import (
    Credentials,
    Request,
    ServerSentEvent,
    StreamOptions,
    TextDelta,
    ToolCallDelta,
    ToolSpec,
)
from marvin_agent.llm.wire import wire_for
from marvin_agent.llm.wire.local_schema import simplified
from marvin_agent.messages import AssistantMessage, Message, Text, ToolCall, ToolResultMessage, raw, user


def tool(name: str, *required: str, **properties: Any) -> ToolSpec:
    shape = {**{key: {"type": "string"} for key in required}, **properties}
    return ToolSpec(
        name=name, description="", parameters={"type": "object", "properties": shape, "required": [*required]}
    )


READ = tool("read", "path", offset={"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]})
BASH = tool("bash", "command")
TOOLS = (READ, BASH, tool("secret"))


def request(*messages: Message, tools: tuple[ToolSpec, ...] = TOOLS, **options: Any) -> Request:
    return Request(model=LOCAL, system="long " * 1000, messages=messages, tools=tools, options=StreamOptions(**options))


def payload(*messages: Message, tools: tuple[ToolSpec, ...] = TOOLS, **options: Any) -> dict[str, Any]:
    return wire_for("local").payload(request(*messages, tools=tools, **options))


def called(name: str, **arguments: Any) -> AssistantMessage:
    call = ToolCall(id="c1", name=name, arguments=raw(arguments))
    return AssistantMessage(content=(call,), api="local", provider="local", model="m", stop_reason="toolUse")


def result(text: str) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id="c1", tool_name="read", content=(Text(text=text),), is_error=False)


def written(*pieces: str, finish: str = "stop") -> tuple[Builder, list[Any]]:
    """The builder after these pieces of text, and the deltas after each piece."""
    builder = Builder(request(user("hi")))
    parser = wire_for("local").parser(builder)
    deltas: list[Any] = []
    for piece in pieces:
        parser.feed(event(choices=[{"delta": {"content": piece}}]))
        deltas += builder.drain()
    parser.feed(event(choices=[{"delta": {}, "finish_reason": finish}]))
    parser.feed(event(choices=[], usage={"prompt_tokens": 5, "completion_tokens": 3}))
    parser.feed(ServerSentEvent(event="message", data="[DONE]"))
    parser.finish()
    return builder, [*deltas, *builder.drain()]


def event(**chunk: Any) -> ServerSentEvent:
    return ServerSentEvent(event="message", data=json.dumps(chunk))


def test_the_schema_allows_an_answer_or_one_call_of_a_tool() -> None:
    schema = payload(user("hi"))["response_format"]["json_schema"]["schema"]
    answer, read, bash, secret = schema["anyOf"]
    assert answer["required"] == ["answer"]
    assert read["properties"]["tool"] == {"const": "read"}
    assert read["properties"]["arguments"]["properties"] == {"path": {"type": "string"}, "offset": {"type": "integer"}}
    assert read["properties"]["arguments"]["required"] == ["path"]
    assert [form["properties"]["tool"]["const"] for form in (bash, secret)] == ["bash", "secret"]
    assert all(form["additionalProperties"] is False for form in schema["anyOf"])


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        ({"type": "string", "pattern": "^a", "description": "x", "minLength": 3}, {"type": "string"}),
        ({"enum": ["a", "b"]}, {"enum": ["a", "b"]}),
        (
            {"type": "array", "items": {"type": "integer", "maximum": 3}},
            {"type": "array", "items": {"type": "integer"}},
        ),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"type": "object"}, {"type": "object"}),
        ({"$ref": "#/$defs/x"}, {}),
        (True, {}),
        ({"type": "whatever"}, {}),
        ({"type": ["string", "whatever"]}, {}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": []}, {"type": "string"}),
        ({"oneOf": []}, {}),
    ],
)
def test_a_schema_is_reduced_to_its_shape(schema: Any, shape: dict[str, Any]) -> None:
    assert simplified(schema) == shape


def test_required_arguments_are_written_first() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}
    assert list(simplified(schema)["properties"]) == ["b", "a"]


def test_it_has_a_short_prompt_of_its_own() -> None:
    first, *_ = payload(user("hi"))["messages"]
    assert first["role"] == "system"
    assert "long long" not in first["content"]
    assert "read, bash, secret" in first["content"]
    assert len(first["content"]) < 400


@pytest.mark.parametrize(
    ("question", "name"),
    [("please run the tests", "bash"), ("what is in a.py?", "read"), ("show me test_run.py", "read")],
)
def test_the_example_that_is_most_like_the_question_stands_last(question: str, name: str) -> None:
    *_, example, asked = payload(user(question))["messages"]
    assert json.loads(example["content"])["tool"] == name
    assert asked == {"role": "user", "content": question}


def test_a_question_that_is_like_no_tool_follows_an_answer() -> None:
    *_, example, _ = payload(user("Why is the sky blue"))["messages"]
    assert "answer" in json.loads(example["content"])


def test_only_tools_that_are_offered_are_shown() -> None:
    messages = payload(user("run the tests"), tools=(READ,))["messages"]
    assert "bash" not in json.dumps(messages)


def test_a_tool_with_other_arguments_is_not_shown() -> None:
    messages = payload(user("run the tests"), tools=(tool("bash", "script"),))["messages"]
    assert '\\"command\\"' not in json.dumps(messages)


def test_after_a_result_it_has_to_answer_from_question_and_result() -> None:
    body = payload(user("what is in a.py?"), called("read", path="a.py"), result("x = 1"))
    assert "response_format" not in body
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["messages"][1]["content"] == "what is in a.py?\nResult of read:\nx = 1"


def test_a_later_question_sees_the_earlier_calls_in_the_form_that_is_asked_for() -> None:
    earlier = (user("what is in a.py?"), called("read", path="a.py"), result("x = 1"))
    answer = AssistantMessage(content=(Text(text="x"),), api="local", provider="local", model="m", stop_reason="stop")
    messages = payload(*earlier, answer, user("and b.py?"))["messages"]
    assert messages[-4:] == [
        {"role": "assistant", "content": '{"tool":"read","arguments":{"path":"a.py"}}'},
        {"role": "user", "content": "Result of read:\nx = 1"},
        {"role": "assistant", "content": '{"answer":"x"}'},
        {"role": "user", "content": "and b.py?"},
    ]


def test_without_tools_it_is_asked_for_text() -> None:
    body = payload(user("hi"), tools=())
    assert "response_format" not in body
    assert body["messages"][1:] == [{"role": "user", "content": "hi"}]


def test_the_prompt_is_cut_to_the_end_of_the_conversation() -> None:
    messages = payload(*(user(f"{number} " + "x" * 3000) for number in range(50)), tools=())["messages"]
    text = messages[-1]["content"]
    assert text.count("x" * 3000) == 3
    assert "49 xxx" in text
    assert "46 xxx" not in text


def test_a_long_result_keeps_its_beginning_and_its_end() -> None:
    text = "begin" + "x" * 50_000 + "end"
    message = payload(user("q"), called("read", path="a"), result(text))["messages"][-1]["content"]
    assert "begin" in message
    assert message.endswith("end")
    assert "characters left out" in message
    assert len(message) < 2000


def test_the_options_of_a_request_count() -> None:
    body = payload(user("hi"), temperature=0.5, max_tokens=20, stop=("X",), extra={"seed": 1})
    assert (body["temperature"], body["max_tokens"], body["stop"], body["seed"]) == (0.5, 20, ["X"], 1)
    assert payload(user("hi"))["temperature"] == 0
    assert payload(user("hi"), max_tokens=100_000)["max_tokens"] <= 1024


def test_the_request_carries_no_key() -> None:
    sent = wire_for("local").http_request(request(user("hi")), Credentials(api_key="k" * 20), {"a": 1})
    assert sent.body == b'{"a":1}'
    assert "k" * 20 not in repr(sent)


ANSWER = 'Grüße "quoted"\n\\ tab\t🌍 end'


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_an_answer_streams_as_it_is_written_however_it_is_cut(size: int, ascii_only: bool) -> None:
    text = json.dumps({"answer": ANSWER}, ensure_ascii=ascii_only)
    builder, deltas = written(*(text[place : place + size] for place in range(0, len(text), size)))
    assert "".join(delta.text for delta in deltas) == ANSWER
    assert all(isinstance(delta, TextDelta) for delta in deltas)
    message = builder.message()
    assert (message.text, message.stop_reason) == (ANSWER, "stop")
    assert message.usage is not None
    assert (message.usage.input, message.usage.output) == (5, 3)


def test_the_words_of_an_answer_come_before_it_is_over() -> None:
    builder = Builder(request(user("hi")))
    parser = wire_for("local").parser(builder)
    for piece in ('{ "ans', 'wer" : "Hel', "lo"):
        parser.feed(event(choices=[{"delta": {"content": piece}}]))
    assert [delta.text for delta in builder.drain()] == ["Hello"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_tool_call_streams_however_it_is_cut(size: int) -> None:
    arguments = {"path": 'a {b} "c" \\', "edits": [{"x": "}"}, {}], "last": "\\\\"}
    text = json.dumps({"tool": "read", "arguments": arguments}, indent=1)
    builder, deltas = written(*(text[place : place + size] for place in range(0, len(text), size)))
    message = builder.message()
    assert [(call.name, call.input) for call in message.tool_calls] == [("read", arguments)]
    assert message.stop_reason == "toolUse"
    assert message.text == ""
    assert all(isinstance(delta, ToolCallDelta) for delta in deltas)
    assert json.loads("".join(delta.text for delta in deltas)) == arguments


def test_a_call_without_arguments_is_a_call() -> None:
    builder, _ = written('{"tool":"ls","arguments":{}}')
    assert [(call.name, call.input) for call in builder.message().tool_calls] == [("ls", {})]


@pytest.mark.parametrize("text", ["Hello there", "{1, 2} is a set", "", '{"other": 1}', "{"])
def test_what_is_neither_is_text(text: str) -> None:
    builder, _ = written(*text)
    assert builder.message().text == text


def test_an_answer_that_was_cut_off_is_kept_and_says_so() -> None:
    builder, _ = written('{"answer":"one tw', finish="length")
    assert (builder.message().text, builder.message().stop_reason) == ("one tw", "length")


def test_a_call_that_was_cut_off_does_not_run() -> None:
    builder, _ = written('{"tool":"read","arguments":{"path":"a', finish="length")
    message = builder.message()
    assert message.stop_reason == "length"
    assert all(call.malformed for call in message.tool_calls)


def test_a_stream_without_an_end_is_an_error() -> None:
    parser = wire_for("local").parser(Builder(request(user("hi"))))
    parser.feed(event(choices=[{"delta": {"content": "a"}}]))
    with pytest.raises(ProtocolError):
        parser.finish()


def test_an_error_in_the_stream_is_raised() -> None:
    parser = wire_for("local").parser(Builder(request(user("hi"))))
    with pytest.raises(ProviderError, match="boom"):
        parser.feed(event(error={"message": "boom", "code": 500}))
    with pytest.raises(ProtocolError):
        parser.feed(ServerSentEvent(event="message", data="{"))
