"""Write the packaged model catalogue from a models file and the prices of `genai-prices`.

    python scripts/build_catalog.py MODELS_JSON --date YYYY-MM-DD [--out FILE]

Needs `pip install genai-prices` in the environment that runs it. The same inputs give the same bytes: `--date` is the
day that prices with a beginning or an end are taken for, and what the file calls its date.

MODELS_JSON holds {provider: {model id: {api, baseUrl, name, reasoning, input, cost, contextWindow, maxTokens, ...}}}.
It decides what a model can do. The prices decide what it costs, and name models that came after it: such a model is
taken over only where FAMILIES says which known model it succeeds, and inherits from that one what prices do not tell.
"""

import argparse
import json
import re
import sys
from collections import Counter
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from genai_prices.data import providers as priced_providers

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "src" / "marvin_agent" / "data" / "models.json"
FORMAT_VERSION = 1
APIS = {"anthropic-messages", "openai-responses", "openai-completions", "google-generative-ai"}

# Our name, the models file's, the price list's. The order is the catalogue's: makers first, then hosts, then routers.
PROVIDERS = [
    ("anthropic", "anthropic", "anthropic"),
    ("openai", "openai", "openai"),
    ("google", "google", "google"),
    ("xai", "xai", "x-ai"),
    ("deepseek", "deepseek", "deepseek"),
    ("mistral", "mistral", "mistral"),
    ("zai", "zai", "zai"),
    ("moonshot", "moonshotai", "moonshotai"),
    ("groq", "groq", "groq"),
    ("cerebras", "cerebras", "cerebras"),
    ("fireworks", "fireworks", "fireworks"),
    ("huggingface", "huggingface", None),
    ("openrouter", "openrouter", "openrouter"),
    ("vercel", "vercel-ai-gateway", None),
]
# What differs from the models file, so that base URL + the wire's path is the address (see docs of the format there).
BASE_URLS = {"deepseek": "https://api.deepseek.com/v1"}

# The server's peculiarities that the models file does not know.
MISTRAL = {
    "api": "openai-completions",
    "baseUrl": "https://api.mistral.ai/v1",
    "compat": {
        "maxTokensField": "max_tokens",
        "supportsDeveloperRole": False,
        "supportsStore": False,
        "supportsUsageInStreaming": False,
        "requiresAssistantAfterToolResult": True,
        "requiresMistralToolIds": True,
        "requiresThinkingAsText": True,
        "requiresToolResultName": True,
    },
}

# How these are asked to think the program knows, for each of their models, and better than the models file.
LEVELS = {"thinkingLevelMap", "thinkingFormat", "supportsReasoningEffort"}
KNOWN_LEVELS = {
    **dict.fromkeys(("anthropic", "openai", "google", "groq", "zai", "moonshot"), LEVELS),
    "openrouter": {"thinkingFormat"},  # its own for all, whoever made the model
}

# (our provider, pattern of the price list's id, the known model that it succeeds)
FAMILIES = [
    ("anthropic", r"claude-(opus|fable|mythos)-(4-[89]|[5-9](-\d)?)", "claude-opus-4-7"),
    ("anthropic", r"claude-(sonnet|haiku)-5-[5-9]", "claude-opus-4-7"),
    ("anthropic", r"claude-sonnet-[5-9](-\d)?", "claude-sonnet-4-6"),
    ("anthropic", r"claude-haiku-[5-9](-\d)?", "claude-haiku-4-5"),
    ("openai", r"gpt-(5\.[6-9]|6(\.\d)?)-(sol|terra|luna|astra)", "gpt-5.5"),
    ("google", r"gemini-3\.[1-9]-flash-lite", "gemini-3.1-flash-lite-preview"),
    ("google", r"gemini-3\.[1-9]-flash", "gemini-3-flash-preview"),
    ("google", r"gemini-4-argon", "gemini-3.1-pro-preview"),
    ("xai", r"grok-4\.(20|[4-9])|grok-build-[\d.]+", "grok-4.3"),
    ("deepseek", r"deepseek-flash", "deepseek-v4-flash"),
    ("zai", r"glm-5\.\d(-flash)?", "glm-5.1"),
    ("moonshot", r"kimi-k(2\.[7-9]|3)(\.\d)?(-pro|-code)?(-highspeed)?", "kimi-k2.6"),
    ("groq", r"qwen/qwen3\.\d-\d+b", "qwen/qwen3-32b"),
    ("cerebras", r"qwen-3\.\d-\d+b", "gpt-oss-120b"),
    ("fireworks", r"accounts/fireworks/models/glm-5p\d(-fast|-flash)?", "accounts/fireworks/models/glm-5p1"),
    ("fireworks", r"accounts/fireworks/models/kimi-k(2p[6-9]|3)(p\d)?(-pro|-code)?(-fast)?",
     "accounts/fireworks/models/kimi-k2p6"),
    ("fireworks", r"accounts/fireworks/models/deepseek-v4(p1)?-flash", "accounts/fireworks/models/deepseek-v4-pro"),
    ("fireworks", r"accounts/fireworks/models/minimax-m3", "accounts/fireworks/models/minimax-m2p7"),
    ("openrouter", r"~?anthropic/claude-(opus|fable)-(4\.8|5(\.\d)?|latest)", "anthropic/claude-opus-4.7"),
    ("openrouter", r"anthropic/claude-sonnet-5(\.\d)?", "anthropic/claude-sonnet-4.6"),
    ("openrouter", r"anthropic/claude-haiku-5(\.\d)?", "anthropic/claude-haiku-4.5"),
    ("openrouter", r"openai/gpt-(5\.[6-9]|6(\.\d)?)-(sol|terra|luna|astra)", "openai/gpt-5.5"),
    ("openrouter", r"google/gemini-3\.[1-9]-flash(-lite)?", "google/gemini-3-flash-preview"),
    ("openrouter", r"x-ai/grok-4\.[4-9]", "x-ai/grok-4.3"),
    ("openrouter", r"moonshotai/kimi-k(2\.7-code|3(\.\d)?(-pro)?)", "moonshotai/kimi-k2.6"),
    ("openrouter", r"z-ai/glm-5\.\d(-flash)?", "z-ai/glm-5.1"),
]  # fmt: skip
# Mistral's models are known only through a router, whose ids begin with `mistralai/`.
MISTRAL_FAMILIES = [
    (r"codestral-2508", "mistralai/codestral-2508"),
    (r"ministral-3b-2512", "mistralai/ministral-3b-2512"),
    (r"ministral-8b-2512", "mistralai/ministral-8b-2512"),
    (r"ministral-14b-2512", "mistralai/ministral-14b-2512"),
    (r"mistral-large-(2512|\d)", "mistralai/mistral-large-2512"),
    (r"mistral-medium-(3-5|latest)", "mistralai/mistral-medium-3-5"),
    (r"mistral-small-(2603|latest)", "mistralai/mistral-small-2603"),
]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("models", type=Path)
    options.add_argument("--date", required=True, help="the day that the prices are taken for: YYYY-MM-DD")
    options.add_argument("--out", type=Path, default=OUT)
    given = options.parse_args()
    catalog, report = build(json.loads(given.models.read_text()), given.date)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(catalog, separators=(",", ":"), ensure_ascii=False) + "\n")
    for line in report:
        print(line, file=sys.stderr)
    return 0


def build(known: dict[str, Any], date: str) -> tuple[dict[str, Any], list[str]]:
    """The catalogue, and what was left out or added, a line each."""
    at = datetime.fromisoformat(date).replace(hour=12, tzinfo=UTC)
    prices = {provider.id: provider for provider in priced_providers}
    counts: Counter[str] = Counter()
    made: dict[str, Any] = {}
    for name, known_as, priced_as in PROVIDERS:
        models = {key: dict(facts) for key, facts in known.get(known_as, {}).items()}
        for key in [key for key, facts in models.items() if facts["api"] not in APIS]:
            counts[f"{name}: dropped, of an api without a wire ({models[key]['api']})"] += 1
            del models[key]
        listed = {listed_id(name, model.id): model for model in prices[priced_as].models} if priced_as else {}
        for key, model in listed.items():
            reprice_or_add(name, key, model, models, known, at, counts)
        made[name] = provider_entry(name, models)
    used = {known_as for _, known_as, _ in PROVIDERS}
    for other in sorted(known.keys() - used):
        counts[f"{other}: dropped, not a provider of ours"] += len(known[other])
    total = sum(len(entry["models"]) for entry in made.values())
    catalog = {
        "version": FORMAT_VERSION,
        "date": date,
        "sources": {"genai-prices": metadata.version("genai-prices")},
        "providers": made,
    }
    return catalog, [*(f"{count:5} {what}" for what, count in sorted(counts.items())), f"{total:5} models in all"]


def listed_id(provider: str, priced: str) -> str:
    """The id of an API, made from the one of the price list."""
    match provider:
        case "fireworks":
            return f"accounts/fireworks/models/{priced}"
        case "zai":
            return priced.lower()
        case _:
            return priced


def reprice_or_add(
    provider: str, key: str, model: Any, models: dict[str, Any], known: dict[str, Any], at: datetime,
    counts: Counter[str],
) -> None:  # fmt: skip
    cost = price(model, at)
    if cost is None:
        counts[f"{provider}: no price per token"] += 1
    elif key in models:
        # A price of zero in the models file is a plan's; a cached price that the list does not know stays.
        old = models[key]["cost"]
        if old["input"] and old != {**old, **cost}:
            models[key] = {**models[key], "cost": {**old, **cost}}
            counts[f"{provider}: newer prices"] += 1
    elif model.deprecated or (parent := ancestor(provider, key, models, known)) is None:
        counts[f"{provider}: not taken over (no known family, or withdrawn)"] += 1
    else:
        zero = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
        models[key] = {
            **parent,
            "name": model.name or key,
            "contextWindow": model.context_window or parent["contextWindow"],
            "cost": {**zero, **cost} if parent["cost"]["input"] else zero,
        }
        counts[f"{provider}: new models"] += 1


def ancestor(provider: str, key: str, models: dict[str, Any], known: dict[str, Any]) -> dict[str, Any] | None:
    if provider == "mistral":
        for pattern, like in MISTRAL_FAMILIES:
            if re.fullmatch(pattern, key):
                return {**known["openrouter"][like], "api": MISTRAL["api"], "baseUrl": MISTRAL["baseUrl"]}
        return None
    for owner, pattern, like in FAMILIES:
        if owner == provider and re.fullmatch(pattern, key):
            return dict(models[like])
    return None


def price(model: Any, at: datetime) -> dict[str, float] | None:
    """Dollars per million tokens, of the first tier."""
    prices = model.get_prices(at)
    fields = {
        "input": "input_mtok", "output": "output_mtok",
        "cacheRead": "cache_read_mtok", "cacheWrite": "cache_write_mtok",
    }  # fmt: skip
    found: dict[str, float] = {}
    for ours, theirs in fields.items():
        value = getattr(prices, theirs, None)
        if value is not None:
            found[ours] = number(getattr(value, "base", value))
    return found if "input" in found and "output" in found else None


def number(value: Any) -> float | int:
    """A JSON number without needless digits."""
    rounded = round(float(value), 6)
    return int(rounded) if rounded == int(rounded) else rounded


def provider_entry(name: str, models: dict[str, Any]) -> dict[str, Any]:
    """The commonest api, base URL and compat once, then what each model has of its own."""
    if not models:
        raise SystemExit(f"there is no model of {name}")
    api = Counter(facts["api"] for facts in models.values()).most_common(1)[0][0]
    base_url = BASE_URLS.get(name, next(facts["baseUrl"] for facts in models.values() if facts["api"] == api))
    entry: dict[str, Any] = {"api": api, "baseUrl": base_url}
    if name == "mistral":
        entry["compat"] = MISTRAL["compat"]
    return {**entry, "models": {key: model_entry(name, models[key], entry) for key in sorted(models)}}


def model_entry(name: str, facts: dict[str, Any], provider: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"name": facts["name"]}
    if facts["api"] != provider["api"]:
        made |= {"api": facts["api"], "baseUrl": facts["baseUrl"]}
    if facts["reasoning"]:
        made["reasoning"] = True
    if facts["input"] != ["text"]:
        made["input"] = facts["input"]
    cost = {key: number(value) for key, value in facts["cost"].items() if value > 0}
    if cost:
        made["cost"] = cost
    made |= {"contextWindow": facts["contextWindow"], "maxTokens": facts["maxTokens"]}
    if facts.get("headers"):
        made["headers"] = facts["headers"]
    compat = dict(facts.get("compat", {}))
    if "thinkingLevelMap" in facts and facts["api"] != "openai-responses":
        compat["thinkingLevelMap"] = facts["thinkingLevelMap"]
    compat = {key: value for key, value in compat.items() if key not in KNOWN_LEVELS.get(name, ())}
    if compat:
        made["compat"] = dict(sorted(compat.items()))
    return made


if __name__ == "__main__":
    raise SystemExit(main())
