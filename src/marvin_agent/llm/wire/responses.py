"""The wire of OpenAI's responses API, as OpenAI and the servers that imitate it speak it."""

import json
from collections.abc import Mapping
from typing import Any

from marvin_agent.errors import ProtocolError, ProviderError
from marvin_agent.llm import failure
from marvin_agent.llm.builder import Builder
from marvin_agent.llm.values import Credentials, HttpRequest, Request, ServerSentEvent
from marvin_agent.llm.wire.fields import count, event_objects, mapping, mappings, string
from marvin_agent.llm.wire.responses_body import body, headers
from marvin_agent.llm.wire.sending import http_request

_KINDS = {"message": "text", "function_call": "tool", "reasoning": "thinking"}


class ResponsesParser:
    """Reads the events. An output item is known by its id, else by its index, else it is the last one of its kind:
    llama.cpp sends no index, and proxies send another id with each event."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._items = 0
        self._by_id: dict[str, int] = {}
        self._by_index: dict[int, int] = {}
        self._last: dict[str, int] = {}
        self._streamed: set[tuple[str, int]] = set()
        """The items of which text or arguments came in pieces, so that the whole at the end brings nothing new."""
        self._done: set[tuple[str, int]] = set()
        self._refused = False

    def feed(self, event: ServerSentEvent) -> None:
        if event.data == "[DONE]":
            self._builder.ended = self._builder.over = True
            return
        for data in event_objects(event.data):
            kind = string(data.get("type"))
            if not kind:
                kind = event.event if event.event != "message" else _kind_of_body(data)
            self._event(kind, data)

    def _event(self, kind: str, data: dict[str, Any]) -> None:
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self._text(data, refusal=kind == "response.refusal.delta")
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._thinking(data)
            case "response.function_call_arguments.delta":
                self._arguments(data)
            case "response.output_item.added":
                self._added(data)
            case "response.output_item.done":
                self._item_done(data)
            case "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled":
                self._response(mapping(data.get("response", data)), kind.removeprefix("response."))
            case "error":
                raise failure.from_stream(data.get("error") or data, "")
            case _:
                pass  # other events repeat these, or belong to tools that run at the server

    def finish(self) -> None:
        if not self._builder.ended:
            raise ProtocolError("the stream ended without an end: no `response.completed`")

    def _added(self, data: dict[str, Any]) -> None:
        item = mapping(data.get("item"))
        kind = _KINDS.get(string(item.get("type")))
        key = self._items
        self._items += 1
        index = data.get("output_index")
        if isinstance(index, int):
            self._by_index[index] = key
        if item_id := string(item.get("id") or data.get("item_id")):
            self._by_id[item_id] = key
        if kind is None:
            return
        self._last[kind] = key
        if kind == "tool":
            self._builder.tool(key, id=_call_id(item), name=string(item.get("name")))

    def _key(self, data: dict[str, Any], kind: str, item_id: str = "") -> int:
        key = self._by_id.get(item_id or string(data.get("item_id")))
        if key is None and isinstance(index := data.get("output_index"), int):
            key = self._by_index.get(index)
        if key is None:
            key = self._last.get(kind)
        if key is None:
            self._added(data)
            key = self._last[kind] = self._items - 1
        return key

    def _text(self, data: dict[str, Any], *, refusal: bool) -> None:
        if text := string(data.get("delta")):
            key = self._key(data, "text")
            self._streamed.add(("text", key))
            self._refused |= refusal
            self._builder.text(key, text)

    def _thinking(self, data: dict[str, Any]) -> None:
        if text := string(data.get("delta")):
            key = self._key(data, "thinking")
            # Each part of a summary is a paragraph of its own.
            part = (str(data.get("summary_index", data.get("content_index"))), key)
            if part not in self._streamed and ("thinking", key) in self._streamed:
                self._builder.thinking(key, "\n\n")
            self._streamed |= {part, ("thinking", key)}
            self._builder.thinking(key, text)

    def _arguments(self, data: dict[str, Any]) -> None:
        if text := string(data.get("delta")):
            key = self._key(data, "tool")
            self._streamed.add(("tool", key))
            self._builder.tool(key, arguments=text)

    def _item_done(self, data: dict[str, Any]) -> None:
        item = mapping(data.get("item"))
        kind = _KINDS.get(string(item.get("type")))
        if kind is None:
            return
        key = self._key(data, kind, string(item.get("id")))
        if (kind, key) in self._done:
            # Not this one: a server without ids and indexes has begun another item of the kind.
            self._added(data)
            key = self._last[kind]
        self._done.add((kind, key))
        streamed = (kind, key) in self._streamed
        match kind:
            case "text":
                self._message_done(key, item, streamed=streamed)
            case "tool":
                arguments = "" if streamed else _arguments_of(item)
                self._builder.tool(key, id=_call_id(item), name=string(item.get("name")), arguments=arguments)
            case _:
                self._reasoning_done(key, item, streamed=streamed)

    def _message_done(self, key: int, item: dict[str, Any], *, streamed: bool) -> None:
        for part in mappings(item.get("content")):
            if not streamed:
                self._builder.text(key, string(part.get("text")) or string(part.get("refusal")))
            self._refused |= part.get("type") == "refusal"
        if (item_id := string(item.get("id"))).startswith("msg_") and len(item_id) <= 64:
            signature: dict[str, Any] = {"v": 1, "id": item_id}
            if phase := string(item.get("phase")):
                signature["phase"] = phase
            self._builder.text_signature(key, json.dumps(signature))

    def _reasoning_done(self, key: int, item: dict[str, Any], *, streamed: bool) -> None:
        if not streamed:
            parts = mappings(item.get("summary")) or mappings(item.get("content"))
            self._builder.thinking(key, "\n\n".join(text for part in parts if (text := string(part.get("text")))))
        kept = {name: value for name, value in item.items() if value is not None and name != "status"}
        self._builder.thinking_signature(key, json.dumps(kept))

    def _response(self, response: dict[str, Any], event: str) -> None:
        for place, item in enumerate(mappings(response.get("output"))):
            if not self._is_done(item, place):
                self._item_done({"item": item})
        self._usage(response.get("usage"))
        match string(response.get("status")) or event:
            case "failed":
                raise failure.from_stream(response.get("error") or "the provider failed to answer", "")
            case "cancelled":
                raise ProtocolError("the provider cancelled the answer")
            case "incomplete":
                reason = mapping(response.get("incomplete_details")).get("reason")
                self._builder.stop("refusal" if reason == "content_filter" else "length")
            case _:
                self._builder.stop("refusal" if self._refused else "stop")
        self._builder.ended = self._builder.over = True

    def _is_done(self, item: dict[str, Any], place: int) -> bool:
        key = self._by_id.get(string(item.get("id")))
        if key is None:
            key = self._by_index.get(place)
        if key is None:
            # Without ids and indexes, the items that were done came in this order.
            return place < len(self._done)
        return (_KINDS.get(string(item.get("type"))), key) in self._done

    def _usage(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        details = mapping(usage.get("input_tokens_details"))
        read, written = count(details.get("cached_tokens")), count(details.get("cache_write_tokens"))
        tokens = count(usage.get("input_tokens"))
        self._builder.usage(
            input=None if tokens is None else tokens - (read or 0) - (written or 0),
            output=count(usage.get("output_tokens")),
            cache_read=read,
            cache_write=written,
        )


class ResponsesWire:
    def payload(self, request: Request) -> dict[str, Any]:
        return body(request)

    def http_request(self, request: Request, credentials: Credentials, payload: dict[str, Any]) -> HttpRequest:
        return http_request(request.model, credentials, "/responses", payload, headers(credentials))

    def parser(self, builder: Builder) -> ResponsesParser:
        return ResponsesParser(builder)

    def error(self, status: int, headers: Mapping[str, str], body: bytes, provider: str) -> ProviderError:
        return failure.from_response(status, headers, body, provider)


WIRE = ResponsesWire()


def _kind_of_body(data: dict[str, Any]) -> str:
    """What data without a type is: an error, or the whole response of a server that did not stream."""
    if data.get("error"):
        return "error"
    return "response.completed" if data.get("object") == "response" or "output" in data else ""


def _call_id(item: dict[str, Any]) -> str:
    """`call id|item id`: the API wants both back, the second one together with the reasoning before it."""
    call_id, item_id = string(item.get("call_id")), string(item.get("id"))
    if call_id and item_id.startswith("fc_") and len(item_id) <= 64:
        return f"{call_id}|{item_id}"
    return call_id or item_id


def _arguments_of(item: dict[str, Any]) -> str:
    arguments = item.get("arguments")
    return json.dumps(arguments) if isinstance(arguments, dict) else string(arguments)
