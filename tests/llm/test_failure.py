"""What errors from providers mean. The bodies are such as the named servers send."""

import json
from typing import Any

import pytest

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
from marvin_agent.llm.failure import from_response, from_stream, retry_after
from marvin_agent.llm.secrecy import mask, origin


def openai(message: str, kind: str = "invalid_request_error", code: Any = None) -> dict:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic(message: str, kind: str) -> dict:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def google(code: int, message: str, status: str, *details: dict) -> dict:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


CASES: list[tuple[str, int, Any, type[ProviderError]]] = [
    ("openai key", 401, openai("Incorrect API key provided: sk-abc", code="invalid_api_key"), AuthenticationError),
    ("openai quota", 429, openai("You exceeded your current quota", "insufficient_quota"), AccessError),
    ("openai rate", 429, openai("Rate limit reached for gpt on tokens per min", "tokens"), RateLimitError),
    (
        "openai context",
        400,
        openai("This model's maximum context length is 128000 tokens. However,"),
        ContextOverflowError,
    ),
    ("openai context code", 400, openai("too big", code="context_length_exceeded"), ContextOverflowError),
    ("openai responses", 400, openai("Your input exceeds the context window of this model."), ContextOverflowError),
    ("openai model", 404, openai("The model `x` does not exist", code="model_not_found"), ModelNotFoundError),
    ("openai param", 400, openai("Unsupported parameter: 'max_tokens'"), BadRequestError),
    ("openai max_tokens", 400, openai("max_tokens is too large: 100000"), BadRequestError),
    (
        "openai policy",
        400,
        openai("rejected by our safety system", code="content_policy_violation"),
        ContentRefusedError,
    ),
    ("openai server", 500, openai("The server had an error", "server_error"), OverloadedError),
    ("azure filter", 400, openai("The response was filtered", code="content_filter"), ContentRefusedError),
    (
        "anthropic context",
        400,
        anthropic("prompt is too long: 213462 tokens > 200000 maximum", "invalid_request_error"),
        ContextOverflowError,
    ),
    (
        "anthropic room",
        400,
        anthropic("input length and `max_tokens` exceed context limit: 1 + 2 > 2", "invalid_request_error"),
        ContextOverflowError,
    ),
    ("anthropic size", 413, anthropic("Request exceeds the maximum size", "request_too_large"), ContextOverflowError),
    ("anthropic overload", 529, anthropic("Overloaded", "overloaded_error"), OverloadedError),
    ("anthropic key", 401, anthropic("invalid x-api-key", "authentication_error"), AuthenticationError),
    ("anthropic rights", 403, anthropic("Your key does not have permission", "permission_error"), AccessError),
    (
        "anthropic credit",
        400,
        anthropic("Your credit balance is too low to access the Anthropic API", "invalid_request_error"),
        AccessError,
    ),
    ("anthropic rate", 429, anthropic("This request would exceed your rate limit", "rate_limit_error"), RateLimitError),
    (
        "anthropic bad",
        400,
        anthropic("messages: text content blocks must be non-empty", "invalid_request_error"),
        BadRequestError,
    ),
    ("anthropic model", 404, anthropic("model: claude-x", "not_found_error"), ModelNotFoundError),
    (
        "google key",
        400,
        google(
            400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}
        ),
        AuthenticationError,
    ),
    (
        "google context",
        400,
        google(
            400,
            "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
            "INVALID_ARGUMENT",
        ),
        ContextOverflowError,
    ),
    ("google overload", 503, google(503, "The model is overloaded.", "UNAVAILABLE"), OverloadedError),
    ("google list", 404, [google(404, "models/x is not found", "NOT_FOUND")], ModelNotFoundError),
    ("groq context", 400, openai("Please reduce the length of the messages or completion."), ContextOverflowError),
    (
        "xai context",
        400,
        {
            "code": "400",
            "error": "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
        },
        ContextOverflowError,
    ),
    ("mistral rate", 429, {"message": "Requests rate limit exceeded"}, RateLimitError),
    (
        "mistral context",
        400,
        {
            "object": "error",
            "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
            "type": "invalid_request",
        },
        ContextOverflowError,
    ),
    ("mistral validation", 422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, BadRequestError),
    (
        "llama.cpp context",
        400,
        openai(
            "the request exceeds the available context size. try increasing the context size",
            "exceed_context_size_error",
            400,
        ),
        ContextOverflowError,
    ),
    ("llama.cpp loading", 503, openai("Loading model", "unavailable_error", 503), OverloadedError),
    (
        "lm studio context",
        400,
        {"error": "The number of tokens to keep from the initial prompt is greater than the context length"},
        ContextOverflowError,
    ),
    ("ollama model", 404, openai("model 'x' not found", "api_error"), ModelNotFoundError),
    (
        "vllm context",
        400,
        {"object": "error", "message": "This model's maximum context length is 4096 tokens.", "code": 400},
        ContextOverflowError,
    ),
    ("cerebras without a word", 413, None, ContextOverflowError),
    ("openrouter credit", 402, openai("Insufficient credits", code=402), AccessError),
    ("openrouter moderation", 403, openai("Your input was flagged by moderation", code=403), ContentRefusedError),
    ("openrouter model", 400, openai("x/y is not a valid model ID", code=400), ModelNotFoundError),
    ("proxy", 502, None, OverloadedError),
    ("timeout", 408, None, NetworkError),
]


@pytest.mark.parametrize(("name", "status", "body", "kind"), CASES, ids=[case[0] for case in CASES])
def test_what_providers_say(name: str, status: int, body: Any, kind: type[ProviderError]):
    error = from_response(status, {}, b"" if body is None else json.dumps(body).encode(), "p")
    assert type(error) is kind, error.show()
    assert error.status == status
    assert error.provider == "p"
    assert error.message


def test_the_providers_own_words_are_kept():
    error = from_response(400, {}, json.dumps(openai("messages.3.content must be a string")).encode(), "openai")
    assert error.show() == "openai: messages.3.content must be a string (HTTP 400)"


def test_a_router_passes_on_what_its_upstream_said():
    raw = json.dumps({"error": {"message": "prompt is too long: 9 > 8"}})
    body = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}
    error = from_response(400, {}, json.dumps(body).encode(), "openrouter")
    assert isinstance(error, ContextOverflowError)
    assert error.message == "Provider returned error: prompt is too long: 9 > 8"


def test_a_proxys_page_is_told_by_its_title():
    page = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
    assert from_response(502, {}, page, "p").message == "502 Bad Gateway"


def test_a_long_page_is_cut():
    assert len(from_response(500, {}, b"x" * 50_000, "p").message) < 2_100


def test_quota_is_not_worth_a_retry_and_a_rate_limit_is():
    quota = from_response(429, {"retry-after": "5"}, json.dumps(openai("x", "insufficient_quota")).encode(), "p")
    rate = from_response(429, {"retry-after": "5"}, b"slow down", "p")
    assert (quota.retryable, quota.retry_after) == (False, None)
    assert (rate.retryable, rate.retry_after) == (True, 5)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:17:00 GMT"}, 20),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"x-ratelimit-reset-requests": "1m30s", "x-ratelimit-reset-tokens": "20ms"}, 90),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "5"}, None),
        ({"x-ratelimit-reset": "1030"}, 1030),
        ({"x-ratelimit-reset": "2000000000"}, 1_999_999_000),
        ({"x-ratelimit-reset": "2000000000000"}, 1_999_999_000),
        ({"anthropic-ratelimit-tokens-reset": "1970-01-01T00:17:00Z", "anthropic-ratelimit-tokens-remaining": "0"}, 20),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None):
    assert retry_after(headers, now=1_000) == seconds


def test_a_minutes_quota_of_google_is_worth_a_retry():
    said = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota, check billing"}
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}
    passing = from_response(429, {}, json.dumps({"error": {**said, "details": [retry]}}).encode(), "google")
    lasting = from_response(429, {}, json.dumps({"error": said}).encode(), "google")
    assert (passing.retryable, passing.retry_after) == (True, 34)
    assert not lasting.retryable


def test_a_long_wait_is_told():
    assert "asks to wait 67 min" in from_response(429, {"retry-after": "4000"}, b"slow", "p").show()
    assert "asks to wait 24 h" in from_response(429, {"retry-after": "86400"}, b"slow", "p").show()
    assert "wait" not in from_response(429, {"retry-after": "5"}, b"slow", "p").show()


def test_google_says_how_long_to_wait_in_the_body():
    body = google(429, "Resource has been exhausted", "RESOURCE_EXHAUSTED", {"retryDelay": "34.5s"})
    assert from_response(429, {}, json.dumps(body).encode(), "google").retry_after == 34.5


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, OverloadedError),
        ({"type": "rate_limit_error", "message": "x"}, RateLimitError),
        ({"type": "invalid_request_error", "message": "x"}, BadRequestError),
        ({"type": "api_error", "message": "Internal server error"}, OverloadedError),
        ({"code": 429, "message": "x"}, RateLimitError),
        ({"code": 502, "message": "Provider disconnected"}, OverloadedError),
        ("a text", OverloadedError),
        ({}, OverloadedError),
        (None, OverloadedError),
    ],
)
def test_errors_inside_a_stream(error: Any, kind: type[ProviderError]):
    assert type(from_stream(error)) is kind


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcdefghijklmnop1234",
        "sk-ant-api03-abcdefghijklmnop-_1234",
        "AIzaSyA-1234567890abcdefghijklmnop",
        "gsk_abcdefghijklmnop1234",
        "xai-abcdefghijklmnop1234",
        "ghp_abcdefghijklmnop1234567890",
        "Bearer abcdefgh.ijklmnop",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
    ],
)
def test_what_looks_like_a_key_is_masked(key: str):
    shown = mask(f"wrong key: {key}, sorry")
    assert key not in shown
    assert key[-6:] not in shown
    assert shown.startswith("wrong key: ")
    assert shown.endswith(", sorry")


def test_a_key_in_an_address_and_a_given_key_are_masked():
    assert mask("GET /v1?key=abc123&x=1") == "GET /v1?[key]&x=1"
    assert mask("not my-own-format", "my-own-format") == "not [key]"


@pytest.mark.parametrize(
    "text",
    [
        "the task-list is fine",
        "sk-",
        "a risk-free-environment-of-words",
        "tokens per min",
        "keyword_arguments_invalid",
        "skipped_validation_of_2_fields",
        "hf_hub_download_failed",
        "Basic authentication is required.",
        "use Bearer authentication.",
    ],
)
def test_words_are_not_masked(text: str):
    assert mask(text) == text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api.example.com/v1?key=x", "api.example.com:443"),
        ("http://user:secret@127.0.0.1:8080/x", "127.0.0.1:8080"),
        ("http://[::1]:8080/x", "[::1]:8080"),
        ("https://host?key=a@b", "host:443"),
        ("nonsense", "an address without a host"),
        ("http://host:port/", "an address that is not valid"),
    ],
)
def test_an_address_is_shown_by_its_host_and_port(url: str, shown: str):
    assert origin(url) == shown
