"""A replay gives what was recorded, byte for byte, to the requests that were recorded."""

import os
from pathlib import Path

import pytest
from traffic import KEY, FakeTransport, read, request

from marvin_agent.errors import ConfigError, NetworkError, ProviderError, SilenceError, UsageError
from marvin_agent.llm.call import ModelCall
from marvin_agent.llm.http import HttpTransport
from marvin_agent.llm.offline.record import Recorder
from marvin_agent.llm.offline.replay import ReplayError, ReplayTransport
from marvin_agent.llm.offline.script import Script
from marvin_agent.llm.transport import Transport
from marvin_agent.llm.values import Credentials, Finished, HttpRequest, Model, Request, StreamEvent, ToolSpec
from marvin_agent.messages import user
from marvin_agent.testing.server import ScriptedServer
from model_server import Exchange, completions, serving


async def recorded(path: Path, inner: FakeTransport, *requests: HttpRequest, cwd: str = "/old/project") -> str:
    transport = Recorder(str(path / "r.jsonl"), cwd=cwd).over(inner)
    for one in requests:
        try:
            await read(transport, one)
        except ProviderError:
            pass
    await transport.close()
    return str(path / "r.jsonl")


def replay(file: str, cwd: str = "/new/place", strict: bool = True) -> ReplayTransport:
    return ReplayTransport(file, cwd=cwd, strict=strict)


def say(text: str) -> HttpRequest:
    return request(messages=[{"role": "user", "content": text}])


async def test_the_chunks_are_the_recorded_ones_byte_for_byte(tmp_path: Path) -> None:
    chunks = [b"data: \xc3", b"\xa9\r\n", b"\n\x00\xff"]
    inner = FakeTransport(*chunks, status=201, headers={"request-id": "r"})
    transport = replay(await recorded(tmp_path, inner, say("a")))
    async with transport.send(say("a")) as response:
        assert (response.status, response.headers) == (201, {"request-id": "r"})
        assert [chunk async for chunk in response.chunks()] == chunks
    await transport.close()


async def test_a_request_that_differs_is_an_error_that_shows_where(tmp_path: Path) -> None:
    transport = replay(await recorded(tmp_path, FakeTransport(b"x"), say("one\ntwo\nthree")))
    with pytest.raises(ReplayError) as caught:
        await read(transport, say("one\n2\nthree"))
    assert not caught.value.retryable
    assert "r.jsonl:2" in caught.value.message
    assert "-    two\n+    2" in caught.value.message
    assert await read(transport, say("one\ntwo\nthree")) == [b"x"]


async def test_a_request_for_another_model_is_an_error(tmp_path: Path) -> None:
    transport = replay(await recorded(tmp_path, FakeTransport(b"x"), request()))
    with pytest.raises(ReplayError, match=r"(?s)-body\.model = 'm'.*\+body\.model = 'other'"):
        await read(transport, request(model="other"))


async def test_a_request_to_another_path_is_an_error_but_another_host_is_not(tmp_path: Path) -> None:
    transport = replay(await recorded(tmp_path, FakeTransport(b"x"), request()))
    with pytest.raises(ReplayError, match=r"\+ /v1/messages"):
        await read(transport, request("https://model.example/v1/messages"))
    assert await read(transport, request("http://127.0.0.1:1/v1/chat/completions")) == [b"x"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Today is 2025-01-31.", "Today is 2026-11-18."),
        ("at 2025-01-31T10:00:00.123Z", "at 2026-11-18T23:59:59Z"),
        ("Jan 31 10:00 a.txt", "Nov  8 23:59 a.txt"),
        ("saved 10:00:01", "saved 23:59:59"),
        ("1 passed in 0.12s", "1 passed in 3.4s"),
        ("wrote /tmp/pytest-1/x.txt", "wrote /tmp/other/y.txt"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-e89b-12d3-a456-426614174999"),
        ("<object at 0x7f1234567890>", "<object at 0x7fabcdefabcd>"),
        ("you are in /old/project", "you are in /new/place"),
        ("read /old/project/a.py", "read /new/place/a.py"),
    ],
)
async def test_what_differs_in_every_run_does_not_count(tmp_path: Path, before: str, after: str) -> None:
    transport = replay(await recorded(tmp_path, FakeTransport(b"x"), say(before)))
    assert await read(transport, say(after)) == [b"x"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1 passed", "2 passed"),
        ("/old/project/a.py", "/new/place/b.py"),
        ("/old/project-2/a", "/new/place/a"),
        ("exit code 1", "exit code 2"),
        ("wait 5 m", "wait 6 m"),
    ],
)
async def test_what_matters_does_count(tmp_path: Path, before: str, after: str) -> None:
    transport = replay(await recorded(tmp_path, FakeTransport(b"x"), say(before)))
    with pytest.raises(ReplayError):
        await read(transport, say(after))


async def test_the_ids_of_a_session_do_not_count(tmp_path: Path) -> None:
    transport = replay(
        await recorded(tmp_path, FakeTransport(b"x"), request(prompt_cache_key="a", metadata={"user_id": "b"}))
    )
    assert await read(transport, request(prompt_cache_key="c", metadata={"user_id": "d"})) == [b"x"]


async def test_where_the_recording_hides_a_key_anything_may_stand(tmp_path: Path) -> None:
    transport = replay(await recorded(tmp_path, FakeTransport(b"x"), say(f"my key is {KEY}!")))
    assert await read(transport, say("my key is another!")) == [b"x"]


async def test_a_recording_that_is_used_up_says_so(tmp_path: Path) -> None:
    transport = replay(await recorded(tmp_path, FakeTransport(b"x"), say("a")))
    await read(transport, say("a"))
    with pytest.raises(ReplayError, match="has 1 requests, and this would be one more"):
        await read(transport, say("a"))


async def test_requests_are_played_in_their_order(tmp_path: Path) -> None:
    file = await recorded(tmp_path, FakeTransport(b"x"), say("a"), say("b"))
    with pytest.raises(ReplayError):
        await read(replay(file), say("b"))


async def test_loosely_the_answers_are_played_in_order_whatever_is_asked(tmp_path: Path) -> None:
    transport = replay(await recorded(tmp_path, FakeTransport(b"x"), say("a"), say("b")), strict=False)
    assert await read(transport, request("http://elsewhere/", n=1)) == [b"x"]
    assert await read(transport, say("?")) == [b"x"]


async def test_requests_that_were_under_way_together_may_come_in_another_order(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    recording = Recorder(str(file), cwd="/").over(FakeTransport(b"x"))
    async with recording.send(say("a")) as first:
        await read(recording, say("b"))
        assert [chunk async for chunk in first.chunks()]
    await read(recording, say("c"))
    await recording.close()
    transport = replay(str(file))
    with pytest.raises(ReplayError):
        await read(transport, say("c"))
    for text in "bac":
        assert await read(transport, say(text)) == [b"x"]


@pytest.mark.parametrize("error", [NetworkError("it broke"), SilenceError("quiet")])
async def test_an_answer_that_broke_breaks_again(tmp_path: Path, error: Exception) -> None:
    transport = replay(await recorded(tmp_path, FakeTransport(b"a", error), say("a")))
    got: list[bytes] = []
    with pytest.raises(type(error), match=str(error)):
        await read(transport, say("a"), got)
    assert got == [b"a"]


async def test_a_torn_recording_plays_what_it_has_and_says_where_it_breaks_off(tmp_path: Path) -> None:
    file = await recorded(tmp_path, FakeTransport(b"one", b"two"), say("a"))
    data = Path(file).read_bytes()
    place = data.index(b'"two"') + 2
    Path(file).write_bytes(data[:place])
    transport = replay(file)
    got: list[bytes] = []
    with pytest.raises(ReplayError, match=r"breaks off here \(.*r.jsonl:4\)"):
        await read(transport, say("a"), got)
    assert got == [b"one"]


async def test_a_recording_torn_before_the_answer_says_so_too(tmp_path: Path) -> None:
    file = await recorded(tmp_path, FakeTransport(b"one"), say("a"))
    Path(file).write_bytes(b"\n".join(Path(file).read_bytes().split(b"\n")[:2]) + b"\n")
    with pytest.raises(ReplayError, match="breaks off here"):
        await read(replay(file), say("a"))


async def test_a_recording_that_was_interrupted_says_so_where_it_ends(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    recording = Recorder(str(file), cwd="/").over(FakeTransport(b"a", b"b"))
    async with recording.send(say("a")) as response:
        async for _ in response.chunks():
            break
    await recording.close()
    with pytest.raises(ReplayError, match="interrupted here"):
        await read(replay(str(file)), say("a"))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "empty"),
        ("hello\n", 1, "does not begin as one"),
        ('{"type":"session","version":1}\n', 1, "does not begin as one"),
        ('{"type":"recording","version":7}\n', 1, "version 1, not 7"),
        ('{"type":"recording","version":1}\n{oops}\n', 2, "damaged"),
        ('{"type":"recording","version":1}\n{"type":"end","exchange":1,"at":0,"how":"complete"}\n', 2, "no request 1"),
        ('{"type":"recording","version":1}\n{"type":"recording","version":1}\n', 2, "second header"),
    ],
)
def test_what_is_not_a_recording_is_an_error_with_its_line(
    tmp_path: Path, text: str, line: int | None, message: str
) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        replay(str(file))
    assert caught.value.line == line


def test_a_missing_recording_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        replay(str(tmp_path / "none"))


async def call(transport: Transport, api: str, base_url: str) -> list[StreamEvent]:
    model = Model(provider="test", id="m", api=api, base_url=base_url, reasoning=True)
    tools = (ToolSpec(name="read", description="Reads", parameters={"type": "object"}),)
    asked = Request(model=model, system="Be short", messages=(user("hi"),), tools=tools)
    return [event async for event in ModelCall(asked, Credentials(api_key=KEY), transport).events()]


async def test_a_call_over_the_network_is_recorded_and_replayed_the_same(tmp_path: Path) -> None:
    reply = {"thinking": "hm", "text": "Grüße", "toolCalls": [{"name": "read", "arguments": {"path": "é"}}], "chunk": 1}
    path = tmp_path / "r.jsonl"
    with ScriptedServer(Script.of(reply)) as server:
        recording = Recorder(str(path), cwd=os.getcwd()).over(HttpTransport())
        live = await call(recording, "openai-completions", server.url)
        await recording.close()
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in path.read_text()
    played = await call(replay(str(path)), "openai-completions", "http://gone/v1")
    assert isinstance(live[-1], Finished)
    assert isinstance(played[-1], Finished)
    assert played[-1].message.content == live[-1].message.content
    assert played[-1].message.usage == live[-1].message.usage
    assert [call.input for call in played[-1].message.tool_calls] == [{"path": "é"}]


async def test_an_answer_that_was_whole_when_the_server_did_not_hang_up_is_played_back(tmp_path: Path) -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.write(completions({"content": "whole"}))
        await exchange.dropped()

    async def answer(transport: Transport) -> Finished:
        call = ModelCall(asked, Credentials(api_key=KEY), transport)
        finished = [event async for event in call.events()][-1]
        await transport.close()
        assert isinstance(finished, Finished)
        return finished

    file = str(tmp_path / "r.jsonl")
    async with serving(handler) as server:
        asked = server.request()
        await answer(Recorder(file, cwd="/old").over(HttpTransport()))
    assert (await answer(replay(file))).message.text == "whole"
