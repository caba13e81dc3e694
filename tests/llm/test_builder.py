"""A message while it streams."""

import time

import pytest

from marvin_agent.llm.builder import Builder
from marvin_agent.llm.values import Model, Price, Request, TextDelta, ThinkingDelta, ToolCallDelta
from marvin_agent.messages import Text, Thinking, ToolCall, Usage, decode_message, encode

MODEL = Model(
    provider="p",
    id="m",
    api="openai-completions",
    base_url="http://127.0.0.1",
    cost=Price(input=3, output=15, cache_read=0.3, cache_write=3.75),
)


def new() -> Builder:
    return Builder(Request(model=MODEL, system="", messages=()))


def test_neighbours_of_one_part_are_drained_as_one_delta():
    builder = new()
    for piece in ("a", "b"):
        builder.text(0, piece)
    builder.thinking(1, "t")
    builder.text(0, "c")
    builder.text(2, "d")
    assert builder.drain() == [
        TextDelta(index=0, text="ab"),
        ThinkingDelta(index=1, text="t"),
        TextDelta(index=0, text="c"),
        TextDelta(index=2, text="d"),
    ]
    assert builder.drain() == []
    assert builder.message().content == (Text(text="abc"), Thinking(thinking="t"), Text(text="d"))


def test_a_call_is_announced_when_it_begins_and_grows():
    builder = new()
    builder.tool("x", id="c1", name="read")
    assert builder.drain() == [ToolCallDelta(index=0, id="c1", name="read", text="")]
    builder.tool("x", arguments='{"a"')
    builder.tool("x", arguments=":1}")
    assert builder.drain() == [ToolCallDelta(index=0, id="c1", name="read", text='{"a":1}')]
    builder.ended = True
    assert builder.message().tool_calls[0].input == {"a": 1}
    assert builder.message().stop_reason == "toolUse"


def test_a_missing_id_is_made_and_stays():
    builder = new()
    builder.tool(0, name="read")
    (delta,) = builder.drain()
    builder.tool(0, id="too late", arguments="{}")
    builder.ended = True
    assert isinstance(delta, ToolCallDelta)
    assert delta.id
    assert builder.message().tool_calls[0].id == builder.message().tool_calls[0].id == delta.id


def test_a_name_may_come_in_pieces_or_again_and_again():
    builder = new()
    builder.tool(0, id="a", name="re")
    builder.tool(0, name="ad")
    builder.tool(1, id="b", name="bash")
    builder.tool(1, name="bash", arguments="{")
    builder.tool(1, name="bash", arguments="}")
    builder.ended = True
    assert [call.name for call in builder.message().tool_calls] == ["read", "bash"]


@pytest.mark.parametrize(
    ("text", "value", "malformed"),
    [
        ("", {}, None),
        (" \n", {}, None),
        ('{"a": 1,\n "b": [true]}', {"a": 1, "b": [True]}, None),
        ('{"half":"\\ud83d"}', {"half": "\ufffd"}, None),
        ('{"n":NaN}', {"n": None}, None),
        ('{"a":', {}, '{"a":'),
        ("[1]", {}, "[1]"),
        ('"text"', {}, '"text"'),
        ("[" * 100_000, {}, "[" * 100_000),
    ],
)
def test_arguments(text: str, value: dict, malformed: str | None):
    builder = new()
    builder.tool(0, id="c", name="t", arguments=text)
    builder.ended = True
    message = builder.message()
    (call,) = message.tool_calls
    assert call.input == value
    assert (call.malformed or None) == malformed
    assert b"\n" not in encode(message)
    assert decode_message(encode(message)) == message


def test_a_message_that_was_cut_off_leaves_out_calls_that_are_not_whole():
    builder = new()
    builder.text(0, "Hel")
    builder.tool(1, id="a", name="read", arguments='{"path":"x"}')
    builder.tool(2, id="b", name="read", arguments='{"path":')
    builder.tool(3, id="c", name="read")
    message = builder.message("aborted", "Interrupted")
    assert message.text == "Hel"
    assert [call.id for call in message.tool_calls] == ["a"]
    assert (message.stop_reason, message.error_message) == ("aborted", "Interrupted")
    assert decode_message(encode(message)) == message


def test_a_snapshot_does_not_disturb_the_stream():
    builder = new()
    builder.text(0, "a")
    assert builder.message().text == "a"
    builder.text(0, "b")
    assert builder.drain() == [TextDelta(index=0, text="ab")]
    assert builder.message().text == "ab"


def test_later_usage_replaces_earlier_field_by_field_and_costs_are_reckoned():
    builder = new()
    assert builder.message().usage is None
    builder.usage(input=1_000_000, output=1, cache_read=2_000_000)
    builder.usage(output=100_000, cache_write=None)
    usage = builder.message().usage
    assert isinstance(usage, Usage)
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (1_000_000, 100_000, 2_000_000, 0)
    assert usage.total_tokens == 3_100_000
    assert usage.cost.input == pytest.approx(3)
    assert usage.cost.output == pytest.approx(1.5)
    assert usage.cost.cache_read == pytest.approx(0.6)
    assert usage.cost.total == pytest.approx(5.1)


def test_a_character_cut_in_two_is_whole_in_the_deltas_and_in_the_message():
    builder = new()
    builder.text(0, "a\ud83d")
    assert builder.drain() == [TextDelta(index=0, text="a")]
    builder.text(0, "\ude00b")
    assert builder.drain() == [TextDelta(index=0, text="\U0001f600b")]
    assert builder.message().text == "a\U0001f600b"


def test_half_a_character_that_stays_alone_is_replaced():
    builder = new()
    builder.text(0, "a\ud83d")
    builder.drain()
    assert builder.message().text == "a\ufffd"
    encode(builder.message())


def test_what_is_signed_and_hidden_is_kept():
    builder = new()
    builder.thinking_signature("r", "opaque", redacted=True)
    builder.thinking("s", "hm")
    builder.thinking_signature("s", "first")
    builder.thinking_signature("s", "second")
    assert builder.message().content == (
        Thinking(thinking="", thinking_signature="opaque", redacted=True),
        Thinking(thinking="hm", thinking_signature="second"),
    )


@pytest.mark.parametrize(
    ("said", "calls", "ours"), [("stop", 1, "toolUse"), ("length", 1, "length"), (None, 0, "stop")]
)
def test_the_stop_reason(said: str | None, calls: int, ours: str):
    builder = new()
    if said:
        builder.stop(said)
    for number in range(calls):
        builder.tool(number, id=str(number), name="t", arguments="{}")
    builder.ended = True
    assert builder.message().stop_reason == ours


def test_a_thought_signature_of_a_call_is_kept():
    builder = new()
    builder.tool(0, id="a", name="t", arguments="{}", thought_signature="sig")
    builder.ended = True
    assert builder.message().content == (ToolCall(id="a", name="t", thought_signature="sig"),)


def test_the_work_grows_with_the_text_and_not_with_its_square():
    def seconds(pieces: int) -> float:
        builder = new()
        began = time.process_time()  # what this process did, however busy the machine is
        for _ in range(pieces):
            builder.text(0, "token ")
            builder.drain()
        assert len(builder.message().text) == 6 * pieces
        return time.process_time() - began

    short = min(seconds(10_000) for _ in range(5))
    assert min(seconds(160_000) for _ in range(2)) < 16 * 4 * short
