"""Keeps keys out of what people read: addresses without their queries, texts without what looks like a key."""

import re
from urllib.parse import urlsplit

_KEYS = r"""
    \b(?:sk|pk|rk|gsk|xai|csk|fw|hf|key|ghp|gho|ghu|ghs|github_pat|pplx|r8|nvapi|AIza|ya29)[-_.]?[A-Za-z0-9_\-*.]{12,}
    | \b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/\-]{8,}=*
    | \beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-.]+
    | (?<=[?&])(?:key|api_?key|token|access_token)=[^&\s"']+
"""
_MASK = "[key]"


def mask(text: str, *keys: str | None) -> str:
    """The text without the given keys and without anything that looks like one."""
    for key in keys:
        if key and len(key) >= 6:
            text = text.replace(key, _MASK)
    return re.sub(_KEYS, _MASK, text, flags=re.VERBOSE)


def origin(url: str) -> str:
    """`host:port` of an address, which may be shown."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "an address that is not valid"
    if not parts.hostname:
        return "an address without a host"
    return f"{parts.hostname}:{port}" if port else parts.hostname
