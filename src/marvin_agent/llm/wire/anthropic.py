"""Anthropic's messages, as Anthropic and the servers that imitate it speak them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from marvin_agent.errors import ProtocolError, ProviderError
from marvin_agent.llm import failure
from marvin_agent.llm.builder import Builder
from marvin_agent.llm.lenient import decode
from marvin_agent.llm.values import Credentials, HttpRequest, Request, ServerSentEvent
from marvin_agent.llm.wire.anthropic_body import body, is_adaptive, is_anthropic
from marvin_agent.llm.wire.sending import http_request
from marvin_agent.messages import StopReason, changed

_VERSION = "2023-06-01"
_OAUTH_TOKEN = "sk-ant-oat"  # noqa: S105 - how such a token begins, no token
_INTERLEAVED = "interleaved-thinking-2025-05-14"
_FINE_GRAINED = "fine-grained-tool-streaming-2025-05-14"
_OAUTH = "oauth-2025-04-20"
_BINDING = "thinking-binding-controls-2026-08-01"
_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "toolUse",
    "refusal": "refusal",
    "sensitive": "refusal",
}


class _Block(msgspec.Struct):
    type: str = ""
    id: str | None = None
    name: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    input: Any = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Message(msgspec.Struct):
    usage: Any = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int | None = None
    message: _Message | str | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: Any = None
    error: Any = None
    content: list[_Block] | None = None
    """With `stop_reason`, of a whole message from a server that did not stream."""
    stop_reason: str | None = None


_decoder = msgspec.json.Decoder(_Event)


class AnthropicParser:
    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._index = 0
        self._signatures: dict[int, str] = {}
        self._inputs: dict[int, Any] = {}

    def feed(self, event: ServerSentEvent) -> None:
        if not event.data or event.data.isspace() or event.data == "[DONE]":
            return
        try:
            told = decode(_decoder, event.data)
        except ValueError as error:
            if event.event == "error":
                raise failure.from_stream(event.data) from None
            raise ProtocolError(f"the server sent something that is not an event of messages: {error}") from None
        if told.index is not None:
            self._index = told.index
        match told.type or event.event:
            case "content_block_delta":
                if told.delta:
                    self._delta(told.delta)
            case "content_block_start":
                if told.content_block:
                    self._begin(told.content_block)
            case "content_block_stop":
                self._take_input(self._index)
            case "message_start":
                if isinstance(told.message, _Message):
                    self._usage(told.message.usage)
            case "message_delta":
                self._usage(told.usage)
                if told.delta and told.delta.stop_reason:
                    self._stop(told.delta.stop_reason)
            case "message_stop":
                self._builder.ended = self._builder.over = True
            case "message":
                self._whole(told)
            case "error":
                raise failure.from_stream(told.error or told.message or event.data)
            case _ if told.error:
                raise failure.from_stream(told.error)
            case _:
                pass  # a ping, or an event of a time to come

    def finish(self) -> None:
        for index in list(self._inputs):
            self._take_input(index)
        if not self._builder.ended:
            raise ProtocolError("the stream ended without an end: no `message_stop`")

    def _begin(self, block: _Block) -> None:
        index, builder = self._index, self._builder
        match block.type:
            case "text":
                builder.text(index, block.text or "")
            case "thinking":
                builder.thinking(index, block.thinking or "")
                if block.signature:
                    self._sign(block.signature)
            case "redacted_thinking":
                builder.thinking_signature(index, block.data or "", redacted=True)
            case "tool_use":
                builder.tool(index, id=block.id, name=block.name)
                if block.input:
                    self._inputs[index] = block.input
            case _:
                pass  # what the provider's own tools do is not for us

    def _delta(self, delta: _Delta) -> None:
        if delta.text:
            self._builder.text(self._index, delta.text)
        elif delta.partial_json:
            # Servers that repeat the input as pieces mean the pieces.
            self._inputs.pop(self._index, None)
            self._builder.tool(self._index, arguments=delta.partial_json)
        elif delta.thinking:
            self._builder.thinking(self._index, delta.thinking)
        elif delta.signature:
            self._sign(delta.signature)

    def _sign(self, piece: str) -> None:
        signature = self._signatures[self._index] = self._signatures.get(self._index, "") + piece
        self._builder.thinking_signature(self._index, signature)

    def _take_input(self, index: int) -> None:
        """A call whose arguments came whole with its beginning."""
        if index in self._inputs:
            given = self._inputs.pop(index)
            text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
            self._builder.tool(index, arguments=text)

    def _usage(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._builder.usage(
                input=_count(usage.get("input_tokens")),
                output=_count(usage.get("output_tokens")),
                cache_read=_count(usage.get("cache_read_input_tokens")),
                cache_write=_count(usage.get("cache_creation_input_tokens")),
            )

    def _stop(self, reason: str) -> None:
        self._builder.ended = True
        self._builder.stop(_STOP_REASONS.get(reason, "stop"))

    def _whole(self, message: _Event) -> None:
        for self._index, block in enumerate(message.content or ()):
            self._begin(block)
            self._take_input(self._index)
        self._usage(message.usage)
        self._stop(message.stop_reason or "end_turn")


class AnthropicWire:
    def payload(self, request: Request) -> dict[str, Any]:
        return body(request)

    def http_request(self, request: Request, credentials: Credentials, payload: dict[str, Any]) -> HttpRequest:
        model, key = request.model, credentials.api_key or ""
        headers = {"anthropic-version": _VERSION}
        betas = []
        if key.startswith(_OAUTH_TOKEN):
            headers["authorization"] = f"Bearer {key}"
            betas.append(_OAUTH)
        elif key:
            headers["x-api-key"] = key
        base = (credentials.base_url or model.base_url).rstrip("/").removesuffix("/v1")
        if is_anthropic(base):
            betas.append(_FINE_GRAINED)
            if payload.get("tools") and "thinking" in payload and not is_adaptive(model):
                betas.append(_INTERLEAVED)
        if "block_binding" in payload.get("thinking", ()):
            betas.append(_BINDING)
        if betas:
            headers["anthropic-beta"] = ",".join(betas)
        return http_request(model, changed(credentials, base_url=base), "/v1/messages", payload, headers)

    def parser(self, builder: Builder) -> AnthropicParser:
        return AnthropicParser(builder)

    def error(self, status: int, headers: Mapping[str, str], body: bytes, provider: str) -> ProviderError:
        return failure.from_response(status, headers, body, provider)


WIRE = AnthropicWire()


def _count(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) else None
