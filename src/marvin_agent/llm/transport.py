"""The seam between wires and the network: something that sends a request and streams the answer's bytes.

`http` sends for real; `offline.scripted` makes answers up from a file; `offline.record` and `offline.replay` keep and
play back real traffic.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from marvin_agent.llm.values import HttpRequest


class Response(Protocol):
    """An answer whose head has arrived."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> dict[str, str]:
        """Names in lower case."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives. Raises NetworkError when it breaks, SilenceError when nothing comes for too long."""
        ...


class Transport(Protocol):
    def send(self, request: HttpRequest) -> AbstractAsyncContextManager[Response]:
        """Send and wait for the head. Raises NetworkError or SilenceError. Leaving the context drops the connection."""
        ...

    async def close(self) -> None: ...
