"""A history that moves between providers stays valid for each of them."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marvin_agent.llm.history import BEGINNING, EMPTY_MESSAGE, NO_RESULT, prepare
from marvin_agent.llm.values import Model
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
    encode,
)

CLAUDE = Model(
    provider="anthropic",
    id="claude-x",
    api="anthropic-messages",
    base_url="http://127.0.0.1",
    input=("text", "image"),
)
GPT = Model(provider="openai", id="gpt-x", api="openai-responses", base_url="http://127.0.0.1", input=("text", "image"))
CHAT = Model(provider="openai", id="gpt-4", api="openai-completions", base_url="http://127.0.0.1")
MISTRAL = Model(provider="mistral", id="codestral", api="openai-completions", base_url="http://127.0.0.1")
KIMI = Model(provider="moonshot", id="kimi", api="openai-completions", base_url="http://127.0.0.1")
GEMINI = Model(provider="google", id="gemini-x", api="google-generative-ai", base_url="http://127.0.0.1")
MODELS = (CLAUDE, GPT, CHAT, MISTRAL, KIMI, GEMINI)


def user(text: str) -> UserMessage:
    return UserMessage(content=(Text(text=text),))


def said(*parts: Text | Thinking | ToolCall, by: Model = CLAUDE, stop: str = "stop") -> AssistantMessage:
    return AssistantMessage(content=parts, api=by.api, provider=by.provider, model=by.id, stop_reason=stop)


def call(call_id: str, name: str = "read") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=Raw(b'{"path":"a"}'))


def result(call_id: str, text: str = "done", name: str = "read") -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=call_id, tool_name=name, content=(Text(text=text),), is_error=False)


def test_a_history_that_needs_no_change_consists_of_the_same_objects() -> None:
    history = (
        user("hi"),
        said(Thinking(thinking="hm", thinking_signature="sig"), call("toolu_1"), stop="toolUse"),
        result("toolu_1"),
        said(Text(text="done")),
    )
    assert all(a is b for a, b in zip(prepare(history, CLAUDE), history, strict=True))


def test_a_call_that_a_hook_changed_has_the_arguments_that_ran() -> None:
    changed_one = changed(result("2"), input=Raw(b'{"path":"b"}'))
    history = (user("hi"), said(call("1"), call("2"), stop="toolUse"), result("1"), changed_one)
    message = prepare(history, CLAUDE)[1]
    assert isinstance(message, AssistantMessage)
    assert [one.input for one in message.tool_calls] == [{"path": "a"}, {"path": "b"}]


def test_a_hook_message_becomes_a_user_message() -> None:
    hook = HookMessage(custom_type="note", content=(Text(text="remember"),), display=False, timestamp=7)
    assert prepare((hook,), CLAUDE) == (UserMessage(content=(Text(text="remember"),), timestamp=7),)


def test_thinking_of_the_same_model_keeps_its_signature() -> None:
    redacted = Thinking(thinking="", thinking_signature="opaque", redacted=True)
    (_, message) = prepare((user("a"), said(redacted, Text(text="b"))), CLAUDE)
    assert message.content[0] is redacted


@pytest.mark.parametrize(
    "other",
    [
        CLAUDE.__class__(provider="anthropic", id="claude-y", api="anthropic-messages", base_url="x"),
        CLAUDE.__class__(provider="bedrock", id="claude-x", api="anthropic-messages", base_url="x"),
        CLAUDE.__class__(provider="anthropic", id="claude-x", api="openai-completions", base_url="x"),
    ],
)
def test_thinking_of_another_model_provider_or_protocol_becomes_text(other: Model) -> None:
    history = (
        user("a"),
        said(
            Thinking(thinking="hm", thinking_signature="s"),
            Thinking(thinking="", thinking_signature="opaque", redacted=True),
            Thinking(thinking=" "),
            Text(text="b", text_signature="mine"),
        ),
    )
    (_, message) = prepare(history, other)
    assert message.content == (Text(text="<thinking>\nhm\n</thinking>"), Text(text="b"))


def test_unsigned_thinking_is_text_for_anthropic_which_refuses_it_and_stays_thinking_elsewhere() -> None:
    history = (user("a"), said(Thinking(thinking="hm"), Text(text="b")))
    assert prepare(history, CLAUDE)[1].content[0] == Text(text="<thinking>\nhm\n</thinking>")
    history = (user("a"), said(Thinking(thinking="hm"), Text(text="b"), by=KIMI))
    assert prepare(history, KIMI)[1] is history[1]


def test_thinking_that_nothing_follows_goes_and_so_does_the_message_that_was_nothing_else() -> None:
    history = (user("a"), said(Thinking(thinking="hm", thinking_signature="s"), stop="length"), user("go on"))
    assert prepare(history, CLAUDE) == (history[0], history[2])


@pytest.mark.parametrize(
    ("target", "form"),
    [
        (CLAUDE, r"[a-zA-Z0-9_-]{1,64}"),
        (MISTRAL, r"[a-zA-Z0-9]{9}"),
        (GPT, r"[a-zA-Z0-9_-]{1,64}(\|fc_[a-zA-Z0-9_-]{1,61})?"),
        (CHAT, r"[a-zA-Z0-9_-]{1,40}"),
        (GEMINI, r"[a-zA-Z0-9_-]{1,64}"),
    ],
)
def test_ids_are_made_valid_and_the_results_follow_them(target: Model, form: str) -> None:
    ids = ["call_a|fc_1", "functions.read:0", "x" * 100, "x" * 100 + "y", "", "ünï", "ok", "call_a"]
    history = (
        user("a"),
        said(*(call(i) for i in ids), by=KIMI.__class__(provider="p", id="m", api="local", base_url="x")),
        *(result(i, text=i or "none") for i in ids),
    )
    prepared = prepare(history, target)
    new = [part.id for part in prepared[1].tool_calls]
    assert all(re.fullmatch(form, one) for one in new)
    assert len(set(new)) == len(new)
    assert [(m.tool_call_id, m.content[0].text) for m in prepared[2:]] == list(
        zip(new, [i or "none" for i in ids], strict=True)
    )


def test_ids_stay_the_same_when_the_conversation_grows() -> None:
    history: tuple[Message, ...] = (user("a"),)
    seen: tuple[Message, ...] = ()
    for turn in range(4):
        history = (*history, said(call("call_0|fc_1"), call("call_0|fc_1"), by=GPT), result("call_0|fc_1", str(turn)))
        prepared = prepare(history, MISTRAL)
        assert prepared[: len(seen)] == seen
        seen = prepared


def test_an_item_id_goes_back_to_its_own_model_only() -> None:
    history = (user("a"), said(call("call_1|fc_2"), by=GPT, stop="toolUse"), result("call_1|fc_2"))
    assert prepare(history, GPT)[1] is history[1]
    other = Model(provider="openai", id="gpt-y", api="openai-responses", base_url="x")
    assert prepare(history, other)[1].tool_calls[0].id == "call_1"
    assert prepare(history, other)[2].tool_call_id == "call_1"


def test_a_server_of_chat_completions_gets_back_the_ids_that_it_gave() -> None:
    history = (user("a"), said(call("functions.read:0"), by=KIMI), result("functions.read:0"))
    assert prepare(history, KIMI)[1] is history[1]


def test_an_id_that_a_server_left_out_is_one_that_it_takes() -> None:
    history = (user("a"), said(call("call_0123456789abcdef"), by=MISTRAL), result("call_0123456789abcdef"))
    assert re.fullmatch(r"[a-zA-Z0-9]{9}", prepare(history, MISTRAL)[1].tool_calls[0].id)


def test_an_id_that_a_server_gave_twice_is_told_apart() -> None:
    history = (
        user("a"),
        said(call("call_0"), by=KIMI),
        result("call_0", "first"),
        said(call("call_0"), by=KIMI),
        result("call_0", "second"),
    )
    prepared = prepare(history, KIMI)
    first, second = prepared[1].tool_calls[0].id, prepared[3].tool_calls[0].id
    assert first != second
    assert (prepared[2].tool_call_id, prepared[2].content[0].text) == (first, "first")
    assert (prepared[4].tool_call_id, prepared[4].content[0].text) == (second, "second")


def test_a_call_without_a_result_gets_one() -> None:
    history = (user("a"), said(call("t1"), call("t2"), stop="toolUse"), result("t2"), user("b"))
    prepared = prepare(history, CLAUDE)
    assert [m.tool_call_id for m in prepared[2:4]] == ["t1", "t2"]
    assert prepared[2].is_error
    assert prepared[2].content == (Text(text=NO_RESULT),)
    assert prepared[4] is history[3]


def test_results_stand_after_their_call_in_call_order() -> None:
    history = (
        user("a"),
        said(call("t1"), call("t2"), stop="toolUse"),
        user("wait"),
        result("t2"),
        result("t1"),
        said(Text(text="ok")),
    )
    assert prepare(history, CLAUDE) == (
        history[0],
        history[1],
        history[4],
        history[3],
        history[2],
        history[5],
    )


def test_a_result_without_a_call_becomes_a_user_message_that_names_the_tool() -> None:
    prepared = prepare((user("a"), result("gone", "the file", name="read")), CLAUDE)
    assert isinstance(prepared[1], UserMessage)
    assert "read" in prepared[1].content[0].text
    assert prepared[1].content[1] == Text(text="the file")


@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_of_a_message_cut_off_only_the_text_and_the_answered_calls_stay(stop: str) -> None:
    broken = said(Thinking(thinking="half"), Text(text="I will"), call("t1"), call("t2"), stop=stop)
    prepared = prepare((user("a"), broken, result("t2"), user("b")), CLAUDE)
    assert prepared[1].content == (Text(text="I will"), call("t2"))
    assert [m.role for m in prepared] == ["user", "assistant", "toolResult", "user"]
    assert prepare((user("a"), said(call("t1"), stop=stop), user("b")), CLAUDE) == (user("a"), user("b"))


def test_a_message_cut_off_at_the_end_is_not_sent_as_the_beginning_of_an_answer() -> None:
    assert prepare((user("a"), said(Text(text="I wi"), stop="error")), CLAUDE) == (user("a"),)
    twice = (user("a"), said(Text(text="I wi"), stop="error"), said(Text(text="I"), stop="aborted"))
    assert prepare(twice, CLAUDE) == (user("a"),)
    assert len(prepare((user("a"), said(Text(text="prefill"))), CLAUDE)) == 2


def test_empty_messages_go_or_get_a_placeholder_where_turns_alternate() -> None:
    empty = UserMessage(content=(Text(text=" \n"),))
    assert prepare((user("a"), empty, said(), said(Text(text=""))), CLAUDE) == (user("a"),)
    history = (user("a"), said(Text(text="b"), Text(text="")), empty, said(Text(text="c")))
    prepared = prepare(history, CLAUDE)
    assert prepared[1].content == (Text(text="b"),)
    assert prepared[2].content == (Text(text=EMPTY_MESSAGE),)
    assert prepare((empty,), CLAUDE)[0].content == (Text(text=EMPTY_MESSAGE),)


def test_a_history_that_begins_with_the_assistant_gets_a_user_message_before_it() -> None:
    assert prepare((said(Text(text="b")),), CLAUDE)[0].content == (Text(text=BEGINNING),)


def test_an_empty_result_says_so() -> None:
    empty = ToolResultMessage(tool_call_id="t", tool_name="bash", content=(Text(text=""),), is_error=False)
    assert prepare((user("a"), said(call("t")), empty), CLAUDE)[2].content[0].text.strip()


def test_an_empty_text_that_gemini_signed_is_kept_for_gemini_only() -> None:
    signed = Text(text="", text_signature="sig")
    history = (user("a"), said(Text(text="b"), signed, by=GEMINI))
    assert prepare(history, GEMINI)[1] is history[1]
    assert prepare(history, CLAUDE)[1].content == (Text(text="b"),)


def test_a_signature_on_a_call_stays_with_the_model_that_made_it() -> None:
    signed = ToolCall(id="g1", name="read", thought_signature="sig")
    history = (user("a"), said(signed, by=GEMINI), result("g1"))
    assert prepare(history, GEMINI)[1] is history[1]
    assert "sig" not in encode(prepare(history, CLAUDE)).decode()


def test_images_are_a_note_for_a_model_that_cannot_see() -> None:
    image = Image(data="AAAA", mime_type="image/png")
    shown = ToolResultMessage(tool_call_id="t", tool_name="read", content=(image,), is_error=False)
    history = (UserMessage(content=(image, Text(text="?"))), said(call("t")), shown)
    assert prepare(history, CLAUDE) == history
    blind = encode(prepare(history, CHAT)).decode()
    assert "AAAA" not in blind
    assert blind.count("image/png") == 2


def test_what_json_cannot_hold_is_cleaned_everywhere() -> None:
    broken = ToolCall(id="t", name="read", arguments=Raw(rb'{"path":"\ud800x"}'))
    history = (
        user("a\ud800"),
        said(Thinking(thinking="b\udc00", thinking_signature="s"), Text(text="c\ud800"), broken),
        result("t", "d\ud800"),
    )
    prepared = prepare(history, CLAUDE)
    encode(prepared)
    assert prepared[1].tool_calls[0].input == {"path": "\ufffdx"}
    assert prepared[0].content[0].text == "a\ufffd"


def test_a_tool_name_that_the_model_made_up_is_one_that_the_provider_takes() -> None:
    history = (user("a"), said(call("t", name="functions.read file")), result("t", name="functions.read file"))
    prepared = prepare(history, CLAUDE)
    assert prepared[1].tool_calls[0].name == "functions_read_file"
    assert prepared[2].tool_name == "functions_read_file"


_ids = st.sampled_from(["a", "b", "c|fc_1", "", "?", "call00001", "z" * 70])
_text = st.sampled_from(["", " ", "words", "\ud800"]).map(lambda text: Text(text=text))
_thinking = st.builds(Thinking, thinking=st.sampled_from(["", "hm"]), thinking_signature=st.sampled_from(["", "sig"]))
_messages = st.one_of(
    st.builds(UserMessage, content=st.lists(_text, max_size=2).map(tuple)),
    st.builds(HookMessage, custom_type=st.just("x"), content=st.lists(_text, max_size=2).map(tuple)),
    st.builds(result, _ids),
    st.builds(
        lambda parts, by, stop: said(*parts, by=by, stop=stop),
        st.lists(st.one_of(_text, _thinking, _ids.map(call)), max_size=4),
        st.sampled_from(MODELS),
        st.sampled_from(["stop", "toolUse", "error", "aborted", "length"]),
    ),
)


@settings(max_examples=150, deadline=None)
@given(history=st.lists(_messages, max_size=10), model=st.sampled_from(MODELS))
def test_any_history_becomes_a_valid_one_and_stays_as_it_is_the_second_time(
    history: list[Message], model: Model
) -> None:
    before = repr(history)
    prepared = prepare(history, model)
    assert repr(history) == before
    encode(prepared)
    assert not prepared or isinstance(prepared[0], UserMessage)
    expected: list[str] = []
    seen: Counter[str] = Counter()
    for message in prepared:
        assert message.content
        if isinstance(message, ToolResultMessage):
            assert message.tool_call_id == expected.pop(0)
        else:
            assert not expected
            assert not isinstance(message, HookMessage)
        if isinstance(message, AssistantMessage):
            expected = [part.id for part in message.tool_calls]
            seen.update(one.partition("|")[0] if model is GPT else one for one in expected)
            assert not isinstance(message.content[-1], Thinking) or model.api == "openai-completions"
    assert not expected
    assert all(count == 1 for count in seen.values())
    assert prepare(prepared, model) == prepared


def test_messages_that_need_no_change_stay_the_same_objects() -> None:
    history: list[Message] = [user("begin")]
    for turn in range(333):
        thinking = Thinking(thinking="hm " * 50, thinking_signature="sig")
        history += [said(thinking, call(f"t{turn}"), stop="toolUse"), result(f"t{turn}", "ä" * 5_000), user("on")]
    prepared = prepare(history, CLAUDE)
    assert len(prepared) == len(history)
    assert all(new is old for new, old in zip(prepared, history, strict=True))
