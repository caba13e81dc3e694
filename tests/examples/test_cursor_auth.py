"""Cursor auth against a real server on this machine."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.conftest import Example
from examples.http_service import Asked, Service, serving
from marvin_agent.testing import BlockingHarness

GATEWAY = "http://gateway.invalid/v1"
CURSOR = {"input": {"provider": "cursor", "model_id": "auto"}}


class TokenServer:
    """Gives a new pair of tokens for a refresh token that counts only once."""

    def __init__(self) -> None:
        self.number = 0
        self.lifetime = 3600

    def answer(self, asked: Asked) -> tuple[int, Any]:
        expected = f"refresh-{self.number}"
        if asked.body != {"grant_type": "refresh_token", "refresh_token": expected}:
            return 401, {"error": "invalid_grant"}
        self.number += 1
        tokens = {"access_token": f"access-{self.number}", "refresh_token": f"refresh-{self.number}"}
        return 200, {**tokens, "expires_in": self.lifetime}


@pytest.fixture
def tokens() -> TokenServer:
    return TokenServer()


@pytest.fixture
def server(tokens: TokenServer) -> Iterator[Service]:
    with serving(tokens.answer) as service:
        yield service


@pytest.fixture
def logged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURSOR_REFRESH_TOKEN", "refresh-0")


def loaded(example: Example, server: Service, **options: Any) -> BlockingHarness:
    settings = {"base_url": GATEWAY, "token_url": f"{server.url}/token", "headers": {"x-team": "blue"}}
    return example("cursor_auth", settings=settings, **options)


def kept(hook: BlockingHarness) -> Path:
    return Path(hook.scripted.directory / "config" / "cursor_auth.json")


@pytest.mark.usefixtures("logged_in")
def test_a_call_goes_to_the_gateway_with_a_fresh_token_and_headers(example: Example, server: Service) -> None:
    hook = loaded(example, server, replies=[{"text": "hello"}])
    hook._wait(hook.scripted.engine.set_model(hook.scripted.models.find("cursor/auto"), source="command"))
    assert hook.prompt("go") == "hello"
    (call,) = hook.calls
    assert call.url.startswith(GATEWAY)
    assert call.headers["authorization"] == "Bearer access-1"
    assert (call.headers["x-client"], call.headers["x-team"]) == ("marvin", "blue")
    assert kept(hook).stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("logged_in")
def test_a_token_is_used_until_shortly_before_its_end(example: Example, server: Service, tokens: TokenServer) -> None:
    hook = loaded(example, server)
    assert [hook.emit("auth.get", **CURSOR).event.output.api_key for _ in range(3)] == ["access-1"] * 3
    hook.close()
    again = loaded(example, server, directory=hook.scripted.directory)
    assert again.emit("auth.get", **CURSOR).event.output.api_key == "access-1"
    again.close()
    assert tokens.number == 1
    old = json.loads(kept(hook).read_text())
    kept(hook).write_text(json.dumps({**old, "expires_at": time.time() + 30}))
    third = loaded(example, server, directory=hook.scripted.directory)
    assert third.emit("auth.get", **CURSOR).event.output.api_key == "access-2"


@pytest.mark.usefixtures("logged_in")
def test_calls_at_once_refresh_once(example: Example, server: Service, tokens: TokenServer) -> None:
    hook = loaded(example, server)

    async def at_once() -> list[str]:
        import asyncio

        emitted = await asyncio.gather(*(hook._harness.emit("auth.get", **CURSOR) for _ in range(5)))
        return [each.event.output.api_key for each in emitted]

    assert hook._wait(at_once()) == ["access-1"] * 5
    assert tokens.number == 1


@pytest.mark.usefixtures("logged_in")
def test_two_programs_do_not_spend_the_same_refresh_token(example: Example, server: Service) -> None:
    one = loaded(example, server)
    other = loaded(example, server, directory=one.scripted.directory)
    keys = [hook.emit("auth.get", **CURSOR).event.output.api_key for hook in (one, other)]
    assert keys == ["access-1", "access-1"]


def test_without_a_token_the_call_fails_and_says_what_to_do(example: Example, server: Service) -> None:
    done = loaded(example, server).emit("auth.get", **CURSOR)
    assert done.blocked
    assert "CURSOR_REFRESH_TOKEN" in str(done.reason)


def test_a_token_that_the_server_refuses_fails_the_call(
    example: Example, server: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURSOR_REFRESH_TOKEN", "stolen")
    done = loaded(example, server).emit("auth.get", **CURSOR)
    assert done.blocked
    assert "401" in str(done.reason)


@pytest.mark.usefixtures("logged_in")
def test_other_providers_are_left_alone(example: Example, server: Service) -> None:
    done = loaded(example, server).emit("auth.get", input={"provider": "openai", "model_id": "x"})
    assert (done.blocked, done.changed, server.asked) == (False, set(), [])
