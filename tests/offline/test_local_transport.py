"""The embedded model's transport, with an engine that is made up, and with the real one where it is installed."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.agent.default_model import LOCAL
from marvin_agent.errors import ContextOverflowError, ModelNotFoundError, ProviderError
from marvin_agent.llm.call import ModelCall
from marvin_agent.llm.offline.local import LocalTransport
from marvin_agent.llm.offline.weights import SIZE, weights_file
from marvin_agent.llm.values import Credentials, Finished, HttpRequest, Request, StreamOptions, TextDelta, ToolSpec
from marvin_agent.messages import AssistantMessage, user

WEIGHTS = os.environ.get("MARVIN_TEST_WEIGHTS", "")
"""The file with the real weights; the tests that need it are skipped without it."""


class FakeEngine:
    """Answers with these chunks. It stands still before the one that is None until it is stopped or released."""

    def __init__(self, *chunks: dict[str, Any] | Exception | None) -> None:
        self.chunks = chunks
        self.bodies: list[dict[str, Any]] = []
        self.asked = threading.Event()
        self.stopped = threading.Event()
        self.closed = False

    def chat(self, body: dict[str, Any], take: Callable[[dict[str, Any]], bool]) -> None:
        self.bodies.append(body)
        self.asked.set()
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            if chunk is None:
                while not take({"prompt_progress": {}}):
                    self.stopped.wait(0.001)
                self.stopped.set()
                return
            if take(chunk):
                self.stopped.set()
                return

    def close(self) -> None:
        self.closed = True


def said(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


@pytest.fixture
def data_dir(tmp_path: Path) -> str:
    """A data directory with a file of the weights' size, without its bytes."""
    path = Path(weights_file(str(tmp_path)))
    path.parent.mkdir()
    with path.open("wb") as file:
        file.truncate(SIZE)
    return str(tmp_path)


async def ask(transport: LocalTransport, question: str = "hi", tools: tuple[ToolSpec, ...] = ()) -> AssistantMessage:
    asked = Request(
        model=LOCAL, system="", messages=(user(question),), tools=tools, options=StreamOptions(max_tokens=40)
    )
    *_, last = [event async for event in ModelCall(asked, Credentials(), transport).events()]
    assert isinstance(last, Finished)
    return last.message


async def test_chunks_of_the_engine_arrive_as_a_stream(data_dir: str) -> None:
    engine = FakeEngine({"prompt_progress": {}, "choices": []}, said('{"answer":"Hel'), said('lo"}'), END)
    made: list[str] = []

    def make(weights: str) -> FakeEngine:
        made.append(weights)
        return engine

    transport = LocalTransport(data_dir, make_engine=make)
    assert (await ask(transport)).text == "Hello"
    assert (await ask(transport)).text == "Hello"
    assert made == [weights_file(data_dir)]
    assert engine.bodies[0]["messages"][-1]["content"] == "hi"
    await transport.close()
    assert engine.closed


async def test_words_arrive_while_the_engine_is_still_writing(data_dir: str) -> None:
    engine = FakeEngine(said("first"), None)
    transport = LocalTransport(data_dir, make_engine=lambda _: engine)
    asked = Request(model=LOCAL, system="", messages=(user("hi"),))
    events = ModelCall(asked, Credentials(), transport).events()
    async for event in events:
        if isinstance(event, TextDelta):
            assert event.text == "first"
            break
    await events.aclose()
    assert await asyncio.to_thread(engine.stopped.wait, 10)
    await transport.close()


async def test_a_cancelled_call_stops_the_engine(data_dir: str) -> None:
    engine = FakeEngine(None)
    transport = LocalTransport(data_dir, make_engine=lambda _: engine)
    task = asyncio.create_task(ask(transport))
    assert await asyncio.to_thread(engine.asked.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(engine.stopped.wait, 10)
    await transport.close()
    assert engine.closed


async def test_closing_stops_a_call_that_is_under_way(data_dir: str) -> None:
    engine = FakeEngine(None)
    transport = LocalTransport(data_dir, make_engine=lambda _: engine)
    task = asyncio.create_task(ask(transport))
    assert await asyncio.to_thread(engine.asked.wait, 10)
    await transport.close()
    assert engine.closed
    with pytest.raises(ProviderError, match="without an answer"):
        await task


async def test_an_error_of_the_engine_is_an_error_of_the_call(data_dir: str) -> None:
    text = "request (9031 tokens) exceeds the available context size (8192 tokens)"
    error = {"error": {"code": 400, "message": text, "type": "exceed_context_size_error"}}
    with pytest.raises(ContextOverflowError, match="9031"):
        await ask(LocalTransport(data_dir, make_engine=lambda _: FakeEngine(error)))


@pytest.mark.parametrize("chunks", [(RuntimeError("no memory"),), (said("a"), RuntimeError("no memory"))])
async def test_an_engine_that_fails_is_told_and_not_tried_again(data_dir: str, chunks: tuple[Any, ...]) -> None:
    with pytest.raises(ProviderError, match="no memory") as caught:
        await ask(LocalTransport(data_dir, make_engine=lambda _: FakeEngine(*chunks)))
    assert not caught.value.retryable


async def test_without_weights_it_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError) as caught:
        await ask(LocalTransport(str(tmp_path)))
    assert "`marvin local install` (94 MB)" in caught.value.show()
    assert ("marvin-agent[local]" in caught.value.show()) == (find_spec("xllamacpp") is None)


async def test_weights_that_are_not_whole_are_none(data_dir: str) -> None:
    os.truncate(weights_file(data_dir), SIZE - 1)
    with pytest.raises(ModelNotFoundError):
        await ask(LocalTransport(data_dir))


async def test_without_the_engine_it_says_how_to_get_it(data_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "marvin_agent.llm.offline.engine", raising=False)
    with pytest.raises(ModelNotFoundError) as caught:
        await ask(LocalTransport(data_dir))
    assert "marvin-agent[local]" in caught.value.show()


async def test_closing_what_was_never_used_is_nothing(tmp_path: Path) -> None:
    await LocalTransport(str(tmp_path)).close()


# With the real engine.

real = pytest.mark.skipif(
    not (find_spec("xllamacpp") and os.path.exists(WEIGHTS)),
    reason="needs xllamacpp, and MARVIN_TEST_WEIGHTS to name the weights",
)


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[LocalTransport]:
    path = Path(weights_file(str(tmp_path)))
    path.parent.mkdir()
    path.symlink_to(os.path.abspath(WEIGHTS))
    transport = LocalTransport(str(tmp_path))
    yield transport
    await transport.close()


@real
async def test_the_model_answers(local: LocalTransport, capfd: pytest.CaptureFixture[str]) -> None:
    message = await ask(local, "What is 2 + 2?")
    assert message.text
    assert message.usage is not None
    assert message.usage.output > 0
    assert capfd.readouterr() == ("", "")


@real
async def test_the_model_calls_a_tool(local: LocalTransport) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    read = ToolSpec(name="read", description="Reads a file", parameters=schema)
    message = await ask(local, "Read the file README.md", (read,))
    # Which file it names is not ours to promise.
    assert [(call.name, list(call.input)) for call in message.tool_calls] == [("read", ["path"])]


@real
async def test_nothing_of_the_model_can_be_reached_from_outside(local: LocalTransport) -> None:
    await ask(local)
    inodes = {os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if _is_link(name)}
    listening = [
        line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if line.split()[3] == "0A"
    ]
    assert not [inode for inode in listening if f"socket:[{inode}]" in inodes]
    bound = [line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines() if "engine.sock" in line]
    assert not [path for path in bound if os.path.exists(path)]


def _is_link(name: str) -> bool:
    return os.path.islink(f"/proc/self/fd/{name}")


@real
async def test_a_prompt_that_is_too_long_is_told(local: LocalTransport) -> None:
    body = {"messages": [{"role": "user", "content": "word " * 9000}], "stream": True}
    async with local.send(HttpRequest(url="http://local/", headers={}, body=json.dumps(body).encode())) as response:
        assert response.status == 400
        assert b"context" in b"".join([chunk async for chunk in response.chunks()])
