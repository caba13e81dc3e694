"""Requests to models over the network: to this machine directly, to all others by way of the system's settings."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module

from marvin_agent.llm.loopback import LoopbackTransport, is_loopback
from marvin_agent.llm.transport import Response, Transport
from marvin_agent.llm.values import HttpRequest

CONNECT_TIMEOUT = 20.0
IDLE_TIMEOUT = 300.0
"""Seconds without a byte. Models that think send nothing for minutes."""

_REMOTE = "marvin_agent.llm.remote"


class HttpTransport:
    """Sends to real servers, and never follows a redirect: it would carry key and prompt to another host.

    A model on this machine needs no proxy, no TLS and no certificates, and may work on a prompt for minutes before it
    answers, so that it has to hear at once when nobody waits any more. `loopback` is made for that. What goes elsewhere
    goes through `remote`, which is loaded when it is first needed.
    """

    def __init__(
        self,
        *,
        connect_timeout: float = CONNECT_TIMEOUT,
        idle_timeout: float = IDLE_TIMEOUT,
        http2: bool = False,
        user_agent: str = "marvin",
    ) -> None:
        self._connect_timeout = connect_timeout
        self._idle_timeout = idle_timeout
        self._http2 = http2
        self._user_agent = user_agent
        self._loopback = LoopbackTransport(
            connect_timeout=connect_timeout, idle_timeout=idle_timeout, user_agent=user_agent
        )
        self._remote: Transport | None = None

    @asynccontextmanager
    async def send(self, request: HttpRequest) -> AsyncGenerator[Response, None]:
        transport = self._loopback if is_loopback(request.url) else self._elsewhere()
        async with transport.send(request) as response:
            yield response

    async def close(self) -> None:
        remote, self._remote = self._remote, None
        if remote is not None:
            await remote.close()

    def _elsewhere(self) -> Transport:
        if self._remote is None:
            self._remote = import_module(_REMOTE).RemoteTransport(
                connect_timeout=self._connect_timeout,
                idle_timeout=self._idle_timeout,
                http2=self._http2,
                user_agent=self._user_agent,
            )
        return self._remote
