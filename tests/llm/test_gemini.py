"""What is Gemini's own: signatures, calls without ids, thinking budgets, refused prompts."""

import json
from typing import Any

import pytest

from marvin_agent.errors import ContentRefusedError, OverloadedError, ProtocolError, RateLimitError
from marvin_agent.llm.builder import Builder
from marvin_agent.llm.values import Credentials, Model, Request, ServerSentEvent, StreamOptions, ThinkingLevel
from marvin_agent.llm.wire.gemini import WIRE, GeminiParser
from marvin_agent.llm.wire.gemini_body import body
from marvin_agent.messages import (
    AssistantMessage,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

QUESTION = UserMessage(content=(Text(text="hi"),))


def model(name: str = "gemini-2.5-pro", **more: Any) -> Model:
    return Model(
        provider="google",
        id=name,
        api="google-generative-ai",
        base_url="http://127.0.0.1:9/v1beta",
        reasoning=True,
        input=("text", "image"),
        **more,
    )


def parse(*chunks: Any, of: Model | None = None) -> AssistantMessage:
    builder = Builder(Request(model=of or model(), system="", messages=()))
    parser = GeminiParser(builder)
    for chunk in chunks:
        parser.feed(ServerSentEvent(event="message", data=json.dumps(chunk)))
        builder.drain()
    parser.finish()
    return builder.message()


def chunk(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, "finishReason": finish}], **more}


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"path": "a"}, **more}}


def sent_parts(message: AssistantMessage, of: Model | None = None) -> list[dict[str, Any]]:
    request = Request(model=of or model(), system="", messages=(QUESTION, message, QUESTION))
    parts: list[dict[str, Any]] = body(request)["contents"][1]["parts"]
    return parts


def test_calls_without_ids_get_some_that_stay_here() -> None:
    said = parse(chunk(call("read"), call("read")), chunk(finish="STOP"))
    first, second = said.tool_calls
    assert first.id != second.id
    assert said.stop_reason == "toolUse"
    assert [part["functionCall"] for part in sent_parts(said)] == [{"name": "read", "args": {"path": "a"}}] * 2


def test_an_id_that_came_twice_is_told_apart_and_one_that_came_goes_back_with_the_result() -> None:
    said = parse(chunk(call("read", id="x"), call("read", id="x"), finish="STOP"))
    first, second = said.tool_calls
    assert first.id == "x" != second.id
    result = ToolResultMessage(tool_call_id="x", tool_name="read", content=(Text(text="ok"),), is_error=False)
    contents = body(Request(model=model(), system="", messages=(QUESTION, said, result)))["contents"]
    assert contents[1]["parts"][0]["functionCall"]["id"] == "x"
    assert contents[2]["parts"][0]["functionResponse"]["id"] == "x"
    assert "id" not in contents[2]["parts"][1]["functionResponse"]


def test_signatures_go_back_with_the_parts_that_they_came_with() -> None:
    said = parse(
        chunk({"text": "hm", "thought": True}),
        chunk({"text": "", "thought": True, "thoughtSignature": "s1"}),
        chunk({"text": "Hel"}),
        chunk({"text": "lo"}),
        chunk({"text": "", "thoughtSignature": "s2"}),
        chunk({"text": "more"}),
        chunk({**call("read", id="x"), "thoughtSignature": "s3"}, finish="STOP"),
    )
    assert sent_parts(said) == [
        {"text": "hm", "thought": True, "thoughtSignature": "s1"},
        {"text": "Hello", "thoughtSignature": "s2"},
        {"text": "more"},
        {**call("read", id="x"), "thoughtSignature": "s3"},
    ]


def test_a_signature_on_an_empty_text_of_its_own_is_kept() -> None:
    said = parse(chunk({"text": "", "thoughtSignature": "s1"}), chunk(call("read", id="x"), finish="STOP"))
    assert sent_parts(said) == [{"text": "", "thoughtSignature": "s1"}, call("read", id="x")]


def test_gemini_3_is_told_that_a_call_of_another_model_has_no_signature() -> None:
    foreign = AssistantMessage(
        content=(ToolCall(id="c1", name="read"), ToolCall(id="c2", name="read")),
        api="openai-completions",
        provider="elsewhere",
        model="other",
        stop_reason="toolUse",
    )
    for name in ("gemini-3-pro-preview", "gemini-flash-latest"):
        first, second = sent_parts(foreign, model(name))
        assert first["thoughtSignature"]
        assert "thoughtSignature" not in second
    assert all("thoughtSignature" not in part for part in sent_parts(foreign, model("gemini-2.5-flash")))


def test_all_results_of_a_message_go_back_together_and_images_after_them() -> None:
    said = parse(chunk(call("read", id="x"), call("look", id="y"), finish="STOP"))
    image = Image(data="AAAA", mime_type="image/png")
    results = (
        ToolResultMessage(tool_call_id="y", tool_name="look", content=(image,), is_error=False),
        ToolResultMessage(tool_call_id="x", tool_name="read", content=(Text(text="no"),), is_error=True),
    )
    before = body(Request(model=model(), system="", messages=(QUESTION, said, *results)))["contents"][2:]
    assert [len(content["parts"]) for content in before] == [2, 2]
    assert before[0]["parts"][0]["functionResponse"]["response"] == {"error": "no"}
    assert before[1]["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    three = model("gemini-3-flash")
    after = body(Request(model=three, system="", messages=(QUESTION, said, *results)))["contents"][2:]
    assert len(after) == 1
    assert after[0]["parts"][1]["functionResponse"]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    ]


@pytest.mark.parametrize(
    ("name", "level", "config"),
    [
        ("gemini-2.5-pro", "minimal", {"includeThoughts": True, "thinkingBudget": 128}),
        ("gemini-2.5-pro", "low", {"includeThoughts": True, "thinkingBudget": 2048}),
        ("gemini-2.5-pro", "medium", {"includeThoughts": True, "thinkingBudget": 8192}),
        ("gemini-2.5-pro", "xhigh", {"includeThoughts": True, "thinkingBudget": 32768}),
        ("gemini-2.5-pro", "off", {"includeThoughts": True, "thinkingBudget": 128}),
        ("gemini-2.5-flash", "high", {"includeThoughts": True, "thinkingBudget": 24576}),
        ("gemini-2.5-flash", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-flash-lite", "minimal", {"includeThoughts": True, "thinkingBudget": 512}),
        ("gemini-3-pro-preview", "minimal", {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("gemini-3.1-pro-preview", "high", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("gemini-3-flash-preview", "medium", {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("gemini-3.1-pro-preview", "medium", {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("gemini-4-argon", "medium", {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("gemini-4-argon", "off", {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("gemini-flash-latest", "medium", {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("gemini-pro-latest", "minimal", {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("gemma-4-31b-it", "medium", {"includeThoughts": True, "thinkingLevel": "MINIMAL"}),
        ("some-other-model", "medium", {"includeThoughts": True, "thinkingBudget": -1}),
        ("some-other-model", "off", None),
    ],
)
def test_each_family_thinks_by_its_own_measure(name: str, level: ThinkingLevel, config: dict[str, Any] | None) -> None:
    options = StreamOptions(reasoning=level)
    sent = body(Request(model=model(name), system="", messages=(QUESTION,), options=options))
    assert sent.get("generationConfig", {}).get("thinkingConfig") == config


def test_a_models_own_names_for_the_levels_win() -> None:
    named = model(compat={"thinkingLevelMap": {"low": "77", "high": "VERY"}})

    def config(level: ThinkingLevel) -> dict[str, Any]:
        request = Request(model=named, system="", messages=(QUESTION,), options=StreamOptions(reasoning=level))
        thinking: dict[str, Any] = body(request)["generationConfig"]["thinkingConfig"]
        return thinking

    assert config("low")["thinkingBudget"] == 77
    assert config("high")["thinkingLevel"] == "VERY"


def test_a_refused_prompt_is_an_error_that_is_not_tried_again() -> None:
    with pytest.raises(ContentRefusedError, match="PROHIBITED_CONTENT") as raised:
        parse({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}})
    assert not raised.value.retryable


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER", "A_NEW_ONE"])
def test_an_answer_that_the_provider_broke_off_is_tried_again(reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason) as raised:
        parse(chunk({"text": "so far"}), chunk(finish=reason))
    assert raised.value.retryable


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"])
def test_a_refused_answer_keeps_what_was_said(reason: str) -> None:
    said = parse(chunk({"text": "so far"}), chunk(finish=reason))
    assert (said.text, said.stop_reason) == ("so far", "refusal")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."}, OverloadedError),
        ({"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Too many requests"}, RateLimitError),
    ],
)
def test_an_error_object_in_the_stream_is_raised(error: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        parse(chunk({"text": "so far"}), {"error": error})


def test_a_server_that_does_not_stream_answers_with_a_list() -> None:
    said = parse([chunk({"text": "Hel"}), chunk({"text": "lo"}, finish="STOP")])
    assert (said.text, said.stop_reason) == ("Hello", "stop")


def test_an_unspecified_finish_reason_is_no_end() -> None:
    with pytest.raises(ProtocolError, match="without an end"):
        parse(chunk({"text": "so far"}, finish="FINISH_REASON_UNSPECIFIED"))


def test_usage_grows_over_the_chunks_and_the_last_one_counts() -> None:
    said = parse(
        chunk({"text": "a"}, usageMetadata={"promptTokenCount": 10, "thoughtsTokenCount": 4}),
        chunk(
            {"text": "b"},
            finish="STOP",
            usageMetadata={
                "promptTokenCount": 10,
                "cachedContentTokenCount": 6,
                "candidatesTokenCount": 3,
                "thoughtsTokenCount": 4,
                "toolUsePromptTokenCount": 2,
            },
        ),
        chunk(usageMetadata=None),
    )
    assert said.usage is not None
    assert (said.usage.input, said.usage.cache_read, said.usage.output) == (6, 6, 7)


@pytest.mark.parametrize(
    "odd",
    [{}, {"candidates": None}, {"candidates": [{"content": None}]}, {"candidates": [{"content": {"parts": [None]}}]}],
)
def test_missing_fields_are_tolerated(odd: dict[str, Any]) -> None:
    assert parse(odd, chunk({"text": "ok"}, finish="STOP")).text == "ok"


def test_the_address_names_the_model_and_asks_for_events() -> None:
    request = Request(model=model("models/gemini-x"), system="", messages=(QUESTION,))
    sent = WIRE.http_request(request, Credentials(api_key="secret-key"), {})
    assert sent.url == "http://127.0.0.1:9/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
    assert sent.headers["x-goog-api-key"] == "secret-key"
    own = Credentials(base_url="http://127.0.0.1:9/v1?team=a")
    assert WIRE.http_request(request, own, {}).url.endswith(":streamGenerateContent?team=a&alt=sse")


def test_thinking_without_a_signature_goes_back_as_a_thought() -> None:
    said = parse(chunk({"text": "hm", "thought": True}), chunk({"text": "yes"}, finish="STOP"))
    assert said.content == (Thinking(thinking="hm"), Text(text="yes"))
    assert sent_parts(said)[0] == {"text": "hm", "thought": True}
