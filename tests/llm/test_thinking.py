"""Which thinking levels a model has."""

from typing import Any

import pytest

from marvin_agent.llm.thinking import clamp, provider_name, supported
from marvin_agent.llm.values import Model


def model(names: dict[str, Any] | None = None, *, reasoning: bool = True) -> Model:
    compat = {} if names is None else {"thinkingLevelMap": names}
    return Model(provider="p", id="m", api="openai-responses", base_url="http://x", reasoning=reasoning, compat=compat)


@pytest.mark.parametrize(
    ("names", "levels"),
    [
        (None, ("off", "minimal", "low", "medium", "high")),
        ({"xhigh": "max"}, ("off", "minimal", "low", "medium", "high", "xhigh")),
        ({"off": None}, ("minimal", "low", "medium", "high")),
        ({"minimal": None, "low": None, "medium": None, "high": "default"}, ("off", "high")),
    ],
)
def test_the_levels_of_a_model(names: dict[str, Any] | None, levels: tuple[str, ...]):
    assert supported(model(names)) == levels


@pytest.mark.parametrize(
    ("names", "asked", "given"),
    [
        (None, "medium", "medium"),
        (None, "off", "off"),
        (None, "xhigh", "high"),
        ({"off": None}, "off", "minimal"),
        ({"low": None}, "low", "minimal"),
        ({"minimal": None, "low": None, "medium": None}, "low", "high"),
        ({"minimal": None}, "minimal", "low"),
        ({"medium": None, "high": None}, "high", "low"),
    ],
)
def test_a_level_that_is_not_there_becomes_the_nearest_that_thinks(names: Any, asked: Any, given: str):
    level, notice = clamp(model(names), asked)
    assert level == given
    assert (notice is None) == (asked == given)
    if notice:
        assert asked in notice
        assert given in notice


def test_a_claude_that_always_thinks_has_no_off():
    def claude(name: str) -> Model:
        return Model(provider="p", id=name, api="anthropic-messages", base_url="http://x", reasoning=True)

    assert supported(claude("claude-fable-5-1")) == ("minimal", "low", "medium", "high", "xhigh")
    assert "off" in supported(claude("claude-opus-5"))
    assert clamp(claude("claude-opus-5-5"), "off")[0] == "minimal"


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("gpt-5", "minimal low medium high"),
        ("gpt-5-codex", "low medium high"),
        ("gpt-5-pro", "high"),
        ("gpt-5.1", "off low medium high"),
        ("gpt-5.1-chat-latest", "medium"),
        ("gpt-5.1-codex-max", "low medium high xhigh"),
        ("openai/gpt-5.4", "off low medium high xhigh"),
        ("gpt-5.4-pro", "medium high xhigh"),
        ("gpt-6.1-sol", "off low medium high xhigh"),
        ("o4-mini", "low medium high"),
        ("o3-deep-research", "medium"),
        ("openai/gpt-oss-120b", "low medium high"),
        ("gpt-4o-thinks", "off minimal low medium high"),
        ("other", "off minimal low medium high"),
    ],
)
def test_models_of_openai_have_the_levels_of_their_generation(name: str, levels: str):
    for api in ("openai-responses", "openai-completions"):
        at = Model(provider="p", id=name, api=api, base_url="http://x", reasoning=True)
        assert " ".join(supported(at)) == levels
        if levels.startswith("off low"):
            assert provider_name(at, "off") == "none"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("claude-opus-4-5", None),
        ("claude-sonnet-4-6", None),
        ("claude-opus-4-6", "max"),
        ("claude-opus-4-7", "xhigh"),
        ("claude-opus-4-20250514", None),
        ("claude-sonnet-5", "xhigh"),
        ("claude-haiku-5-5", "xhigh"),
        ("claude-mythos-5-2", "xhigh"),
        ("claude-3-5-haiku-latest", None),
    ],
)
def test_claude_thinks_harder_than_high_where_there_is_more(name: str, told: str | None):
    at = Model(provider="p", id=name, api="anthropic-messages", base_url="http://x", reasoning=True)
    assert ("xhigh" in supported(at)) == (told is not None)
    assert told is None or provider_name(at, "xhigh") == told


@pytest.mark.parametrize(
    ("host", "name", "levels"),
    [
        ("api.x.ai", "grok-3-mini", "low=low high=high"),
        ("api.x.ai", "grok-4", "medium="),
        ("api.x.ai", "grok-4-fast", "medium="),
        ("api.x.ai", "grok-4.20-0309-reasoning", "medium="),
        ("api.x.ai", "grok-4.3", "off=none low=low medium=medium high=high"),
        ("api.x.ai", "grok-4.5", "low=low medium=medium high=high"),
        ("api.x.ai", "grok-4.7", "low=low medium=medium high=high xhigh=xhigh"),
        ("api.mistral.ai", "mistral-medium-3-5", "off=none high=high"),
        ("api.mistral.ai", "magistral-medium-latest", "medium="),
        ("api.groq.com", "qwen/qwen3-32b", "off=none high=default"),
        ("api.groq.com", "openai/gpt-oss-120b", "low=low medium=medium high=high"),
        ("api.groq.com", "groq/compound", "medium="),
        ("api.cerebras.ai", "qwen-3.8-27b", "off=none low=low medium=medium high=high"),
        ("api.z.ai", "glm-5.1", "off=off medium=medium"),
        ("api.z.ai", "glm-5.2", "off=off high=high xhigh=max"),
        ("api.z.ai", "glm-5.3-flash", "low=low high=high xhigh=max"),
        ("api.moonshot.ai", "kimi-k2.6", "off=off medium=medium"),
        ("api.moonshot.ai", "kimi-k2.7-code", "medium="),
        ("api.moonshot.ai", "kimi-k3.1-pro", "low=low high=high xhigh=max"),
        ("127.0.0.1:8080", "glm-5.3", "off=off minimal=minimal low=low medium=medium high=high"),
    ],
)
def test_each_host_is_told_the_levels_that_it_has_for_a_model(host: str, name: str, levels: str):
    at = Model(provider="p", id=name, api="openai-completions", base_url=f"https://{host}/v1", reasoning=True)
    assert " ".join(f"{level}={provider_name(at, level)}" for level in supported(at)) == levels


@pytest.mark.parametrize(
    ("host", "name", "has_off"),
    [
        ("https://openrouter.ai/api/v1", "anthropic/claude-fable-5", False),
        ("https://openrouter.ai/api/v1", "google/gemini-2.5-pro", False),
        ("https://openrouter.ai/api/v1", "google/gemini-2.5-flash", True),
        ("https://openrouter.ai/api/v1", "deepseek/deepseek-r1-0528", False),
        ("https://api.moonshot.ai/v1", "kimi-k2.6", True),
        ("https://api.moonshot.ai/v1", "kimi-k3", False),
        ("https://openrouter.ai/api/v1", "x-ai/grok-4.5", False),
        ("https://openrouter.ai/api/v1", "~anthropic/claude-sonnet-latest", False),
        ("https://openrouter.ai/api/v1", "~anthropic/claude-haiku-latest", True),
        ("https://openrouter.ai/api/v1", "~google/gemini-pro-latest", False),
        ("https://openrouter.ai/api/v1", "~moonshotai/kimi-latest", False),
        ("https://openrouter.ai/api/v1", "z-ai/glm-5.3", False),
        ("http://127.0.0.1:11434/v1", "deepseek-r1:8b", True),
    ],
)
def test_where_off_is_an_error_there_is_none(host: str, name: str, has_off: bool):
    at = Model(provider="p", id=name, api="openai-completions", base_url=host, reasoning=True)
    assert ("off" in supported(at)) == has_off


def test_what_models_json_says_of_levels_wins():
    own = Model(
        provider="p",
        id="gpt-5.4",
        api="openai-responses",
        base_url="http://x",
        reasoning=True,
        compat={"thinkingLevelMap": {"minimal": "tiny", "off": None}},
    )
    assert supported(own) == ("minimal", "low", "medium", "high", "xhigh")


def test_a_model_that_does_not_think_is_told_of():
    assert clamp(model(reasoning=False), "high") == ("off", "p/m does not think; thinking high is off")
    assert clamp(model(reasoning=False), "off") == ("off", None)


def test_the_providers_own_name_is_used():
    assert provider_name(model({"xhigh": "max"}), "xhigh") == "max"
    assert provider_name(model(), "high") == "high"
