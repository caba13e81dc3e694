"""Where the key of a provider is looked for: the user's models.json, then `auth.json`, then the environment.

The most particular comes first: what models.json says of a provider, then what `marvin login` stored on purpose, then
what the environment happens to hold.
"""

from collections.abc import Mapping

from marvin_agent.errors import AuthenticationError
from marvin_agent.llm.auth.secret import Secret, value_of
from marvin_agent.llm.auth.store import AuthFile
from marvin_agent.llm.custom import CustomProvider, CustomProviders
from marvin_agent.llm.providers import VARIABLES
from marvin_agent.llm.values import Credentials, Model

# Not API keys, so never sent as one, but secrets of the same providers.
_OTHER_SECRETS = frozenset({"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN"})
_KEY_HEADERS = frozenset({"authorization", "x-api-key", "x-goog-api-key"})


def provider_key_names() -> frozenset[str]:
    """Every environment variable that may hold a provider's key: what is kept from children that do not need it."""
    return _OTHER_SECRETS.union(*VARIABLES.values())


def key_source(
    provider: str, env: Mapping[str, str], auth_file: AuthFile, custom: CustomProviders | None = None
) -> str | None:
    """Where the key of a provider would come from, in words; None when it has none. Runs no command."""
    own = custom.get(provider) if custom else None
    if own is not None and own.api_key is not None:
        return own.api_key.source(env)
    if auth_file.get(provider):
        return "auth.json"
    return next((name for name in VARIABLES.get(provider, ()) if value_of(name, env)), None)


def needs_key(provider: str, custom: CustomProviders | None = None) -> bool:
    """Whether requests to a provider are pointless without a key: all of the catalogue, and own ones that name one."""
    own = custom.get(provider) if custom else None
    if own is None:
        return provider in VARIABLES
    if own.api_key is not None:
        return True
    # A proxy in front of a known provider may do without, when it is given other headers.
    return provider in VARIABLES and not own.headers and "script" not in own.compat


async def find_key(
    provider: str, env: Mapping[str, str], auth_file: AuthFile, custom: CustomProviders | None = None
) -> str | None:
    """The key of a provider, or None. May run the command that models.json names for it, the first time.

    Raises AuthenticationError when models.json names an environment variable that is not set, ConfigError when its
    command fails: falling back to another key could send it to the wrong server.
    """
    own = custom.get(provider) if custom else None
    if own is not None and own.api_key is not None:
        return await own.api_key.value(env)
    if key := auth_file.get(provider):
        return key
    return next((key for name in VARIABLES.get(provider, ()) if (key := value_of(name, env))), None)


async def find_credentials(
    model: Model,
    env: Mapping[str, str],
    auth_file: AuthFile,
    custom: CustomProviders | None = None,
    given: Credentials | None = None,
) -> Credentials:
    """What opens the door for one call: what was `given` (by a hook) first, the rest found here.

    Raises AuthenticationError when a key is needed and there is none.
    """
    given = given or Credentials()
    own = custom.get(model.provider) if custom else None
    key = given.api_key
    if key is None and not _KEY_HEADERS.intersection(name.lower() for name in given.headers):
        key = await find_key(model.provider, env, auth_file, custom)
        if key is None and needs_key(model.provider, custom):
            raise missing_key_error(model.provider)
    headers: dict[str, str] = {}
    if own is not None:
        for name, secret in _headers(own, model).items():
            headers[name] = await secret.value(env)
        # The two protocols of OpenAI send the key this way by themselves.
        if own.auth_header and key and model.api in ("anthropic-messages", "google-generative-ai"):
            headers["Authorization"] = f"Bearer {key}"
    return Credentials(api_key=key, headers={**headers, **given.headers}, base_url=given.base_url)


def _headers(own: CustomProvider, model: Model) -> dict[str, Secret]:
    mine = own.models.get(model.id)
    return {**own.headers, **(mine.headers if mine else {})}


def missing_secret(
    model: Model, env: Mapping[str, str], auth_file: AuthFile, custom: CustomProviders
) -> AuthenticationError | None:
    """What `find_credentials` would miss, as far as that shows without running a command."""
    own = custom.get(model.provider)
    named = [own.api_key, *_headers(own, model).values()] if own else []
    if unset := next((secret for secret in named if secret and secret.source(env) is None), None):
        return unset.unset()
    if key_source(model.provider, env, auth_file, custom) is None and needs_key(model.provider, custom):
        return missing_key_error(model.provider)
    return None


def missing_key_error(provider: str) -> AuthenticationError:
    """What to say when a provider's key is nowhere."""
    names = VARIABLES.get(provider, ())
    ways = f"Set {' or '.join(names)}, or store" if names else "Store"
    return AuthenticationError(
        "there is no API key",
        provider=provider,
        hint=f"{ways} one with `marvin login {provider}`. Without any key, `--model local` works.",
    )
