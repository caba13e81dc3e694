"""How servers that speak chat completions differ: known by their address, corrected by a model's `compat`."""

import re
from typing import Any, Literal

import msgspec

from marvin_agent.errors import ConfigError
from marvin_agent.llm.secrecy import origin
from marvin_agent.llm.values import Model
from marvin_agent.messages import Value


class Compat(Value):
    """What a server takes. In JSON the names are those of models.json, `supportsStore` and so on."""

    supports_store: bool = False
    supports_developer_role: bool = False
    supports_reasoning_effort: bool = True
    supports_usage_in_streaming: bool = True
    supports_strict_mode: bool = False
    supports_prompt_cache_key: bool = False
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    requires_tool_result_name: bool = False
    requires_assistant_after_tool_result: bool = False
    requires_thinking_as_text: bool = False
    requires_reasoning_content_on_assistant_messages: bool = False
    requires_mistral_tool_ids: bool = False
    thinking_format: Literal["openai", "openrouter", "zai", "deepseek", "qwen", "qwen-chat-template"] = "openai"
    cache_control_format: Literal["anthropic"] | None = None
    """How a prompt's parts are marked for the cache, where it does not find them itself."""
    zai_tool_stream: bool = False
    send_session_affinity_headers: bool = False


_OPENAI: dict[str, Any] = {
    "supportsStore": True,
    "supportsDeveloperRole": True,
    "supportsStrictMode": True,
    "supportsPromptCacheKey": True,
    "maxTokensField": "max_completion_tokens",
}
# The first that fits counts: a host, and how the id of a model begins there.
_BY_HOST: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("api.openai.com", r"", _OPENAI),
    (".openai.azure.com", r"", _OPENAI),
    ("openrouter.ai", r"~?anthropic/", {"thinkingFormat": "openrouter", "cacheControlFormat": "anthropic"}),
    ("openrouter.ai", r"", {"thinkingFormat": "openrouter"}),
    ("api.x.ai", r"", {"sendSessionAffinityHeaders": True}),
    ("api.z.ai", r"glm-(?:5\.[2-9]|[6-9])", {"thinkingFormat": "deepseek"}),
    ("api.z.ai", r"", {"thinkingFormat": "zai"}),
    ("open.bigmodel.cn", r"", {"thinkingFormat": "zai"}),
    ("api.deepseek.com", r"", {"thinkingFormat": "deepseek", "requiresReasoningContentOnAssistantMessages": True}),
    ("api.moonshot", r"kimi-k[3-9]", {"requiresReasoningContentOnAssistantMessages": True}),
    ("api.moonshot", r"", {"thinkingFormat": "zai", "requiresReasoningContentOnAssistantMessages": True}),
    ("dashscope", r"", {"thinkingFormat": "qwen"}),
    ("api.cerebras.ai", r"", {"maxTokensField": "max_completion_tokens"}),
    ("api.groq.com", r"", {"maxTokensField": "max_completion_tokens"}),
    (
        "mistral.ai",
        r"",
        {
            "requiresToolResultName": True,
            "requiresThinkingAsText": True,
            "requiresMistralToolIds": True,
            "requiresAssistantAfterToolResult": True,
            "supportsUsageInStreaming": False,
        },
    ),
)


def compat_of(model: Model) -> Compat:
    """What this model's server takes."""
    host = origin(model.base_url)
    found = next((facts for name, id_, facts in _BY_HOST if name in host and re.match(id_, model.id)), {})
    try:
        return msgspec.convert({**found, **model.compat}, Compat)
    except msgspec.ValidationError as error:
        raise ConfigError(f"`compat` of the model {model.ref} is wrong: {error}") from None
