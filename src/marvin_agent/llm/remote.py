"""Requests to models elsewhere, by pyreqwest; the one file of this room that knows it."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import (
    BuilderError,
    ConnectError,
    DetailedPyreqwestError,
    PyreqwestError,
    ReadTimeoutError,
    RequestTimeoutError,
)
from pyreqwest.response import Response as NativeResponse

from marvin_agent.errors import BadRequestError, NetworkError, ProviderError, SilenceError
from marvin_agent.llm.secrecy import origin
from marvin_agent.llm.values import HttpRequest

# pyreqwest holds back what arrives until it has this many bytes, the head of the answer too: a stream needs none of it.
_HOLD_BACK = 0


class RemoteResponse:
    """An answer over the network."""

    def __init__(self, native: NativeResponse, where: str, idle_timeout: float) -> None:
        self._native = native
        self._where = where
        self._idle_timeout = idle_timeout
        self.status = native.status
        self.headers = {name.lower(): value for name, value in native.headers.items()}

    async def chunks(self) -> AsyncIterator[bytes]:
        reader = self._native.body_reader
        try:
            while (chunk := await reader.read_chunk()) is not None:
                yield bytes(chunk)
        except PyreqwestError as error:
            raise _mapped(error, self._where, self._idle_timeout) from None


class RemoteTransport:
    """Sends to servers anywhere. Connections are kept and used again, redirects never followed; proxies and trusted
    certificates are the system's.

    A call that is cancelled before the head of its answer has come is let go of only when it comes: the library keeps
    waiting in the background.
    """

    def __init__(self, *, connect_timeout: float, idle_timeout: float, http2: bool, user_agent: str) -> None:
        self._connect_timeout = connect_timeout
        self._idle_timeout = idle_timeout
        self._http2 = http2
        self._user_agent = user_agent
        self._client: Client | None = None

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncGenerator[RemoteResponse, None]:
        where = origin(request.url)
        try:
            builder = self._connected().post(request.url).body_bytes(request.body).headers(request.headers)
            streamed = builder.streamed_read_buffer_limit(_HOLD_BACK).build_streamed()
            native = await streamed.__aenter__()
        except PyreqwestError as error:
            raise _mapped(error, where, self._idle_timeout) from None
        except ValueError:
            # Its text would quote the header's value, which may be a key.
            raise BadRequestError(
                f"cannot send a request to {where}: the address or a header is not valid",
                hint="Check the base URL, the key and the configured headers for stray characters.",
            ) from None
        try:
            yield RemoteResponse(native, where, self._idle_timeout)
        finally:
            await streamed.__aexit__(None, None, None)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _connected(self) -> Client:
        if self._client is None:
            self._client = (
                ClientBuilder()
                .follow_redirects(False)
                .http2(self._http2)
                .referer(False)
                .user_agent(self._user_agent)
                .connect_timeout(timedelta(seconds=self._connect_timeout))
                .read_timeout(timedelta(seconds=self._idle_timeout))
                .build()
            )
        return self._client


def _mapped(error: PyreqwestError, where: str, idle_timeout: float) -> ProviderError:
    match error:
        case ReadTimeoutError():
            return SilenceError(f"{where} sent nothing for {idle_timeout:g} seconds")
        case RequestTimeoutError():
            # Connecting and waiting for the head end in the same error.
            return SilenceError(f"{where} did not answer in time", hint="Check the address and the network.")
        case ConnectError():
            return NetworkError(f"no connection to {where}: {_cause(error)}", hint="Check the address and the network.")
        case BuilderError():
            return BadRequestError(f"cannot send a request to {where}: {_cause(error)}")
        case _:
            return NetworkError(f"the connection to {where} broke: {_cause(error)}")


def _cause(error: PyreqwestError) -> str:
    """The innermost reason: the outer ones quote the whole URL."""
    causes = (error.details.get("causes") if isinstance(error, DetailedPyreqwestError) else None) or ()
    reasons = [cause["message"] for cause in causes if "://" not in cause["message"]]
    return reasons[-1] if reasons else error.message
