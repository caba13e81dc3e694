"""Each wire reads what the scripted server writes in its dialect, over real HTTP."""

from typing import Any

import pytest

from marvin_agent.errors import (
    NetworkError,
    OverloadedError,
    ProtocolError,
    ProviderError,
    RateLimitError,
    SilenceError,
)
from marvin_agent.llm.call import ModelCall
from marvin_agent.llm.http import HttpTransport
from marvin_agent.llm.offline.script import Script
from marvin_agent.llm.values import Api, Credentials, Finished, Model, Request, StreamOptions
from marvin_agent.messages import AssistantMessage, Thinking, user
from marvin_agent.testing.server import ScriptedServer

BASES: dict[Api, str] = {
    "openai-completions": "/v1",
    "anthropic-messages": "",
    "openai-responses": "/v1",
    "google-generative-ai": "/v1beta",
}
every_api = pytest.mark.parametrize("api", BASES)


async def ask(server: ScriptedServer, api: Api, idle_timeout: float = 30.0) -> AssistantMessage:
    model = Model(provider="test", id="m", api=api, base_url=server.origin + BASES[api], reasoning=True)
    asked = Request(model=model, system="", messages=(user("hi"),), options=StreamOptions(reasoning="low"))
    transport = HttpTransport(idle_timeout=idle_timeout)
    try:
        *_, last = [event async for event in ModelCall(asked, Credentials(api_key="k" * 20), transport).events()]
    finally:
        await transport.close()
    assert isinstance(last, Finished)
    return last.message


@every_api
async def test_everything_that_a_reply_has_arrives(api: Api) -> None:
    reply = {
        "thinking": "let me think",
        "text": "Grüße an alle 🌍",
        "toolCalls": [{"name": "read", "arguments": {"path": "a b"}, "id": "c1"}, {"name": "ls", "id": "c2"}],
        "usage": {"input": 10, "output": 20, "cacheRead": 5},
        "chunk": 3,
    }
    with ScriptedServer(Script.of(reply)) as server:
        message = await ask(server, api)
    assert message.text == "Grüße an alle 🌍"
    assert [part.thinking for part in message.content if isinstance(part, Thinking)] == ["let me think"]
    assert [(call.name, call.input) for call in message.tool_calls] == [("read", {"path": "a b"}), ("ls", {})]
    assert message.stop_reason == "toolUse"
    assert message.usage is not None
    assert (message.usage.input, message.usage.output, message.usage.cache_read) == (10, 20, 5)
    assert message.request_id == "req_1"


@every_api
@pytest.mark.parametrize("stop", ["stop", "length", "refusal"])
async def test_every_stop_reason_arrives(api: Api, stop: str) -> None:
    with ScriptedServer(Script.of({"text": "a", "stopReason": stop})) as server:
        assert (await ask(server, api)).stop_reason == stop


@every_api
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"status": 429, "retryAfter": 2}, RateLimitError),
        ({"status": 529}, OverloadedError),
        ("connect", NetworkError),
        ("cut", NetworkError),
        ("noEnd", ProtocolError),
        ({"kind": "errorEvent", "message": "Overloaded"}, OverloadedError),
        ("garbage", ProtocolError),
    ],
)
async def test_every_fault_is_the_error_that_it_should_be(api: Api, fault: Any, error: type[ProviderError]) -> None:
    with ScriptedServer(Script.of({"text": "one two", "fault": fault})) as server:
        with pytest.raises(error) as caught:
            await ask(server, api)
        assert caught.value.retryable
        if error is RateLimitError:
            assert caught.value.retry_after == 2


@every_api
async def test_silence_is_noticed(api: Api) -> None:
    with ScriptedServer(Script.of({"text": "one two", "fault": "silence"})) as server:
        with pytest.raises(SilenceError):
            await ask(server, api, idle_timeout=0.2)
        server.wait_until(lambda server: server.requests[0].dropped)
