"""A request as the body of Anthropic's messages, with its cache marks and thinking."""

from typing import Any

from marvin_agent.llm import claude
from marvin_agent.llm.history import prepare
from marvin_agent.llm.secrecy import origin
from marvin_agent.llm.thinking import clamp, provider_name
from marvin_agent.llm.values import Model, Request, ThinkingLevel
from marvin_agent.messages import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResultMessage, UserPart

BUDGETS: dict[ThinkingLevel, int] = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768}
_LEAST_ANSWER = 1024
_LEAST_BUDGET = 1024
_USUAL_MAX_TOKENS = 32_000
_CACHED = {"type": "ephemeral"}
_THOUGHTS = ("thinking", "redacted_thinking")


def body(request: Request) -> dict[str, Any]:
    """The whole body. What the caller put into `options.extra` comes last and wins."""
    model, options = request.model, request.options
    payload: dict[str, Any] = {
        "model": model.id,
        "messages": _messages(request),
        "max_tokens": options.max_tokens or min(model.max_tokens, _USUAL_MAX_TOKENS),
        "stream": True,
    }
    if request.system:
        payload["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
    if request.tools:
        payload["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        payload["tools"][-1]["cache_control"] = _CACHED
    if options.stop:
        payload["stop_sequences"] = list(options.stop)
    level, _ = clamp(model, options.reasoning)
    if level != "off" and (is_adaptive(model) or _may_think(payload["messages"])):
        _think(payload, model, level)
    else:
        _do_not_think(payload, model)
        if options.temperature is not None and claude.takes_temperature(model.id):
            payload["temperature"] = options.temperature  # thinking allows no other than its own
    payload.update(options.extra)
    return payload


def is_adaptive(model: Model) -> bool:
    """Whether the model takes an effort in place of a budget; `compat.adaptiveThinking` says so for other names."""
    return bool(model.compat.get("adaptiveThinking", claude.is_adaptive(model.id)))


def is_anthropic(url: str) -> bool:
    """Whether a server is Anthropic's own; what is in beta there means nothing to others."""
    return origin(url).partition(":")[0].endswith("anthropic.com")


def _may_think(messages: list[dict[str, Any]]) -> bool:
    """Whether a budget is allowed: between a call and what follows its result not, if the call was made without
    thinking (by another model, or before the level was raised)."""
    if len(messages) < 2 or messages[-1]["content"][0]["type"] != "tool_result":
        return True
    return messages[-2]["content"][0]["type"] in _THOUGHTS


def _do_not_think(payload: dict[str, Any], model: Model) -> None:
    if not model.reasoning or not claude.thinks_unasked(model.id):
        return
    payload["thinking"] = {"type": "disabled"}
    if claude.binds_thinking(model.id):
        for message in payload["messages"]:
            message["content"] = [block for block in message["content"] if block["type"] not in _THOUGHTS]


def _think(payload: dict[str, Any], model: Model, level: ThinkingLevel) -> None:
    budget = BUDGETS[level]
    # Thoughts are part of max_tokens: the answer gets what was asked for on top, as far as the model goes.
    total = min(payload["max_tokens"] + budget, max(model.max_tokens, _LEAST_BUDGET + _LEAST_ANSWER))
    payload["max_tokens"] = total
    if not is_adaptive(model):
        allowed = max(_LEAST_BUDGET, min(budget, total - _LEAST_ANSWER))
        payload["thinking"] = {"type": "enabled", "budget_tokens": allowed}
        return
    effort = provider_name(model, level)
    payload["thinking"] = {"type": "adaptive", "display": "summarized"}
    if claude.binds_thinking(model.id) and is_anthropic(model.base_url):
        # Hooks and a new day change the system prompt: rather a thought less than a conversation that is stuck.
        payload["thinking"]["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    payload["output_config"] = {"effort": "low" if effort == "minimal" else effort}


def _messages(request: Request) -> list[dict[str, Any]]:
    wire: list[dict[str, Any]] = []
    for message in prepare(request.messages, request.model):
        match message:
            case AssistantMessage():
                role, content = "assistant", [_assistant_block(part) for part in message.content]
            case ToolResultMessage():
                role, content = "user", [_result_block(message)]
            case _:
                role, content = "user", [_user_block(part) for part in message.content]
        if wire and wire[-1]["role"] == role:
            wire[-1]["content"] += content  # all results of one message's calls belong into one
        else:
            wire.append({"role": role, "content": content})
    # What was marked last time is marked again: from a mark on, the provider looks back over twenty blocks only, and a
    # message with many calls has more.
    for told in [turn for turn in wire if turn["role"] == "user"][-2:]:
        told["content"][-1]["cache_control"] = _CACHED
    return wire


def _user_block(part: UserPart) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            return {"type": "image", "source": {"type": "base64", "media_type": part.mime_type, "data": part.data}}


def _result_block(message: ToolResultMessage) -> dict[str, Any]:
    parts = message.content
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.tool_call_id}
    if len(parts) == 1 and isinstance(only := parts[0], Text):
        block["content"] = only.text
    else:
        block["content"] = [_user_block(part) for part in parts]
    if message.is_error and all(isinstance(part, Text) for part in parts):
        block["is_error"] = True  # an error may have no image; what went wrong is in the text anyway
    return block


def _assistant_block(part: Text | Thinking | ToolCall) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Thinking() if part.redacted is True:
            return {"type": "redacted_thinking", "data": part.thinking_signature}
        case Thinking():
            return {"type": "thinking", "thinking": part.thinking, "signature": part.thinking_signature}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.input}
