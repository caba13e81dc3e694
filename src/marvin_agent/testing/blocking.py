"""The harness for tests that are plain functions: the hook runs on a loop in a thread, and every call waits."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from marvin_agent.testing.harness import Called, Emitted, Harness

T = TypeVar("T")
TIME_LIMIT = 60.0
"""Seconds that a call may take: a hook that hangs fails its test, it does not stop it."""


class BlockingHarness:
    """A `Harness` whose calls return their answers, in tests with and without a loop of their own.

    Takes what `Harness` takes. What only looks (`told`, `sent`, `messages`, `person`, ...) is the harness's own.
    """

    def __init__(self, hook: str | Path | Callable[[Any], Any], **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="marvin-harness", daemon=True)
        self._thread.start()
        self._harness = Harness(hook, **options)
        try:
            self._wait(self._harness.__aenter__())
        except BaseException:
            self._stop()
            raise

    def __enter__(self) -> "BlockingHarness":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._harness, name)

    def emit(self, event: str, /, **payload: Any) -> Emitted:
        """Send one event through the hook."""
        return self._wait(self._harness.emit(event, **payload))

    def prompt(self, text: str) -> str:
        """A whole run with the scripted model; gives the answer's text."""
        return self._wait(self._harness.prompt(text))

    def command(self, name: str, arguments: str = "") -> None:
        """Run one of the hook's slash commands."""
        self._wait(self._harness.command(name, arguments))

    def complete(self, name: str, prefix: str = "") -> list[str]:
        """What one of the hook's slash commands offers behind its name."""
        return self._wait(self._harness.complete(name, prefix))

    def tool(self, name: str, **arguments: Any) -> str:
        """Call a tool, through the gates; gives its text."""
        return self._wait(self._harness.tool(name, **arguments))

    def call(self, name: str, **arguments: Any) -> Called:
        """Call a tool, through the gates; gives all that came of it."""
        return self._wait(self._harness.call(name, **arguments))

    def wait_until(self, reached: Callable[[], object], timeout: float = 10.0) -> None:
        """Wait for something that a timer, a task or a thread of the hook does."""
        self._wait(self._harness.wait_until(reached, timeout))

    def close(self) -> None:
        """End the hook, as when the program ends."""
        if self._thread.is_alive():
            try:
                self._wait(self._harness.__aexit__(None, None, None))
            finally:
                self._stop()

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(TIME_LIMIT)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
