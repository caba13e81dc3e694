"""Anthropic messages, as the vendor's server sends them."""

from typing import Any

from marvin_agent.llm.offline.answer import Answer
from marvin_agent.llm.offline.dialects.dialect import Asked, Streamed, encode, event, texts

_STOP = {"stop": "end_turn", "length": "max_tokens", "toolUse": "tool_use", "refusal": "refusal"}
_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class Messages:
    """The server's side of `/v1/messages`."""

    def last_text(self, asked: Asked) -> str:
        messages = asked.body.get("messages")
        for message in reversed(messages if isinstance(messages, list) else []):
            if isinstance(message, dict) and message.get("role") == "user":
                return "\n".join(texts(message.get("content")))
        return ""

    def wants_stream(self, asked: Asked) -> bool:
        return asked.body.get("stream") is True

    def streamed(self, answer: Answer, asked: Asked) -> Streamed:
        usage = _usage(answer)
        message = {**_message(answer, asked), "content": [], "stop_reason": None, "stop_sequence": None}
        head = event(
            "message_start", {"type": "message_start", "message": {**message, "usage": {**usage, "output_tokens": 1}}}
        )
        pieces: list[bytes] = []
        for index, (block, delta, parts, closing) in enumerate(_blocks(answer)):
            start = event(
                "content_block_start", {"type": "content_block_start", "index": index, "content_block": block}
            )
            if index == 0:
                start += event("ping", {"type": "ping"})
            if block["type"] == "tool_use":
                nothing = {"type": "input_json_delta", "partial_json": ""}
                start += event("content_block_delta", {"type": "content_block_delta", "index": index, "delta": nothing})
            before = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":%b' % (
                index,
                delta,
            )
            grown = [before + part + b"}}\n\n" for part in parts]
            grown[0] = start + grown[0]
            if closing:
                grown[-1] += event(
                    "content_block_delta", {"type": "content_block_delta", "index": index, "delta": closing}
                )
            grown[-1] += event("content_block_stop", {"type": "content_block_stop", "index": index})
            pieces += grown
        change = {"stop_reason": _STOP[answer.stop_reason], "stop_sequence": None}
        end = event("message_delta", {"type": "message_delta", "delta": change, "usage": usage})
        return Streamed(head, pieces, end + event("message_stop", {"type": "message_stop"}))

    def whole(self, answer: Answer, asked: Asked) -> bytes:
        content: list[dict[str, Any]] = []
        if answer.thinking:
            content.append({"type": "thinking", "thinking": answer.thinking, "signature": _signature(answer)})
        if answer.text:
            content.append({"type": "text", "text": answer.text})
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.decoded or {}} for call in answer.calls
        ]
        stop = {"stop_reason": _STOP[answer.stop_reason], "stop_sequence": None}
        return encode({**_message(answer, asked), "content": content, **stop, "usage": _usage(answer)})

    def error(self, status: int, message: str) -> bytes:
        kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return encode({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"})

    def error_event(self, message: str) -> bytes:
        return event("error", {"type": "error", "error": {"type": "overloaded_error", "message": message}})


def _blocks(answer: Answer) -> list[tuple[dict[str, Any], bytes, tuple[bytes, ...], dict[str, Any] | None]]:
    """Each block: how it starts, the beginning of its deltas, their texts, and the delta that closes it."""
    blocks: list[tuple[dict[str, Any], bytes, tuple[bytes, ...], dict[str, Any] | None]] = []
    if answer.thinking_pieces:
        start = {"type": "thinking", "thinking": "", "signature": ""}
        closing = {"type": "signature_delta", "signature": _signature(answer)}
        blocks.append((start, b'{"type":"thinking_delta","thinking":', answer.thinking_pieces, closing))
    if answer.text_pieces:
        blocks.append(({"type": "text", "text": ""}, b'{"type":"text_delta","text":', answer.text_pieces, None))
    for call in answer.calls:
        tool: dict[str, Any] = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        blocks.append((tool, b'{"type":"input_json_delta","partial_json":', call.pieces, None))
    return blocks


def _message(answer: Answer, asked: Asked) -> dict[str, Any]:
    return {"model": asked.model, "id": f"msg_{answer.number}", "type": "message", "role": "assistant"}


def _signature(answer: Answer) -> str:
    return f"c2lnbmF0dXJl{answer.number:04d}"


def _usage(answer: Answer) -> dict[str, int]:
    usage = answer.usage
    if usage is None:
        # The vendor always reports usage; zeros are as near to none as this wire can say.
        return {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }
