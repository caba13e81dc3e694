"""Which models there are: the packaged catalogue, or a newer copy that the user fetched, and the user's own providers.

A file of the catalogue is decoded one provider and one model at a time, since a run needs one model of many hundreds.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from marvin_agent.errors import ConfigError, ModelNotFoundError
from marvin_agent.llm.custom import CustomModel, CustomProvider, CustomProviders
from marvin_agent.llm.names import family, matches, nearest, newest_first
from marvin_agent.llm.providers import canonical
from marvin_agent.llm.values import Api, Model, Price
from marvin_agent.messages import Value

FORMAT_VERSION = 1
_SAME = 3
"""What `matches` says of names that differ by their punctuation alone."""
DATA_FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "models.json")


class CatalogFile(Value):
    """The file as a whole. The providers' order is the one in which they are preferred."""

    version: int
    date: str
    sources: dict[str, str] = {}
    providers: dict[str, Raw]


class ProviderEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A provider in the file: what its models share, then the models."""

    api: Api
    base_url: str
    compat: dict[str, Any] = {}
    models: dict[str, Raw]


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A model in the file: what it does not share with its provider."""

    name: str = ""
    api: Api | None = None
    base_url: str | None = None
    reasoning: bool = False
    input: tuple[str, ...] = ("text",)
    cost: Price = Price()
    context_window: int
    max_tokens: int
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}


class Catalog:
    """The models by name. `notify` is told what a user should know, in one line."""

    __slots__ = ("_custom", "_entries", "_extra", "_notify", "file")

    def __init__(
        self,
        file: CatalogFile,
        custom: CustomProviders | None = None,
        extra: Sequence[Model] = (),
        notify: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.file = file
        self._custom = custom or CustomProviders()
        self._extra = extra
        self._notify = notify
        self._entries: dict[str, ProviderEntry] = {}

    @classmethod
    def load(
        cls,
        data_file: str = DATA_FILE,
        refreshed_file: str | None = None,
        custom: CustomProviders | None = None,
        extra: Sequence[Model] = (),
        notify: Callable[[str], None] = lambda line: None,
    ) -> "Catalog":
        """Read the packaged file, or the refreshed one when that is whole and not older; `extra` needs no file."""
        file = read_catalog(data_file)
        if refreshed_file is not None and os.path.exists(refreshed_file):
            try:
                refreshed = read_catalog(refreshed_file)
            except ConfigError as error:
                notify(error.show())
            else:
                file = refreshed if refreshed.date >= file.date else file
        return cls(file, custom, extra, notify)

    @property
    def date(self) -> str:
        """The day of the data, as YYYY-MM-DD."""
        return self.file.date

    def providers(self) -> tuple[str, ...]:
        """Every provider: the user's own first, then the catalogue's in its order."""
        return tuple(dict.fromkeys([*(m.provider for m in self._extra), *self._custom, *self.file.providers]))

    def provider_name(self, name: str) -> str | None:
        """The provider of this name or alias; None when there is none."""
        providers = self.providers()
        return next((known for known in (name, canonical(name.lower())) if known in providers), None)

    def known_provider(self, provider: str) -> str:
        """The provider of this name or alias. ConfigError, with the nearest, when there is none."""
        if name := self.provider_name(provider):
            return name
        like = nearest(provider, self.providers(), 3)
        raise ConfigError(
            f"no provider is called “{provider}”",
            hint=f"Did you mean {' or '.join(like)}?" if like else f"There are {', '.join(self.providers())}.",
        )

    def models(self, provider: str | None = None) -> tuple[Model, ...]:
        """Every model, or every one of a provider, sorted by id within it."""
        names = self.providers() if provider is None else (self.known_provider(provider),)
        return tuple(self._model(name, identifier) for name in names for identifier in sorted(self._ids(name)))

    def get(self, provider: str, identifier: str) -> Model | None:
        """The model of exactly this name; None when there is none."""
        return self._model(provider, identifier) if identifier in self._ids(provider) else None

    def find(self, text: str, provider: str | None = None, prefer: Sequence[str] = ()) -> Model:
        """The model that a user means by `id`, `provider/id` or a part of a name.

        Of several providers that have it, the first in `prefer` is taken (whoever calls puts those with a key there),
        be it a router that has its maker's model, then the first of the catalogue. A part of a name means the newest
        model of the family that it names; when it names several families, that is a ModelNotFoundError, as is a part
        of nothing. An id that is not known is taken as it is when its provider is named.
        """
        text = text.strip()
        named, identifier = (self.known_provider(provider), text) if provider else (None, text)
        prefix, slash, rest = text.partition("/")
        if slash and rest and (owner := self.provider_name(prefix)) and named in (None, owner):
            if rest in self._ids(owner):
                return self._model(owner, rest)
            if named is None and (found := self._having(text, prefer)):
                # A router's id. Whoever has no key for the router means the maker, if it has such a model.
                routed = found.provider in prefer and owner not in prefer
                return (None if routed else self._named_by(rest, owner, strict=False)) or found
            if text not in self._ids(owner):
                named, identifier = owner, rest
        if named is not None:
            return self._find_in(named, identifier)
        if found := self._having(text, prefer):
            return found if found.provider in prefer else self._routed(text, prefer) or found
        for name in self._order(prefer):
            if found := self._named_by(text, name):
                return found
        raise self._unknown(text)

    def _find_in(self, provider: str, identifier: str) -> Model:
        if identifier in self._ids(provider):
            return self._model(provider, identifier)
        if found := self._named_by(identifier, provider):
            return found
        return self._assumed(provider, identifier)

    def _named_by(self, text: str, provider: str, *, strict: bool = True) -> Model | None:
        """The newest model of the one family whose names have this part; None when no name has it.

        When several families have it, that is a ModelNotFoundError, or None unless `strict`.
        """
        if not text:
            return None
        ranks = {key: matches(text, (key, self._display_name(provider, key))) for key in self._ids(provider)}
        best = max(ranks.values(), default=0)
        if not best:
            return None
        found = sorted((key for key, rank in ranks.items() if rank == best), key=newest_first)
        families = {family(key) for key in found}
        # `gpt` also means `gpt-mini` and the like; the family that all the others only add to is the one.
        plain = min(families, key=lambda words: (len(words), sorted(words)))
        if any(not plain <= other for other in families):
            if not strict:
                return None
            names = ", ".join(f"{provider}/{key}" for key in found[:8])
            more = f" and {len(found) - 8} more" if len(found) > 8 else ""
            raise ModelNotFoundError(
                f"“{text}” names several models: {names}{more}.", hint="Write one of them, or more of its name."
            )
        return self._model(provider, next(key for key in found if family(key) == plain))

    def _assumed(self, provider: str, identifier: str) -> Model:
        entry = self._entry(provider)
        own = self._custom.get(provider)
        api = (own and own.api) or (entry and entry.api)
        base_url = (own and own.base_url) or (entry and entry.base_url)
        if not identifier or not api or not base_url:
            raise self._unknown(f"{provider}/{identifier}")
        model = Model(
            provider=provider,
            id=identifier,
            api=api,
            base_url=base_url,
            name=identifier,
            compat={**(entry.compat if entry else {}), **(own.compat if own else {})},
        )
        like = nearest(identifier, self._ids(provider), 3)
        self._notify(
            f"{model.ref} is not in the catalogue of {self.date}: {model.context_window:,} tokens of context and"
            f" {model.max_tokens:,} of output are assumed, and no price."
            + (f" Known are {', '.join(like)}." if like else "")
        )
        return model

    def _unknown(self, text: str) -> ModelNotFoundError:
        refs = [f"{name}/{key}" for name in self.providers() for key in self._ids(name)]
        like = nearest(text, refs)
        hint = f"The nearest are {', '.join(like)}." if like else "`marvin models` lists what there is."
        return ModelNotFoundError(f"No model is called “{text}”.", hint=hint)

    def _order(self, prefer: Sequence[str]) -> tuple[str, ...]:
        known = (self.provider_name(name) for name in prefer)
        return tuple(dict.fromkeys([*(name for name in known if name), *self.providers()]))

    def _having(self, identifier: str, prefer: Sequence[str]) -> Model | None:
        host = next((name for name in self._order(prefer) if identifier in self._ids(name)), None)
        return self._model(host, identifier) if host else None

    def _routed(self, identifier: str, prefer: Sequence[str]) -> Model | None:
        """The same model at a preferred router: there the maker's name stands before the id, often with dots in it."""
        for name in map(self.provider_name, prefer):
            for key in self._ids(name) if name else ():
                if name and "/" in key and matches(identifier, (key.rpartition("/")[2],)) == _SAME:
                    return self._model(name, key)
        return None

    def _ids(self, provider: str) -> Iterable[str]:
        entry = self._entry(provider)
        own = self._custom.get(provider)
        ids: dict[str, None] = dict.fromkeys(model.id for model in self._extra if model.provider == provider)
        if own is not None:
            ids |= dict.fromkeys(own.models)
        return ids | dict.fromkeys(entry.models) if entry is not None else ids

    def _entry(self, provider: str) -> ProviderEntry | None:
        entry = self._entries.get(provider)
        if entry is None and (raw := self.file.providers.get(provider)) is not None:
            entry = self._entries[provider] = msgspec.json.decode(raw, type=ProviderEntry)
        return entry

    def _display_name(self, provider: str, identifier: str) -> str:
        own = self._custom.get(provider)
        return own.models[identifier].name if own is not None and identifier in own.models else ""

    def _model(self, provider: str, identifier: str) -> Model:
        for model in self._extra:
            if (model.provider, model.id) == (provider, identifier):
                return model
        entry = self._entry(provider)
        own = self._custom.get(provider)
        if own is not None and identifier in own.models:
            return custom_model(own, own.models[identifier], entry)
        assert entry is not None
        facts = msgspec.json.decode(entry.models[identifier], type=ModelEntry)
        return Model(
            provider=provider,
            id=identifier,
            api=facts.api or entry.api,
            base_url=(own and own.base_url) or facts.base_url or entry.base_url,
            name=facts.name or identifier,
            reasoning=facts.reasoning,
            input=facts.input,
            cost=facts.cost,
            context_window=facts.context_window,
            max_tokens=facts.max_tokens,
            headers=facts.headers,
            compat={**entry.compat, **facts.compat, **(own.compat if own else {})},
        )


def custom_model(provider: CustomProvider, facts: CustomModel, entry: ProviderEntry | None) -> Model:
    """A model of the user's models.json. Its headers stay there until a request is sent: they may hold secrets."""
    api = facts.api or provider.api or (entry and entry.api)
    base_url = facts.base_url or provider.base_url or (entry and entry.base_url)
    if not api or not base_url:
        missing = "api" if not api else "baseUrl"
        raise ConfigError(
            f"the model “{facts.id}” of “{provider.name}” has no `{missing}`, nor has its provider",
            file=provider.file,
            line=facts.line,
            hint=f"Give `{missing}` to the provider or to the model.",
        )
    return Model(
        provider=provider.name,
        id=facts.id,
        api=api,
        base_url=base_url,
        name=facts.name,
        reasoning=facts.reasoning,
        input=facts.input,
        cost=facts.cost,
        context_window=facts.context_window,
        max_tokens=facts.max_tokens,
        compat={**(entry.compat if entry else {}), **provider.compat, **facts.compat},
    )


def read_catalog(path: str) -> CatalogFile:
    """A file of the catalogue, its providers not yet decoded. ConfigError when it is not one."""
    try:
        with open(path, "rb") as file:
            catalog = msgspec.json.decode(file.read(), type=CatalogFile)
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"the list of models cannot be read: {error}", file=path, hint="`marvin models refresh` writes a new one."
        ) from None
    if catalog.version != FORMAT_VERSION:
        raise ConfigError(
            f"the list of models has version {catalog.version}, this marvin reads {FORMAT_VERSION}",
            file=path,
            hint="`marvin models refresh` writes a new one.",
        )
    return catalog
