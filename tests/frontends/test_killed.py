"""kill -9 at any point: at most the message that was streaming is lost, and the next start goes on from there."""

import random
import time
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.llm.offline.script import Script
from marvin_agent.testing.server import ScriptedServer
from program import Marvin

KILLS = 5
CALLS = [
    {"name": "bash", "arguments": {"command": "echo one >> log"}},
    {"name": "read", "arguments": {"path": "a.txt"}},
]
REPLIES = (
    {"text": "All is done.", "match": "finish", "repeat": True},
    {"text": "one two three", "chunkDelayMs": 2, "toolCalls": CALLS, "repeat": True},
)


def pairs(body: dict[str, Any]) -> list[tuple[list[str], list[str]]]:
    """For each message with tool calls the ids called, and those answered by the message after it."""
    messages = body["messages"]
    found = []
    for message, after in zip(messages, [*messages[1:], {"content": []}], strict=True):
        if message["role"] == "assistant":
            called = [part["id"] for part in message["content"] if part["type"] == "tool_use"]
            answered = [part["tool_use_id"] for part in after["content"] if part["type"] == "tool_result"]
            found.append((called, answered))
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_the_session_goes_on_after_every_kill(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    marvin = Marvin(tmp_path)
    (marvin.work / "a.txt").write_text("alpha\n")
    with ScriptedServer(Script.of(*REPLIES)) as server:
        marvin.provider("served", api="anthropic-messages", baseUrl=server.origin, apiKey="key", models=[{"id": "m"}])
        before = 0
        for number in range(KILLS):
            continued = ["-c"] if marvin.sessions else []
            with marvin.start("-p", "--auto", *continued, "work") as process:
                wanted = before + chance.randint(1, 3)
                server.wait_until(lambda server, wanted=wanted: len(server.requests) >= wanted)
                time.sleep(chance.uniform(0, 0.04))  # anywhere in an answer, a tool or between them
                process.kill()
            assert process.returncode == -9, number
            before = len(server.requests)
        done = marvin.run("--headless", "-c", "--max-turns", "2", "finish")
        assert (done.code, done.json["assistant"]) == (0, "All is done."), done.json
        last = server.requests[-1].body
    (path,) = marvin.sessions
    answers = [message for message in marvin.messages(path) if message["role"] == "assistant"]
    results = [message for message in marvin.messages(path) if message["role"] == "toolResult"]
    assert len(answers) >= before - KILLS + 1
    assert len(results) >= len(CALLS) * (len(answers) - 1 - KILLS)
    assert [called for called, answered in pairs(last) if called != answered] == []
    assert sum(len(called) for called, _ in pairs(last)) == len(CALLS) * (len(answers) - 1)
    assert str(last["messages"]).count("'work'") == KILLS
