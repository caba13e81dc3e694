"""Keeps a conversation's model traffic in a file, while it goes to a real provider."""

import os
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import Literal

from marvin_agent.errors import MarvinError, NetworkError, SilenceError, UsageError
from marvin_agent.llm.offline.recording import (
    Header,
    Line,
    RecordedEnd,
    RecordedHead,
    RecordedRequest,
    chunk_line,
    decoded_body,
)
from marvin_agent.llm.offline.secrets import Secrets
from marvin_agent.llm.transport import Response, Transport
from marvin_agent.llm.values import HttpRequest
from marvin_agent.messages import encode


class Recorder:
    """A recording that is being made, of one run. `over` gives a transport that is recorded; they share the file.

    The file must not be there yet, or be empty: a recording is never overwritten. UsageError when it cannot be made.
    `cwd` is where the run works; `keys` are known to be secrets, whether or not they are sent as one: a tool may print
    them.
    """

    def __init__(self, path: str, *, cwd: str, keys: Iterable[str] = ()) -> None:
        self.secrets = Secrets(keys)
        self.file = _File(path)
        self._count = 0
        self.file.write(Header(created=datetime.now(UTC).isoformat(timespec="seconds"), cwd=cwd))

    def over(self, inner: Transport) -> "RecordingTransport":
        """The transport with all that goes over it written down."""
        return RecordingTransport(inner, self)

    def exchange(self) -> "_Exchange":
        """The next request and what comes back."""
        self._count += 1
        return _Exchange(self.file, self.secrets, self._count)


class RecordingTransport:
    """Passes requests on to another transport and writes down what goes both ways, without secrets."""

    def __init__(self, inner: Transport, recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder

    def send(self, request: HttpRequest) -> AbstractAsyncContextManager[Response]:
        return self._send(request)

    async def close(self) -> None:
        self._recorder.file.close()
        await self._inner.close()

    @asynccontextmanager
    async def _send(self, request: HttpRequest) -> AsyncIterator[Response]:
        exchange = self._recorder.exchange()
        exchange.request(request)
        try:
            async with self._inner.send(request) as response:
                exchange.head(response)
                yield _RecordedResponse(response, exchange)
        except NetworkError as error:
            exchange.end("network", error.message)
            raise
        except SilenceError as error:
            exchange.end("silence", error.message)
            raise
        finally:
            exchange.end("left")


class _RecordedResponse:
    def __init__(self, inner: Response, exchange: "_Exchange") -> None:
        self._inner = inner
        self._exchange = exchange

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> dict[str, str]:
        return self._inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for data in self._inner.chunks():
                self._exchange.chunk(data)
                yield data
        except NetworkError as error:
            self._exchange.end("network", error.message)
            raise
        except SilenceError as error:
            self._exchange.end("silence", error.message)
            raise
        self._exchange.end("complete")


class _Exchange:
    """Writes the lines of one exchange."""

    __slots__ = ("_begun", "_ended", "_file", "_held", "_number", "_secrets")

    def __init__(self, file: "_File", secrets: Secrets, number: int) -> None:
        self._file = file
        self._secrets = secrets
        self._number = number
        self._begun = time.monotonic()
        self._held: list[tuple[float, bytes]] = []
        self._ended = False

    def request(self, request: HttpRequest) -> None:
        self._secrets.learn(request.url, request.headers)
        self._file.write(
            RecordedRequest(
                exchange=self._number,
                url=self._secrets.url(request.url),
                headers=self._secrets.request_headers(request.headers),
                body=decoded_body(self._secrets.mask(request.body)),
            )
        )

    def head(self, response: Response) -> None:
        headers = self._secrets.response_headers(response.headers)
        self._file.write(RecordedHead(exchange=self._number, at=self._at(), status=response.status, headers=headers))

    def chunk(self, data: bytes) -> None:
        self._held.append((self._at(), data))
        # A secret may lie across chunks: those are written when it is known what follows.
        if not self._secrets.may_go_on(b"".join(held for _, held in self._held)):
            self._release()

    def end(self, how: Literal["complete", "network", "silence", "left"], message: str = "") -> None:
        """The first call counts."""
        if self._ended:
            return
        self._ended = True
        self._release()
        text = self._secrets.mask_text(message)
        self._file.write(RecordedEnd(exchange=self._number, at=self._at(), how=how, message=text))

    def _release(self) -> None:
        masked = [(at, self._secrets.mask(data)) for at, data in self._held]
        joined = self._secrets.mask(b"".join(data for _, data in self._held))
        if joined != b"".join(data for _, data in masked):
            masked = [(self._held[0][0], joined)]
        for at, data in masked:
            self._file.write(chunk_line(self._number, at, data))
        self._held = []

    def _at(self) -> float:
        return round((time.monotonic() - self._begun) * 1000, 1)


class _File:
    """A new file of lines, for nobody else to read."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            self._descriptor = os.open(path, flags, 0o600)
            if os.fstat(self._descriptor).st_size:
                os.close(self._descriptor)
                raise UsageError(
                    f"{path} is not empty", hint="A recording needs a new file: name another, or remove it."
                )
            os.fchmod(self._descriptor, 0o600)
        except OSError as error:
            raise UsageError(f"Cannot record to {path}: {error.strerror}") from None

    def write(self, line: Line) -> None:
        if self._descriptor < 0:
            return
        data = encode(line) + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            raise MarvinError(f"Cannot record to {self._path}: {error.strerror}") from None

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
