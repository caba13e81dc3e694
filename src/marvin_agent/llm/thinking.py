"""Thinking levels: which of them a model has, and what its provider calls them."""

from typing import Any

from marvin_agent.llm import claude, gemini, gpt, hosts
from marvin_agent.llm.values import THINKING_LEVELS, Model, ThinkingLevel


def supported(model: Model) -> tuple[ThinkingLevel, ...]:
    """The levels that make a difference on this model, least first.

    `compat.thinkingLevelMap` gives a level the provider's own name, or null where there is none; of the makers' own
    models it is known. `xhigh` is had only by models for which it is named.
    """
    if not model.reasoning:
        return ("off",)
    names = _names(model)
    return tuple(
        level for level in THINKING_LEVELS if (names[level] is not None if level in names else level != "xhigh")
    )


def clamp(model: Model, level: ThinkingLevel) -> tuple[ThinkingLevel, str | None]:
    """The level that the model will think at, and a line for the user when it is not the one asked for."""
    levels = supported(model)
    if level in levels:
        return level, None
    if not model.reasoning:
        return "off", f"{model.ref} does not think; thinking {level} is off"
    rank = THINKING_LEVELS.index(level)
    thinking = [candidate for candidate in levels if candidate != "off"]
    lower = [candidate for candidate in thinking if THINKING_LEVELS.index(candidate) < rank]
    # The nearest one below, so that nobody pays for more than was asked; else the least there is.
    chosen = lower[-1] if lower else thinking[0] if thinking else "off"
    return chosen, f"{model.ref} has no thinking level {level}; using {chosen}"


def provider_name(model: Model, level: ThinkingLevel) -> str:
    """What the provider calls a level: our name unless it has another; empty where nothing is said of it."""
    name = _names(model).get(level)
    return name if isinstance(name, str) else level


def _names(model: Model) -> dict[str, Any]:
    names = model.compat.get("thinkingLevelMap")
    known = _known(model)
    return {**known, **names} if isinstance(names, dict) else known


def _known(model: Model) -> dict[str, Any]:
    match model.api:
        case "anthropic-messages":
            return claude.level_names(model.id)
        case "google-generative-ai":
            return gemini.level_names(model.id)
        case "openai-responses" | "openai-completions":
            names = gpt.level_names(model.id)
            if "openrouter.ai" in model.base_url:
                names |= claude.level_names(model.id)
            return names | hosts.level_names(model.base_url, model.id)
        case _:
            return {}
