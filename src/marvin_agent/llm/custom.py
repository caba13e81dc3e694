"""The user's `models.json`: providers of his own, and what he changes about those of the catalogue.

`{"providers": {NAME: {api, baseUrl, apiKey, headers, authHeader, compat, models: [{id, ...}]}}}`.
A provider of the catalogue's name changes that one: its base URL, headers and key, and its models are added to it.
`api: "scripted"` is a provider whose answers are a file: `baseUrl` is its path, relative to models.json.
"""

import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar, get_args

import msgspec

from marvin_agent.errors import ConfigError
from marvin_agent.jsonfile import Document, JsonPath, read_json
from marvin_agent.llm.auth.secret import Secret
from marvin_agent.llm.names import nearest
from marvin_agent.llm.providers import canonical
from marvin_agent.llm.values import Api, Price

SCRIPTED = "scripted"
SCRIPTED_URL = "http://scripted.invalid/v1"
"""The base URL of scripted models. Nothing is ever sent to it: `compat["script"]` has the file."""

_COMPAT = "marvin_agent.llm.wire.completions_compat"
_PROVIDER_KEYS = ("api", "baseUrl", "apiKey", "headers", "authHeader", "compat", "models", "name")
_MODEL_KEYS = (
    "id", "name", "api", "baseUrl", "reasoning", "input", "cost", "contextWindow", "maxTokens", "headers", "compat",
    "thinkingLevelMap",
)  # fmt: skip
_INPUTS = ("text", "image")
_COST_KEYS = ("input", "output", "cacheRead", "cacheWrite")
_APIS = tuple(name for name in get_args(Api) if name != "local")

T = TypeVar("T")


class CustomModel:
    """A model of the user's own, with what he did not say filled in."""

    __slots__ = (
        "api", "base_url", "compat", "context_window", "cost", "headers", "id", "input", "line", "max_tokens", "name",
        "reasoning",
    )  # fmt: skip

    def __init__(self, reader: "_Reader") -> None:
        self.line = reader.line()
        self.id = reader.text("id", required=True)
        self.name = reader.text("name") or self.id
        self.api, self.base_url, script = _address(reader)
        self.reasoning: bool = reader.get("reasoning", bool, False)
        self.input: tuple[str, ...] = tuple(reader.choices("input", _INPUTS)) or ("text",)
        self.cost = _price(reader.inner("cost", _COST_KEYS))
        self.context_window = reader.count("contextWindow", 128_000)
        self.max_tokens = reader.count("maxTokens", 8_192)
        self.headers = _headers(reader)
        self.compat: dict[str, Any] = {**_compat(reader), **script}
        if thinking := _level_names(reader):
            self.compat["thinkingLevelMap"] = thinking


class CustomProvider:
    """A provider of the user's own, or what he changes about one of the catalogue."""

    __slots__ = ("api", "api_key", "auth_header", "base_url", "compat", "file", "headers", "models", "name")

    def __init__(self, name: str, reader: "_Reader") -> None:
        self.name = name
        self.file = reader.document.path
        self.api, self.base_url, script = _address(reader)
        self.api_key = reader.secret("apiKey")
        self.headers = _headers(reader)
        self.auth_header: bool = reader.get("authHeader", bool, False)
        self.compat: dict[str, Any] = {**_compat(reader), **script}
        self.models: dict[str, CustomModel] = {}
        for inner in reader.items("models", _MODEL_KEYS):
            model = CustomModel(inner)
            if model.id in self.models:
                raise inner.error(f"the model “{model.id}” stands here a second time", "id")
            self.models[model.id] = model


class CustomProviders:
    """The providers of a models.json, by name."""

    __slots__ = ("_providers",)

    def __init__(self, providers: Mapping[str, CustomProvider] | None = None) -> None:
        self._providers = dict(providers or {})

    def __iter__(self) -> Iterator[str]:
        return iter(self._providers)

    def get(self, name: str) -> CustomProvider | None:
        return self._providers.get(name)

    def variables(self, env: Mapping[str, str]) -> frozenset[str]:
        """The environment variables in which their keys and headers are."""
        secrets = [
            secret
            for provider in self._providers.values()
            for headers in (provider.headers, *(model.headers for model in provider.models.values()))
            for secret in (provider.api_key, *headers.values())
        ]
        return frozenset(name for secret in secrets if secret and (name := secret.variable(env)))


def load_custom(path: str) -> CustomProviders:
    """Read a models.json; no providers when there is none. Everything that is wrong in it is one ConfigError."""
    try:
        document = read_json(path)
    except FileNotFoundError:
        return CustomProviders()
    root = _Reader(document, (), ("providers", "$schema"))
    found: dict[str, CustomProvider] = {}
    problems: list[ConfigError] = []
    for name in root.get("providers", dict, {}):
        try:
            reader = _Reader(document, ("providers", name), _PROVIDER_KEYS)
            found[canonical(name)] = CustomProvider(canonical(name), reader)
        except ConfigError as problem:
            problems.append(problem)
    if problems:
        raise ConfigError.several(problems)
    return CustomProviders(found)


def _address(reader: "_Reader") -> tuple[Api | None, str | None, dict[str, Any]]:
    """The api, the base URL, and the script of a scripted provider as compat."""
    api = reader.text("api") or None
    base_url = reader.text("baseUrl") or None
    if api == SCRIPTED:
        if base_url is None:
            raise reader.error("a scripted provider needs `baseUrl`: the path of its script", "api")
        directory = os.path.dirname(os.path.abspath(reader.document.path))
        script = os.path.normpath(os.path.join(directory, os.path.expanduser(base_url)))
        return "openai-completions", SCRIPTED_URL, {"script": script}
    if api is not None and api not in _APIS:
        raise reader.error(f"`api` cannot be “{api}”", "api", hint=f"It is one of {', '.join((*_APIS, SCRIPTED))}.")
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise reader.error(f"`baseUrl` must begin with http:// or https://, not “{base_url}”", "baseUrl")
    known = next((name for name in get_args(Api) if name == api), None)
    return known, base_url.rstrip("/") if base_url else None, {}


def _headers(reader: "_Reader") -> dict[str, Secret]:
    given = reader.get("headers", dict, {})
    inner = reader.inner("headers", tuple(given))
    return {name: secret for name in given if (secret := inner.secret(name)) is not None}


def _compat(reader: "_Reader") -> dict[str, Any]:
    """Keys that are not ours are left alone: other programs read the file too."""
    given: dict[str, Any] = reader.get("compat", dict, {})
    if not given:
        return given
    inner = reader.inner("compat", tuple(given))
    _level_names(inner)
    # Few files have any of it.
    kind = import_module(_COMPAT).Compat
    for key, value in given.items():
        try:
            msgspec.convert({key: value}, kind)
        except msgspec.ValidationError as error:
            raise inner.error(f"`{key}` cannot be this: {str(error).partition(' - at ')[0]}", key) from None
    return given


def _level_names(reader: "_Reader") -> dict[str, Any]:
    names: dict[str, Any] = reader.get("thinkingLevelMap", dict, {})
    if names:
        inner = reader.inner("thinkingLevelMap", tuple(names))
        for level in names:
            inner.text(level)
    return names


def _price(reader: "_Reader") -> Price:
    found = {key: float(reader.get(key, (int, float), 0)) for key in _COST_KEYS}
    for key, value in found.items():
        if value < 0:
            raise reader.error(f"`{key}` cannot be less than nothing", key)
    return Price(
        input=found["input"], output=found["output"], cache_read=found["cacheRead"], cache_write=found["cacheWrite"]
    )


_WORDS = {bool: "true or false", str: "a text", dict: "an object", list: "a list", int: "a number", float: "a number"}


class _Reader:
    """An object in the file, read key by key, whose complaints have lines."""

    __slots__ = ("document", "path", "value")

    def __init__(self, document: Document, path: JsonPath, known: tuple[str, ...]) -> None:
        self.document = document
        self.path = path
        value = document.value
        for step in path:
            value = value[step]
        if not isinstance(value, dict):
            raise ConfigError(
                f"`{_dotted(path) or 'the file'}` must be an object", file=document.path, line=document.line_of(path)
            )
        self.value: dict[str, Any] = value
        for key in value:
            if key not in known:
                like = nearest(key, known, 1)
                hint = f"Did you mean `{like[0]}`?" if like else f"Known are {', '.join(known)}."
                raise self.error(f"unknown key `{key}`", key, hint=hint)

    def line(self) -> int:
        return self.document.line_of(self.path)

    def error(self, message: str, key: str, hint: str | None = None) -> ConfigError:
        where = _dotted(self.path)
        text = f"{message} (in {where})" if where else message
        return ConfigError(text, file=self.document.path, line=self.document.line_of((*self.path, key)), hint=hint)

    def get(self, key: str, kind: type[T] | tuple[type[T], ...], default: Any) -> Any:
        value = self.value.get(key)
        if value is None:
            return default
        kinds = kind if isinstance(kind, tuple) else (kind,)
        # True is an int in Python, not in JSON.
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.error(f"`{key}` must be {_WORDS[kinds[0]]}", key)
        return value

    def text(self, key: str, required: bool = False) -> str:
        value: str = self.get(key, str, "")
        if required and not value:
            raise self.error(f"`{key}` is missing", key)
        return value

    def texts(self, key: str) -> list[str]:
        values: list[Any] = self.get(key, list, [])
        for value in values:
            if not isinstance(value, str):
                raise self.error(f"`{key}` must be a list of texts", key)
        return values

    def choices(self, key: str, known: tuple[str, ...]) -> list[str]:
        values = self.texts(key)
        for value in values:
            if value not in known:
                raise self.error(f"`{key}` cannot have “{value}”", key, hint=f"It has some of {', '.join(known)}.")
        return values

    def count(self, key: str, default: int) -> int:
        value = self.get(key, (int, float), default)
        if value < 1 or value != int(value):
            raise self.error(f"`{key}` must be a whole number above zero", key)
        return int(value)

    def secret(self, key: str) -> Secret | None:
        value = self.text(key)
        if not value:
            return None
        return Secret(value, self.document.path, self.document.line_of((*self.path, key)), _dotted((*self.path, key)))

    def inner(self, key: str, known: tuple[str, ...]) -> "_Reader":
        self.value.setdefault(key, {})
        self.get(key, dict, {})
        return _Reader(self.document, (*self.path, key), known)

    def items(self, key: str, known: tuple[str, ...]) -> list["_Reader"]:
        count = len(self.get(key, list, []))
        return [_Reader(self.document, (*self.path, key, at), known) for at in range(count)]


def _dotted(path: JsonPath) -> str:
    return ".".join(str(step) for step in path)
