"""Our wires against servers that others wrote: llama.cpp's own, and a LiteLLM proxy in front of it."""

import json
from typing import Any

import pytest
from server_key import KEY

from marvin_agent.errors import AuthenticationError, ProviderError
from marvin_agent.llm.call import ModelCall
from marvin_agent.llm.http import HttpTransport
from marvin_agent.llm.values import (
    Api,
    Credentials,
    Finished,
    Model,
    Request,
    StreamEvent,
    StreamOptions,
    TextDelta,
    ToolCallDelta,
    ToolSpec,
)
from marvin_agent.messages import AssistantMessage, Message, Text, ToolResultMessage, UserMessage

pytestmark = [pytest.mark.thirdparty, pytest.mark.timeout(240)]

READ = ToolSpec(
    name="read",
    description="Read a file",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
MUST_CALL: dict[str, dict[str, Any]] = {
    "openai-completions": {"tool_choice": "required"},
    "openai-responses": {"tool_choice": "required"},
    "anthropic-messages": {"tool_choice": {"type": "any"}},
    "google-generative-ai": {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
}
NONSENSE: dict[str, dict[str, Any]] = {
    "openai-completions": {"messages": 7},
    "openai-responses": {"input": [{"type": "nothing"}]},
    "anthropic-messages": {"messages": [7]},
    "google-generative-ai": {"contents": 7},
}
PATHS: dict[str, str] = {"google-generative-ai": "/v1beta", "anthropic-messages": ""}

WIRES = [
    ("llama", "openai-completions"),
    ("llama", "openai-responses"),
    ("llama", "anthropic-messages"),
    ("litellm", "openai-completions"),
    ("litellm", "openai-responses"),
    ("litellm", "anthropic-messages"),
    ("litellm", "google-generative-ai"),
]


@pytest.fixture(params=WIRES, ids=" ".join)
def model(request: pytest.FixtureRequest) -> Model:
    server, api = request.param
    return model_at(request.getfixturevalue(server), api)


def model_at(address: str, api: Api) -> Model:
    return Model(provider="thirdparty", id="tiny", api=api, base_url=address + PATHS.get(api, "/v1"))


async def stream(model: Model, *messages: Message, key: str = KEY, **options: Any) -> list[StreamEvent]:
    tools = options.pop("tools", ())
    request = Request(
        model=model,
        system="Be brief.",
        messages=messages,
        tools=tools,
        options=StreamOptions(temperature=0.0, max_tokens=32, **options),
    )
    transport = HttpTransport()
    try:
        return [event async for event in ModelCall(request, Credentials(api_key=key), transport).events()]
    finally:
        await transport.close()


def message_of(events: list[StreamEvent]) -> AssistantMessage:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.message


def user(text: str) -> UserMessage:
    return UserMessage(content=(Text(text=text),))


def prefilled(model: Model) -> AssistantMessage:
    """The beginning of a call, put into the model's mouth: alone, so small a model never calls a tool."""
    return AssistantMessage(
        content=(Text(text="<tool_call>\n"),),
        api=model.api,
        provider=model.provider,
        model=model.id,
        stop_reason="stop",
    )


async def called(model: Model) -> list[StreamEvent]:
    question = user("Read the file a.txt")
    return await stream(model, question, prefilled(model), tools=(READ,), extra=MUST_CALL[model.api])


async def test_text_streams(model: Model) -> None:
    events = await stream(model, user("What is 17 + 5?"))
    message = message_of(events)
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(deltas) > 2
    assert "".join(deltas) == message.text
    assert message.text.strip()
    assert message.stop_reason in ("stop", "length")
    assert message.usage is not None
    assert message.usage.output > 2


async def test_a_tool_is_called(model: Model) -> None:
    events = await called(model)
    message = message_of(events)
    first = message.tool_calls[0]
    assert first.name == "read"
    assert set(first.input) == {"path"}
    told = "".join(event.text for event in events if isinstance(event, ToolCallDelta) and event.id == first.id)
    assert json.loads(told) == first.input


async def test_a_result_is_taken_back(model: Model) -> None:
    call = message_of(await called(model))
    call = AssistantMessage(
        content=call.tool_calls[:1], api=call.api, provider=call.provider, model=call.model, stop_reason="toolUse"
    )
    result = ToolResultMessage(
        tool_call_id=call.tool_calls[0].id,
        tool_name="read",
        content=(Text(text="The file says: hello"),),
        is_error=False,
    )
    message = message_of(await stream(model, user("Read the file a.txt"), call, result, tools=(READ,)))
    assert message.text.strip() or message.tool_calls


async def test_a_request_that_the_server_refuses_is_an_error_with_its_words(model: Model) -> None:
    with pytest.raises(ProviderError) as raised:
        await stream(model, user("hi"), extra=NONSENSE[model.api])
    assert raised.value.status is not None
    assert len(raised.value.message) > 5


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-completions", "openai-responses"])
async def test_a_wrong_key_is_an_authentication_error(llama: str, api: Api) -> None:
    with pytest.raises(AuthenticationError) as raised:
        await stream(model_at(llama, api), user("hi"), key="sk-wrong-0123456789abcdef")
    assert "sk-wrong-0123456789abcdef" not in raised.value.show()
