"""Plays a recording back, byte for byte, in place of the provider."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from marvin_agent.errors import BadRequestError, NetworkError, SilenceError
from marvin_agent.llm.offline.difference import Comparison
from marvin_agent.llm.offline.recording import Recorded, Recording, decoded_body
from marvin_agent.llm.transport import Response
from marvin_agent.llm.values import HttpRequest


class ReplayError(BadRequestError):
    """The run does not go as the recorded one went, or further than it."""


class ReplayTransport:
    """Answers each request with what the provider answered to the recorded one.

    Strict: a request that differs from the recorded one is a ReplayError that shows the difference. What differs in
    every run does not count: dates, times and durations, temporary paths, the working directory, ids of the session.
    Loose: the answers are played in order, whatever is asked.
    """

    def __init__(
        self,
        path: str,
        *,
        cwd: str,
        strict: bool = True,
    ) -> None:
        self._recording = Recording.load(path)
        self._left = list(self._recording.exchanges)
        self._comparison = Comparison(self._recording.header.cwd, cwd)
        self._strict = strict

    def send(self, request: HttpRequest) -> AbstractAsyncContextManager[Response]:
        return self._send(request)

    async def close(self) -> None:
        """Nothing is open."""

    @asynccontextmanager
    async def _send(self, request: HttpRequest) -> AsyncIterator[Response]:
        exchange = self._choose(request)
        self._left.remove(exchange)
        player = _Player(exchange, self._recording.path)
        if exchange.head is None:
            await player.end()
            raise player.torn()
        await _breathe()
        yield _ReplayedResponse(exchange.head.status, dict(exchange.head.headers), player)

    def _choose(self, request: HttpRequest) -> Recorded:
        if not self._left:
            count = len(self._recording.exchanges)
            raise ReplayError(
                f"the recording {self._recording.path} has {count} requests, and this would be one more",
                hint="The run went further than the recorded one. Record it again, or give the same prompts.",
            )
        if not self._strict:
            return self._left[0]
        path, body = urlsplit(request.url).path, decoded_body(request.body)
        # Requests that were under way at the same time may come in another order now.
        expected = self._left[0]
        together = [exchange for exchange in self._left if exchange.first <= expected.last]
        found = next((exchange for exchange in together if self._differs(exchange, path, body) is None), None)
        if found is None:
            raise self._mismatch(expected, self._differs(expected, path, body) or "")
        return found

    def _differs(self, exchange: Recorded, path: str, body: Any) -> str | None:
        recorded = urlsplit(exchange.request.url).path
        if recorded != path:
            return f"- {recorded}\n+ {path}"
        return self._comparison.difference(exchange.request.body, body)

    def _mismatch(self, expected: Recorded, difference: str) -> ReplayError:
        return ReplayError(
            f"the request is not the recorded one ({self._recording.path}:{expected.first}):\n{difference}",
            hint="Record again, or replay loosely, in the recorded order whatever is asked.",
        )


class _Player:
    """Plays one exchange."""

    def __init__(self, exchange: Recorded, path: str) -> None:
        self._exchange = exchange
        self._path = path

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._exchange.chunks:
            await _breathe()
            yield chunk.data
        await self.end()

    async def end(self) -> None:
        """End as the recorded exchange did. Raises what was raised then."""
        end = self._exchange.end
        if end is None:
            raise self.torn()
        await _breathe()
        match end.how:
            case "network":
                raise NetworkError(end.message)
            case "silence":
                raise SilenceError(end.message)
            case "left":
                raise ReplayError(
                    f"the recorded run read no further than this ({self._path}:{self._exchange.last}): "
                    "it was interrupted here"
                )
            case "complete":
                pass

    def torn(self) -> ReplayError:
        return ReplayError(
            f"the recording breaks off here ({self._path}:{self._exchange.last}): the recorded run was stopped",
            hint="Record it again to get further.",
        )


class _ReplayedResponse:
    def __init__(self, status: int, headers: dict[str, str], player: _Player) -> None:
        self.status = status
        self.headers = headers
        self._player = player

    def chunks(self) -> AsyncIterator[bytes]:
        return self._player.chunks()


async def _breathe() -> None:
    """A stream that never waits would keep keys, aborts and timers from being served."""
    await asyncio.sleep(0)
