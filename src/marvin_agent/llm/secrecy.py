"""Keeps keys out of what people read: addresses without their queries, texts without what looks like a key."""

import re
from collections.abc import Mapping

_KEYS = r"""
    \b(?:(?:sk|pk|rk|gsk|xai|csk|fw|hf|key|ghp|gho|ghu|ghs|github_pat|pplx|r8|nvapi|ya29)[-_.]|AIza)
      (?=[a-z_\-.]*[A-Z0-9*])[A-Za-z0-9_\-*.]{12,}
    | \b(?:Bearer|Basic)\s+(?=[a-z]*(?:[A-Z0-9_~+/\-]|\.\w))[A-Za-z0-9._~+/\-]{8,}=*
    | \beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-.]+
    | (?<=[?&])(?:key|api_?key|token|access_token)=[^&\s"']+
"""
_MASK = "[key]"
_NAMED_SO = r"(?i)auth|key|token|secret|cookie|passw|credential"


def mask(text: str, *keys: str | None) -> str:
    """The text without the given keys and without anything that looks like one."""
    for key in keys:
        if key and len(key) >= 6:
            text = text.replace(key, _MASK)
    return re.sub(_KEYS, _MASK, text, flags=re.VERBOSE)


def secret_values(headers: Mapping[str, str]) -> list[str]:
    """What the headers hold that are named like secrets, without the scheme before it."""
    return [value.rpartition(" ")[2] for name, value in headers.items() if re.search(_NAMED_SO, name)]


def origin(url: str) -> str:
    """`host:port` of an address, which may be shown. Taken apart by hand: urllib is slow to load."""
    scheme, mark, rest = url.partition("://")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    match = re.fullmatch(r"(\[[^\]]*\]|[^:]+)(?::(\d*))?", authority)
    if not mark or not authority:
        return "an address without a host"
    if match is None:
        return "an address that is not valid"
    port = match.group(2) or {"http": "80", "https": "443"}.get(scheme.lower())
    return f"{match.group(1)}:{port}" if port else match.group(1)
