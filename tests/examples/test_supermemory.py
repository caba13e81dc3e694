"""Supermemory against a real server on this machine."""

from collections.abc import Iterator
from typing import Any

import pytest

from examples.conftest import Example
from examples.http_service import Asked, Service, serving
from marvin_agent.agent import events as out
from marvin_agent.testing import BlockingHarness

FULL = {"input": 85_000, "output": 500}


def answer(asked: Asked) -> tuple[int, Any]:
    match asked.method, asked.path:
        case "POST", "/v4/profile":
            return 200, {"profile": {"static": ["likes tea"], "dynamic": ["works on marvin"]}}
        case "POST", "/v4/search":
            user = asked.body["containerTag"].startswith("marvin_user_")
            return 200, {"results": [{"memory": "likes tea" if user else "uses uv"}, {"chunk": "tests with pytest"}]}
        case "POST", "/v3/documents":
            return 200, {"id": "m7", "status": "queued"}
        case "POST", "/v3/documents/list":
            return 200, {"memories": [{"id": "m7", "summary": "uses uv"}]}
        case "DELETE", "/v3/documents/m%2F7":
            return 200, {}
    return 404, {"error": "no such path"}


@pytest.fixture
def server() -> Iterator[Service]:
    with serving(answer) as service:
        yield service


def loaded(example: Example, server: Service, *replies: dict[str, Any]) -> BlockingHarness:
    settings = {"api_key": "sm-key", "base_url": server.url, "user": "ada"}
    return example("supermemory", settings=settings, replies=replies)


def test_seed_000_the_first_message_of_a_session_brings_what_is_remembered(example: Example, server: Service) -> None:
    hook = loaded(example, server, {"text": "a"}, {"text": "b"})
    hook.prompt("how do I <private>my pin is 1234</private> run the tests?")
    hook.prompt("and then?")
    assert hook.sent[0].startswith(
        "<memories>\n- likes tea\n- works on marvin\n- tests with pytest\n- uses uv\n</memories>"
    )
    assert hook.sent[1] == "and then?"
    assert {asked.path for asked in server.asked} == {"/v4/profile", "/v4/search"}
    assert all(asked.headers["authorization"] == "Bearer sm-key" for asked in server.asked)
    assert "1234" not in str(server.asked)
    assert "ada" not in str([asked.body for asked in server.asked])


def test_the_tool_has_five_modes(example: Example, server: Service) -> None:
    hook = loaded(example, server)
    added = hook.tool("supermemory", mode="add", content="we use uv; <private>token</private>", scope="project")
    assert added == "Remembered as m7."
    (body,) = server.bodies("/v3/documents")
    assert body["content"] == "we use uv; [private]"
    assert body["containerTag"].startswith("marvin_project_")
    assert hook.tool("supermemory", mode="search", query="packages") == "uses uv\ntests with pytest"
    assert hook.tool("supermemory", mode="profile") == "likes tea\nworks on marvin"
    assert hook.tool("supermemory", mode="list") == "m7: uses uv"
    assert hook.tool("supermemory", mode="forget", id="m/7") == "Forgot m/7."


def test_a_wrong_call_is_an_error_for_the_model(example: Example, server: Service) -> None:
    hook = loaded(example, server)
    assert hook.call("supermemory", mode="dream").status == "invalid"
    assert hook.call("supermemory", mode="add").status == "error"
    assert server.asked == []


def test_seed_000_at_eighty_percent_it_compacts_and_remembers_the_summary(example: Example, server: Service) -> None:
    hook = loaded(example, server, {"text": "done", "usage": FULL}, {"text": "they moved to uv"})
    hook.prompt("go")
    hook.wait_until(lambda: server.bodies("/v3/documents"))
    (body,) = server.bodies("/v3/documents")
    assert body["content"] == "they moved to uv"
    assert body["metadata"]["type"] == "conversation"
    assert "The context is 86% full." in hook.told[0]


def test_a_server_that_is_down_costs_no_prompt(example: Example, server: Service) -> None:
    settings = {"api_key": "sm-key", "base_url": server.url + "/elsewhere"}
    hook = example("supermemory", settings=settings, replies=[{"text": "still here"}])
    assert hook.prompt("go") == "still here"
    assert hook.sent == ["go"]
    assert "404" in hook.scripted.of(out.HookFailed)[0].error


def test_without_a_key_nothing_is_asked_and_nothing_registered(example: Example) -> None:
    hook = example("supermemory")
    assert hook.events == []
    assert hook.call("supermemory", mode="list").status == "invalid"


def test_the_key_and_address_may_come_from_the_environment(
    example: Example, server: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUPERMEMORY_API_KEY", "from-env")
    monkeypatch.setenv("SUPERMEMORY_API_URL", server.url)
    assert example("supermemory").tool("supermemory", mode="list") == "m7: uses uv"
    assert server.asked[0].headers["authorization"] == "Bearer from-env"
