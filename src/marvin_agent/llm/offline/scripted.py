"""The scripted model: a transport whose server is a file."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from urllib.parse import urlsplit

from marvin_agent.errors import NetworkError, SilenceError
from marvin_agent.llm.offline.dialects.completions import Completions
from marvin_agent.llm.offline.dialects.dialect import Asked, Dialect
from marvin_agent.llm.offline.exchange import Exchange, answer
from marvin_agent.llm.offline.script import Script
from marvin_agent.llm.transport import Response
from marvin_agent.llm.values import HttpRequest

Sleep = Callable[[float], Awaitable[None]]

_BLOCK = 16 * 1024


class ScriptedTransport:
    """Answers each request with the next reply of a script, as a chat-completions server would."""

    def __init__(
        self,
        script: Script,
        *,
        dialect: Dialect | None = None,
        idle_timeout: float = 300.0,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._script = script
        self._dialect: Dialect = dialect or Completions()
        self._idle_timeout = idle_timeout
        self._sleep = sleep

    def send(self, request: HttpRequest) -> AbstractAsyncContextManager[Response]:
        return self._send(request)

    async def close(self) -> None:
        """Nothing is open."""

    @asynccontextmanager
    async def _send(self, request: HttpRequest) -> AsyncIterator[Response]:
        exchange = answer(self._script, self._dialect, Asked(urlsplit(request.url).path, request.body))
        await self._pause(exchange.delay)
        if exchange.ending == "refuse":
            raise NetworkError("no connection: refused by the script")
        yield _ScriptedResponse(exchange, self._pause)

    async def _pause(self, seconds: float | None) -> None:
        """Wait; None is for ever. Silence is silence, also when a script has ordered it."""
        if seconds is None or seconds >= self._idle_timeout:
            await self._sleep(self._idle_timeout)
            raise SilenceError(f"the script sent nothing for {self._idle_timeout:g} seconds")
        if seconds:
            await self._sleep(seconds)


class _ScriptedResponse:
    def __init__(self, exchange: Exchange, pause: Callable[[float | None], Awaitable[None]]) -> None:
        self._exchange = exchange
        self._pause = pause

    @property
    def status(self) -> int:
        return self._exchange.status

    @property
    def headers(self) -> dict[str, str]:
        return dict(self._exchange.headers)

    async def chunks(self) -> AsyncIterator[bytes]:
        exchange = self._exchange
        if exchange.chunk_delay:
            for number, chunk in enumerate(exchange.chunks):
                await self._pause(exchange.chunk_delay if number else 0)
                yield chunk
        else:
            for block in blocks(exchange.chunks, _BLOCK):
                yield block
                # A stream that never waits would keep keys, aborts and timers from being served.
                await asyncio.sleep(0)
        match exchange.ending:
            case "cut":
                raise NetworkError("the connection broke: cut by the script")
            case "silence":
                await self._pause(None)
            case _:
                pass


def blocks(chunks: list[bytes], size: int) -> list[bytes]:
    """The chunks joined into blocks of about this size, as a network does with what is sent at once."""
    joined: list[bytes] = []
    gathered: list[bytes] = []
    length = 0
    for chunk in chunks:
        gathered.append(chunk)
        length += len(chunk)
        if length >= size:
            joined.append(b"".join(gathered))
            gathered, length = [], 0
    if gathered:
        joined.append(b"".join(gathered))
    return joined
