"""JSON-RPC 2.0 with another process over two pipes: a message a line, both sides may call, any number at once.

Lives on one event loop. Nothing blocks: what the other side does not read yet waits here, and what it writes is always
read, so that two full pipes cannot hold each other up.
"""

import asyncio
import itertools
import os
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import msgspec

CHUNK = 1024 * 1024
LONGEST = 256 * 1024 * 1024
"""Bytes of a message; who sends more is broken."""
CANCEL = "$/cancel"

NO_METHOD, FAILED, CANCELLED = -32601, -32000, -32800

Serve: TypeAlias = Callable[[str, Any], Any]
"""Answers a call of the other side: with a value, or with a coroutine that gives it later."""


class RpcError(Exception):
    """The other side answered with an error."""

    def __init__(self, message: str, code: int = FAILED, data: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.data = data


class Closed(Exception):
    """The other side is gone; the message says how it ended."""


class _Line(msgspec.Struct):
    id: int | str | None = None
    method: str | None = None
    params: Any = None
    result: Any = None
    error: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_Line).decode


class Peer:
    """One end of the conversation. Owns both descriptors.

    `tell_error` makes the `data` of an error that `serve` raised. `on_closed` hears why it ended, unless it was closed
    from here, and may close it with a better reason. `on_cancelled` gets a future for each call that was cancelled
    here: it is done when the other side has ended that call.
    """

    def __init__(
        self,
        reader: int,
        writer: int,
        serve: Serve,
        *,
        encode: Callable[[object], bytes] = msgspec.json.encode,
        tell_error: Callable[[BaseException], Any] = lambda error: None,
        on_closed: Callable[[str], None] = lambda why: None,
        on_cancelled: Callable[["asyncio.Future[None]"], None] = lambda late: None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._serve = serve
        self._encode = encode
        self._tell_error = tell_error
        self._on_closed = on_closed
        self._on_cancelled = on_cancelled
        self._loop = asyncio.get_running_loop()
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._late: dict[int, asyncio.Future[None]] = {}
        self._serving: dict[int | str, asyncio.Task[None]] = {}
        self._parts: list[bytes] = []
        self._length = 0
        self._out: deque[memoryview] = deque()
        self._held_up = False
        self.closed: str | None = None
        """Why nothing can be said any more."""
        for descriptor in (reader, writer):
            os.set_blocking(descriptor, False)
        self._loop.add_reader(reader, self._readable)

    async def request(self, method: str, params: Any = None) -> Any:
        """Call the other side. Raises RpcError or Closed. Cancelling this cancels the call over there."""
        number = next(self._ids)
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        self._waiting[number] = answer
        try:
            return await answer
        except asyncio.CancelledError:
            if self._waiting.pop(number, None) and self.closed is None:
                self._late[number] = late = self._loop.create_future()
                self._on_cancelled(late)
                self.notify(CANCEL, {"id": number})
            raise
        finally:
            self._waiting.pop(number, None)

    def notify(self, method: str, params: Any = None) -> None:
        """Tell the other side something; nothing comes back. Does nothing when it is gone."""
        if self.closed is None:
            self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def close(self, why: str) -> None:
        """End it: what waits for an answer gets Closed, what is being served is cancelled."""
        if self.closed is not None:
            return
        self.closed = why
        self._loop.remove_reader(self._reader)
        self._loop.remove_writer(self._writer)
        os.close(self._reader)
        os.close(self._writer)
        self._out.clear()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(Closed(why))
        for late in self._late.values():
            if not late.done():
                late.set_result(None)
        for task in self._serving.values():
            task.cancel()

    def _lost(self, why: str) -> None:
        if self.closed is None:
            # Whoever owns the process knows better why it is gone, and closes with that.
            self._on_closed(why)
            self.close(why)

    # Reading.

    def _readable(self) -> None:
        try:
            data = os.read(self._reader, CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(f"its output cannot be read: {error.strerror}")
            return
        if not data:
            self._lost("it closed its output")
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = b"".join((*self._parts, line)) if self._parts else line
            self._parts.clear()
            self._length = 0
            if self.closed is None and whole:
                self._take(whole)
        if rest:
            self._parts.append(rest)
            self._length += len(rest)
            if self._length > LONGEST:
                self._lost(f"it sent a message of more than {LONGEST >> 20} MiB")

    def _take(self, line: bytes) -> None:
        try:
            message = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self._lost(f"it sent what is no message ({error}): {line[:80]!r}")
            return
        if message.method is not None:
            self._called(message.id, message.method, message.params)
        elif isinstance(message.id, int):
            self._answered(message.id, message)

    def _answered(self, number: int, message: _Line) -> None:
        if late := self._late.pop(number, None):
            if not late.done():
                late.set_result(None)
            return
        answer = self._waiting.get(number)
        if answer is None or answer.done():
            return
        if message.error is not None:
            error = message.error
            answer.set_exception(
                RpcError(str(error.get("message", "")), int(error.get("code", FAILED)), error.get("data"))
            )
        else:
            answer.set_result(message.result)

    # Serving.

    def _called(self, number: int | str | None, method: str, params: Any) -> None:
        if method == CANCEL:
            task = self._serving.get(params.get("id", 0)) if isinstance(params, dict) else None
            if task:
                task.cancel()
            return
        try:
            value = self._serve(method, params)
        except Exception as error:
            self._fail(number, error)
            return
        if not asyncio.iscoroutine(value):
            self._answer(number, value)
            return
        task = self._loop.create_task(self._finish(number, value))
        key: int | str = f"notified {id(task)}" if number is None else number
        self._serving[key] = task
        task.add_done_callback(lambda done: self._serving.pop(key, None))

    async def _finish(self, number: int | str | None, work: Coroutine[Any, Any, Any]) -> None:
        try:
            value = await work
        except asyncio.CancelledError as error:
            self._fail(number, error)
            raise
        except Exception as error:
            self._fail(number, error)
        else:
            self._answer(number, value)

    def _answer(self, number: int | str | None, value: Any) -> None:
        if number is None or self.closed is not None:
            return
        try:
            self._send({"jsonrpc": "2.0", "id": number, "result": value})
        except (TypeError, ValueError, RecursionError) as error:
            self._fail(number, error)

    def _fail(self, number: int | str | None, error: BaseException) -> None:
        if number is None or self.closed is not None:
            return
        code = FAILED
        if isinstance(error, RpcError):
            code = error.code
        elif isinstance(error, asyncio.CancelledError):
            code = CANCELLED
        told = {"code": code, "message": str(error) or type(error).__name__, "data": self._tell_error(error)}
        self._send({"jsonrpc": "2.0", "id": number, "error": told})

    # Writing.

    def _send(self, message: dict[str, Any]) -> None:
        if self.closed is not None:
            raise Closed(self.closed)
        self._out.append(memoryview(self._encode(message) + b"\n"))
        if not self._held_up:
            self._writable()

    def _writable(self) -> None:
        while self._out:
            data = self._out[0]
            try:
                sent = os.write(self._writer, data[:CHUNK])
            except BlockingIOError:
                self._hold_up()
                return
            except OSError:
                # It ended: reading tells how, and may still find what it said last.
                self._out.clear()
                break
            if sent == len(data):
                self._out.popleft()
            else:
                self._out[0] = data[sent:]
        if self._held_up:
            self._held_up = False
            self._loop.remove_writer(self._writer)

    def _hold_up(self) -> None:
        if not self._held_up:
            self._held_up = True
            self._loop.add_writer(self._writer, self._writable)
