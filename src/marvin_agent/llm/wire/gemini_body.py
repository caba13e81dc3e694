"""A request as the body of Gemini's generateContent."""

from collections.abc import Iterator
from typing import Any

from marvin_agent.llm import gemini
from marvin_agent.llm.history import prepare
from marvin_agent.llm.thinking import clamp, provider_name
from marvin_agent.llm.values import Credentials, Model, Request, ThinkingLevel, ToolSpec
from marvin_agent.messages import (
    AssistantMessage,
    AssistantPart,
    Image,
    Text,
    Thinking,
    ToolResultMessage,
    UserPart,
    text_of,
)

MADE_UP_ID = "marvin_"
"""How the ids begin that we give to calls which came without one. They stay here."""

_NO_SIGNATURE = "skip_thought_signature_validator"
"""What Google documents for a call that another model made: Gemini 3 refuses one without any signature."""

_BUDGETS_PRO = {"minimal": 128, "low": 2048, "medium": 8192, "high": 32768}
_BUDGETS_FLASH = {"off": 0, "minimal": 128, "low": 2048, "medium": 8192, "high": 24576}
_LEAST_OF_FLASH_LITE = 512
_BUDGET_OF_THE_MODEL = -1


def body(request: Request) -> dict[str, Any]:
    """The whole body. What the caller put into `options.extra` comes last and wins."""
    options = request.options
    payload: dict[str, Any] = {"contents": list(_contents(request))}
    if request.system:
        payload["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        payload["tools"] = [{"functionDeclarations": [_declaration(tool) for tool in request.tools]}]
    config: dict[str, Any] = {}
    if options.max_tokens is not None:
        config["maxOutputTokens"] = options.max_tokens
    if options.temperature is not None:
        config["temperature"] = options.temperature
    if options.stop:
        config["stopSequences"] = list(options.stop)
    if thinking := _thinking(request.model, options.reasoning):
        config["thinkingConfig"] = thinking
    if config:
        payload["generationConfig"] = config
    payload.update(options.extra)
    return payload


def headers(credentials: Credentials) -> dict[str, str]:
    return {"x-goog-api-key": credentials.api_key} if credentials.api_key else {}


def _declaration(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}


# Thinking


def _thinking(model: Model, asked: ThinkingLevel) -> dict[str, Any]:
    if not model.reasoning:
        return {}
    level, _ = clamp(model, asked)
    how = _how_much(model, level)
    # Without thoughts to show there is still a budget to set: these models think unless told otherwise.
    return {"includeThoughts": True, **how} if level != "off" else how


def _how_much(model: Model, level: ThinkingLevel) -> dict[str, Any]:
    name = provider_name(model, level)
    if name != level:
        is_budget = name.lstrip("-").isdigit()
        return {"thinkingBudget": int(name)} if is_budget else {"thinkingLevel": name}
    if gemini.has_levels(model.id):
        return {"thinkingLevel": level.upper()}
    if "2.5-pro" in model.id:
        return {"thinkingBudget": _BUDGETS_PRO.get(level, _BUDGETS_PRO["high"])}
    if "2.5-flash" in model.id:
        budget = _BUDGETS_FLASH.get(level, _BUDGETS_FLASH["high"])
        return {"thinkingBudget": max(budget, _LEAST_OF_FLASH_LITE) if "lite" in model.id and budget else budget}
    return {} if level == "off" else {"thinkingBudget": _BUDGET_OF_THE_MODEL}


# The conversation


def _contents(request: Request) -> Iterator[dict[str, Any]]:
    messages = prepare(request.messages, request.model)
    gemini_3 = gemini.has_levels(request.model.id)
    ids: set[str] = set()
    results: list[ToolResultMessage] = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            results.append(message)
            continue
        # All the results of one message go back together.
        yield from _results(results, ids, nested_images=gemini_3)
        results = []
        if isinstance(message, AssistantMessage):
            yield _assistant(message, ids, gemini_3=gemini_3)
        else:
            yield {"role": "user", "parts": [_part(part) for part in message.content]}
    yield from _results(results, ids, nested_images=gemini_3)


def _part(part: UserPart) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"text": part.text}
    return {"inlineData": {"mimeType": part.mime_type, "data": part.data}}


def _assistant(message: AssistantMessage, ids: set[str], *, gemini_3: bool) -> dict[str, Any]:
    signed = not gemini_3
    parts: list[dict[str, Any]] = []
    for part in message.content:
        wire = _said(part, own_ids=message.api == "google-generative-ai")
        if "functionCall" in wire:
            if not signed:  # the first of a message's calls
                wire.setdefault("thoughtSignature", _NO_SIGNATURE)
                signed = True
            ids.add(wire["functionCall"].get("id", ""))
        parts.append(wire)
    return {"role": "model", "parts": parts}


def _said(part: AssistantPart, *, own_ids: bool) -> dict[str, Any]:
    wire: dict[str, Any]
    match part:
        case Text():
            wire, signature = {"text": part.text}, part.text_signature
        case Thinking():
            wire, signature = {"text": part.thinking, "thought": True}, part.thinking_signature
        case _:
            call = {"name": part.name, "args": part.input}
            if own_ids and not part.id.startswith(MADE_UP_ID):
                call["id"] = part.id
            wire, signature = {"functionCall": call}, part.thought_signature
    if signature:
        wire["thoughtSignature"] = signature
    return wire


def _results(results: list[ToolResultMessage], ids: set[str], *, nested_images: bool) -> Iterator[dict[str, Any]]:
    if not results:
        return
    parts: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    for result in results:
        images = [_part(part) for part in result.content if isinstance(part, Image)]
        text = text_of(result.content) or ("(see the image)" if images else "")
        answer: dict[str, Any] = {"name": result.tool_name, "response": {_outcome(result): text}}
        if result.tool_call_id in ids:
            answer["id"] = result.tool_call_id
        if images and nested_images:
            answer["parts"] = images
        elif images:
            shown += [{"text": f"The image that {result.tool_name} gave:"}, *images]
        parts.append({"functionResponse": answer})
    yield {"role": "user", "parts": parts}
    if shown:
        # Before Gemini 3 a result is text alone, and nothing else may stand beside it.
        yield {"role": "user", "parts": shown}


def _outcome(result: ToolResultMessage) -> str:
    return "error" if result.is_error else "output"
