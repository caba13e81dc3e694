"""A transport whose answers a test writes down, and requests to send through it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from marvin_agent.llm.transport import Response, Transport
from marvin_agent.llm.values import HttpRequest

KEY = "sk-very-secret-0123456789"


class FakeResponse:
    def __init__(self, status: int, headers: dict[str, str], chunks: list[bytes | Exception]) -> None:
        self.status = status
        self.headers = headers
        self._chunks = chunks

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


class FakeTransport:
    """Gives the same answer to each request; an exception among the chunks is raised there."""

    def __init__(self, *chunks: bytes | Exception, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self._response = FakeResponse(status, headers or {}, list(chunks))
        self.closed = False

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncIterator[Response]:
        yield self._response

    async def close(self) -> None:
        self.closed = True


def request(url: str = "https://model.example/v1/chat/completions", **body: Any) -> HttpRequest:
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    return HttpRequest(url=url, headers=headers, body=json.dumps({"model": "m", **body}).encode())


async def read(transport: Transport, sent: HttpRequest, into: list[bytes] | None = None) -> list[bytes]:
    """The chunks of the answer; `into` has those that came when it breaks."""
    chunks = [] if into is None else into
    async with transport.send(sent) as response:
        async for chunk in response.chunks():
            chunks.append(chunk)
    return chunks
