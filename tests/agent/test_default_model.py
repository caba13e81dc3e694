"""Which model is taken when nobody names one."""

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.agent.default_model import FAVOURITES, LOCAL
from marvin_agent.agent.providers import Providers
from marvin_agent.errors import ConfigError, NoModelError
from marvin_agent.llm.catalog import Catalog
from marvin_agent.llm.offline.weights import SIZE, weights_file
from marvin_agent.llm.providers import VARIABLES
from marvin_agent.places import find_places

OWN = {"api": "openai-completions", "baseUrl": "http://127.0.0.1:9/v1", "models": [{"id": "b"}, {"id": "a"}]}


def providers(tmp_path: Path, env: dict[str, str] | None = None, **own: Any) -> Providers:
    config = tmp_path / "config"
    config.mkdir()
    if own:
        (config / "models.json").write_text(json.dumps({"providers": own}))
    places = find_places(cwd=str(tmp_path), config_dir=str(config), environ={"HOME": str(tmp_path)})
    return Providers(places, env or {})


@pytest.mark.parametrize("provider", VARIABLES)
def test_of_every_provider_with_a_key_there_is_one_that_is_in_the_catalogue(tmp_path: Path, provider: str) -> None:
    model = providers(tmp_path, {VARIABLES[provider][0]: "k"}).default()
    assert model.provider == provider
    assert model in Catalog.load().models(provider)
    assert FAVOURITES[provider].partition("-")[0] in model.id.lower()


def test_an_own_provider_that_needs_no_key_comes_before_a_key_in_the_environment(tmp_path: Path) -> None:
    assert providers(tmp_path, {"OPENAI_API_KEY": "k"}, own=OWN).default().ref == "own/b"


def test_an_own_provider_without_its_key_comes_after_those_with_one(tmp_path: Path) -> None:
    locked = {**OWN, "apiKey": "OWN_KEY"}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert providers(tmp_path / "a", {"OPENAI_API_KEY": "k"}, own=locked).default().provider == "openai"
    assert providers(tmp_path / "b", own=locked).default().ref == "own/b"


def test_without_a_key_it_is_the_embedded_model_if_that_is_all_there(tmp_path: Path) -> None:
    made = providers(tmp_path)
    with pytest.raises(NoModelError, match="no key") as raised:
        made.default()
    assert raised.value.hint
    assert "marvin local install" in raised.value.hint
    assert ("marvin-agent[local]" in raised.value.hint) == (find_spec("xllamacpp") is None)
    weights = weights_file(made._places.data_dir)
    os.makedirs(os.path.dirname(weights))
    with open(weights, "wb") as file:
        file.truncate(SIZE)
    if find_spec("xllamacpp"):
        assert made.default() == LOCAL
    else:
        with pytest.raises(NoModelError):
            made.default()


def test_of_a_provider_that_is_named_the_same_one_is_taken(tmp_path: Path) -> None:
    made = providers(tmp_path, own=OWN, bare={"baseUrl": "http://127.0.0.1:9", "api": "openai-completions"})
    assert made.default("anthropic").id.startswith("claude-sonnet")
    assert made.default("own").ref == "own/b"
    with pytest.raises(ConfigError, match="no models"):
        made.default("bare")
    with pytest.raises(ConfigError, match="no provider"):
        made.default("anthropc")
