"""Providers that hooks bring with `register_provider`: there as long as their hook is."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from marvin_agent.errors import HookError
from marvin_agent.hooks.payload import camel
from marvin_agent.llm.values import Credentials, Model


class _Entry(NamedTuple):
    models: tuple[Model, ...]
    settings: dict[str, Any]
    hook: str


class Brought:
    """What the hooks of one engine brought, by the provider's name."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    @property
    def models(self) -> tuple[Model, ...]:
        return tuple(model for entry in self._entries.values() for model in entry.models)

    def get(self, ref: str) -> Model | None:
        """The model of a name like `provider/id`."""
        return next((model for model in self.models if model.ref == ref), None)

    def register(self, name: str, settings: Mapping[str, Any], hook: str) -> None:
        """Add a provider: base_url, api, api_key, headers, models. Raises HookError."""
        other = self._entries.get(name)
        if other and other.hook != hook:
            raise HookError(f"the provider {name!r} is brought by {other.hook} already")
        models = tuple(provider_models(name, settings))
        self._entries[name] = _Entry(models, {camel(key): value for key, value in settings.items()}, hook)

    def forget(self, hook: str) -> None:
        self._entries = {name: entry for name, entry in self._entries.items() if entry.hook != hook}

    def credentials(self, model: Model, env: Mapping[str, str], given: Credentials) -> Credentials:
        """What hooks gave for this call, over what came with the provider. A key may be a variable's name."""
        settings = self._entries[model.provider].settings
        key = settings.get("apiKey")
        stored = env.get(key, key) if isinstance(key, str) else None
        headers = {**(settings.get("headers") or {}), **given.headers}
        return Credentials(api_key=given.api_key or stored, headers=headers, base_url=given.base_url)


def provider_models(name: str, settings: Mapping[str, Any]) -> list[Model]:
    """The models of a provider that a hook describes, keys in either case. Raises HookError."""
    plain = {camel(key): value for key, value in settings.items()}
    unknown = plain.keys() - {"baseUrl", "api", "apiKey", "headers", "models"}
    if unknown or not plain.get("baseUrl") or not plain.get("models"):
        wrong = f"unknown {', '.join(sorted(unknown))}" if unknown else "base_url and models are needed"
        raise HookError(f"register_provider({name!r}): {wrong}; known are base_url, api, api_key, headers, models")
    found = []
    for given in plain["models"]:
        facts = {"id": given} if isinstance(given, str) else {camel(key): value for key, value in given.items()}
        facts = {"provider": name, "baseUrl": plain["baseUrl"], "api": plain.get("api", "openai-completions"), **facts}
        try:
            found.append(msgspec.convert({"name": facts.get("id", ""), **facts}, Model))
        except msgspec.ValidationError as error:
            raise HookError(f"register_provider({name!r}): {error}") from None
    return found
