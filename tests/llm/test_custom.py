"""models.json: what may stand in it, and what is said, with file and line, about what may not."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.errors import ConfigError
from marvin_agent.llm.custom import load_custom


def written(tmp_path: Path, value: Any) -> str:
    path = tmp_path / "models.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2))
    return str(path)


def test_no_file_means_no_providers(tmp_path: Path) -> None:
    assert list(load_custom(str(tmp_path / "models.json"))) == []


def test_everything_that_the_format_has_is_read(tmp_path: Path) -> None:
    model = {
        "id": "big",
        "name": "Big",
        "api": "anthropic-messages",
        "baseUrl": "https://big.example",
        "reasoning": True,
        "input": ["text", "image"],
        "cost": {"input": 1, "output": 2.5, "cacheRead": 0.1, "cacheWrite": 0},
        "contextWindow": 200000,
        "maxTokens": 64000,
        "headers": {"X-Model": "a"},
        "compat": {"supportsStore": False},
        "thinkingLevelMap": {"off": None},
    }
    provider = {
        "api": "openai-completions",
        "baseUrl": "https://mine.example/v1",
        "apiKey": "sk",
        "headers": {"X-Provider": "b"},
        "authHeader": True,
        "compat": {"maxTokensField": "max_tokens"},
        "models": [model, {"id": "small"}],
    }
    own = load_custom(written(tmp_path, {"$schema": "x", "providers": {"mine": provider}})).get("mine")
    assert own is not None
    assert (own.api, own.base_url, own.auth_header) == ("openai-completions", "https://mine.example/v1", True)
    assert own.compat == {"maxTokensField": "max_tokens"}
    big, little = own.models["big"], own.models["small"]
    assert (big.name, big.api, big.base_url, big.reasoning) == (
        "Big",
        "anthropic-messages",
        "https://big.example",
        True,
    )
    assert (big.cost.input, big.cost.output, big.cost.cache_read) == (1.0, 2.5, 0.1)
    assert (big.context_window, big.max_tokens, big.input) == (200_000, 64_000, ("text", "image"))
    assert big.compat == {"supportsStore": False, "thinkingLevelMap": {"off": None}}
    assert list(big.headers) == ["X-Model"]
    assert (little.name, little.api, little.context_window, little.max_tokens) == ("small", None, 128_000, 8_192)


@pytest.mark.parametrize(
    ("provider", "line", "words"),
    [
        ({"baseURL": "https://x"}, 4, "unknown key `baseURL` .*providers.mine.*\n.*Did you mean `baseUrl`?"),
        ({"api": "openai"}, 4, "`api` cannot be “openai”(.|\n)*openai-completions"),
        ({"api": "local"}, 4, "`api` cannot be “local”"),
        ({"baseUrl": "mine.example/v1"}, 4, "`baseUrl` must begin with http"),
        ({"apiKey": 7}, 4, "`apiKey` must be a text"),
        ({"authHeader": "yes"}, 4, "`authHeader` must be true or false"),
        ({"headers": ["a"]}, 4, "`headers` must be an object"),
        ({"headers": {"A": 1}}, 5, "`A` must be a text"),
        ({"models": {}}, 4, "`models` must be a list"),
        ({"models": ["x"]}, 5, "must be an object"),
        ({"models": [{"name": "x"}]}, 5, "`id` is missing"),
        ({"models": [{"id": "x", "contextWindow": "big"}]}, 7, "`contextWindow` must be a number"),
        ({"models": [{"id": "x", "contextWindow": 0}]}, 7, "above zero"),
        ({"models": [{"id": "x", "maxTokens": True}]}, 7, "`maxTokens` must be a number"),
        ({"models": [{"id": "x", "input": [1]}]}, 7, "list of texts"),
        ({"models": [{"id": "x", "cost": {"inputs": 1}}]}, 8, "Did you mean `input`?"),
        ({"models": [{"id": "x", "cost": {"input": -1}}]}, 8, "less than nothing"),
        ({"models": [{"id": "x"}, {"id": "x"}]}, 9, "a second time"),
        ({"models": [{"id": "x", "input": ["text", "images"]}]}, 7, "cannot have “images”(.|\n)*some of text, image"),
        ({"models": [{"id": "x", "compat": {"supportsStore": "yes"}}]}, 8, "`supportsStore`(.|\n)*bool"),
        ({"compat": {"maxTokensField": "max"}}, 5, "`maxTokensField`.*'max'"),
        ({"compat": {"thinkingLevelMap": {"low": 1}}}, 6, "`low` must be a text"),
        ({"models": [{"id": "x", "thinkingLevelMap": {"low": 1}}]}, 8, "`low` must be a text"),
        ({"api": "scripted"}, 4, "needs `baseUrl`"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, provider: Any, line: int, words: str) -> None:
    path = written(tmp_path, {"providers": {"mine": provider}})
    with pytest.raises(ConfigError) as caught:
        load_custom(path)
    assert (caught.value.file, caught.value.line) == (path, line)
    assert re.search(words, caught.value.show()), caught.value.show()


def test_what_other_programs_keep_in_compat_is_left_alone(tmp_path: Path) -> None:
    compat = {"openRouterRouting": {"only": ["x"]}, "thinkingLevelMap": {"off": None, "max": "max"}}
    own = load_custom(written(tmp_path, {"providers": {"mine": {"compat": compat}}})).get("mine")
    assert own is not None
    assert own.compat == compat


def test_every_wrong_provider_is_told_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, {"providers": {"one": {"api": 1}, "good": {}, "two": {"nonsense": 1}}})
    with pytest.raises(ConfigError) as caught:
        load_custom(path)
    assert "`api`" in caught.value.show()
    assert "`nonsense`" in caught.value.show()


def test_a_file_that_is_not_json_or_not_an_object_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"models\.json:2:"):
        load_custom(written(tmp_path, '{\n"providers": nope}'))
    with pytest.raises(ConfigError, match="must be an object"):
        load_custom(written(tmp_path, "[]"))
    with pytest.raises(ConfigError, match="unknown key `provider`"):
        load_custom(written(tmp_path, {"provider": {}}))


def test_a_wrong_value_of_a_key_is_never_quoted(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_custom(written(tmp_path, {"providers": {"mine": {"apiKey": ["sk-secret"]}}}))
    assert "sk-secret" not in caught.value.show()


def test_a_provider_by_the_name_of_another_catalogue_is_ours(tmp_path: Path) -> None:
    own = load_custom(written(tmp_path, {"providers": {"moonshotai": {"apiKey": "k"}}}))
    assert list(own) == ["moonshot"]
