"""Where an engine's models, keys and connections come from: catalogue, `models.json`, `auth.json`, the transports."""

import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any

from marvin_agent.agent.brought import Brought
from marvin_agent.agent.default_model import LOCAL, default_model, default_of
from marvin_agent.errors import ModelNotFoundError, NoModelError
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
        self.brought = Brought()

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

    def find(self, text: str, provider: str | None = None) -> Model:
        if text == "local":
            return LOCAL
        named = f"{provider}/{text}" if provider else text
        if model := self.brought.get(named):
            return model
        try:
            return self.catalog.find(text, provider, prefer=self.with_keys())
        except ModelNotFoundError:
            if found := [model for model in self._of_hooks() if model.id == text and provider is None]:
                return found[0]
            raise

    def known(self, provider: str, identifier: str) -> Model | None:
        """The model of exactly this name, when there is one."""
        return self.brought.get(f"{provider}/{identifier}") or self.catalog.get(provider, identifier)

    def offers(self, provider: str) -> bool:
        """Whether there is a provider of this name."""
        return bool(self._of_hooks(provider)) or self.catalog.provider_name(provider) is not None

    def _of_hooks(self, provider: str | None = None) -> list[Model]:
        return [model for model in self.brought.models if provider in (None, model.provider)]

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
        if self.brought.get(model.ref):
            return self.brought.credentials(model, self._env, given)
        return await find_credentials(model, self._env, self._auth, self.custom, given)

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


def _room(name: str) -> Any:
    # A run needs one transport of several, and their libraries are what costs.
    return importlib.import_module(f"marvin_agent.llm.{name}")
