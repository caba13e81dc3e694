"""A real HTTP server on 127.0.0.1 whose every byte a test decides."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec

from marvin_agent.llm.values import Model, Request, StreamOptions
from marvin_agent.messages import user


class Exchange:
    """One request that the server received, and the way to answer it."""

    def __init__(self, head: bytes, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = first.split(" ", 2)
        self.headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
        }
        self.body = body
        self._reader = reader
        self._writer = writer

    @property
    def json(self) -> dict:
        return msgspec.json.decode(self.body)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def begin(self, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """A head without a length: the body ends with the connection."""
        lines = {"content-type": "text/event-stream", "connection": "close", **(headers or {})}
        text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        await self.write(f"HTTP/1.1 {status} X\r\n{text}\r\n".encode())

    async def begin_chunked(self) -> None:
        await self.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")

    async def chunk(self, data: bytes) -> None:
        await self.write(b"%x\r\n%b\r\n" % (len(data), data))

    async def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        await self.begin(
            status, {"content-type": "application/json", **(headers or {}), "content-length": str(len(body))}
        )
        await self.write(body)

    async def dropped(self) -> None:
        """Wait until the client hangs up."""
        try:
            while await self._reader.read(1024):
                pass
        except ConnectionError:
            pass


Handler = Callable[[Exchange], Awaitable[None]]


class ModelServer:
    def __init__(self) -> None:
        self.port = 0
        self.exchanges: list[Exchange] = []
        self.connections = 0
        self.tasks: set[asyncio.Task] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def model(self, api: str = "openai-completions", **fields: object) -> Model:
        return Model(provider="test", id="m", api=api, base_url=self.url, **fields)

    def request(self, api: str = "openai-completions", **options: object) -> Request:
        return Request(model=self.model(api), system="", messages=(user("hi"),), options=StreamOptions(**options))


@asynccontextmanager
async def serving(handler: Handler, *, keep_alive: bool = False) -> AsyncIterator[ModelServer]:
    """A server that gives every request to the handler and closes the connection after it."""
    server = ModelServer()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        server.tasks.add(task)
        server.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (
                        int(line.split(b":")[1])
                        for line in head.split(b"\r\n")
                        if line.lower().startswith(b"content-length")
                    ),
                    0,
                )
                exchange = Exchange(head[:-4], await reader.readexactly(length), reader, writer)
                server.exchanges.append(exchange)
                await handler(exchange)
                if not keep_alive:
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            server.tasks.discard(task)

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in list(server.tasks):
            task.cancel()
        await asyncio.gather(*server.tasks, return_exceptions=True)
        await listening.wait_closed()


def completions(*deltas: dict, finish: str | None = "stop", usage: dict | None = None, done: bool = True) -> bytes:
    """A whole stream of chat completions."""
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if finish:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        chunks.append({"choices": [], "usage": usage})
    return sse(chunks) + (b"data: [DONE]\n\n" if done else b"")


def sse(chunks: Sequence[dict]) -> bytes:
    return b"".join(b"data: " + msgspec.json.encode(chunk) + b"\n\n" for chunk in chunks)
