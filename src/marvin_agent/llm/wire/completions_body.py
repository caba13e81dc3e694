"""A request as the body of OpenAI's chat completions, with what the many servers want differently."""

from collections.abc import Sequence
from typing import Any

from marvin_agent.llm.history import prepare
from marvin_agent.llm.lenient import load_json
from marvin_agent.llm.thinking import clamp, provider_name
from marvin_agent.llm.values import Request, ToolSpec
from marvin_agent.llm.wire.completions_compat import Compat, compat_of
from marvin_agent.messages import (
    AssistantMessage,
    HookMessage,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    UserPart,
    text_of,
)

# The fields in which servers send thinking. A signature that is one of these says where the thinking came in.
THINKING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
PIECES = "content"
"""The signature of thinking that came as a piece of the content, beside the text."""
_CACHED = {"type": "ephemeral"}
_NO_TEXT = "(no output)"
_SEE_IMAGE = "(see the image that follows)"


def body(request: Request) -> dict[str, Any]:
    """The whole body. What the caller put into `options.extra` comes last and wins."""
    model, options = request.model, request.options
    compat = compat_of(model)
    payload: dict[str, Any] = {"model": model.id, "messages": _messages(request, compat), "stream": True}
    if compat.supports_usage_in_streaming:
        payload["stream_options"] = {"include_usage": True}
    if compat.supports_store:
        payload["store"] = False
    if options.max_tokens is not None:
        payload[compat.max_tokens_field] = options.max_tokens
    if options.temperature is not None:
        payload["temperature"] = options.temperature
    if options.stop:
        payload["stop"] = list(options.stop)
    if request.tools:
        payload["tools"] = [_tool(tool, compat) for tool in request.tools]
        if compat.zai_tool_stream:
            payload["tool_stream"] = True
    if request.cache_key and compat.supports_prompt_cache_key:
        payload["prompt_cache_key"] = request.cache_key
    if compat.cache_control_format == "anthropic":
        _mark_for_cache(payload)
    payload.update(_thinking_options(request, compat))
    payload.update(options.extra)
    return payload


def _mark_for_cache(payload: dict[str, Any]) -> None:
    """The system prompt, the tools, all up to the last thing that was said to the model, and what was the last before
    its answer: from a mark on, twenty parts are looked through for an older one, and many calls are more."""
    messages: list[dict[str, Any]] = payload["messages"]
    marked = [message for message in messages[:1] if message["role"] in ("system", "developer")]
    answers = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    for end in (answers[-1] if answers else 0, len(messages)):
        told = (message for message in reversed(messages[:end]) if message["role"] in ("user", "tool"))
        marked += [message for message in (next(told, None),) if message is not None]
    for message in marked:
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        texts = [part for part in message["content"] if part["type"] == "text"]
        if texts:
            texts[-1]["cache_control"] = _CACHED
    if payload.get("tools"):
        payload["tools"][-1]["cache_control"] = _CACHED


def _thinking_options(request: Request, compat: Compat) -> dict[str, Any]:
    model = request.model
    if not model.reasoning:
        return {}
    level, _ = clamp(model, request.options.reasoning)
    name, thinks = provider_name(model, level), level != "off"
    match compat.thinking_format:
        case "openrouter":
            return {"reasoning": {"effort": name if thinks else "none"}}
        case "zai":
            return {"thinking": {"type": "enabled" if thinks else "disabled"}}
        case "deepseek":
            switch = {"thinking": {"type": "enabled" if thinks else "disabled"}}
            return {**switch, "reasoning_effort": name} if thinks and compat.supports_reasoning_effort else switch
        case "qwen":
            return {"enable_thinking": thinks}
        case "qwen-chat-template":
            return {"chat_template_kwargs": {"enable_thinking": thinks}}
        case "openai":
            if not compat.supports_reasoning_effort or not name or (not thinks and name == "off"):
                return {}
            return {"reasoning_effort": name}


def _tool(tool: ToolSpec, compat: Compat) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    if compat.supports_strict_mode:
        function["strict"] = False  # schemas with optional properties are not strict ones
    return {"type": "function", "function": function}


def _messages(request: Request, compat: Compat) -> list[dict[str, Any]]:
    wire: list[dict[str, Any]] = []
    if request.system:
        role = "developer" if request.model.reasoning and compat.supports_developer_role else "system"
        wire.append({"role": role, "content": request.system})
    waiting: list[Image] = []
    for message in prepare(request.messages, request.model):
        if waiting and not isinstance(message, ToolResultMessage):
            _say(wire, _images_of_results(waiting), compat)
            waiting = []
        match message:
            case UserMessage() | HookMessage():
                _say(wire, _user_content(message.content, request.model.images), compat)
            case AssistantMessage():
                if (said := _assistant(message, request, compat)) is not None:
                    wire.append(said)
            case ToolResultMessage():
                wire.append(_tool_result(message, compat))
                if request.model.images:
                    waiting += [part for part in message.content if isinstance(part, Image)]
    if waiting:
        _say(wire, _images_of_results(waiting), compat)
    return wire


def _say(wire: list[dict[str, Any]], content: str | list[dict[str, Any]], compat: Compat) -> None:
    if compat.requires_assistant_after_tool_result and wire and wire[-1]["role"] == "tool":
        wire.append({"role": "assistant", "content": "I have read the results."})
    wire.append({"role": "user", "content": content})


def _user_content(parts: Sequence[UserPart], images: bool) -> str | list[dict[str, Any]]:
    if all(isinstance(part, Text) for part in parts):
        return text_of(tuple(parts))
    content: list[dict[str, Any]] = []
    for part in parts:
        match part:
            case Text():
                content.append({"type": "text", "text": part.text})
            case Image() if images:
                content.append(_image(part))
            case Image():
                content.append({"type": "text", "text": "(an image, which this model cannot see)"})
    return content


def _image(image: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{image.mime_type};base64,{image.data}"}}


def _images_of_results(images: list[Image]) -> list[dict[str, Any]]:
    """This API takes text alone as a tool's result, so its images follow as a user's message."""
    return [{"type": "text", "text": "Images from the tool results:"}, *(_image(image) for image in images)]


def _tool_result(message: ToolResultMessage, compat: Compat) -> dict[str, Any]:
    has_image = any(isinstance(part, Image) for part in message.content)
    text = text_of(message.content) or (_SEE_IMAGE if has_image else _NO_TEXT)
    result = {"role": "tool", "content": text, "tool_call_id": message.tool_call_id}
    if compat.requires_tool_result_name:
        result["name"] = message.tool_name
    return result


def _assistant(message: AssistantMessage, request: Request, compat: Compat) -> dict[str, Any] | None:
    thoughts = [part for part in message.content if isinstance(part, Thinking) and part.thinking.strip()]
    text = "".join(part.text for part in message.content if isinstance(part, Text))
    calls = message.tool_calls
    pieces = [_thinking_piece(part) for part in thoughts if part.thinking_signature == PIECES]
    if compat.requires_thinking_as_text and thoughts and not pieces:
        text = "\n\n".join([*(part.thinking for part in thoughts), text] if text else [p.thinking for p in thoughts])
        thoughts = []
    said: dict[str, Any] = {"role": "assistant", "content": text or None}
    if pieces:
        said["content"] = [*pieces, {"type": "text", "text": text}] if text else pieces
    field = next((part.thinking_signature for part in thoughts if part.thinking_signature in THINKING_FIELDS), None)
    if details := next((found for part in message.content if (found := _details(part))), None):
        said["reasoning_details"] = details
    elif isinstance(field, str):
        said[field] = "\n".join(part.thinking for part in thoughts)
    if compat.requires_reasoning_content_on_assistant_messages and request.model.reasoning:
        said.setdefault("reasoning_content", "")
    if calls:
        said["tool_calls"] = [_call(call) for call in calls]
    elif not text:
        return None  # nothing that this API could be told
    return said


def _thinking_piece(part: Thinking) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": part.thinking}]}


def _details(part: Text | Thinking | ToolCall) -> list[Any] | None:
    """What a router gave as `reasoning_details`, which it wants back as it was."""
    signature = part.thinking_signature if isinstance(part, Thinking) else None
    if not isinstance(signature, str) or not signature.startswith("["):
        return None
    try:
        details = load_json(signature)
    except ValueError:
        return None
    return details if isinstance(details, list) else None


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": bytes(call.arguments).decode()}
    wire: dict[str, Any] = {"id": call.id, "type": "function", "function": function}
    if isinstance(call.thought_signature, str):
        wire["extra_content"] = {"google": {"thought_signature": call.thought_signature}}
    return wire
