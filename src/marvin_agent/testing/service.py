"""Serves a script over HTTP, in the dialect of the path that was asked, and remembers every request."""

import asyncio
import socket
import struct
import threading
from typing import Any

import msgspec

from marvin_agent.llm.offline.dialects.completions import Completions
from marvin_agent.llm.offline.dialects.dialect import Asked, Dialect
from marvin_agent.llm.offline.dialects.gemini import Gemini
from marvin_agent.llm.offline.dialects.messages import Messages
from marvin_agent.llm.offline.dialects.responses import Responses
from marvin_agent.llm.offline.exchange import Exchange, answer
from marvin_agent.llm.offline.script import Script
from marvin_agent.llm.offline.scripted import blocks
from marvin_agent.testing.http import LAST_CHUNK, HttpError, HttpHead, framed, read_request, response_head

_BLOCK = 64 * 1024
_RESET = struct.pack("ii", 1, 0)
_MODEL = {"id": "scripted", "object": "model", "type": "model", "created": 1_750_000_000, "owned_by": "marvin"}

_DIALECTS: tuple[tuple[str, Dialect], ...] = (
    ("/chat/completions", Completions()),
    ("/messages", Messages()),
    ("/responses", Responses()),
    (":streamGenerateContent", Gemini()),
    (":generateContent", Gemini()),
)


class SeenRequest:
    """A request that the server got."""

    __slots__ = ("data", "dropped", "headers", "method", "path", "target")

    def __init__(self, head: HttpHead, data: bytes) -> None:
        self.method = head.method
        self.path = head.path
        self.target = head.target
        """The path with its query."""
        self.headers = head.headers
        """Names in lower case."""
        self.data = data
        self.dropped = False
        """True when the client went away before it had the whole answer."""

    @property
    def body(self) -> Any:
        """The body, decoded."""
        return msgspec.json.decode(self.data)


class Service:
    """What all connections of a server share. The requests may be read from any thread."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[SeenRequest] = []
        self.changed = threading.Condition()
        self.connections: set[Connection] = set()

    def saw(self, head: HttpHead, data: bytes) -> SeenRequest:
        """Remember a request."""
        request = SeenRequest(head, data)
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()
        return request

    def dropped(self, request: SeenRequest) -> None:
        """Remember that its client went away."""
        with self.changed:
            request.dropped = True
            self.changed.notify_all()

    def answer(self, request: SeenRequest) -> Exchange:
        """The next reply of the script, or what a server has to say without a model."""
        path = request.path
        if request.method == "POST":
            for ending, dialect in _DIALECTS:
                if path.endswith(ending):
                    return answer(self.script, dialect, Asked(path, request.data))
            if path.endswith("/messages/count_tokens"):
                return _json(200, {"input_tokens": max(1, len(request.data) // 4)})
        elif path.endswith("/models"):
            return _json(200, {"object": "list", "data": [_MODEL], "has_more": False})
        return _json(404, {"error": {"type": "not_found_error", "message": f"no such path here: {path}"}})


class Connection(asyncio.StreamReaderProtocol):
    """One connection: request after request until either side closes it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._hung_up = asyncio.Event()
        self._served = asyncio.Event()
        self._answers: asyncio.StreamWriter | None = None
        super().__init__(asyncio.StreamReader(), self._serve)

    def eof_received(self) -> bool | None:
        self._hung_up.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._hung_up.set()
        super().connection_lost(exc)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._service.connections.add(self)
        self._answers = writer
        try:
            await self._requests(reader, writer)
        except HttpError as error:
            body = str(error).encode()
            writer.write(response_head(400, {"content-length": str(len(body)), "connection": "close"}) + body)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away; its request says so
        finally:
            self._service.connections.discard(self)
            writer.close()
            self._served.set()

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while read := await read_request(reader):
            request = self._service.saw(*read)
            play = asyncio.create_task(_play(self._service.answer(request), writer, request.method == "HEAD"))
            gone = asyncio.create_task(self._hung_up.wait())
            try:
                await asyncio.wait((play, gone), return_when=asyncio.FIRST_COMPLETED)
                goes_on = play.done() and play.result()
                if not play.done():
                    self._service.dropped(request)
            except ConnectionError:
                self._service.dropped(request)
                raise
            finally:
                play.cancel()
                gone.cancel()
            if not goes_on:
                return

    async def close(self) -> None:
        """Break the connection, whatever is going on."""
        self._hung_up.set()
        if self._answers:
            self._answers.close()
            await self._served.wait()


async def _play(exchange: Exchange, writer: asyncio.StreamWriter, head_only: bool) -> bool:
    """Send an answer. True when the connection can be used again."""
    if exchange.delay:
        await asyncio.sleep(exchange.delay)
    if exchange.ending == "refuse":
        # The nearest that a server which listens can come to a refused connection.
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        return False
    streams = exchange.headers["content-type"].startswith("text/event-stream")
    if not streams:
        body = b"".join(exchange.chunks)
        head = response_head(exchange.status, {**exchange.headers, "content-length": str(len(body))})
        writer.write(head if head_only else head + body)
        await writer.drain()
        return True
    head = response_head(exchange.status, {**exchange.headers, "transfer-encoding": "chunked"})
    chunks = [framed(chunk) for chunk in exchange.chunks]
    if exchange.ending == "end":
        # In one write with the last piece: who has that has the end.
        chunks = [*chunks[:-1], chunks[-1] + LAST_CHUNK] if chunks else [LAST_CHUNK]
    await _stream(head, chunks, exchange.chunk_delay, writer)
    if exchange.ending == "silence":
        await asyncio.Event().wait()
    return exchange.ending == "end"


async def _stream(head: bytes, chunks: list[bytes], delay: float, writer: asyncio.StreamWriter) -> None:
    if not delay:
        for block in blocks([head, *chunks], _BLOCK):
            writer.write(block)
            await writer.drain()
        return
    writer.write(head)
    for number, chunk in enumerate(chunks):
        if number:
            await asyncio.sleep(delay)
        writer.write(chunk)
        await writer.drain()


def _json(status: int, value: object) -> Exchange:
    return Exchange(status=status, headers={"content-type": "application/json"}, chunks=[msgspec.json.encode(value)])
