"""The embedded model, and which model is taken when nobody names one."""

from collections.abc import Sequence

from marvin_agent.errors import ConfigError, NoModelError
from marvin_agent.llm.auth.keys import needs_key
from marvin_agent.llm.catalog import Catalog
from marvin_agent.llm.custom import CustomProviders
from marvin_agent.llm.offline.weights import lacking
from marvin_agent.llm.providers import VARIABLES
from marvin_agent.llm.values import Model

LOCAL = Model(
    provider="local",
    id="smollm2-135m",
    api="local",
    base_url="http://local.invalid",
    name="SmolLM2 135M (embedded, tiny)",
    context_window=8_192,
    max_tokens=1_024,
)
FAVOURITES = {
    "anthropic": "claude-sonnet",
    "openai": "gpt",
    "google": "gemini-pro",
    "xai": "grok",
    "deepseek": "deepseek-pro",
    "mistral": "mistral-medium",
    "zai": "glm",
    "moonshot": "kimi",
    "groq": "gpt-oss-120b",
    "cerebras": "gpt-oss-120b",
    "fireworks": "glm",
    "huggingface": "glm",
    "openrouter": "claude-sonnet",
    "vercel": "claude-sonnet",
}
"""The name, or the part of one, whose newest model is taken of a provider."""


def default_model(catalog: Catalog, custom: CustomProviders, having: Sequence[str], data_dir: str) -> Model:
    """The model to take when nobody names one; `having` are the providers with a key.

    The user's own providers come first, then those of the catalogue with a key, then the embedded model. Raises
    NoModelError that says what to do.
    """
    own = [name for name in custom if (provider := custom.get(name)) and provider.models]
    ready = [name for name in own if name in having or not needs_key(name, custom)]
    # The user's own that lack a key come last: a hook may have it.
    order = [*ready, *(name for name in VARIABLES if name in having), *own]
    if order:
        return default_of(order[0], catalog, custom)
    if not (missing := lacking(data_dir)):
        return LOCAL
    raise NoModelError(
        "no model is named, and no key was found to choose one by",
        hint="Set a key (ANTHROPIC_API_KEY, OPENAI_API_KEY, ...), run `marvin login PROVIDER`, name a model with"
        f" --model, or install the embedded one: {', then '.join(missing)}.",
    )


def default_of(provider: str, catalog: Catalog, custom: CustomProviders) -> Model:
    """The model to take of a provider when only that is named. Raises ConfigError when there is none."""
    name = catalog.known_provider(provider)
    own = custom.get(name)
    if own and own.models:
        return catalog.find(next(iter(own.models)), name)
    if name in FAVOURITES:
        return catalog.find(FAVOURITES[name], name)
    if models := catalog.models(name):
        return models[0]
    raise ConfigError(f"the provider {name} has no models", hint="Name one: `--model`, or `models` in models.json.")
