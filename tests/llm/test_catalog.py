"""The catalogue: what ships, how a model is found by what a user types, and what a newer file changes."""

import json
import os
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from marvin_agent.errors import ConfigError, ModelNotFoundError
from marvin_agent.llm.catalog import DATA_FILE, FORMAT_VERSION, Catalog, CatalogFile, read_catalog
from marvin_agent.llm.custom import SCRIPTED_URL, load_custom
from marvin_agent.llm.providers import VARIABLES
from marvin_agent.llm.thinking import supported
from marvin_agent.llm.values import Api, Model
from marvin_agent.llm.wire.completions_compat import Compat, compat_of


def small(tmp_path: Any, providers: dict[str, Any], date: str = "2026-01-01", name: str = "small.json") -> str:
    """A catalogue file with models that have nothing but ids."""
    entries = {
        provider: {
            "api": "openai-completions",
            "baseUrl": f"https://{provider}.example/v1",
            "models": {key: {"contextWindow": 1000, "maxTokens": 100} for key in models},
        }
        for provider, models in providers.items()
    }
    path = tmp_path / name
    path.write_text(json.dumps({"version": FORMAT_VERSION, "date": date, "providers": entries}))
    return str(path)


def custom_file(tmp_path: Any, providers: dict[str, Any]) -> str:
    path = tmp_path / "models.json"
    path.write_text(json.dumps({"providers": providers}, indent=2))
    return str(path)


def test_every_shipped_model_says_how_it_is_reached_and_how_much_it_takes() -> None:
    models = Catalog.load().models()
    assert len(models) > 600
    for model in models:
        assert model.api in get_args(Api), model.ref
        assert model.base_url.startswith("https://"), model.ref
        assert not model.base_url.endswith("/"), model.ref
        assert model.context_window >= 1000, model.ref
        assert 0 < model.max_tokens <= model.context_window * 2, model.ref
        assert model.name, model.ref
        assert "text" in model.input, model.ref
        assert min(model.cost.input, model.cost.output, model.cost.cache_read, model.cost.cache_write) >= 0, model.ref


def test_the_shipped_base_urls_become_addresses_when_the_wire_adds_its_path() -> None:
    for model in Catalog.load().models():
        match model.api:
            case "anthropic-messages":
                assert not model.base_url.endswith("/v1"), model.ref
            case "google-generative-ai":
                assert model.base_url.endswith("/v1beta"), model.ref
            case _:
                assert model.base_url.endswith(("/v1", "/v4")), model.ref


def test_every_provider_that_is_promised_is_shipped_and_has_a_key_variable() -> None:
    promised = [
        "anthropic", "openai", "google", "openrouter", "groq", "xai", "mistral", "cerebras", "deepseek", "zai",
        "moonshot", "fireworks", "huggingface", "vercel",
    ]  # fmt: skip
    catalog = Catalog.load()
    assert set(catalog.providers()) == set(promised) == set(VARIABLES)
    assert all(catalog.models(provider) for provider in promised)


def test_the_shipped_file_is_compact_sorted_and_dated() -> None:
    with open(DATA_FILE, encoding="utf-8") as file:
        text = file.read()
    value = json.loads(text)
    assert text == json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"
    assert value["version"] == FORMAT_VERSION
    assert len(value["date"]) == len("2026-11-18")
    assert value["sources"]
    for entry in value["providers"].values():
        assert list(entry["models"]) == sorted(entry["models"])


def test_thinking_facts_are_kept() -> None:
    assert Catalog.load().find("deepseek/deepseek-v4-pro").compat["thinkingFormat"] == "deepseek"
    assert "xhigh" in supported(Catalog.load().find("openai/gpt-5.5"))


def test_the_wire_understands_what_is_said_of_every_server() -> None:
    known = {field.encode_name for field in msgspec.structs.fields(Compat)} | {"thinkingLevelMap"}
    for model in Catalog.load().models():
        assert model.compat.keys() <= known or model.api != "openai-completions", model.ref
        assert compat_of(model)


def test_one_lookup_decodes_one_provider() -> None:
    catalog = Catalog.load()
    catalog.find("anthropic/claude-sonnet-4-5")
    assert list(catalog._entries) == ["anthropic"]


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("claude-opus-4-5", "anthropic/claude-opus-4-5"),
        ("anthropic/claude-opus-4-5", "anthropic/claude-opus-4-5"),
        ("openrouter/anthropic/claude-sonnet-4.5", "openrouter/anthropic/claude-sonnet-4.5"),
        ("meta-llama/llama-4-scout-17b-16e-instruct", "groq/meta-llama/llama-4-scout-17b-16e-instruct"),
        ("groq/groq/compound", "groq/groq/compound"),
        ("Google/gemini-2.5-pro", "google/gemini-2.5-pro"),
        ("vercel-ai-gateway/openai/gpt-5", "vercel/openai/gpt-5"),
        ("moonshotai/kimi-k2.6", "moonshot/kimi-k2.6"),
        ("  gpt-4o ", "openai/gpt-4o"),
        ("Claude Opus 4.5", "anthropic/claude-opus-4-5"),
        ("GPT-5", "openai/gpt-5"),
        ("opus-4.5", "anthropic/claude-opus-4-5"),
        ("haiku 4.5", "anthropic/claude-haiku-4-5"),
        ("openai/gpt-4.1-nan", "openai/gpt-4.1-nano"),
        ("fireworks/glm", "fireworks/accounts/fireworks/models/glm-5p3"),
        ("fireworks/glm-5.2", "fireworks/accounts/fireworks/models/glm-5p2"),
    ],
)
def test_a_model_of_the_shipped_file_is_found_by(text: str, ref: str) -> None:
    assert Catalog.load().find(text).ref == ref


def test_a_maker_wins_over_a_router_with_the_same_words(tmp_path: Any) -> None:
    catalog = Catalog.load(small(tmp_path, {"openai": ["gpt-5"], "router": ["openai/gpt-5"]}))
    assert catalog.find("openai/gpt-5").ref == "openai/gpt-5"


def test_an_id_with_a_slash_is_found_where_its_first_word_is_a_provider_without_it(tmp_path: Any) -> None:
    catalog = Catalog.load(small(tmp_path, {"openai": ["gpt-5"], "host": ["openai/gpt-oss"]}))
    assert catalog.find("openai/gpt-oss").ref == "host/openai/gpt-oss"
    assert catalog.find("openai/gpt-oss", provider="host").ref == "host/openai/gpt-oss"


@pytest.mark.parametrize(
    ("text", "having", "found"),
    [
        ("claude-opus-4-5", [], "anthropic/claude-opus-4-5"),
        ("claude-opus-4-5", ["openrouter"], "openrouter/anthropic/claude-opus-4.5"),
        ("claude-opus-4-5", ["openrouter", "anthropic"], "anthropic/claude-opus-4-5"),
        ("gpt-5", ["vercel"], "vercel/openai/gpt-5"),
        ("gpt-5", ["groq"], "openai/gpt-5"),
        ("anthropic/claude-opus-4.5", [], "anthropic/claude-opus-4-5"),
        ("anthropic/claude-opus-4.5", ["anthropic", "openrouter"], "anthropic/claude-opus-4-5"),
        ("anthropic/claude-opus-4.5", ["openrouter"], "openrouter/anthropic/claude-opus-4.5"),
        ("openai/gpt-oss-120b", ["groq"], "groq/openai/gpt-oss-120b"),
        ("deepseek/deepseek-r1", ["anthropic"], "openrouter/deepseek/deepseek-r1"),
    ],
)
def test_the_maker_or_the_router_is_meant_by_who_has_a_key(text: str, having: list[str], found: str) -> None:
    assert Catalog.load().find(text, prefer=having).ref == found


def test_of_several_providers_the_preferred_one_is_taken_then_the_first(tmp_path: Any) -> None:
    catalog = Catalog.load(small(tmp_path, {"one": ["same"], "two": ["same"], "three": ["same"]}))
    assert catalog.find("same").provider == "one"
    assert catalog.find("same", prefer=["three", "two"]).provider == "three"
    assert catalog.find("sam", prefer=["two"]).provider == "two"
    assert catalog.find("same", provider="two", prefer=["three"]).provider == "two"
    assert catalog.find("same", prefer=["unheard of"]).provider == "one"


def test_a_part_of_a_name_means_the_newest_of_its_family(tmp_path: Any) -> None:
    ids = ["claude-3-5-sonnet-20241022", "claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-sonnet-4-20250514"]
    assert Catalog.load(small(tmp_path, {"one": ids})).find("sonnet").id == "claude-sonnet-4-5"
    ids = ["gemini-2.5-flash", "gemini-3-flash-preview", "gemini-2.5-flash-lite", "gemini-flash-latest"]
    assert Catalog.load(small(tmp_path, {"one": ids})).find("flash").id == "gemini-flash-latest"
    assert Catalog.load(small(tmp_path, {"one": ids[:3]})).find("flash").id == "gemini-3-flash-preview"
    ids = ["gpt-5", "gpt-5.1", "gpt-5.1-mini", "gpt-4o"]
    assert Catalog.load(small(tmp_path, {"one": ids})).find("gpt").id == "gpt-5.1"
    assert Catalog.load(small(tmp_path, {"one": ids})).find("mini").id == "gpt-5.1-mini"
    ids = ["kimi-k2-0711-preview", "kimi-k2-0905-preview"]
    assert Catalog.load(small(tmp_path, {"one": ids})).find("kimi").id == "kimi-k2-0905-preview"


def test_a_whole_word_wins_over_a_piece_of_one(tmp_path: Any) -> None:
    catalog = Catalog.load(small(tmp_path, {"one": ["gemini-3-pro", "gpt-5-mini"]}))
    assert catalog.find("mini").id == "gpt-5-mini"
    assert catalog.find("gemi").id == "gemini-3-pro"


def test_a_part_of_several_families_is_refused_with_their_names(tmp_path: Any) -> None:
    catalog = Catalog.load(small(tmp_path, {"one": ["claude-opus-4", "claude-sonnet-4", "gpt-5"]}))
    with pytest.raises(ModelNotFoundError) as caught:
        catalog.find("claude")
    assert "one/claude-opus-4, one/claude-sonnet-4" in caught.value.show()
    assert "gpt-5" not in caught.value.show()


def test_what_is_not_found_is_an_error_that_names_the_nearest(tmp_path: Any) -> None:
    catalog = Catalog.load(small(tmp_path, {"one": ["claude-opus-4", "gpt-5"]}))
    with pytest.raises(ModelNotFoundError) as caught:
        catalog.find("cluade-opus-4")
    assert "one/claude-opus-4" in caught.value.show()
    for text in ("", "  ", "zzzz", "/", "elsewhere/zzzz", "one/"):
        with pytest.raises(ModelNotFoundError):
            catalog.find(text)


def test_a_provider_that_does_not_exist_is_a_configuration_error_with_the_nearest(tmp_path: Any) -> None:
    catalog = Catalog.load(small(tmp_path, {"anthropic": ["claude-opus-4"]}))
    with pytest.raises(ConfigError, match="anthropc") as caught:
        catalog.find("claude-opus-4", provider="anthropc")
    assert "Did you mean anthropic?" in caught.value.show()


def test_an_unknown_id_of_a_named_provider_is_taken_as_it_is_with_a_notice(tmp_path: Any) -> None:
    notices: list[str] = []
    catalog = Catalog.load(small(tmp_path, {"one": ["claude-opus-4"]}), notify=notices.append)
    for model in (catalog.find("one/brand-new"), catalog.find("brand-new", provider="ONE")):
        assert (model.ref, model.api, model.base_url) == (
            "one/brand-new",
            "openai-completions",
            "https://one.example/v1",
        )
        assert (model.context_window, model.max_tokens) == (128_000, 8_192)
    assert len(notices) == 2
    assert "128,000" in notices[0]
    assert "one/brand-new" in notices[0]


def test_extra_models_are_found_without_a_file(tmp_path: Any) -> None:
    own = Model(provider="local", id="smol", api="local", base_url="")
    catalog = Catalog.load(small(tmp_path, {"one": ["a-1"]}), extra=[own])
    assert catalog.find("local/smol") is own
    assert catalog.find("smol") is own
    assert own in catalog.models()


def test_a_refreshed_file_is_used_when_it_is_not_older_and_whole(tmp_path: Any) -> None:
    shipped = small(tmp_path, {"one": ["old"]}, "2026-01-01")
    notices: list[str] = []
    newer = small(tmp_path, {"one": ["new"]}, "2026-02-01", "newer.json")
    assert Catalog.load(shipped, newer).find("new").id == "new"
    same = small(tmp_path, {"one": ["new"]}, "2026-01-01", "same.json")
    assert Catalog.load(shipped, same).find("new").id == "new"
    older = small(tmp_path, {"one": ["new"]}, "2025-02-01", "older.json")
    assert [model.id for model in Catalog.load(shipped, older).models()] == ["old"]
    torn = tmp_path / "torn.json"
    torn.write_bytes(Path(newer).read_bytes()[:50])
    assert [model.id for model in Catalog.load(shipped, str(torn), notify=notices.append).models()] == ["old"]
    assert "torn.json" in notices[0]
    assert Catalog.load(shipped, str(tmp_path / "none.json"), notify=notices.append).find("old")
    assert len(notices) == 1


def test_a_file_of_another_version_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "future.json"
    path.write_text(json.dumps({"version": 99, "date": "2030-01-01", "providers": {}}))
    with pytest.raises(ConfigError, match="version 99"):
        read_catalog(str(path))


def test_own_models_come_with_the_catalogue_and_before_it(tmp_path: Any) -> None:
    path = custom_file(
        tmp_path,
        {"mine": {"api": "openai-completions", "baseUrl": "http://127.0.0.1:1/v1/", "models": [{"id": "same"}]}},
    )
    catalog = Catalog.load(small(tmp_path, {"one": ["same", "other"]}), custom=load_custom(path))
    model = catalog.find("same")
    assert model.ref == "mine/same"
    assert model.base_url == "http://127.0.0.1:1/v1"
    assert (model.context_window, model.max_tokens, model.input) == (128_000, 8_192, ("text",))
    assert catalog.find("other").ref == "one/other"
    assert catalog.providers() == ("mine", "one")


def test_a_provider_without_models_moves_the_catalogues_one_elsewhere(tmp_path: Any) -> None:
    path = custom_file(tmp_path, {"one": {"baseUrl": "https://proxy.example/v1", "compat": {"supportsStore": False}}})
    model = Catalog.load(small(tmp_path, {"one": ["a-1"]}), custom=load_custom(path)).find("a-1")
    assert model.base_url == "https://proxy.example/v1"
    assert model.compat == {"supportsStore": False}
    assert model.context_window == 1000


def test_models_of_a_catalogue_provider_are_added_and_replaced_by_id(tmp_path: Any) -> None:
    path = custom_file(tmp_path, {"one": {"models": [{"id": "a-1", "contextWindow": 5}, {"id": "tuned"}]}})
    catalog = Catalog.load(small(tmp_path, {"one": ["a-1", "b-1"]}), custom=load_custom(path))
    assert [model.id for model in catalog.models("one")] == ["a-1", "b-1", "tuned"]
    assert catalog.find("one/a-1").context_window == 5
    assert catalog.find("one/tuned").base_url == "https://one.example/v1"


def test_an_own_model_is_found_by_its_name(tmp_path: Any) -> None:
    provider = {"api": "openai-completions", "baseUrl": "http://x/v1", "models": [{"id": "m7", "name": "Big Bertha"}]}
    catalog = Catalog.load(
        small(tmp_path, {"one": ["a-1"]}), custom=load_custom(custom_file(tmp_path, {"mine": provider}))
    )
    assert catalog.find("bertha").ref == "mine/m7"


def test_a_model_without_an_address_is_an_error_with_its_line(tmp_path: Any) -> None:
    path = custom_file(tmp_path, {"mine": {"api": "openai-completions", "models": [{"id": "x"}]}})
    catalog = Catalog.load(small(tmp_path, {"one": ["a"]}), custom=load_custom(path))
    with pytest.raises(ConfigError, match="baseUrl") as caught:
        catalog.find("mine/x")
    assert caught.value.line == 6


def test_a_scripted_provider_is_a_model_with_a_script(tmp_path: Any) -> None:
    path = custom_file(
        tmp_path, {"play": {"api": "scripted", "baseUrl": "scripts/play.json", "models": [{"id": "actor"}]}}
    )
    model = Catalog.load(small(tmp_path, {"one": ["a"]}), custom=load_custom(path)).find("play/actor")
    assert model.api == "openai-completions"
    assert model.base_url == SCRIPTED_URL
    assert model.compat["script"] == os.path.join(str(tmp_path), "scripts", "play.json")


def test_the_packaged_file_is_the_type_that_it_is_read_as() -> None:
    assert isinstance(read_catalog(DATA_FILE), CatalogFile)
