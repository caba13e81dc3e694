"""A recording keeps the traffic, and no secret."""

import asyncio
import base64
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from traffic import KEY, FakeTransport, read, request

from marvin_agent.errors import NetworkError, SilenceError, UsageError
from marvin_agent.llm.offline.record import Recorder
from marvin_agent.llm.offline.secrets import Secrets
from marvin_agent.llm.values import HttpRequest


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def record(path: Path, inner: FakeTransport, *requests: HttpRequest) -> list[dict[str, Any]]:
    transport = Recorder(str(path), cwd="/project").over(inner)
    for one in requests or (request(),):
        try:
            await read(transport, one)
        except (NetworkError, SilenceError):
            pass
    await transport.close()
    return lines(path)


async def test_a_recording_has_the_request_the_head_each_chunk_and_the_end(tmp_path: Path) -> None:
    inner = FakeTransport(b"data: a\n\n", "é".encode()[:1], "é".encode()[1:], headers={"x-request-id": "r1"})
    header, sent, head, *chunks, end = await record(tmp_path / "r.jsonl", inner, request(messages=[1]))
    assert (header["type"], header["version"], header["cwd"]) == ("recording", 1, "/project")
    assert sent["url"] == "https://model.example/v1/chat/completions"
    assert sent["body"] == {"model": "m", "messages": [1]}
    assert (head["status"], head["headers"]) == (200, {"x-request-id": "r1"})
    assert chunks[0]["text"] == "data: a\n\n"
    assert b"".join(base64.b64decode(chunk["base64"]) for chunk in chunks[1:]) == "é".encode()
    assert all(chunk["at"] >= 0 for chunk in chunks)
    assert end["how"] == "complete"
    assert inner.closed


async def test_a_key_that_a_tool_printed_is_not_kept_either(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    transport = Recorder(str(path), cwd="/", keys=("github-token-1", "")).over(
        FakeTransport(b"it is github-tok", b"en-1")
    )
    await read(transport, request(messages=["GITHUB_TOKEN=github-token-1"]))
    await transport.close()
    assert "github-token-1" not in path.read_text()
    _, sent, _, *chunks, _ = lines(path)
    assert sent["body"]["messages"] == ["GITHUB_TOKEN=***"]
    assert "".join(chunk["text"] for chunk in chunks) == "it is ***"


async def test_a_recording_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.touch(0o644)
    await record(path, FakeTransport())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_recording_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("precious")
    with pytest.raises(UsageError, match="not empty"):
        Recorder(str(path), cwd="/").over(FakeTransport())
    assert path.read_text() == "precious"


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot record"):
        Recorder(str(tmp_path / "no" / "r.jsonl"), cwd="/").over(FakeTransport())


async def test_keys_in_headers_and_addresses_are_not_written(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    sent = HttpRequest(
        url="https://user:pass-word-1@model.example/v1?key=query-secret-1&alt=sse",
        headers={
            "Authorization": f"bearer {KEY}",
            "x-api-key": "anthropic-secret",
            "X-Goog-Api-Key": "google-secret",
            "Cookie": "session=cookie-secret; theme=dark",
            "X-Own": "an-unnamed-but-long-secret",
            "anthropic-version": "2023-06-01",
        },
        body=b'{"echo": ["pass-word-1", "query-secret-1", "anthropic-secret", "google-secret", "cookie-secret"]}',
    )
    _, written, *_ = await record(path, FakeTransport(), sent)
    assert "secret" not in path.read_text()
    assert "pass-word-1" not in path.read_text()
    assert written["url"] == "https://model.example/v1?key=***&alt=sse"
    assert written["headers"]["anthropic-version"] == "2023-06-01"
    assert written["headers"]["Authorization"] == "***"
    assert written["body"] == {"echo": ["***"] * 5}


async def test_a_key_that_the_server_echoes_is_masked_even_across_chunks(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    echo = f"no such key: {KEY}, sorry".encode()
    inner = FakeTransport(*[echo[place : place + 7] for place in range(0, len(echo), 7)], headers={"server": KEY})
    written = await record(path, inner)
    text = "".join(line["text"] for line in written if line["type"] == "chunk")
    assert text == "no such key: ***, sorry"
    assert KEY not in path.read_text()


async def test_chunks_keep_their_boundaries_when_one_only_looks_like_the_beginning_of_a_key(tmp_path: Path) -> None:
    written = await record(tmp_path / "r.jsonl", FakeTransport(b"this is", b"k-not", b"s"))
    assert [line["text"] for line in written if line["type"] == "chunk"] == ["this is", "k-not", "s"]


async def test_a_key_is_masked_as_json_and_as_an_address_would_write_it(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    key = 'odd"key/with+signs'
    sent = HttpRequest(url="https://model.example/v1", headers={"x-api-key": key}, body=json.dumps([key]).encode())
    await record(path, FakeTransport(b"odd%22key%2Fwith%2Bsigns"), sent)
    assert "with" not in path.read_text()


async def test_short_values_and_names_of_applications_are_not_taken_for_keys(tmp_path: Path) -> None:
    sent = HttpRequest(
        url="https://model.example/v1",
        headers={"x-title": "Marvin", "authorization": "Bearer none"},
        body=b'{"text": "Marvin has none"}',
    )
    _, written, *_ = await record(tmp_path / "r.jsonl", FakeTransport(), sent)
    assert written["body"] == {"text": "Marvin has none"}
    assert written["headers"] == {"x-title": "***", "authorization": "***"}


async def test_only_harmless_headers_of_an_answer_are_kept(tmp_path: Path) -> None:
    headers = {"set-cookie": "a=b", "x-ratelimit-remaining-tokens": "5", "retry-after": "1", "x-other": "?"}
    _, _, head, *_ = await record(tmp_path / "r.jsonl", FakeTransport(headers=headers, status=429))
    assert head["headers"] == {"x-ratelimit-remaining-tokens": "5", "retry-after": "1"}


@pytest.mark.parametrize(("error", "how"), [(NetworkError("it broke"), "network"), (SilenceError("quiet"), "silence")])
async def test_how_an_answer_broke_is_kept(tmp_path: Path, error: Exception, how: str) -> None:
    *_, chunk, end = await record(tmp_path / "r.jsonl", FakeTransport(b"a", error))
    assert chunk["text"] == "a"
    assert (end["how"], end["message"]) == (how, str(error))


async def test_an_answer_that_was_not_read_to_its_end_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    transport = Recorder(str(path), cwd="/").over(FakeTransport(b"a", b"b"))
    async with transport.send(request()) as response:
        async for _ in response.chunks():
            break
    await transport.close()
    *_, chunk, end = lines(path)
    assert (chunk["text"], end["how"]) == ("a", "left")


async def test_each_line_is_in_the_file_before_the_next_step(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    transport = Recorder(str(path), cwd="/").over(FakeTransport(b"a", b"b"))
    async with transport.send(request()) as response:
        assert [line["type"] for line in lines(path)] == ["recording", "request", "response"]
        async for chunk in response.chunks():
            assert lines(path)[-1]["text"] == chunk.decode()
    await transport.close()


async def test_exchanges_at_the_same_time_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    transport = Recorder(str(path), cwd="/").over(FakeTransport(b"a"))
    async with transport.send(request(n=1)) as first:
        await read(transport, request(n=2))
        assert [chunk async for chunk in first.chunks()] == [b"a"]
    await transport.close()
    assert [(line["exchange"], line["type"]) for line in lines(path)[1:]] == [
        *((1, "request"), (1, "response")),
        *((2, "request"), (2, "response"), (2, "chunk"), (2, "end")),
        *((1, "chunk"), (1, "end")),
    ]


async def test_an_interrupted_request_is_marked_and_the_interrupt_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    transport = Recorder(str(path), cwd="/").over(FakeTransport(b"a"))

    async def interrupted() -> None:
        async with transport.send(request()):
            await asyncio.Event().wait()

    task = asyncio.create_task(interrupted())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await transport.close()
    assert lines(path)[-1]["how"] == "left"


def test_of_two_keys_one_of_which_begins_the_other_no_rest_is_left() -> None:
    secrets = Secrets()
    secrets.learn("http://h/", {"x-api-key": "abcdefgh"})
    secrets.learn("http://h/", {"authorization": "Bearer abcdefghijklmnop"})
    assert secrets.mask(b"it was abcdefghijklmnop") == b"it was ***"
