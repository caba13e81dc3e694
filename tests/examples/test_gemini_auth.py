import pytest

from examples.conftest import Example
from marvin_agent.messages import changed
from marvin_agent.testing.engine import MODEL

GEMINI = changed(MODEL, provider="google", id="gemini")


def test_seed_000_the_key_goes_out_with_the_request(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "second")
    hook = example("gemini_auth", models=(GEMINI,), replies=[{"text": "a"}, {"text": "b"}])
    hook.prompt("go")
    monkeypatch.setenv("GEMINI_API_KEY", "first")
    hook.prompt("go on")
    assert [call.headers["authorization"] for call in hook.calls] == ["Bearer second", "Bearer first"]


def test_other_providers_never_see_it(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "first")
    hook = example("gemini_auth", replies=[{"text": "a"}])
    hook.prompt("go")
    assert "first" not in str(hook.calls[0].headers)


def test_without_a_variable_the_stored_key_counts(example: Example) -> None:
    done = example("gemini_auth").emit("auth.get", input={"provider": "google", "model_id": "gemini"})
    assert done.changed == set()
    assert done.errors == []
