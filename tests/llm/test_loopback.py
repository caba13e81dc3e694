"""HTTP as servers on this machine speak it, and as they should not."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marvin_agent.errors import BadRequestError, NetworkError, ProtocolError, ProviderError
from marvin_agent.llm.http import HttpTransport
from marvin_agent.llm.loopback import _Chunks, is_loopback
from marvin_agent.llm.values import HttpRequest
from model_server import Exchange, serving


async def ask(port: int, path: str = "/x", headers: dict[str, str] | None = None) -> tuple[int, dict, list[bytes]]:
    request = HttpRequest(url=f"http://127.0.0.1:{port}{path}", headers=headers or {}, body=b"{}")
    async with HttpTransport(idle_timeout=5).send(request) as response:
        return response.status, response.headers, [chunk async for chunk in response.chunks()]


@asynccontextmanager
async def saying(*pieces: bytes) -> AsyncIterator[int]:
    """A server that says these bytes, a moment between them, and hangs up."""

    async def handler(exchange: Exchange) -> None:
        for piece in pieces:
            await exchange.write(piece)
            await asyncio.sleep(0)

    async with serving(handler) as server:
        yield server.port


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabcdef", b"abc"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b""),
        (b"HTTP/1.0 200 OK\r\n\r\nabc", b"abc"),
        (b"HTTP/1.1 200\r\n\r\nabc", b"abc"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nabc", b"abc"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nTrailer: x\r\n\r\n",
            b"abcd",
        ),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", b""),
    ],
)
async def test_bodies_that_end_in_each_way(answer: bytes, body: bytes):
    async with saying(answer) as port:
        status, _, chunks = await ask(port)
    assert (status, b"".join(chunks)) == (200, body)
    async with saying(*(answer[at : at + 1] for at in range(len(answer)))) as port:
        assert b"".join((await ask(port))[2]) == body


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"", NetworkError),
        (b"HTTP/1.1 200 OK\r\ncont", NetworkError),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab", NetworkError),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab", NetworkError),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n", NetworkError),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", ProtocolError),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"0" * 10_000, ProtocolError),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n", ProtocolError),
        (b"SSH-2.0-OpenSSH\r\n\r\n", ProtocolError),
        (b"SSH-2.0-OpenSSH\r\n", ProtocolError),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\nplain", ProtocolError),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\nplain", ProtocolError),
        (b"HTTP/1.1 200 OK\r\nx: " + b"x" * 200_000, ProtocolError),
    ],
)
async def test_answers_that_are_none(answer: bytes, kind: type[ProviderError]):
    async with saying(answer) as port:
        with pytest.raises(kind, match=rf"127\.0\.0\.1:{port}"):
            await ask(port)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=20)), st.data())
def test_chunks_are_taken_apart_however_they_are_cut(bodies: list[bytes], data: st.DataObject):
    raw = b"".join(b"%x\r\n%b\r\n" % (len(body), body) for body in bodies if body) + b"0\r\n\r\n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    decoder = _Chunks("here")
    pieces = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert b"".join([decoder.feed(piece) for piece in pieces if not decoder.ended]) == b"".join(bodies)
    assert decoder.ended


async def test_many_chunks_of_one_read_come_as_one():
    async with saying(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 5_000 + b"0\r\n\r\n"
    ) as port:
        _, _, chunks = await ask(port)
    assert b"".join(chunks) == b"x" * 5_000
    assert len(chunks) < 50


async def test_the_request_says_what_it_must():
    async def handler(exchange: Exchange) -> None:
        await exchange.answer(204, b"")

    async with serving(handler) as server:
        await ask(server.port, "/a?b=c", {"x-name": "wert ü"})
    (sent,) = server.exchanges
    assert (sent.method, sent.path, sent.body) == ("POST", "/a?b=c", b"{}")
    assert sent.headers["host"] == f"127.0.0.1:{server.port}"
    assert (sent.headers["content-length"], sent.headers["connection"]) == ("2", "close")
    assert sent.headers["x-name"].encode("latin-1").decode() == "wert ü"


@pytest.mark.parametrize("headers", [{"x": "a\r\nb: c"}, {"x\n": "a"}, {"a b": "c"}, {"x": "a\0"}])
async def test_a_header_cannot_smuggle_another(headers: dict[str, str]):
    async with saying(b"") as port:
        with pytest.raises(BadRequestError, match="header"):
            await ask(port, headers=headers)


async def test_an_answer_before_the_whole_request_was_read_is_an_answer():
    gone = asyncio.Event()

    async def early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")
        try:
            while await reader.read(65_536):
                pass
        except ConnectionError:
            pass
        writer.close()
        gone.set()

    server = await asyncio.start_server(early, "127.0.0.1", 0)
    request = HttpRequest(
        url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", headers={}, body=b"x" * 1_000_000
    )
    async with HttpTransport(idle_timeout=5).send(request) as response:
        assert response.status == 413
    await gone.wait()
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:8080/v1", True),
        ("http://localhost:11434/v1/chat?x=1", True),
        ("http://LOCALHOST", True),
        ("http://[::1]:1/", True),
        ("http://127.9.9.9/x", True),
        ("https://127.0.0.1:8080/v1", False),
        ("http://127.0.0.1.example.com/", False),
        ("http://localhost.example.com/", False),
        ("http://user@localhost/", False),
        ("http://localhost@example.com/", False),
        ("http://10.0.0.1/", False),
        ("http://localhost/a b", False),
        ("http://localhost/a\r\nx: y", False),
        ("http://example.com/?http://localhost/", False),
    ],
)
def test_which_addresses_are_on_this_machine(url: str, here: bool):
    assert is_loopback(url) is here


def test_a_model_on_this_machine_loads_nothing_for_other_machines():
    code = (
        "import sys, marvin_agent.llm.http; print('pyreqwest' in sys.modules, 'marvin_agent.llm.remote' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False False\n"
    )


async def test_a_request_that_nobody_waits_for_any_more_is_dropped_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> socket.socket:
            connection, _ = server.accept()
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            return connection

        accepting = asyncio.get_running_loop().run_in_executor(None, accept)
        request = HttpRequest(url=f"http://127.0.0.1:{server.getsockname()[1]}/x", headers={}, body=b"{}")
        async with HttpTransport(idle_timeout=5).send(request):
            connection = await accepting
        # The loop has had no turn since.
        with connection:
            connection.settimeout(5)
            assert connection.recv(1) == b""
