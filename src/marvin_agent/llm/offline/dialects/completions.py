"""OpenAI chat completions, as a server sends them; thinking as `reasoning_content`, which most servers use for it."""

from typing import Any

from marvin_agent.llm.offline.answer import Answer
from marvin_agent.llm.offline.dialects.dialect import Asked, Streamed, encode, texts

_FINISH = {"stop": "stop", "length": "length", "toolUse": "tool_calls", "refusal": "content_filter"}
_CREATED = 1_750_000_000
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


class Completions:
    """The server's side of `/v1/chat/completions`."""

    def last_text(self, asked: Asked) -> str:
        messages = asked.body.get("messages")
        for message in reversed(messages if isinstance(messages, list) else []):
            if isinstance(message, dict) and message.get("role") in ("user", "tool"):
                return "\n".join(texts(message.get("content")))
        return ""

    def wants_stream(self, asked: Asked) -> bool:
        return asked.body.get("stream") is True

    def streamed(self, answer: Answer, asked: Asked) -> Streamed:
        include = _includes_usage(asked)
        chunk = _Chunk(answer, asked, b',"usage":null' if include else b"")
        pieces = chunk.deltas(b'{"reasoning_content":%b}', answer.thinking_pieces)
        pieces += chunk.deltas(b'{"content":%b}', answer.text_pieces)
        for index, call in enumerate(answer.calls):
            start = {
                "index": index,
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": ""},
            }
            grown = chunk.deltas(b'{"tool_calls":[{"index":%d,"function":{"arguments":%%b}}]}' % index, call.pieces)
            grown[0] = chunk.delta(encode({"tool_calls": [start]})) + grown[0]
            pieces += grown
        end = chunk.delta(b"{}", encode(_FINISH[answer.stop_reason]))
        if include and answer.usage:
            end += b'data: %b,"choices":[],"usage":%b}\n\n' % (chunk.envelope, encode(_usage(answer)))
        return Streamed(chunk.delta(b'{"role":"assistant","content":""}'), pieces, end + b"data: [DONE]\n\n")

    def whole(self, answer: Answer, asked: Asked) -> bytes:
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.thinking:
            message["reasoning_content"] = answer.thinking
        if answer.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in answer.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": _FINISH[answer.stop_reason]}
        body = {**_envelope(answer, asked, "chat.completion"), "choices": [choice]}
        return encode({**body, "usage": _usage(answer)} if answer.usage else body)

    def error(self, status: int, message: str) -> bytes:
        kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
        return encode({"error": {"message": message, "type": kind, "param": None, "code": _CODES.get(status)}})

    def error_event(self, message: str) -> bytes:
        error = {"message": message, "type": "server_error", "param": None, "code": None}
        return b"data: %b\n\n" % encode({"error": error})


class _Chunk:
    """Chunks of one answer: everything but the delta is rendered once."""

    __slots__ = ("_after", "_before", "envelope")

    def __init__(self, answer: Answer, asked: Asked, usage: bytes) -> None:
        self.envelope = encode(_envelope(answer, asked, "chat.completion.chunk"))[:-1]
        self._before = b'data: %b,"choices":[{"index":0,"delta":' % self.envelope
        self._after = b"}]%b}\n\n" % usage

    def delta(self, delta: bytes, finish: bytes = b"null") -> bytes:
        return b'%b%b,"finish_reason":%b%b' % (self._before, delta, finish, self._after)

    def deltas(self, form: bytes, pieces: tuple[bytes, ...]) -> list[bytes]:
        before, after = form.split(b"%b")
        head = self._before + before
        tail = after + b',"finish_reason":null' + self._after
        return [head + piece + tail for piece in pieces]


def _envelope(answer: Answer, asked: Asked, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{answer.number}", "object": kind, "created": _CREATED, "model": asked.model}


def _includes_usage(asked: Asked) -> bool:
    options = asked.body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _usage(answer: Answer) -> dict[str, Any] | None:
    usage = answer.usage
    if usage is None:
        return None
    prompt = usage.input + usage.cache_read + usage.cache_write
    details = {"cached_tokens": usage.cache_read}
    if usage.cache_write:
        details["cache_write_tokens"] = usage.cache_write
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": details,
        "completion_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
    }
