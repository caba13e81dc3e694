"""OpenAI responses, as the vendor's server sends them."""

from typing import Any

from marvin_agent.llm.offline.answer import Answer
from marvin_agent.llm.offline.dialects.dialect import Asked, Streamed, encode, event, texts

_CREATED = 1_750_000_000
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


class Responses:
    """The server's side of `/v1/responses`."""

    def last_text(self, asked: Asked) -> str:
        given = asked.body.get("input")
        if isinstance(given, str):
            return given
        for item in reversed(given if isinstance(given, list) else []):
            if not isinstance(item, dict):
                continue
            if item.get("type") == "function_call_output":
                return "\n".join(texts(item.get("output")))
            if item.get("role") == "user":
                return "\n".join(texts(item.get("content")))
        return ""

    def wants_stream(self, asked: Asked) -> bool:
        return asked.body.get("stream") is True

    def streamed(self, answer: Answer, asked: Asked) -> Streamed:
        return _Stream(answer, asked).render()

    def whole(self, answer: Answer, asked: Asked) -> bytes:
        return encode(_response(answer, asked, _status(answer), _items(answer, asked)))

    def error(self, status: int, message: str) -> bytes:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return encode({"error": {"message": message, "type": kind, "param": None, "code": _CODES.get(status)}})

    def error_event(self, message: str) -> bytes:
        return event(
            "error", {"type": "error", "sequence_number": 0, "code": "server_error", "message": message, "param": None}
        )


class _Stream:
    """The events of one answer, with their running numbers."""

    __slots__ = ("_answer", "_asked", "_number", "_pieces")

    def __init__(self, answer: Answer, asked: Asked) -> None:
        self._answer = answer
        self._asked = asked
        self._number = -1
        self._pieces: list[bytes] = []

    def render(self) -> Streamed:
        begun = _response(self._answer, self._asked, "in_progress", [])
        head = self._event("response.created", response=begun) + self._event("response.in_progress", response=begun)
        items = _items(self._answer, self._asked)
        calls = iter(self._answer.calls)
        for index, item in enumerate(items):
            match item["type"]:
                case "reasoning":
                    self._reasoning(index, item)
                case "message":
                    self._message(index, item)
                case _:
                    self._call(index, item, next(calls).pieces)
        status = _status(self._answer)
        end = self._event(f"response.{status}", response=_response(self._answer, self._asked, status, items))
        return Streamed(head, self._pieces, end)

    def _reasoning(self, index: int, item: dict[str, Any]) -> None:
        at = {"item_id": item["id"], "output_index": index, "summary_index": 0}
        bare = {"id": item["id"], "type": "reasoning", "summary": []}
        start = self._event("response.output_item.added", output_index=index, item=bare)
        start += self._event("response.reasoning_summary_part.added", **at, part={"type": "summary_text", "text": ""})
        grown = self._deltas("response.reasoning_summary_text.delta", at, self._answer.thinking_pieces)
        end = self._event("response.reasoning_summary_text.done", **at, text=self._answer.thinking)
        end += self._event("response.reasoning_summary_part.done", **at, part=item["summary"][0])
        end += self._event("response.output_item.done", output_index=index, item=item)
        self._add(start, grown, end)

    def _message(self, index: int, item: dict[str, Any]) -> None:
        at = {"item_id": item["id"], "output_index": index, "content_index": 0}
        bare = {**item, "status": "in_progress", "content": []}
        part = item["content"][0]
        refused = part["type"] == "refusal"
        empty = {**part, "refusal" if refused else "text": ""}
        name = "response.refusal" if refused else "response.output_text"
        start = self._event("response.output_item.added", output_index=index, item=bare)
        start += self._event("response.content_part.added", **at, part=empty)
        extra: dict[str, Any] = {} if refused else {"logprobs": []}
        grown = self._deltas(f"{name}.delta", {**at, **extra}, self._answer.text_pieces)
        done = {"refusal" if refused else "text": self._answer.text}
        end = self._event(f"{name}.done", **at, **done, **extra)
        end += self._event("response.content_part.done", **at, part=part)
        end += self._event("response.output_item.done", output_index=index, item=item)
        self._add(start, grown, end)

    def _call(self, index: int, item: dict[str, Any], pieces: tuple[bytes, ...]) -> None:
        at = {"item_id": item["id"], "output_index": index}
        bare = {**item, "status": "in_progress", "arguments": ""}
        start = self._event("response.output_item.added", output_index=index, item=bare)
        grown = self._deltas("response.function_call_arguments.delta", at, pieces)
        end = self._event("response.function_call_arguments.done", **at, arguments=item["arguments"])
        end += self._event("response.output_item.done", output_index=index, item=item)
        self._add(start, grown, end)

    def _add(self, start: bytes, grown: list[bytes], end: bytes) -> None:
        grown[0] = start + grown[0]
        grown[-1] += end
        self._pieces += grown

    def _event(self, name: str, /, **fields: Any) -> bytes:
        self._number += 1
        return event(name, {"type": name, "sequence_number": self._number, **fields})

    def _deltas(self, name: str, at: dict[str, Any], pieces: tuple[bytes, ...]) -> list[bytes]:
        before = f'event: {name}\ndata: {{"type":"{name}","sequence_number":'.encode()
        after = b"," + encode(at)[1:-1] + b',"delta":'
        first = self._number + 1
        self._number += len(pieces)
        return [b"%b%d%b%b}\n\n" % (before, number, after, piece) for number, piece in enumerate(pieces, first)]


def _items(answer: Answer, asked: Asked) -> list[dict[str, Any]]:
    """The finished output items, in order."""
    items: list[dict[str, Any]] = []
    if answer.thinking_pieces:
        item = {
            "id": f"rs_{answer.number}",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": answer.thinking}],
        }
        included = asked.body.get("include")
        if isinstance(included, list) and "reasoning.encrypted_content" in included:
            item["encrypted_content"] = f"ZW5jcnlwdGVk{answer.number:04d}"
        items.append(item)
    if answer.text_pieces:
        part: dict[str, Any] = {"type": "output_text", "annotations": [], "logprobs": [], "text": answer.text}
        if answer.stop_reason == "refusal":
            part = {"type": "refusal", "refusal": answer.text}
        items.append(
            {
                "id": f"msg_{answer.number}",
                "type": "message",
                "status": "completed",
                "content": [part],
                "role": "assistant",
            }
        )
    for index, call in enumerate(answer.calls):
        items.append(
            {
                "id": f"fc_{answer.number}_{index}",
                "type": "function_call",
                "status": "completed",
                "arguments": call.arguments,
                "call_id": call.id,
                "name": call.name,
            }
        )
    return items


def _status(answer: Answer) -> str:
    """How it ended. A refusal in words is a completed answer; one without any was cut off by the filter."""
    cut = answer.stop_reason == "length" or (answer.stop_reason == "refusal" and not answer.text_pieces)
    return "incomplete" if cut else "completed"


def _response(answer: Answer, asked: Asked, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    reason = "max_output_tokens" if answer.stop_reason == "length" else "content_filter"
    body = asked.body
    return {
        "id": f"resp_{answer.number}",
        "object": "response",
        "created_at": _CREATED,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": reason} if status == "incomplete" else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": asked.model,
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "top_p": body.get("top_p", 1.0),
        "truncation": "disabled",
        "usage": None if status == "in_progress" else _usage(answer),
        "user": None,
        "metadata": {},
    }


def _usage(answer: Answer) -> dict[str, Any] | None:
    usage = answer.usage
    if usage is None:
        return None
    given = usage.input + usage.cache_read + usage.cache_write
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
        "total_tokens": given + usage.output,
    }
