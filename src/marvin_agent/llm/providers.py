"""The providers that marvin knows by itself: the variables of their keys, and the names that others give them."""

from collections.abc import Mapping

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "xai": ("XAI_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "zai": ("ZAI_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "huggingface": ("HF_TOKEN",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "vercel": ("AI_GATEWAY_API_KEY",),
}
"""The environment variables of each provider's key; the first that is set counts."""

ALIASES: Mapping[str, str] = {
    "fireworks-ai": "fireworks",
    "moonshotai": "moonshot",
    "vercel-ai-gateway": "vercel",
    "x-ai": "xai",
    "z-ai": "zai",
}
"""What other catalogues call a provider."""


def canonical(provider: str) -> str:
    """Our name of a provider; a name that nobody else has stays as it is."""
    return ALIASES.get(provider, provider)
