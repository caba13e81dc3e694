"""How each protocol's server would say the same: one neutral script, four dialects. A new wire is one more adapter."""

import json
from dataclasses import dataclass, replace
from typing import Any, Protocol

from marvin_agent.llm.values import Model

JSON = dict[str, Any]


@dataclass(frozen=True)
class Say:
    pieces: tuple[str, ...]


@dataclass(frozen=True)
class Think:
    pieces: tuple[str, ...]
    signature: str = "sig-1"


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    pieces: tuple[str, ...]


@dataclass(frozen=True)
class Script:
    """What a server says in one answer."""

    parts: tuple[Say | Think | Call, ...]
    stop: str | None = "stop"
    """stop, length, refusal; None breaks off before the end."""
    input: int = 10
    cached: int = 0
    output: int = 5
    error: tuple[str, str] | None = None
    """Type and message of an error in place of the end."""

    @classmethod
    def of(cls, *parts: Say | Think | Call, **more: Any) -> "Script":
        return replace(cls(parts=parts), **more)


class Adapter(Protocol):
    model: Model

    def events(self, script: Script) -> list[str]:
        """Server-sent events, without the blank line after each."""
        ...

    def unknown(self) -> str:
        """An event that a future server might send."""
        ...

    def thinking_sent(self, payload: JSON) -> str:
        """What of the first thinking part stands in a request's body: all that the provider needs to have back."""
        ...


def _data(value: Any) -> str:
    return "data: " + json.dumps(value, ensure_ascii=False)


def _event(value: JSON) -> str:
    return f"event: {value['type']}\n{_data(value)}"


def _model(api: Any, **more: Any) -> Model:
    return Model(
        provider="test",
        id=more.pop("id", "model-1"),
        api=api,
        base_url="http://127.0.0.1:9/base",
        reasoning=True,
        input=("text", "image"),
        **more,
    )


class Messages:
    model = _model("anthropic-messages")

    def events(self, script: Script) -> list[str]:
        usage = {
            "input_tokens": script.input,
            "cache_read_input_tokens": script.cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": 1,
        }
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": usage}
        events: list[JSON] = [{"type": "message_start", "message": message}, {"type": "ping"}]
        for index, part in enumerate(script.parts):
            events += self._block(index, part)
        if script.error:
            events.append({"type": "error", "error": {"type": script.error[0], "message": script.error[1]}})
        elif script.stop:
            called = any(isinstance(part, Call) for part in script.parts)
            reason = {"stop": "tool_use" if called else "end_turn", "length": "max_tokens", "refusal": "refusal"}
            delta = {"stop_reason": reason[script.stop], "stop_sequence": None}
            events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": script.output}})
            events.append({"type": "message_stop"})
        return [_event(event) for event in events]

    def _block(self, index: int, part: Say | Think | Call) -> list[JSON]:
        match part:
            case Say():
                block: JSON = {"type": "text", "text": ""}
                deltas: list[JSON] = [{"type": "text_delta", "text": piece} for piece in part.pieces]
            case Think():
                block = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in part.pieces]
                deltas.append({"type": "signature_delta", "signature": part.signature})
            case Call():
                block = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *part.pieces)]
        return [
            {"type": "content_block_start", "index": index, "content_block": block},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]

    def unknown(self) -> str:
        return _event({"type": "content_block_weather", "index": 0, "weather": "fair"})

    def thinking_sent(self, payload: JSON) -> str:
        blocks = [block for message in payload["messages"] for block in message["content"] if isinstance(block, dict)]
        return next(block["signature"] for block in blocks if block["type"] == "thinking")


class Completions:
    model = _model("openai-completions")

    def events(self, script: Script) -> list[str]:
        deltas: list[JSON] = [{"role": "assistant", "content": None}]
        calls = [part for part in script.parts if isinstance(part, Call)]
        for part in script.parts:
            match part:
                case Say():
                    field = "refusal" if script.stop == "refusal" else "content"
                    deltas += [{field: piece} for piece in part.pieces]
                case Think():
                    deltas += [{"reasoning_content": piece} for piece in part.pieces]
                case Call():
                    index = calls.index(part)
                    begin = {"index": index, "id": part.id, "type": "function"}
                    deltas.append({"tool_calls": [{**begin, "function": {"name": part.name, "arguments": ""}}]})
                    deltas += [
                        {"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in part.pieces
                    ]
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        if script.error:
            chunks.append({"error": {"type": script.error[0], "message": script.error[1]}})
            return [_data(chunk) for chunk in chunks]
        if not script.stop:
            return [_data(chunk) for chunk in chunks]
        reason = {"stop": "tool_calls" if calls else "stop", "length": "length", "refusal": "content_filter"}
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason[script.stop]}]})
        usage = {
            "prompt_tokens": script.input + script.cached,
            "completion_tokens": script.output,
            "prompt_tokens_details": {"cached_tokens": script.cached},
            "completion_tokens_details": {"reasoning_tokens": 2},
        }
        chunks.append({"choices": [], "usage": usage})
        return [*(_data(chunk) for chunk in chunks), "data: [DONE]"]

    def unknown(self) -> str:
        return _data({"object": "chat.completion.weather", "choices": [], "weather": {"fair": True}})

    def thinking_sent(self, payload: JSON) -> str:
        return next(message["reasoning_content"] for message in payload["messages"] if "reasoning_content" in message)


class Responses:
    model = _model("openai-responses")

    def events(self, script: Script) -> list[str]:
        events: list[JSON] = [{"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}]
        output: list[JSON] = []
        for index, part in enumerate(script.parts):
            added, deltas, item = self._item(index, part, refused=script.stop == "refusal")
            place = {"output_index": index}
            events.append({"type": "response.output_item.added", "item": added, **place})
            events += [{**delta, "item_id": item["id"], **place} for delta in deltas]
            if script.stop or not isinstance(part, Call):
                events.append({"type": "response.output_item.done", "item": item, **place})
            output.append(item)
        response: JSON = {"id": "resp_1", "status": "completed", "output": output}
        response["usage"] = {
            "input_tokens": script.input + script.cached,
            "input_tokens_details": {"cached_tokens": script.cached},
            "output_tokens": script.output,
            "output_tokens_details": {"reasoning_tokens": 2},
        }
        if script.error:
            error = {"code": script.error[0], "message": script.error[1]}
            events.append({"type": "response.failed", "response": {"status": "failed", "error": error}})
        elif script.stop == "length":
            response |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
            events.append({"type": "response.incomplete", "response": response})
        elif script.stop:
            events.append({"type": "response.completed", "response": response})
        return [_event({**event, "sequence_number": number}) for number, event in enumerate(events)]

    def _item(self, index: int, part: Say | Think | Call, *, refused: bool) -> tuple[JSON, list[JSON], JSON]:
        match part:
            case Say():
                kind = ("refusal", "refusal") if refused else ("output_text", "text")
                content = {"type": kind[0], kind[1]: "".join(part.pieces)}
                item: JSON = {"id": f"msg_{index}", "type": "message", "role": "assistant", "content": [content]}
                deltas: list[JSON] = [
                    {"type": f"response.{kind[0]}.delta", "content_index": 0, "delta": piece} for piece in part.pieces
                ]
                return {**item, "content": []}, deltas, item
            case Think():
                summary = [{"type": "summary_text", "text": "".join(part.pieces)}]
                item = {
                    "id": f"rs_{index}",
                    "type": "reasoning",
                    "summary": summary,
                    "encrypted_content": part.signature,
                }
                deltas = [
                    {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": piece}
                    for piece in part.pieces
                ]
                return {**item, "summary": []}, deltas, item
            case Call():
                arguments = "".join(part.pieces)
                item = {"id": f"fc_{index}", "type": "function_call", "call_id": part.id, "name": part.name}
                deltas = [{"type": "response.function_call_arguments.delta", "delta": piece} for piece in part.pieces]
                return {**item, "arguments": ""}, deltas, {**item, "arguments": arguments}

    def unknown(self) -> str:
        return _event({"type": "response.weather.delta", "output_index": 0, "delta": "fair"})

    def thinking_sent(self, payload: JSON) -> str:
        return next(item["encrypted_content"] for item in payload["input"] if item.get("type") == "reasoning")


class Gemini:
    model = _model("google-generative-ai", id="gemini-2.5-pro")

    def events(self, script: Script) -> list[str]:
        chunks: list[JSON] = []
        for part in script.parts:
            chunks += [self._chunk([piece]) for piece in self._parts(part)]
        if script.error:
            chunks.append({"error": {"code": 503, "status": script.error[0].upper(), "message": script.error[1]}})
        elif script.stop:
            last = self._chunk([{"text": ""}])
            reason = {"stop": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}[script.stop]
            last["candidates"][0]["finishReason"] = reason
            last["usageMetadata"] = {
                "promptTokenCount": script.input + script.cached,
                "cachedContentTokenCount": script.cached,
                "candidatesTokenCount": script.output - 2,
                "thoughtsTokenCount": 2,
            }
            chunks.append(last)
        return [_data(chunk) for chunk in chunks]

    def _parts(self, part: Say | Think | Call) -> list[JSON]:
        match part:
            case Say():
                return [{"text": piece} for piece in part.pieces]
            case Think():
                pieces: list[JSON] = [{"text": piece, "thought": True} for piece in part.pieces]
                pieces[-1]["thoughtSignature"] = part.signature
                return pieces
            case Call():
                return [{"functionCall": call} for call in self._calls(part)]

    def _calls(self, part: Call) -> list[JSON]:
        """Calls come whole here, so half a call is none."""
        try:
            return [{"id": part.id, "name": part.name, "args": json.loads("".join(part.pieces))}]
        except ValueError:
            return []

    def _chunk(self, parts: list[JSON]) -> JSON:
        content = {"role": "model", "parts": parts}
        return {"candidates": [{"content": content, "finishReason": None}], "responseId": "r1"}

    def unknown(self) -> str:
        return _data({"weatherMetadata": {"fair": True}, "candidates": [{"content": {"parts": [{"weather": {}}]}}]})

    def thinking_sent(self, payload: JSON) -> str:
        parts = [part for content in payload["contents"] for part in content["parts"]]
        return next(part["thoughtSignature"] for part in parts if part.get("thought"))


ADAPTERS: tuple[Adapter, ...] = (Messages(), Completions(), Responses(), Gemini())
