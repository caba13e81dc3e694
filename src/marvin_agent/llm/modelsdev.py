"""The catalogue brought up to date from models.dev: prices, limits, abilities and new models.

What only marvin knows stays: how a model is reached is never taken from there, nor the peculiarities of its server.
"""

from typing import Any

import msgspec
from msgspec import Raw

from marvin_agent.errors import ConfigError
from marvin_agent.llm.catalog import FORMAT_VERSION, CatalogFile, ModelEntry, ProviderEntry
from marvin_agent.llm.providers import ALIASES
from marvin_agent.llm.values import Price
from marvin_agent.messages import Value

_MAX_ID = 200
# Their names of thinking levels are right for one model; one that is new may have others.
_OWN_TO_A_MODEL = ("thinkingLevelMap",)


class Limit(msgspec.Struct):
    context: float = 0
    output: float = 0
    input: float | None = None
    """Of the context, when a model takes less than all of it."""

    @property
    def window(self) -> int:
        return int(min(self.context, self.input or self.context))


class Modalities(msgspec.Struct):
    input: tuple[str, ...] = ("text",)
    output: tuple[str, ...] = ("text",)


class DevCost(msgspec.Struct):
    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0


class DevModel(msgspec.Struct):
    """A model as models.dev tells of it; unknown fields are ignored."""

    name: str = ""
    reasoning: bool = False
    tool_call: bool = False
    modalities: Modalities = msgspec.field(default_factory=Modalities)
    limit: Limit = msgspec.field(default_factory=Limit)
    cost: DevCost | None = None
    status: str = ""

    @property
    def usable(self) -> bool:
        """It can drive an agent: calls tools, writes text, is not withdrawn, and its numbers make sense."""
        cost = self.cost or DevCost()
        return (
            self.tool_call
            and "text" in self.modalities.output
            and self.status != "deprecated"
            and 1 <= self.limit.context < 1e12
            and 1 <= self.limit.output < 1e12
            and self.limit.window >= 1
            and all(0 <= price < 1e6 for price in (cost.input, cost.output, cost.cache_read, cost.cache_write))
        )


class DevProvider(msgspec.Struct):
    models: dict[str, Raw] = {}


class Refreshed(Value):
    """The catalogue afterwards, and how many models are new, changed, and were not understood."""

    catalog: CatalogFile
    added: int
    changed: int
    skipped: int


def refresh(catalog: CatalogFile, data: bytes, date: str) -> Refreshed:
    """The catalogue with what models.dev says. ConfigError when the data is not models.dev's."""
    try:
        theirs = msgspec.json.decode(data, type=dict[str, Raw])
    except msgspec.DecodeError as error:
        raise ConfigError(f"what was fetched is not a list of models: {error}") from None
    known_as = {ours: other for other, ours in ALIASES.items() if other in theirs}
    providers: dict[str, Raw] = {}
    added = changed = skipped = understood = 0
    for name, raw in catalog.providers.items():
        entry = msgspec.json.decode(raw, type=ProviderEntry)
        models, odd = _models(theirs.get(known_as.get(name, name)))
        understood += len(models)
        skipped += odd
        common = _common_compat(entry)
        for identifier, model in models.items():
            old = msgspec.json.decode(entry.models[identifier], type=ModelEntry) if identifier in entry.models else None
            new = _merged(old, model, common)
            if old is None:
                added += 1
            elif new != old:
                changed += 1
            entry.models[identifier] = Raw(msgspec.json.encode(_compact(new)))
        ordered = {identifier: entry.models[identifier] for identifier in sorted(entry.models)}
        providers[name] = Raw(msgspec.json.encode(msgspec.structs.replace(entry, models=ordered)))
    if not understood:
        raise ConfigError("what was fetched has no model of a provider that marvin knows")
    sources = {**catalog.sources, "models.dev": date}
    made = CatalogFile(version=FORMAT_VERSION, date=date, sources=sources, providers=providers)
    return Refreshed(catalog=made, added=added, changed=changed, skipped=skipped)


def _models(raw: Raw | None) -> tuple[dict[str, DevModel], int]:
    """The usable models of a provider, and how many entries are not what a model looks like."""
    if raw is None:
        return {}, 0
    try:
        entries = msgspec.json.decode(raw, type=DevProvider).models
    except msgspec.DecodeError:
        return {}, 1
    found: dict[str, DevModel] = {}
    odd = 0
    for identifier, entry in entries.items():
        try:
            model = msgspec.json.decode(entry, type=DevModel)
        except msgspec.DecodeError:
            odd += 1
            continue
        if not _is_id(identifier):
            odd += 1
        elif model.usable:
            found[identifier] = model
    return found, odd


def _is_id(text: str) -> bool:
    return 0 < len(text) <= _MAX_ID and text.isascii() and text.isprintable() and " " not in text


def _merged(old: ModelEntry | None, model: DevModel, common: dict[str, Any]) -> ModelEntry:
    inputs = ("text", "image") if "image" in model.modalities.input else ("text",)
    cost = model.cost
    price = (
        Price(input=cost.input, output=cost.output, cache_read=cost.cache_read, cache_write=cost.cache_write)
        if cost is not None
        else Price()
    )
    if old is None:
        return ModelEntry(
            name=model.name,
            reasoning=model.reasoning,
            input=inputs,
            cost=price,
            context_window=model.limit.window,
            max_tokens=int(model.limit.output),
            compat=common,
        )
    return msgspec.structs.replace(
        old,
        reasoning=model.reasoning,
        input=inputs,
        cost=price if cost is not None else old.cost,
        # Ours can be lower on purpose: beyond some length a model costs more, or its API takes less.
        context_window=min(old.context_window, model.limit.window),
        max_tokens=int(model.limit.output),
    )


def _common_compat(entry: ProviderEntry) -> dict[str, Any]:
    """What all known models of a provider have in common is its server's, so new ones have it too."""
    common: dict[str, Any] | None = None
    for raw in entry.models.values():
        compat = msgspec.json.decode(raw, type=ModelEntry).compat
        common = compat if common is None else {key: value for key, value in common.items() if compat.get(key) == value}
    return {key: value for key, value in (common or {}).items() if key not in _OWN_TO_A_MODEL}


def _compact(entry: ModelEntry) -> dict[str, Any]:
    """The entry without what it leaves at its default."""
    value: dict[str, Any] = msgspec.to_builtins(entry)
    default = msgspec.to_builtins(ModelEntry(context_window=0, max_tokens=0))
    value["cost"] = {key: price for key, price in value["cost"].items() if price}
    return {key: part for key, part in value.items() if part not in (default[key], {}) and part is not None}
