"""The embedded model's wire: it has no tool calls of its own, so that it is held to a JSON form and read from there.

It is tiny, 135 million parameters: it shows that marvin works without a key, and is no help with real code.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from marvin_agent.errors import ProtocolError, ProviderError
from marvin_agent.llm import failure
from marvin_agent.llm.builder import Builder
from marvin_agent.llm.values import Credentials, HttpRequest, Request, ServerSentEvent
from marvin_agent.llm.wire.local_prompt import chat, tools_left
from marvin_agent.llm.wire.local_reply import LocalReply
from marvin_agent.llm.wire.local_schema import reply_schema

_MOST_TOKENS = 300
"""An answer that is longer has begun to repeat itself."""


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta = msgspec.field(default_factory=_Delta)
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Chunk)


class LocalParser:
    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._reply = LocalReply(builder)

    def feed(self, event: ServerSentEvent) -> None:
        if event.data == "[DONE]":
            return
        try:
            chunk = _decoder.decode(event.data)
        except msgspec.DecodeError as error:
            raise ProtocolError(f"the embedded model sent something that is not a chunk: {error}") from None
        if chunk.error:
            raise failure.from_stream(chunk.error)
        if chunk.usage:
            self._builder.usage(input=chunk.usage.prompt_tokens, output=chunk.usage.completion_tokens)
        for choice in chunk.choices:
            if choice.delta.content:
                self._reply.feed(choice.delta.content)
            if choice.finish_reason:
                self._reply.finish()
                self._builder.ended = True
                self._builder.stop("length" if choice.finish_reason == "length" else "stop")

    def finish(self) -> None:
        if not self._builder.ended:
            raise ProtocolError("the embedded model stopped in the middle of its answer")


class LocalWire:
    def payload(self, request: Request) -> dict[str, Any]:
        options = request.options
        tokens = min(options.max_tokens or _MOST_TOKENS, request.model.max_tokens, _MOST_TOKENS)
        payload: dict[str, Any] = {
            "messages": chat(request),
            "max_tokens": tokens,
            # The likeliest word each time: chance makes a model of this size worse, and tests unsteady.
            "temperature": options.temperature if options.temperature is not None else 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if tools := tools_left(request):
            schema = reply_schema(tools)
            payload["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
        if options.stop:
            payload["stop"] = list(options.stop)
        return {**payload, **options.extra}

    def http_request(self, request: Request, credentials: Credentials, payload: dict[str, Any]) -> HttpRequest:
        url = request.model.base_url.rstrip("/") + "/v1/chat/completions"
        return HttpRequest(url=url, headers={"content-type": "application/json"}, body=msgspec.json.encode(payload))

    def parser(self, builder: Builder) -> LocalParser:
        return LocalParser(builder)

    def error(self, status: int, headers: Mapping[str, str], body: bytes, provider: str) -> ProviderError:
        return failure.from_response(status, headers, body, provider)


WIRE = LocalWire()
