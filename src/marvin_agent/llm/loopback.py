"""Requests to a model on this machine: plain HTTP/1.1, one connection each, dropped at once when nobody listens."""

import asyncio
import os
import re
import socket
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from marvin_agent.errors import BadRequestError, NetworkError, ProtocolError, ProviderError, SilenceError
from marvin_agent.llm.values import HttpRequest

_ADDRESS = r"http://(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::(\d{1,5}))?(/[!-~]*|\?[!-~]*)?"
_HEADER_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_FORBIDDEN = r"[\x00-\x08\x0a-\x1f\x7f]"
_MOST_AT_ONCE = 1 << 18
_LONGEST_HEAD = 1 << 16
_LONGEST_SIZE_LINE = 1 << 12


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine and without TLS."""
    return re.fullmatch(_ADDRESS, url, re.IGNORECASE) is not None


class LoopbackTransport:
    """Sends to servers on this machine."""

    def __init__(self, *, connect_timeout: float, idle_timeout: float, user_agent: str) -> None:
        self._connect_timeout = connect_timeout
        self._idle_timeout = idle_timeout
        self._user_agent = user_agent

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncGenerator["LoopbackResponse", None]:
        match = re.fullmatch(_ADDRESS, request.url, re.IGNORECASE)
        if match is None:
            raise BadRequestError("the address is not one of this machine")
        host, port, path = match.group(1), int(match.group(2) or 80), match.group(3) or "/"
        where = f"{host}:{port}"
        head = self._head(where, path if path.startswith("/") else f"/{path}", request)
        line = await self._connected(host.strip("[]"), port, where)
        try:
            await line.write(head + request.body)
            yield await line.answer()
        finally:
            line.drop()

    async def close(self) -> None:
        """Nothing stays open between requests."""

    async def _connected(self, host: str, port: int, where: str) -> "_Line":
        try:
            async with asyncio.timeout(self._connect_timeout):
                reader, writer = await asyncio.open_connection(host, port, limit=_LONGEST_HEAD)
        except TimeoutError:
            raise NetworkError(f"no connection to {where}: timed out") from None
        except OSError as error:
            raise NetworkError(
                f"no connection to {where}: {_reason(error)}", hint="Is the server running, and on this port?"
            ) from None
        return _Line(reader, writer, where, self._idle_timeout)

    def _head(self, where: str, path: str, request: HttpRequest) -> bytes:
        headers = {
            "host": where,
            "user-agent": self._user_agent,
            "accept-encoding": "identity",
            **request.headers,
            "connection": "close",
            "content-length": str(len(request.body)),
        }
        for name, value in headers.items():
            if not re.fullmatch(_HEADER_NAME, name) or re.search(_FORBIDDEN, value):
                raise BadRequestError(
                    f"cannot send a request to {where}: a header is not valid",
                    hint="Check the key and the configured headers for stray characters.",
                )
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode("utf-8", "replace")


class LoopbackResponse:
    """An answer from this machine."""

    def __init__(self, line: "_Line", status: int, headers: dict[str, str]) -> None:
        self._line = line
        self.status = status
        self.headers = headers

    def chunks(self) -> AsyncIterator[bytes]:
        match self.headers.get("content-encoding", "").lower():
            case "" | "identity":
                return self._sent()
            case "gzip" | "x-gzip" | "deflate":
                return self._unpacked()
            case other:
                raise ProtocolError(f"{self._line.where} sent an answer packed as {other}, which nobody asked for")

    async def _unpacked(self) -> AsyncIterator[bytes]:
        """Some servers pack what they were asked not to."""
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # 32: told by the beginning, gzip or zlib
        try:
            async for data in self._sent():
                if piece := unpacker.decompress(data):
                    yield piece
        except zlib.error as error:
            raise ProtocolError(f"{self._line.where} sent an answer that cannot be unpacked: {error}") from None

    def _sent(self) -> AsyncIterator[bytes]:
        if self.headers.get("transfer-encoding", "").lower().endswith("chunked"):
            return self._chunked()
        length = self.headers.get("content-length", "")
        return self._counted(int(length)) if length.isascii() and length.isdigit() else self._to_the_end()

    async def _to_the_end(self) -> AsyncIterator[bytes]:
        while data := await self._line.read():
            yield data

    async def _counted(self, left: int) -> AsyncIterator[bytes]:
        while left > 0:
            data = (await self._line.more())[:left]
            left -= len(data)
            yield data

    async def _chunked(self) -> AsyncIterator[bytes]:
        """What all chunks of one read hold, joined: a server sends one for each token."""
        decoder = _Chunks(self._line.where)
        while not decoder.ended:
            if data := decoder.feed(await self._line.more()):
                yield data


class _Chunks:
    """Takes HTTP's chunks apart, in whatever pieces they come. Trailers are left unread."""

    def __init__(self, where: str) -> None:
        self.ended = False
        self._where = where
        self._size_line = b""
        self._left = 0  # of the current chunk, with the line end after it

    def feed(self, data: bytes) -> bytes:
        pieces = []
        at = 0
        if self._size_line:
            data, self._size_line = self._size_line + data, b""
        while at < len(data):
            if self._left > 2:
                piece = data[at : at + self._left - 2]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
            elif self._left:
                skipped = min(self._left, len(data) - at)
                at += skipped
                self._left -= skipped
            else:
                end = data.find(b"\n", at)
                if end < 0:
                    self._size_line = data[at:]
                    if len(self._size_line) > _LONGEST_SIZE_LINE:
                        raise self._nonsense()
                    break
                size = self._size(data[at:end])
                at = end + 1
                if size == 0:
                    self.ended = True
                    break
                self._left = size + 2
        return b"".join(pieces)

    def _size(self, line: bytes) -> int:
        digits = line.partition(b";")[0].strip()
        if not re.fullmatch(rb"[0-9a-fA-F]{1,15}", digits):
            raise self._nonsense()
        return int(digits, 16)

    def _nonsense(self) -> ProtocolError:
        return ProtocolError(f"{self._where} does not keep to HTTP: the size of a chunk is no number")


class _Line:
    """One connection. Its errors name the host and the port."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, where: str, idle_timeout: float
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._idle_timeout = idle_timeout
        self.where = where

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        try:
            async with asyncio.timeout(self._idle_timeout):
                await self._writer.drain()
        except TimeoutError:
            raise SilenceError(f"{self.where} did not take the request in time") from None
        except OSError:
            pass  # it hung up while we were speaking; it may have said why

    async def answer(self) -> LoopbackResponse:
        while True:
            status, headers = await self._head()
            if status >= 200:
                return LoopbackResponse(self, status, headers)

    async def read(self) -> bytes:
        """What has arrived; nothing at the end."""
        try:
            async with asyncio.timeout(self._idle_timeout):
                return await self._reader.read(_MOST_AT_ONCE)
        except TimeoutError:
            raise SilenceError(f"{self.where} sent nothing for {self._idle_timeout:g} seconds") from None
        except OSError as error:
            raise self._broken(_reason(error)) from None

    async def more(self) -> bytes:
        """What has arrived, of an answer that says itself where it ends."""
        data = await self.read()
        if not data:
            raise self._broken("it ended in the middle of the answer")
        return data

    def drop(self) -> None:
        try:
            # The transport closes the socket in the loop's next round, and what runs before it may take long.
            self._writer.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other side was quicker
        self._writer.transport.abort()

    async def _head(self) -> tuple[int, dict[str, str]]:
        try:
            async with asyncio.timeout(self._idle_timeout):
                head = await self._reader.readuntil(b"\r\n\r\n")
        except TimeoutError:
            raise SilenceError(f"{self.where} did not answer in {self._idle_timeout:g} seconds") from None
        except asyncio.IncompleteReadError as error:
            if error.partial and not error.partial.startswith(b"HTTP/1."):
                raise self._no_http() from None
            raise self._broken("it was closed without an answer") from None
        except asyncio.LimitOverrunError:
            raise ProtocolError(f"{self.where} does not keep to HTTP: the head of its answer has no end") from None
        except OSError as error:
            raise self._broken(_reason(error)) from None
        first, *lines = head.decode("latin-1").split("\r\n")
        match = re.match(r"HTTP/1\.[01] (\d{3})(?: |\Z)", first)
        if match is None:
            raise self._no_http()
        pairs = (line.partition(":") for line in lines if line)
        return int(match.group(1)), {name.strip().lower(): value.strip() for name, _, value in pairs}

    def _no_http(self) -> ProviderError:
        return ProtocolError(f"{self.where} does not speak HTTP/1.1", hint="Check the model's base URL.")

    def _broken(self, reason: str) -> ProviderError:
        return NetworkError(f"the connection to {self.where} broke: {reason}")


def _reason(error: OSError) -> str:
    """`Connection refused` in place of a text that names every address that was tried."""
    return os.strerror(error.errno) if error.errno else str(error)
