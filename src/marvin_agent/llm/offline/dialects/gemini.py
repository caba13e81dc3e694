"""Gemini generateContent, as the vendor's server sends it: function calls whole, lines that end in CR LF."""

from typing import Any

import msgspec

from marvin_agent.llm.offline.answer import Answer
from marvin_agent.llm.offline.dialects.dialect import Asked, Streamed, encode, texts

_FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "toolUse": "STOP", "refusal": "SAFETY"}
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class Gemini:
    """The server's side of `/v1beta/models/MODEL:streamGenerateContent`."""

    def last_text(self, asked: Asked) -> str:
        contents = asked.body.get("contents")
        for content in reversed(contents if isinstance(contents, list) else []):
            if isinstance(content, dict) and content.get("role") in ("user", "function", None):
                parts = content.get("parts")
                return "\n".join(_texts(parts if isinstance(parts, list) else []))
        return ""

    def wants_stream(self, asked: Asked) -> bool:
        return ":streamGenerateContent" in asked.path

    def streamed(self, answer: Answer, asked: Asked) -> Streamed:
        frame = _Frame(answer, asked)
        pieces = frame.texts(answer.thinking_pieces, b',"thought":true') + frame.texts(answer.text_pieces, b"")
        pieces += [
            frame.part(_call(answer, index))
            for index in range(len(answer.calls))
            if answer.calls[index].decoded is not None
        ]
        return Streamed(b"", pieces, frame.last(_finish(answer)))

    def whole(self, answer: Answer, asked: Asked) -> bytes:
        parts: list[dict[str, Any]] = []
        if answer.thinking:
            parts.append({"text": answer.thinking, "thought": True})
        if answer.text:
            parts.append({"text": answer.text})
        parts += [_call(answer, index) for index, call in enumerate(answer.calls) if call.decoded is not None]
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0, **_finish(answer)}
        return encode({"candidates": [candidate], **_about(answer, asked)})

    def error(self, status: int, message: str) -> bytes:
        return encode({"error": {"code": status, "message": message, "status": _STATUS.get(status, "UNKNOWN")}})

    def error_event(self, message: str) -> bytes:
        return b"data: %b\r\n\r\n" % self.error(503, message)


class _Frame:
    """Chunks of one answer: everything but the part is rendered once."""

    __slots__ = ("_after", "_before", "_rest")

    def __init__(self, answer: Answer, asked: Asked) -> None:
        self._rest = encode(_about(answer, asked))[1:-1]
        self._before = b'data: {"candidates":[{"content":{"parts":['
        self._after = b'],"role":"model"},"index":0}],%b}\r\n\r\n' % self._rest

    def texts(self, pieces: tuple[bytes, ...], extra: bytes) -> list[bytes]:
        before = self._before + b'{"text":'
        after = extra + b"}" + self._after
        return [before + piece + after for piece in pieces]

    def part(self, part: dict[str, Any]) -> bytes:
        return self._before + encode(part) + self._after

    def last(self, finish: dict[str, Any]) -> bytes:
        candidate = {"content": {"parts": [{"text": ""}], "role": "model"}, **finish, "index": 0}
        return b'data: {"candidates":[%b],%b}\r\n\r\n' % (encode(candidate), self._rest)


def _texts(parts: list[Any]) -> list[str]:
    found: list[str] = []
    for part in parts:
        match part:
            case {"functionResponse": {"response": response}}:
                found.append(msgspec.json.encode(response).decode())
            case dict():
                found.extend(texts([part]))
            case _:
                pass
    return found


def _call(answer: Answer, index: int) -> dict[str, Any]:
    call = answer.calls[index]
    part: dict[str, Any] = {"functionCall": {"name": call.name, "args": call.decoded, "id": call.id}}
    if index == 0 and answer.thinking_pieces:
        part["thoughtSignature"] = f"c2lnbmF0dXJl{answer.number:04d}"
    return part


def _finish(answer: Answer) -> dict[str, Any]:
    broken = [call for call in answer.calls if call.decoded is None]
    if broken:
        # This wire cannot carry arguments that are not an object; the vendor stops with this instead.
        message = f"Malformed function call: {broken[0].name}({broken[0].arguments})"
        return {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": message}
    return {"finishReason": _FINISH[answer.stop_reason]}


def _about(answer: Answer, asked: Asked) -> dict[str, Any]:
    about: dict[str, Any] = {"modelVersion": _model(asked), "responseId": f"scripted-{answer.number}"}
    usage = answer.usage
    if usage is None:
        return about
    given = usage.input + usage.cache_read + usage.cache_write
    counts = {
        "promptTokenCount": given,
        "candidatesTokenCount": usage.output - answer.reasoning_tokens,
        "totalTokenCount": given + usage.output,
    }
    if usage.cache_read:
        counts["cachedContentTokenCount"] = usage.cache_read
    if answer.reasoning_tokens:
        counts["thoughtsTokenCount"] = answer.reasoning_tokens
    return {"usageMetadata": counts, **about}


def _model(asked: Asked) -> str:
    return asked.path.rpartition("/")[2].partition(":")[0]
