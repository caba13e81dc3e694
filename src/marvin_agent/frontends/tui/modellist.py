"""The models and providers that a user can choose from in the app."""

import os

from marvin_agent.frontends.login_command import checked_key
from marvin_agent.frontends.model_sources import ModelSources, open_sources
from marvin_agent.llm.auth.keys import key_source
from marvin_agent.places import Places


class ModelList:
    """Read when it is first asked for, and again after a login."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._sources: ModelSources | None = None

    def _open(self) -> ModelSources:
        if self._sources is None:
            self._sources = open_sources(self._places, lambda line: None)
        return self._sources

    def refs(self) -> list[str]:
        """Every model whose provider has a key, or needs none."""
        sources = self._open()
        usable = {
            name
            for name in sources.catalog.providers()
            if name == "local" or key_source(name, os.environ, sources.auth_file, sources.custom)
        }
        usable |= set(sources.custom)
        return [model.ref for model in sources.catalog.models() if model.provider in usable]

    def providers(self) -> list[str]:
        return [name for name in self._open().catalog.providers() if name != "local"]

    def store_key(self, provider: str, typed: str) -> str:
        """Keep a key; a line that tells where. Raises MarvinError."""
        sources = self._open()
        name = sources.catalog.known_provider(provider)
        sources.auth_file.store(name, checked_key(typed))
        self._sources = None
        return f"The key of {name} is stored in {sources.auth_file.path}."
