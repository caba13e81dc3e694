"""What an error from a provider means: status and body, in the words of many servers, to one tree of errors."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from time import time
from typing import Any, NamedTuple

from marvin_agent.errors import (
    AccessError,
    AuthenticationError,
    BadRequestError,
    ContentRefusedError,
    ContextOverflowError,
    ModelNotFoundError,
    NetworkError,
    OverloadedError,
    ProviderError,
    RateLimitError,
)
from marvin_agent.llm.lenient import load_json
from marvin_agent.llm.secrecy import mask
from marvin_agent.messages import clean

_LONGEST_MESSAGE = 2_000

# Nobody agrees on a code for a conversation that is too long; the words are what there is to go by.
# These are compiled when the first error comes: most runs have none.
_OVERFLOW = (
    r"(?:prompt|input|conversation) is too long|request_too_large|prompt too long|too many (?:input )?tokens"
    r"|exceeds? (?:the )?(?:model'?s? )?(?:maximum |available |allowed )?(?:context|input token|token limit)"
    r"|exceeded (?:model )?token limit|(?:maximum|max) (?:context|prompt|model) (?:length|size)"
    r"|context[ _-]?(?:window|size|length) (?:exceeded|exceeds|limit|overflow)|context_length_exceeded"
    r"|exceeds the (?:available )?context|input token count.{0,40}exceeds|reduce the length of the (?:messages|input)"
    r"|model_context_window_exceeded|(?:greater|larger) than the (?:maximum )?context|token limit exceeded"
    r"|input length and `?max_tokens`? exceed|request exceeds the maximum size|tokens? in request.{0,40}exceed"
)
_QUOTA = (
    r"insufficient[ _](?:quota|funds|balance|credit)|exceeded your current quota|billing|credit balance"
    r"|payment required|spending limit|out of credits|plan limit|usage limit reached"
)
_REFUSED = (
    r"content[ _-]?(?:policy|filter|management|moderation)|moderation|safety (?:system|filter|setting|policy)"
    r"|responsible ai|prohibited_content|usage polic"
)
_NO_MODEL = (
    r"model[ _](?:not[ _]found|does not exist|is not (?:found|supported|available))|unknown model|no such model"
    r"|(?:invalid|unsupported) model|model `?[^`\s]+`? (?:does not exist|not found)|model .{1,80} not found"
    r"|not a valid model|no endpoints found|unexpected endpoint"
)
_KEY = (
    r"(?:invalid|incorrect|missing|expired|no) (?:x-)?api[ _-]?key|api[ _]?key (?:not valid|is invalid|expired)"
    r"|invalid_api_key|api_key_invalid|authentication_error|unauthorized|invalid bearer|token (?:is |has )?expired"
)
_OVERLOADED = r"overloaded|over capacity|at capacity|try again later|temporarily|unavailable"
_RATE = r"rate[ _-]?limit|too many requests|resource[ _]exhausted|tokens per min|throttl"


class _Said(NamedTuple):
    """What the provider told: its words, and the codes that it put beside them."""

    message: str
    codes: str
    status: int | None = None
    retry_after: float | None = None


def from_response(status: int, headers: Mapping[str, str], body: bytes, provider: str) -> ProviderError:
    """The error of an answer that is not 2xx."""
    text = body.decode("utf-8", "replace")
    said = _said(_json(text)) or _Said(plain(text), "")
    if 300 <= status < 400:
        return BadRequestError(
            f"the server answered with a redirect ({status}), which is not followed: it would carry the key and the"
            " conversation to another address",
            provider=provider,
            status=status,
            hint="Set the model's base URL to where the server really is.",
        )
    wait = retry_after(headers)
    wait = said.retry_after if wait is None else wait
    return _error(_kind(status, said), said, provider, status, wait)


def from_stream(error: Any, provider: str = "") -> ProviderError:
    """The error that a server sent inside a stream that began well. `error` is its JSON, decoded or not, or a text."""
    if isinstance(error, str):
        error = _json(error) or error
    said = _said({"error": error} if not isinstance(error, dict) or "error" not in error else error)
    said = said or _Said("the server reported an error without a word", "")
    status = said.status or _status_of(said.codes)
    kind = _kind(status, said) if status else _kind_of_words(said) or OverloadedError
    return _error(kind, said, provider, status, said.retry_after)


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """How many seconds the provider asks us to wait."""
    now = time() if now is None else now
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return max(milliseconds / 1000, 0.0)
    if value := headers.get("retry-after", "").strip():
        if (seconds := _number(value)) is not None:
            return max(seconds, 0.0)
        try:
            then = datetime.strptime(value, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
            return max(then.timestamp() - now, 0.0)
        except ValueError:
            pass
    return _reset(headers, now)


def _reset(headers: Mapping[str, str], now: float) -> float | None:
    """When the limit that is used up begins anew."""
    waits = []
    for name, value in headers.items():
        if "ratelimit" in name and "reset" in name:
            remaining = headers.get(name.replace("reset", "remaining"))
            if remaining is not None and (_number(remaining) or 0) > 0:
                continue
            if (wait := _wait(value.strip(), now)) is not None:
                waits.append(wait)
    return max(waits) if waits else None


def _wait(value: str, now: float) -> float | None:
    """A duration (`6m0s`, `20ms`), seconds, or a time in one of three forms, as seconds from now."""
    if (number := _number(value)) is not None:
        if number > 1e12:
            number /= 1000
        return max(number - now, 0.0) if number > 1e9 else max(number, 0.0)
    units = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    if re.fullmatch(r"(?:\d+(?:\.\d+)?(?:ms|[dhms]))+", value):
        return sum(float(count) * units[unit] for count, unit in re.findall(r"(\d+(?:\.\d+)?)(ms|[dhms])", value))
    try:
        return max(datetime.fromisoformat(value).timestamp() - now, 0.0)
    except ValueError:
        return None


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is None or (number == number and abs(number) != float("inf")) else None


def _json(text: str) -> Any:
    try:
        return load_json(text)
    except ValueError:
        return None


def _said(data: Any) -> _Said | None:
    """Read an error body of any dialect: an object `error` with `message`, `type`, `code`, `status`, or a bare text."""
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return None
    error = data.get("error", data)
    if isinstance(error, str):
        return _Said(error, _words(data.get("type"), data.get("code"), data.get("error_type")))
    if not isinstance(error, dict):
        error = data
    message = next((m for key in ("message", "detail", "msg", "error_msg") if (m := error.get(key))), None)
    if isinstance(message, list | dict):
        message = _details(message)
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and isinstance(raw := metadata.get("raw"), str) and raw:
        # A router's own message says little more than that its upstream failed.
        upstream = _said(_json(raw))
        message = f"{message}: {upstream.message if upstream else raw}"
    codes = _words(error.get("type"), error.get("code"), error.get("status"), *_reasons(error.get("details")))
    if message is None and not codes:
        return None
    return _Said(str(message or codes), codes, _status_of(codes), _retry_delay(error.get("details")))


def _details(message: Any) -> str:
    """The messages of a validation error, as frameworks write them."""
    items = message if isinstance(message, list) else [message]
    texts = [
        str(item.get("msg") or item.get("message") or item) if isinstance(item, dict) else str(item) for item in items
    ]
    return "; ".join(texts)


def _reasons(details: Any) -> list[Any]:
    return [item.get("reason") for item in details if isinstance(item, dict)] if isinstance(details, list) else []


def _retry_delay(details: Any) -> float | None:
    for item in details if isinstance(details, list) else ():
        if isinstance(item, dict) and isinstance(delay := item.get("retryDelay"), str):
            return _wait(delay, 0.0)
    return None


def _words(*codes: Any) -> str:
    return " ".join(str(code) for code in codes if code not in (None, ""))


def _status_of(codes: str) -> int | None:
    match = re.search(r"\b([45]\d\d)\b", codes)
    return int(match.group(1)) if match else None


def plain(text: str) -> str:
    """A body that is not JSON: a proxy's page without its markup, or a line of text."""
    if "<" in text:
        title = re.search(r"<title>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = title.group(1) if title else re.sub(r"<[^>]*>", " ", text)
    return " ".join(text.split())


def _kind(status: int, said: _Said) -> type[ProviderError]:
    words = f"{said.message} {said.codes}"
    match status:
        case 401:
            return AuthenticationError
        case 402:
            return AccessError
        case 403:
            return ContentRefusedError if _has(words, _REFUSED) else AccessError
        case 404:
            return ModelNotFoundError
        case 408 | 409 | 425:
            return NetworkError
        case 413:
            return ContextOverflowError
        case 429:
            # Google says the same of a minute's quota, and how soon there is more.
            if _has(words, _QUOTA) and said.retry_after is None:
                return AccessError
            return ContextOverflowError if _has(words, _OVERFLOW) and not _has(words, _RATE) else RateLimitError
        case 503 | 529:
            return OverloadedError
        case _ if status >= 500:
            return _kind_of_words(said) or OverloadedError
        case _:
            return _kind_of_words(said) or BadRequestError


def _has(words: str, pattern: str) -> bool:
    return re.search(pattern, words, re.IGNORECASE) is not None


def _kind_of_words(said: _Said) -> type[ProviderError] | None:
    words = f"{said.message} {said.codes}"
    for pattern, kind in (
        (_OVERFLOW, ContextOverflowError),
        (_QUOTA, AccessError),
        (_KEY, AuthenticationError),
        (_NO_MODEL, ModelNotFoundError),
        (_REFUSED, ContentRefusedError),
        (_RATE, RateLimitError),
        (_OVERLOADED, OverloadedError),
    ):
        if _has(words, pattern):
            return kind
    return BadRequestError if "invalid_request" in said.codes else None


_HINTS: dict[type[ProviderError], str] = {
    AuthenticationError: "Check the key: `marvin login {provider}` stores a new one.",
    AccessError: "The provider does not let this key do this: check the account's rights, plan and credit.",
    ModelNotFoundError: "Check the model's name and base URL: `marvin models` lists what is known.",
    ContextOverflowError: "The conversation is too long for this model: `/compact` shortens it.",
}


def _error(
    kind: type[ProviderError], said: _Said, provider: str, status: int | None, wait: float | None
) -> ProviderError:
    message = clean(mask(said.message or f"the server answered {status} without a word"))
    if len(message) > _LONGEST_MESSAGE:
        message = message[:_LONGEST_MESSAGE] + "..."
    return kind(
        message,
        provider=provider,
        status=status,
        retry_after=wait if kind.retryable else None,
        hint=_HINTS.get(kind, "").replace("{provider}", provider or "PROVIDER") or None,
    )
