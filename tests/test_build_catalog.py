"""The script that makes the packaged catalogue, with a price list of the test's own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "build_catalog.py"
KNOWN = [
    *("anthropic", "openai", "google", "xai", "deepseek", "zai", "moonshotai", "groq", "cerebras", "fireworks"),
    *("huggingface", "openrouter", "vercel-ai-gateway"),
]
PRICES = """
class Prices:
    def __init__(self, **prices):
        self.__dict__.update(prices)

class Tiers:
    base = 4.0

class Model:
    def __init__(self, id, prices, name=None, context_window=None, deprecated=None):
        self.id, self.prices, self.name = id, prices, name
        self.context_window, self.deprecated = context_window, deprecated

    def get_prices(self, at):
        return self.prices

class Provider:
    def __init__(self, id, models):
        self.id, self.models = id, models

NAMES = "anthropic openai google x-ai deepseek mistral zai moonshotai groq cerebras fireworks openrouter".split()
MODELS = {
    "anthropic": [
        Model("known", Prices(input_mtok=1.5, output_mtok=Tiers())),
        Model("claude-opus-5-5", Prices(input_mtok=2, output_mtok=3), "Opus 5.5", 900),
        Model("claude-opus-5-9", Prices(input_mtok=2, output_mtok=3), deprecated=True),
        Model("claude-unheard-of", Prices(input_mtok=2, output_mtok=3)),
        Model("whisper", Prices(input_audio_mtok=1)),
    ],
    "mistral": [Model("codestral-2508", Prices(input_mtok=1, output_mtok=2), "Codestral")],
}
providers = [Provider(name, MODELS.get(name, [])) for name in NAMES]
"""


def model(**facts: Any) -> dict[str, Any]:
    return {
        "api": "openai-completions",
        "baseUrl": "https://x.example/v1",
        "name": "A model",
        "reasoning": False,
        "input": ["text"],
        "cost": {"input": 5, "output": 6, "cacheRead": 0.30000000000000004, "cacheWrite": -1000000},
        "contextWindow": 1000,
        "maxTokens": 100,
        **facts,
    }


@pytest.fixture
def price_list(tmp_path: Path) -> Path:
    """A directory with a package `genai_prices` in it."""
    package = tmp_path / "packages" / "genai_prices"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "data.py").write_text(PRICES)
    info = tmp_path / "packages" / "genai_prices-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: genai-prices\nVersion: 9.9\n")
    return package.parent


def build(tmp_path: Path, price_list: Path, known: dict[str, Any], name: str = "out.json") -> tuple[bytes, str]:
    models = tmp_path / "known.json"
    models.write_text(json.dumps(known))
    out = tmp_path / name
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(models), "--date", "2026-01-02", "--out", str(out)],
        env={**os.environ, "PYTHONPATH": str(price_list)},
        capture_output=True,
        text=True,
        check=True,
    )
    return out.read_bytes(), done.stderr


def known_models() -> dict[str, Any]:
    known: dict[str, Any] = {name: {"known": model()} for name in KNOWN}
    known["anthropic"]["claude-opus-4-7"] = model(
        reasoning=True, thinkingLevelMap={"xhigh": "max"}, input=["text", "image"]
    )
    known["anthropic"]["odd"] = model(api="something-else")
    known["openrouter"]["mistralai/codestral-2508"] = model(contextWindow=256)
    known["elsewhere"] = {"a": model(), "b": model()}
    return known


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path, price_list: Path) -> None:
    known = known_models()
    backwards = {name: dict(reversed(models.items())) for name, models in reversed(known.items())}
    first, _ = build(tmp_path, price_list, known)
    second, _ = build(tmp_path, price_list, backwards, "again.json")
    assert first == second


def test_facts_come_from_the_models_file_and_prices_from_the_list(tmp_path: Path, price_list: Path) -> None:
    made, report = build(tmp_path, price_list, known_models())
    catalog = json.loads(made)
    assert (catalog["version"], catalog["date"], catalog["sources"]) == (1, "2026-01-02", {"genai-prices": "9.9"})
    anthropic = catalog["providers"]["anthropic"]["models"]
    assert list(anthropic) == ["claude-opus-4-7", "claude-opus-5-5", "known"]
    assert anthropic["known"]["cost"] == {"input": 1.5, "output": 4, "cacheRead": 0.3}
    assert anthropic["claude-opus-5-5"] == {
        "name": "Opus 5.5",
        "reasoning": True,
        "input": ["text", "image"],
        "cost": {"input": 2, "output": 3},
        "contextWindow": 900,
        "maxTokens": 100,
    }
    mistral = catalog["providers"]["mistral"]
    assert (mistral["api"], mistral["baseUrl"]) == ("openai-completions", "https://api.mistral.ai/v1")
    assert mistral["models"]["codestral-2508"]["contextWindow"] == 256
    assert catalog["providers"]["deepseek"]["baseUrl"] == "https://api.deepseek.com/v1"
    assert {"moonshot", "vercel"} < catalog["providers"].keys()
    assert "1 anthropic: dropped, of an api without a wire (something-else)" in report
    assert "2 elsewhere: dropped, not a provider of ours" in report
    assert "2 anthropic: not taken over" in report
    assert "1 anthropic: no price per token" in report
    assert "1 anthropic: new models" in report


def test_how_a_model_is_asked_to_think_stays_out_where_the_program_knows_better(
    tmp_path: Path, price_list: Path
) -> None:
    known = known_models()
    compat = {"thinkingFormat": "zai", "supportsReasoningEffort": False, "zaiToolStream": True}
    for provider in ("google", "moonshotai", "deepseek", "openrouter"):
        known[provider]["thinks"] = model(reasoning=True, thinkingLevelMap={"medium": None}, compat=compat)
    providers = json.loads(build(tmp_path, price_list, known)[0])["providers"]
    for provider in ("google", "moonshot"):
        assert providers[provider]["models"]["thinks"]["compat"] == {"zaiToolStream": True}
    whole = {**compat, "thinkingLevelMap": {"medium": None}}
    assert providers["deepseek"]["models"]["thinks"]["compat"] == whole
    routed = {key: value for key, value in whole.items() if key != "thinkingFormat"}
    assert providers["openrouter"]["models"]["thinks"]["compat"] == routed
