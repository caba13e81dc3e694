"""The child's end of the conversation with marvin: JSON-RPC 2.0 over two pipes, from any thread."""

import asyncio
import builtins
import itertools
import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from marvin_agent import errors

CANCEL = "$/cancel"
LOST = 70
Serve = Callable[[int | str | None, str, Any], None]


class Peer:
    """Calls block (`call`) or are awaited (`ask`). What marvin asks goes to `serve`, on the thread that reads."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader = reader
        self._writer = writer
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._waiting: dict[int, Future[Any]] = {}

    def read_on(self, serve: Serve) -> None:
        """Read until marvin closes its end."""
        with open(self._reader, "rb", buffering=1024 * 1024) as lines:
            for line in lines:
                message = json.loads(line)
                if "method" in message:
                    serve(message.get("id"), message["method"], message.get("params"))
                elif waiting := self._waiting.pop(message["id"], None):
                    if error := message.get("error"):
                        waiting.set_exception(raised_there(error))
                    else:
                        waiting.set_result(message.get("result"))

    def call(self, method: str, params: Any) -> Any:
        """Call marvin and wait."""
        return self._request(method, params)[1].result()

    async def ask(self, method: str, params: Any) -> Any:
        """Call marvin and await the answer. Cancelling this cancels it over there."""
        number, waiting = self._request(method, params)
        try:
            return await asyncio.wrap_future(waiting)
        except asyncio.CancelledError:
            if self._waiting.pop(number, None):
                self.tell(CANCEL, {"id": number})
            raise

    def _request(self, method: str, params: Any) -> "tuple[int, Future[Any]]":
        number = next(self._ids)
        waiting: Future[Any] = Future()
        # A future that runs cannot be cancelled under the hands of the reader.
        waiting.set_running_or_notify_cancel()
        self._waiting[number] = waiting
        try:
            self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        except BaseException:
            self._waiting.pop(number, None)
            raise
        return number, waiting

    def tell(self, method: str, params: Any) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, number: int | str | None, result: Any) -> None:
        if number is not None:
            self._write({"jsonrpc": "2.0", "id": number, "result": result})

    def fail(self, number: int | str | None, message: str, data: Any) -> None:
        if number is not None:
            error = {"code": -32000, "message": message, "data": data}
            self._write({"jsonrpc": "2.0", "id": number, "error": error})

    def _write(self, message: dict[str, Any]) -> None:
        left = memoryview(encoded(message) + b"\n")
        try:
            with self._lock:
                while left:
                    left = left[os.write(self._writer, left) :]
        except OSError:
            # Without a way to marvin there is nothing left to do.
            os._exit(LOST)


def encoded(message: Any) -> bytes:
    """JSON in UTF-8; surrogates, which that cannot hold, are joined or replaced."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def raised_there(error: dict[str, Any]) -> BaseException:
    """The error that marvin answered with: of its type, or of one of that name under the nearest that is known here."""
    data = error.get("data") or {}
    message = str(error.get("message", ""))
    names = data.get("types") or ("RuntimeError",)
    for name in names:
        cls = getattr(errors, name, None) or getattr(builtins, name, None)
        if not isinstance(cls, type) or not issubclass(cls, Exception):
            continue
        try:
            made: Exception = (cls if name == names[0] else type(names[0], (cls,), {}))(message)
        except TypeError:
            continue  # it wants to be told more than a message
        if isinstance(made, errors.MarvinError):
            made.hint = data.get("hint")
        return made
    return RuntimeError(message)
