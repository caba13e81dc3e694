"""How servers that speak chat completions differ: known by their address, corrected by a model's `compat`."""

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
_BY_HOST: tuple[tuple[str, dict[str, Any]], ...] = (
    ("api.openai.com", _OPENAI),
    (".openai.azure.com", _OPENAI),
    ("openrouter.ai", {"thinkingFormat": "openrouter"}),
    ("api.x.ai", {"supportsReasoningEffort": False}),
    ("api.z.ai", {"thinkingFormat": "zai", "supportsReasoningEffort": False}),
    ("open.bigmodel.cn", {"thinkingFormat": "zai", "supportsReasoningEffort": False}),
    ("api.deepseek.com", {"thinkingFormat": "deepseek", "requiresReasoningContentOnAssistantMessages": True}),
    ("api.moonshot", {"thinkingFormat": "zai", "requiresReasoningContentOnAssistantMessages": True}),
    ("dashscope", {"thinkingFormat": "qwen"}),
    ("api.cerebras.ai", {"maxTokensField": "max_completion_tokens"}),
    ("api.groq.com", {"maxTokensField": "max_completion_tokens"}),
    (
        "mistral.ai",
        {
            "requiresToolResultName": True,
            "requiresThinkingAsText": True,
            "requiresMistralToolIds": True,
            "requiresAssistantAfterToolResult": True,
            "supportsReasoningEffort": False,
            "supportsUsageInStreaming": False,
        },
    ),
)


def compat_of(model: Model, base_url: str | None = None) -> Compat:
    """What this model's server takes."""
    host = origin(base_url or model.base_url)
    found = next((facts for name, facts in _BY_HOST if name in host), {})
    if "openrouter.ai" in host and model.id.startswith("anthropic/"):
        found = {**found, "cacheControlFormat": "anthropic"}
    try:
        return msgspec.convert({**found, **model.compat}, Compat)
    except msgspec.ValidationError as error:
        raise ConfigError(f"`compat` of the model {model.ref} is wrong: {error}") from None
