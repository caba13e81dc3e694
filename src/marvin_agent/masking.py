"""Hides what looks like a secret in what is shown: by the name that it goes by, or by its form."""

import re
from typing import Any

MASK = "(masked)"

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_SECRET_WORDS = frozenset(
    [
        "apikey",
        "authorization",
        "cookie",
        "credential",
        "credentials",
        "key",
        "passphrase",
        "passwd",
        "password",
        "secret",
        "token",
    ]
)
_NAMED = r"[\w-]*(?:api[_-]?key|secret|token|passw(?:or)?d|passphrase|credential)[\w-]*"
_FORMS = re.compile(
    rf"""
      (?P<kept> \b{_NAMED}["']?\s*[=:]\s*["']?      # API_KEY=..., "token": "..."
              | \bauthorization["']?\s*[=:]\s*["']?\s*(?:\w+\s+)?
              | \bbearer\s+
              | ://[^\s/:@]*:(?=[^\s/@]+@)                # https://user:...@host
      )[^\s"'@,;]+
    | \b(?:sk|pk|rk|xai|csk|pplx|nvapi|glpat|xox[abeprs])-[\w-]{{8,}}   # as providers let their keys begin
    | \b(?:gh[opsur]|github_pat|hf|gsk|npm)_\w{{8,}}
    | \b(?:fw|r8)_(?=[a-z_]*\d)\w{{16,}}                    # names in a program may begin so, too
    | \bAKIA[A-Z0-9]{{12,}}
    | \bAIza[\w-]{{20,}}
    | \beyJ[\w-]{{10,}}\.[\w-]+\.[\w-]*
    """,
    re.VERBOSE | re.IGNORECASE,
)


def names_a_secret(name: str) -> bool:
    """Whether a name (`apiKey`, `GITHUB_TOKEN`) is one that secrets have; counts of `tokens` are none."""
    return any(word.lower() in _SECRET_WORDS for word in _WORDS.findall(name))


def masked_text(text: str) -> str:
    """The text with everything masked that has the form of a secret."""
    return _FORMS.sub(lambda found: (found["kept"] or "") + MASK, text)


def masked_value(value: Any, name: str = "") -> Any:
    """A JSON-like value with its texts masked: whole ones under the name of a secret, else what has the form of one."""
    if isinstance(value, dict):
        # Under the name of a secret everything is one.
        return {key: masked_value(item, name if names_a_secret(name) else key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked_value(item, name) for item in value]
    if isinstance(value, str):
        return MASK if value and names_a_secret(name) else masked_text(value)
    return value
