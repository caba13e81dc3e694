"""What a command needs to know about models: the catalogue, the user's own providers and the stored keys."""

import os
from collections.abc import Callable

from marvin_agent.agent.default_model import LOCAL
from marvin_agent.llm.auth.store import AuthFile
from marvin_agent.llm.catalog import Catalog
from marvin_agent.llm.custom import CustomProviders, load_custom
from marvin_agent.places import Places


class ModelSources:
    """Opened once for a run."""

    __slots__ = ("auth_file", "catalog", "custom")

    def __init__(self, catalog: Catalog, custom: CustomProviders, auth_file: AuthFile) -> None:
        self.catalog = catalog
        self.custom = custom
        self.auth_file = auth_file


def refreshed_file(places: Places) -> str:
    """Where `marvin models refresh` keeps what it fetched."""
    return os.path.join(places.data_dir, "models.json")


def open_sources(places: Places, notify: Callable[[str], None]) -> ModelSources:
    """Read the files of a configuration directory; the embedded model is always there.

    ConfigError when models.json is wrong.
    """
    custom = load_custom(places.models_file)
    catalog = Catalog.load(refreshed_file=refreshed_file(places), custom=custom, extra=(LOCAL,), notify=notify)
    return ModelSources(catalog, custom, AuthFile(places.auth_file, notify))
