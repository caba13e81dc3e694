"""What looks like a secret is not shown."""

import pytest

from marvin_agent.llm.secrecy import mask
from marvin_agent.masking import MASK, masked_text, masked_value, names_a_secret


@pytest.mark.parametrize(
    "name",
    ["apiKey", "api_key", "APIKEY", "GITHUB_TOKEN", "accessToken", "client-secret", "Authorization", "dbPassword"],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert names_a_secret(name)


@pytest.mark.parametrize("name", ["reserveTokens", "keybindings", "monkey", "author", "model", "path", "keep"])
def test_other_names_are_not_taken_for_them(name: str) -> None:
    assert not names_a_secret(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("use sk-ant-api03-abcdefgh_ij now", f"use {MASK} now"),
        ("ghp_0123456789abcdef", MASK),
        ("AKIAABCDEFGHIJKLMNOP", MASK),
        ("AIzaSyA0123456789abcdefghijklmn", MASK),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", MASK),
        ("https://ada:hunter2@host/x", f"https://ada:{MASK}@host/x"),
        ("curl -H 'Authorization: Bearer abc.def' x", f"curl -H 'Authorization: Bearer {MASK}' x"),
        ("OPENAI_API_KEY=abc123 run", f"OPENAI_API_KEY={MASK} run"),
        ('{"token": "abc"}', f'{{"token": "{MASK}"}}'),
    ],
)
def test_secrets_in_a_text_are_masked_and_the_rest_is_kept(text: str, shown: str) -> None:
    assert masked_text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "risk-averse-development",
        "max_tokens",
        "https://host:8080/a@b",
        "the key is under the mat",
        "bash(git *)",
        "fw_interface_name_of_card",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert masked_text(text) == text


def test_values_are_masked_by_the_name_that_they_go_by() -> None:
    value = {
        "apiKey": "plain",
        "credentials": {"user": "ada", "n": 1},
        "list": [{"token": ""}, "sk-abcdefghijkl"],
        "x": True,
    }
    assert masked_value(value) == {
        "apiKey": MASK,
        "credentials": {"user": MASK, "n": 1},
        "list": [{"token": ""}, MASK],
        "x": True,
    }


@pytest.mark.parametrize(
    "key",
    [
        "sk-ant-api03-AbCdEf0123456789_x",
        "sk-proj-AbCdEf0123456789",
        "gsk_AbCdEf0123456789",
        "xai-AbCdEf0123456789",
        "csk-AbCdEf0123456789",
        "fw_AbCdEf0123456789",
        "hf_AbCdEf0123456789",
        "r8_AbCdEf0123456789",
        "pplx-AbCdEf0123456789",
        "nvapi-AbCdEf0123456789",
        "AIzaSyA0123456789abcdefghijklmn",
        "github_pat_AbCdEf0123456789",
        "ghp_AbCdEf0123456789",
    ],
)
def test_traces_and_errors_know_the_keys_of_the_same_providers(key: str) -> None:
    assert key not in masked_text(f"with {key} it works")
    assert key not in mask(f"with {key} it works")
