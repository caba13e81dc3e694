"""As much of HTTP/1.1 as a model server on 127.0.0.1 needs."""

import asyncio
from http import HTTPStatus

import msgspec

_MAX_BODY = 256 * 1024 * 1024


class HttpError(Exception):
    """The request cannot be served; the message says why."""


class HttpHead(msgspec.Struct, frozen=True):
    """The beginning of a request. Header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


async def read_request(reader: asyncio.StreamReader) -> tuple[HttpHead, bytes] | None:
    """The next request on a connection, or None when the other side has closed it."""
    try:
        data = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise HttpError("the request ends in its head") from None
        return None
    except asyncio.LimitOverrunError:
        raise HttpError("the head of the request is too long") from None
    head = _parse(data)
    if "chunked" in head.headers.get("transfer-encoding", "").lower():
        return head, await _read_chunked(reader)
    try:
        length = int(head.headers.get("content-length", "0"))
    except ValueError:
        raise HttpError("the content-length is not a number") from None
    if not 0 <= length <= _MAX_BODY:
        raise HttpError("the body is too long")
    return head, await reader.readexactly(length)


def _parse(data: bytes) -> HttpHead:
    first, *lines = data[:-4].decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise HttpError("not a request of HTTP/1.1")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise HttpError("a header without a colon")
        headers[name.strip().lower()] = value.strip()
    return HttpHead(words[0], words[1], headers)


async def _read_chunked(reader: asyncio.StreamReader) -> bytes:
    chunks: list[bytes] = []
    total = 0
    while True:
        try:
            size = int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16)
        except ValueError:
            raise HttpError("a chunk without a length") from None
        total += size
        if total > _MAX_BODY:
            raise HttpError("the body is too long")
        if size == 0:
            break
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return b"".join(chunks)


def response_head(status: int, headers: dict[str, str]) -> bytes:
    """The beginning of an answer."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Error"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def framed(chunk: bytes) -> bytes:
    """A piece of a body whose length is not known before."""
    return b"%x\r\n%b\r\n" % (len(chunk), chunk)


LAST_CHUNK = b"0\r\n\r\n"
