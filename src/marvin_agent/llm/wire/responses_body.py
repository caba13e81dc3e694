"""A request as the body of OpenAI's responses API. Nothing is kept at the server: reasoning travels in the history.

The API has no stop sequences, so `StreamOptions.stop` has no effect here.
"""

from collections.abc import Iterator
from typing import Any

from marvin_agent.llm.history import prepare
from marvin_agent.llm.lenient import load_json
from marvin_agent.llm.thinking import clamp, provider_name
from marvin_agent.llm.values import Credentials, Request, ToolSpec
from marvin_agent.messages import AssistantMessage, Text, Thinking, ToolCall, ToolResultMessage, UserPart, text_of

_LONGEST_CACHE_KEY = 64


def body(request: Request) -> dict[str, Any]:
    """The whole body. What the caller put into `options.extra` comes last and wins."""
    model, options = request.model, request.options
    payload: dict[str, Any] = {
        "model": model.id,
        "input": _input(request),
        "stream": True,
        "store": False,
    }
    if request.system:
        payload["instructions"] = request.system
    if options.max_tokens is not None:
        payload["max_output_tokens"] = options.max_tokens
    if options.temperature is not None:
        payload["temperature"] = options.temperature
    if request.tools:
        payload["tools"] = [_tool(tool) for tool in request.tools]
    if request.cache_key:
        payload["prompt_cache_key"] = request.cache_key[:_LONGEST_CACHE_KEY]
    _think(payload, request)
    payload.update(options.extra)
    return payload


def headers(credentials: Credentials) -> dict[str, str]:
    return {"authorization": f"Bearer {credentials.api_key}"} if credentials.api_key else {}


def _think(payload: dict[str, Any], request: Request) -> None:
    model = request.model
    if not model.reasoning:
        return  # these fields are errors for a model that does not think
    payload["include"] = ["reasoning.encrypted_content"]
    level, _ = clamp(model, request.options.reasoning)
    effort = provider_name(model, level)
    if not effort:
        return  # nothing is said of it
    if level != "off":
        payload["reasoning"] = {"effort": effort, "summary": "auto"}
    elif effort != "off":
        payload["reasoning"] = {"effort": effort}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }


def _input(request: Request) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for message in prepare(request.messages, request.model):
        match message:
            case AssistantMessage():
                items += _assistant(message)
            case ToolResultMessage():
                call_id = message.tool_call_id.partition("|")[0]
                items.append({"type": "function_call_output", "call_id": call_id, "output": _output(message)})
            case _:
                items.append({"role": "user", "content": [_part(part) for part in message.content]})
    return items


def _part(part: UserPart) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    return {"type": "input_image", "detail": "auto", "image_url": f"data:{part.mime_type};base64,{part.data}"}


def _output(message: ToolResultMessage) -> str | list[dict[str, Any]]:
    if all(isinstance(part, Text) for part in message.content):
        return text_of(message.content)
    return [_part(part) for part in message.content]


def _assistant(message: AssistantMessage) -> Iterator[dict[str, Any]]:
    reasoning = [_reasoning(part) for part in message.content if isinstance(part, Thinking)]
    # An item may go back under its id only if the reasoning that led to it does too.
    with_ids = None not in reasoning
    thoughts = iter(reasoning)
    for part in message.content:
        match part:
            case Thinking():
                if (item := next(thoughts)) is not None:
                    yield item
            case Text():
                yield from _text(part, with_ids=with_ids)
            case ToolCall():
                yield _call(part, with_ids=with_ids)


def _reasoning(part: Thinking) -> dict[str, Any] | None:
    """The item as it came. One that carries neither encrypted nor plain reasoning exists only at the server."""
    try:
        item = load_json(part.thinking_signature or "")
    except ValueError:
        return None
    if not isinstance(item, dict) or item.get("type") != "reasoning":
        return None
    return item if item.get("encrypted_content") or item.get("content") else None


def _text(part: Text, *, with_ids: bool) -> Iterator[dict[str, Any]]:
    if not part.text:
        return
    content = [{"type": "output_text", "text": part.text, "annotations": []}]
    item: dict[str, Any] = {"type": "message", "role": "assistant", "content": content, "status": "completed"}
    try:
        signature = load_json(part.text_signature or "")
    except ValueError:
        signature = None
    if isinstance(signature, dict):
        if with_ids and isinstance(signature.get("id"), str):
            item["id"] = signature["id"]
        if isinstance(signature.get("phase"), str):
            item["phase"] = signature["phase"]
    yield item


def _call(call: ToolCall, *, with_ids: bool) -> dict[str, Any]:
    call_id, _, item_id = call.id.partition("|")
    arguments = bytes(call.arguments).decode()
    item = {"type": "function_call", "call_id": call_id, "name": call.name, "arguments": arguments}
    if with_ids and item_id:
        item["id"] = item_id
    return item
