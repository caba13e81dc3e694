"""Each of the four protocols over real HTTP, as the installed program speaks it."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.llm.offline.script import Script
from marvin_agent.testing.server import ScriptedServer
from program import Marvin

PROTOCOLS = {
    "anthropic-messages": ("", "messages"),
    "openai-responses": ("/v1", "input"),
    "openai-completions": ("/v1", "messages"),
    "google-generative-ai": ("/v1beta", "contents"),
}
READ = {"name": "read", "arguments": {"path": "a.txt"}}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
protocols = pytest.mark.parametrize("api", PROTOCOLS)


def serve(marvin: Marvin, server: ScriptedServer, api: str) -> None:
    model = {"id": "m", "input": ["text", "image"], "reasoning": True}
    marvin.provider("served", api=api, baseUrl=server.origin + PROTOCOLS[api][0], apiKey="key", models=[model])


def said(body: dict[str, Any], api: str) -> list[Any]:
    """The messages of a request, without the marks for the cache, which move on."""
    text = json.dumps(body[PROTOCOLS[api][1]]).replace(', "cache_control": {"type": "ephemeral"}', "")
    messages: list[Any] = json.loads(text)
    return messages


@protocols
def test_images_and_thinking_are_sent_and_nothing_at_the_beginning_changes(tmp_path: Path, api: str) -> None:
    marvin = Marvin(tmp_path)
    (marvin.work / "a.txt").write_text("alpha\n")
    (marvin.work / "i.png").write_bytes(PNG)
    with ScriptedServer(Script.of({"toolCalls": [READ]}, {"text": "one"}, {"text": "two"})) as server:
        serve(marvin, server, api)
        done = marvin.run("-p", "--attach", "i.png", "--thinking", "high", "hi")
        assert (done.code, done.stdout) == (0, "one\n"), done.stderr
        assert marvin.run("-p", "-c", "go on").stdout == "two\n"
        bodies: list[Any] = [request.body for request in server.requests]
    for body in bodies:
        assert json.dumps(body).count("iVBORw0KGgo") == 1
    assert any(word in json.dumps(bodies[0]) for word in ('"high"', "budget_tokens", "thinkingBudget"))
    # What a provider keeps in its cache is found again: a prefix, under the same key.
    for before, after in itertools.pairwise(bodies):
        for key in ("system", "instructions", "systemInstruction", "tools", "prompt_cache_key"):
            assert before.get(key) == after.get(key), key
        assert said(after, api)[: len(said(before, api))] == said(before, api)
    assert ("prompt_cache_key" in bodies[0]) == (api == "openai-responses")
    assert ("cache_control" in json.dumps(bodies[0])) == (api == "anthropic-messages")


@protocols
def test_a_stream_that_ends_without_an_end_is_tried_again_and_its_tools_do_not_run(tmp_path: Path, api: str) -> None:
    marvin = Marvin(tmp_path)
    marvin.configure(retry={"baseDelayMs": 1})
    touch = {"name": "bash", "arguments": {"command": "touch ran"}}
    replies = Script.of({"text": "wrong", "toolCalls": [touch], "fault": "noEnd"}, {"text": "right"})
    with ScriptedServer(replies) as server:
        serve(marvin, server, api)
        done = marvin.run("-p", "--auto", "hi")
    assert (done.code, done.stdout) == (0, "right\n"), done.stderr
    assert "retry 1/" in done.stderr
    assert not (marvin.work / "ran").exists()


@protocols
def test_a_provider_that_falls_silent_is_given_up_after_the_configured_time(tmp_path: Path, api: str) -> None:
    marvin = Marvin(tmp_path)
    marvin.configure(retry={"maxAttempts": 1}, http={"idleTimeoutMs": 300})
    with ScriptedServer(Script.of({"text": "one two", "fault": "silence"})) as server:
        serve(marvin, server, api)
        done = marvin.run("--headless", "hi")
    assert done.code == 1
    assert done.json["stopReason"] == "error"
    assert "0.3 s" in done.json["error"]


def test_the_time_that_a_provider_asks_for_is_waited_instead_of_ours(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.configure(retry={"baseDelayMs": 60_000, "maxDelayMs": 60_000})
    with ScriptedServer(Script.of({"fault": {"status": 429, "retryAfter": 0.3}}, {"text": "right"})) as server:
        serve(marvin, server, "openai-completions")
        lines = marvin.run("--output", "stream-json", "hi").lines
    assert [line["delayMs"] for line in lines if line["type"] == "retry.start"] == [300]
    assert [line["success"] for line in lines if line["type"] == "retry.end"] == [True]
