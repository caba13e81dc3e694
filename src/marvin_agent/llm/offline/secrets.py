"""Keeps secrets out of what is written down: which headers may be kept, and the values that are masked everywhere."""

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import msgspec

MASK = "***"

# Names on a list are kept; whatever else a provider, a proxy or a user invents may be a key.
_REQUEST_HEADERS = frozenset(
    ("accept", "accept-encoding", "anthropic-beta", "anthropic-version", "content-type", "openai-beta", "user-agent")
)
_RESPONSE_HEADERS = frozenset(
    (
        *("cf-ray", "content-type", "date", "openai-model", "openai-processing-ms", "openai-version"),
        *("request-id", "retry-after", "retry-after-ms", "server", "x-request-id", "x-should-retry"),
    )
)
_RESPONSE_PREFIXES = ("anthropic-ratelimit-", "x-ratelimit-")
_QUERY = frozenset(("alt", "api-version", "beta"))
_SCHEMES = ("Bearer ", "Basic ", "Token ")
_SECRET_NAME = re.compile(r"auth|key|token|secret|cookie|passw|credential", re.IGNORECASE)
_SHORTEST = 8
_SHORTEST_UNNAMED = 20
"""Shorter values are no keys; masking an application's name wherever it stands would spoil the recording."""


class Secrets:
    """The secret values seen so far. They are collected from requests, and masked in everything."""

    __slots__ = ("_needles",)

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._needles: list[bytes] = []
        for key in keys:
            self._learn("key", key)

    def learn(self, url: str, headers: dict[str, str]) -> None:
        """Remember what in a request may be a key."""
        for name, value in headers.items():
            if name.lower() in _REQUEST_HEADERS:
                continue
            values = [value]
            if name.lower() == "cookie":
                values += [pair.partition("=")[2] for pair in value.split(";")]
            for one in values:
                self._learn(name, one)
        parts = urlsplit(url)
        for name, value in parse_qsl(parts.query):
            if name not in _QUERY:
                self._learn(name, value)
        if parts.password:
            self._learn("password", parts.password)

    def _learn(self, name: str, value: str) -> None:
        for scheme in _SCHEMES:
            if value[: len(scheme)].lower() == scheme.lower():
                value = value[len(scheme) :]
        value = value.strip()
        if len(value) < (_SHORTEST if _SECRET_NAME.search(name) else _SHORTEST_UNNAMED):
            return
        for form in (value, msgspec.json.encode(value)[1:-1].decode(), quote(value, safe="")):
            needle = form.encode()
            if needle not in self._needles:
                self._needles.append(needle)
        # A key that contains another one goes first, or a part of it would be left.
        self._needles.sort(key=len, reverse=True)

    def mask(self, data: bytes) -> bytes:
        """The bytes without any secret."""
        for needle in self._needles:
            if needle in data:
                data = data.replace(needle, MASK.encode())
        return data

    def mask_text(self, text: str) -> str:
        return self.mask(text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")

    def may_go_on(self, data: bytes) -> bool:
        """True when the bytes end with the beginning of a secret, whose rest may come with the next ones."""
        return any(
            data.endswith(needle[:length])
            for needle in self._needles
            for length in range(1, min(len(needle), len(data) + 1))
        )

    def request_headers(self, headers: dict[str, str]) -> dict[str, str]:
        """The headers as they may be kept: every name, harmless values."""
        return {
            name: self.mask_text(value) if name.lower() in _REQUEST_HEADERS else MASK for name, value in headers.items()
        }

    def response_headers(self, headers: dict[str, str]) -> dict[str, str]:
        """The headers that are harmless."""
        return {
            name: self.mask_text(value)
            for name, value in headers.items()
            if name in _RESPONSE_HEADERS or name.startswith(_RESPONSE_PREFIXES)
        }

    def url(self, url: str) -> str:
        """The address without a user, and with harmless values in its query."""
        parts = urlsplit(url)
        query = urlencode(
            [(name, value if name in _QUERY else MASK) for name, value in parse_qsl(parts.query)], safe="*"
        )
        host = parts.netloc.rpartition("@")[2]
        return self.mask_text(parts._replace(netloc=host, query=query).geturl())
