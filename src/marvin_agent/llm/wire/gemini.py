"""The wire of Google's Gemini API: generateContent, streamed."""

import json
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from marvin_agent.errors import ContentRefusedError, ProtocolError, ProviderError
from marvin_agent.llm import failure
from marvin_agent.llm.builder import Builder
from marvin_agent.llm.values import Credentials, HttpRequest, Request, ServerSentEvent
from marvin_agent.llm.wire.fields import count, event_objects, mapping, mappings, string
from marvin_agent.llm.wire.gemini_body import MADE_UP_ID, body, headers
from marvin_agent.llm.wire.sending import http_request
from marvin_agent.messages import StopReason, changed

_STOP_REASONS: dict[str, StopReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "LANGUAGE": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "IMAGE_SAFETY": "refusal",
}
_UNFINISHED = ("", "FINISH_REASON_UNSPECIFIED")


class GeminiParser:
    """Reads the chunks. Parts have no names: a change of kind begins a new one, and so does what follows a signature,
    which is good for the part that it came with alone."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._kind = ""
        self._part = 0
        self._signed = False
        self._ids: set[str] = set()

    def feed(self, event: ServerSentEvent) -> None:
        if event.data == "[DONE]":
            self._builder.ended = self._builder.over = True
            return
        for chunk in event_objects(event.data):
            self._chunk(chunk)

    def finish(self) -> None:
        if not self._builder.ended:
            raise ProtocolError("the stream ended without an end: no `finishReason`")

    def _chunk(self, chunk: dict[str, Any]) -> None:
        if chunk.get("error"):
            raise failure.from_stream(chunk["error"], "")
        if self._builder.request_id is None:
            self._builder.request_id = string(chunk.get("responseId")) or None
        self._usage(chunk.get("usageMetadata"))
        feedback = mapping(chunk.get("promptFeedback"))
        if (reason := string(feedback.get("blockReason"))) not in ("", "BLOCK_REASON_UNSPECIFIED"):
            said = string(feedback.get("blockReasonMessage"))
            raise ContentRefusedError(f"the provider refused the conversation: {reason}{said and f' ({said})'}")
        for candidate in mappings(chunk.get("candidates"))[:1]:
            for part in mappings(mapping(candidate.get("content")).get("parts")):
                self._take(part)
            self._finish(string(candidate.get("finishReason")), string(candidate.get("finishMessage")))

    def _take(self, part: dict[str, Any]) -> None:
        signature = string(part.get("thoughtSignature"))
        if isinstance(call := part.get("functionCall"), dict):
            self._call(call, signature)
        elif part.get("thought") is True:
            key = self._key("thinking")
            self._builder.thinking(key, string(part.get("text")))
            if signature:
                self._builder.thinking_signature(key, signature)
                self._signed = True
        elif isinstance(text := part.get("text"), str) and (text or signature):
            # A signature that comes after the text, with an empty one, belongs to what was said before.
            key = self._key("text")
            self._builder.text(key, text)
            if signature:
                self._builder.text_signature(key, signature)
                self._signed = True

    def _key(self, kind: str) -> int:
        if kind != self._kind or self._signed:
            self._kind = kind
            self._part += 1
            self._signed = False
        return self._part

    def _call(self, call: dict[str, Any], signature: str) -> None:
        self._kind = "tool"
        self._part += 1
        given = string(call.get("id"))
        if not given or given in self._ids:
            given = MADE_UP_ID + secrets.token_hex(8)
        self._ids.add(given)
        arguments = call.get("args")
        self._builder.tool(
            self._part,
            id=given,
            name=string(call.get("name")),
            arguments=json.dumps({} if arguments is None else arguments, ensure_ascii=False),
            thought_signature=signature or None,
        )

    def _usage(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        cached = count(usage.get("cachedContentTokenCount"))
        prompt, used = count(usage.get("promptTokenCount")), count(usage.get("toolUsePromptTokenCount"))
        answer, thoughts = count(usage.get("candidatesTokenCount")), count(usage.get("thoughtsTokenCount"))
        self._builder.usage(
            input=None if prompt is None else prompt + (used or 0) - (cached or 0),
            output=None if answer is None and thoughts is None else (answer or 0) + (thoughts or 0),
            cache_read=cached,
        )

    def _finish(self, reason: str, said: str) -> None:
        if reason in _UNFINISHED:
            return
        if reason not in _STOP_REASONS:
            # MALFORMED_FUNCTION_CALL and its like: the model wrote what its own server could not read.
            raise ProtocolError(f"the provider broke the answer off: {reason}{said and f' ({said})'}")
        self._builder.stop(_STOP_REASONS[reason])
        self._builder.ended = True


class GeminiWire:
    def payload(self, request: Request) -> dict[str, Any]:
        return body(request)

    def http_request(self, request: Request, credentials: Credentials, payload: dict[str, Any]) -> HttpRequest:
        path = f"/models/{quote(request.model.id.removeprefix('models/'))}:streamGenerateContent"
        sent = http_request(request.model, credentials, path, payload, headers(credentials))
        return changed(sent, url=sent.url + ("&" if "?" in sent.url else "?") + "alt=sse")

    def parser(self, builder: Builder) -> GeminiParser:
        return GeminiParser(builder)

    def error(self, status: int, headers: Mapping[str, str], body: bytes, provider: str) -> ProviderError:
        return failure.from_response(status, headers, body, provider)


WIRE = GeminiWire()
