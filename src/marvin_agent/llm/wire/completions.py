"""OpenAI's chat completions, as OpenAI and every server that imitates it speaks them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from marvin_agent.errors import ProtocolError, ProviderError
from marvin_agent.llm import failure
from marvin_agent.llm.builder import Builder
from marvin_agent.llm.lenient import decode
from marvin_agent.llm.values import Credentials, HttpRequest, Request, ServerSentEvent
from marvin_agent.llm.wire.completions_body import PIECES, body
from marvin_agent.llm.wire.completions_compat import compat_of
from marvin_agent.llm.wire.fields import mapping, mappings, string
from marvin_agent.llm.wire.sending import http_request
from marvin_agent.messages import StopReason, raw

_DETAIL_TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary"}
_AFFINITY = ("x-session-affinity", "x-grok-conv-id")
"""Where a host looks up which of its servers has the conversation's beginning in its cache."""
_HIDDEN = -1
"""The part of thinking of which nothing is shown."""
_STOP_REASONS: dict[str, StopReason] = {
    "stop": "stop",
    "end": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
    "tool_use": "toolUse",
    "model_context_window_exceeded": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "sensitive": "refusal",
    "error": "error",
    "abort": "error",
    "network_error": "error",
    "insufficient_system_resource": "error",
}


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    extra_content: Any = None


class _Delta(msgspec.Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_text: Any = None
    reasoning_details: Any = None
    refusal: Any = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    """In place of the delta, when the server did not stream."""
    finish_reason: str | None = None
    usage: Any = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None
    object: Any = None


_decoder = msgspec.json.Decoder(_Chunk)


class CompletionsParser:
    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._kind = ""
        self._refused = False
        self._block = 0
        self._thought = 0
        """The first part of thinking; 0 when there is none."""
        self._details: list[dict[str, Any]] = []
        self._calls = 0
        self._by_index: dict[int, int] = {}
        self._by_id: dict[str, int] = {}

    def feed(self, event: ServerSentEvent) -> None:
        data = event.data
        if data == "[DONE]":
            self._builder.ended = self._builder.over = True
            return
        if not data or data.isspace():
            return
        try:
            chunk = decode(_decoder, data)
        except ValueError as error:
            raise ProtocolError(f"the server sent something that is not a chat completion: {error}") from None
        if chunk.error or event.event == "error" or chunk.object == "error":
            raise failure.from_stream(chunk.error or data)
        if chunk.usage:
            self._usage(chunk.usage)
        for choice in chunk.choices or ():
            if delta := choice.delta or choice.message:
                self._delta(delta)
            if choice.usage:
                self._usage(choice.usage)
            if choice.finish_reason:
                self._finish(choice.finish_reason)

    def finish(self) -> None:
        if self._details:
            self._builder.thinking_signature(self._thought, bytes(raw(self._details)).decode())
        if not self._builder.ended:
            raise ProtocolError("the stream ended without an end: no `finish_reason` and no `[DONE]`")

    def _delta(self, delta: _Delta) -> None:
        if delta.content:
            if isinstance(delta.content, str):
                self._builder.text(self._key("text"), delta.content)
            else:
                self._pieces(delta.content)
        if delta.reasoning_content or delta.reasoning or delta.reasoning_text:
            self._thinking(delta)
        if delta.reasoning_details:
            self._take_details(delta.reasoning_details)
        if delta.refusal and isinstance(delta.refusal, str):
            self._builder.text(self._key("text"), delta.refusal)
            self._refused = True
        for place, call in enumerate(delta.tool_calls or ()):
            self._call(call, place)

    def _key(self, kind: str) -> int:
        """Text and thinking have no ids here: a change from one to the other begins a new part."""
        if kind != self._kind:
            self._kind = kind
            self._block += 1
            if kind == "thinking" and not self._thought:
                self._thought = self._block
        return self._block

    def _thinking(self, delta: _Delta) -> None:
        for field, text in (
            ("reasoning_content", delta.reasoning_content),
            ("reasoning", delta.reasoning),
            ("reasoning_text", delta.reasoning_text),
        ):
            if text and isinstance(text, str):
                # Some servers send the same text in two fields: the first one counts. Its name is what goes back.
                if self._kind != "thinking":
                    self._builder.thinking_signature(self._key("thinking"), field)
                self._builder.thinking(self._block, text)
                return

    def _take_details(self, details: Any) -> None:
        """What a router wants back as it came: summaries, signatures, encrypted reasoning. Its pieces are put together;
        their text has come as thinking already."""
        for detail in mappings(details):
            last = self._details[-1] if self._details else {}
            field = _DETAIL_TEXTS.get(string(detail.get("type")))
            same = all(last.get(name) == detail.get(name) for name in ("type", "index"))
            if field and same and detail.get("index") is not None:
                text = string(last.get(field)) + string(detail.get(field))
                last.update({name: value for name, value in detail.items() if value is not None})
                last[field] = text
            else:
                self._details.append(detail)
        if self._details and not self._thought:
            self._thought = _HIDDEN
            self._builder.thinking_signature(_HIDDEN, "")

    def _pieces(self, content: Any) -> None:
        """Content as a list of typed pieces, as Mistral's thinking models send it."""
        for piece in content if isinstance(content, list) else ():
            match piece:
                case {"type": "text", "text": str(text)}:
                    self._builder.text(self._key("text"), text)
                case {"type": "thinking", "thinking": list(inner)}:
                    self._thinking_piece("".join(str(item.get("text") or "") for item in mappings(inner)))
                case {"type": "thinking", "thinking": str(text)}:
                    self._thinking_piece(text)
                case _:
                    pass

    def _thinking_piece(self, text: str) -> None:
        if text:
            key = self._key("thinking")
            self._builder.thinking_signature(key, PIECES)
            self._builder.thinking(key, text)

    def _call(self, call: _Call, place: int) -> None:
        function = call.function or _Function()
        arguments = function.arguments
        if arguments is None or isinstance(arguments, str):
            text = arguments or ""
        else:
            text = msgspec.json.encode(arguments).decode()
        key = self._call_key(call, place, function.name, text)
        self._kind = "tool"
        self._builder.tool(
            key, id=call.id, name=function.name, arguments=text, thought_signature=_thought(call.extra_content)
        )

    def _call_key(self, call: _Call, place: int, name: str | None, text: str) -> int:
        """Which call this piece belongs to. Servers leave out the index, the id, or count every call as the first."""
        if call.id and call.id in self._by_id:
            return self._by_id[call.id]
        index = call.index if call.index is not None else place
        known = self._by_index.get(index)
        if known is None and call.index is None and not call.id and not name and self._calls:
            known = self._calls - 1
        begins = known is None or self._is_another(known, call, name, text)
        if begins:
            known = self._calls
            self._calls += 1
        assert known is not None
        self._by_index[index] = known
        if call.id:
            self._by_id[call.id] = known
        return known

    def _is_another(self, known: int, call: _Call, name: str | None, text: str) -> bool:
        """Whether a piece at the place of a known call begins another one."""
        if not name:
            return False  # some servers give every piece an id of its own
        if call.id and known in self._by_id.values():
            return True
        if not text.lstrip().startswith("{"):
            return False
        so_far = self._builder.tool_arguments(known).strip()
        return so_far.endswith("}") and _is_json(so_far)

    def _usage(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        details = mapping(usage.get("prompt_tokens_details"))
        read = _first_count(
            details.get("cached_tokens"), usage.get("prompt_cache_hit_tokens"), usage.get("cached_tokens")
        )
        written = _first_count(details.get("cache_write_tokens"), usage.get("cache_write_tokens"))
        prompt, output = _first_count(usage.get("prompt_tokens")), _first_count(usage.get("completion_tokens"))
        thought = _first_count(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens"))
        total = _first_count(usage.get("total_tokens"))
        if prompt is not None and output is not None and thought and total == prompt + output + thought:
            output = output + thought  # xAI counts them beside the answer, the others with it
        self._builder.usage(
            input=None if prompt is None else prompt - (read or 0) - (written or 0),
            output=output,
            cache_read=read,
            cache_write=written,
        )

    def _finish(self, reason: str) -> None:
        self._builder.ended = True
        stop = _STOP_REASONS.get(reason.lower(), "stop")
        if stop == "error":
            raise failure.from_stream(f"the provider broke the message off: {reason}")
        self._builder.stop("refusal" if self._refused else stop)


class CompletionsWire:
    def payload(self, request: Request) -> dict[str, Any]:
        return body(request)

    def http_request(self, request: Request, credentials: Credentials, payload: dict[str, Any]) -> HttpRequest:
        headers = {}
        if credentials.api_key:
            headers["authorization"] = f"Bearer {credentials.api_key}"
        if request.cache_key and compat_of(request.model).send_session_affinity_headers:
            headers |= dict.fromkeys(_AFFINITY, request.cache_key)
        return http_request(request.model, credentials, "/chat/completions", payload, headers)

    def parser(self, builder: Builder) -> CompletionsParser:
        return CompletionsParser(builder)

    def error(self, status: int, headers: Mapping[str, str], body: bytes, provider: str) -> ProviderError:
        return failure.from_response(status, headers, body, provider)


WIRE = CompletionsWire()


def _first_count(*values: Any) -> int | None:
    return next((int(value) for value in values if isinstance(value, int | float)), None)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def _thought(extra: Any) -> str | None:
    """The signature that Gemini's imitation of this API wants back with a call."""
    match extra:
        case {"google": {"thought_signature": str(signature)}}:
            return signature
        case _:
            return None
