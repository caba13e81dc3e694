"""The JSON Schema of config.json says what the loader does."""

import json
from typing import Any

import jsonschema_rs
import pytest

from marvin_agent.config import load
from marvin_agent.config_schema import SCHEMA_FILE, config_schema
from marvin_agent.errors import UsageError
from marvin_agent.places import find_places
from test_config import EVERY_KEY

SCHEMA = json.loads(SCHEMA_FILE.read_text("utf-8"))


def test_the_shipped_schema_is_the_one_that_follows_from_the_types() -> None:
    assert config_schema() == SCHEMA, "run python -m marvin_agent.config_schema"


def test_every_key_has_a_description() -> None:
    for section in [SCHEMA, *SCHEMA["$defs"].values()]:
        for key, place in section["properties"].items():
            assert place["description"].endswith("."), key


def test_the_schema_is_one() -> None:
    jsonschema_rs.meta.validate(SCHEMA)


@pytest.mark.parametrize(
    ("values", "valid"),
    [
        ({}, True),
        (EVERY_KEY, True),
        ({"editor": "vim"}, True),
        ({"editor": ["vim", "-f"]}, True),
        ({"editor": []}, False),
        ({"editor": {}}, False),
        ({"lsp": True}, True),
        ({"thinking": "low"}, True),
        ({"thinking": "low, high,"}, True),
        ({"thinking": "low high"}, False),
        ({"thinking": ""}, False),
        ({"thinking": "loud"}, False),
        ({"tools": None}, True),
        ({"modle": "x"}, False),
        ({"hooks": {"timeout": 1}}, False),
        ({"hookTimeout": 0}, False),
        ({"hooks": {"timeoutMs": "5"}}, False),
        ({"permissions": {"mode": "always"}}, False),
        ({"retry": {"maxAttempts": True}}, False),
        ({"compaction": {"keepRecentTokens": -1}}, False),
        ({"model": "a,b"}, True),
        ({"model": " ,"}, False),
        ({"hooks": {"env": {"a": [""]}}}, False),
    ],
)
def test_schema_and_loader_agree(tmp_path: Any, values: dict[str, Any], valid: bool) -> None:
    assert jsonschema_rs.is_valid(SCHEMA, values) == valid
    places = find_places(cwd=str(tmp_path), environ={"HOME": str(tmp_path)})
    if valid:
        load(places, overrides={"--option": values})
    else:
        with pytest.raises(UsageError):
            load(places, overrides={"--option": values})
