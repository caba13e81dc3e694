"""Where an engine's models, keys and connections come from: catalogue, `models.json`, `auth.json`, the transports."""

import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from marvin_agent.agent.default_model import LOCAL, default_model, default_of
from marvin_agent.errors import HookError, ModelNotFoundError, NoModelError
from marvin_agent.hooks.payload import camel
from marvin_agent.llm.auth.keys import find_credentials, key_source
from marvin_agent.llm.auth.store import AuthFile
from marvin_agent.llm.catalog import Catalog
from marvin_agent.llm.custom import CustomProviders, load_custom
from marvin_agent.llm.providers import VARIABLES
from marvin_agent.llm.transport import Transport
from marvin_agent.llm.values import Credentials, Model
from marvin_agent.places import Places

Wrap = Callable[[Transport], Transport]


class Providers:
    """Implements `agent.request.Models`."""

    def __init__(
        self,
        places: Places,
        env: Mapping[str, str],
        *,
        connect_timeout: float = 15.0,
        idle_timeout: float = 300.0,
        wrap: Wrap | None = None,
        offline: bool = False,
        notify: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._places = places
        self._env = env
        self._timeouts = (connect_timeout, idle_timeout)
        self._wrap = wrap
        self._offline = offline
        """Nothing is sent anywhere, so that no key is needed."""
        self._notify = notify
        self._auth = AuthFile(places.auth_file, notify)
        self._loaded: tuple[CustomProviders, Catalog] | None = None
        self._transports: dict[str, Transport] = {}
        self._brought: dict[str, tuple[Model, dict[str, Any]]] = {}

    @property
    def custom(self) -> CustomProviders:
        return self._load()[0]

    @property
    def catalog(self) -> Catalog:
        return self._load()[1]

    def _load(self) -> tuple[CustomProviders, Catalog]:
        if self._loaded is None:
            custom = load_custom(self._places.models_file)
            refreshed = os.path.join(self._places.data_dir, "models.json")
            catalog = Catalog.load(refreshed_file=refreshed, custom=custom, extra=(LOCAL,), notify=self._notify)
            self._loaded = (custom, catalog)
        return self._loaded

    def register(self, name: str, settings: Mapping[str, Any]) -> None:
        """Add a provider that a hook brings."""
        for model in provider_models(name, settings):
            self._brought[model.ref] = (model, dict(settings))

    def find(self, text: str, provider: str | None = None) -> Model:
        if text == "local":
            return LOCAL
        named = f"{provider}/{text}" if provider else text
        if named in self._brought:
            return self._brought[named][0]
        try:
            return self.catalog.find(text, provider, prefer=self.with_keys())
        except ModelNotFoundError:
            if found := [model for model in self._of_hooks() if model.id == text and provider is None]:
                return found[0]
            raise

    def known(self, provider: str, identifier: str) -> Model | None:
        """The model of exactly this name, when there is one."""
        if brought := self._brought.get(f"{provider}/{identifier}"):
            return brought[0]
        return self.catalog.get(provider, identifier)

    def offers(self, provider: str) -> bool:
        """Whether there is a provider of this name."""
        return bool(self._of_hooks(provider)) or self.catalog.provider_name(provider) is not None

    def _of_hooks(self, provider: str | None = None) -> list[Model]:
        return [model for model, _ in self._brought.values() if provider in (None, model.provider)]

    def with_keys(self) -> tuple[str, ...]:
        """Providers whose key is at hand: the user's own first."""
        names = dict.fromkeys([*self.custom, *VARIABLES])
        return tuple(name for name in names if key_source(name, self._env, self._auth, self.custom))

    def default(self, provider: str | None = None) -> Model:
        """The model to take when nobody names one, or only its provider."""
        if provider and (found := self._of_hooks(provider)):
            return found[0]
        if provider:
            return default_of(provider, self.catalog, self.custom)
        try:
            model = default_model(self.catalog, self.custom, self.with_keys(), self._places.data_dir)
        except NoModelError:
            if found := self._of_hooks():
                return found[0]
            raise
        if model is LOCAL:
            self._notify("no model is named and no key was found: using the embedded model, which is tiny")
        return model

    async def credentials(self, model: Model, given: Credentials) -> Credentials:
        if model.api == "local" or self._offline:
            return given
        if model.ref in self._brought:
            return self._of_hook(self._brought[model.ref][1], given)
        return await find_credentials(model, self._env, self._auth, self.custom, given)

    def _of_hook(self, settings: dict[str, Any], given: Credentials) -> Credentials:
        key = settings.get("api_key") or settings.get("apiKey")
        headers = {**(settings.get("headers") or {}), **given.headers}
        stored = self._env.get(key, key) if isinstance(key, str) else None
        return Credentials(api_key=given.api_key or stored, headers=headers, base_url=given.base_url)

    def transport(self, model: Model) -> Transport:
        name = "local" if model.api == "local" else str(model.compat.get("script", "http"))
        if name not in self._transports:
            made = self._make(name)
            self._transports[name] = self._wrap(made) if self._wrap else made
        return self._transports[name]

    def _make(self, name: str) -> Transport:
        connect, idle = self._timeouts
        made: Transport
        if name == "http":
            made = _room("http").HttpTransport(connect_timeout=connect, idle_timeout=idle)
        elif name == "local":
            made = _room("offline.local").LocalTransport(self._places.data_dir)
        else:
            script = _room("offline.script").Script.load(name)
            made = _room("offline.scripted").ScriptedTransport(script, idle_timeout=idle)
        return made

    async def close(self) -> None:
        for transport in self._transports.values():
            await transport.close()


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


def _room(name: str) -> Any:
    # A run needs one transport of several, and their libraries are what costs.
    return importlib.import_module(f"marvin_agent.llm.{name}")
