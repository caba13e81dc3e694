"""A handler while it runs: who, for what, since when, and in which line it is."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from marvin_agent.hooks.clock import Clock
from marvin_agent.hooks.payload import Event
from marvin_agent.hooks.registry import Handler, Hook


class Running:
    """One call of a handler. Contexts and notices refer to it."""

    def __init__(self, handler: Handler, event: Event, clock: Clock, loop_thread: int | None) -> None:
        self.handler = handler
        self.event = event
        self.clock = clock
        self.since = time.monotonic()
        self.task: asyncio.Task[Any] | None = None
        self.over = False
        """True once its outcome is settled: what it still calls afterwards raises."""
        self.skipped = False
        self.thread = loop_thread
        """The thread that it runs in: the hook loop's, or a worker's for a plain handler."""
        self.line_elsewhere: Callable[[], int | None] = lambda: None
        """Where it is in a process of its own, as far as that was told."""

    @property
    def hook(self) -> Hook:
        return self.handler.hook

    def where(self) -> str:
        """The line of the hook's file where it is now, as `file.py:12`; its beginning when that cannot be told."""
        line = self.line_elsewhere() or self._executing() or self._suspended()
        name = self.handler.place.rpartition(":")[0]
        return f"{name}:{line}" if line else self.handler.place

    def blocks_its_thread(self) -> bool:
        """Whether its code is on the stack of the thread right now, and not merely suspended."""
        return self._executing() is not None

    def _executing(self) -> int | None:
        frames = stack_of(self.thread)
        return next((frame.f_lineno for frame in frames if frame.f_code.co_filename == self.handler.file), None)

    def _suspended(self) -> int | None:
        # A suspended coroutine's own frame; those that it awaits are below and belong to others as a rule.
        stack = self.task.get_stack() if self.task else []
        lines = [frame.f_lineno for frame in stack if frame.f_code.co_filename == self.handler.file]
        if lines:
            return lines[-1]
        awaited = getattr(self.task.get_coro(), "cr_await", None) if self.task else None
        while awaited is not None:
            frame = getattr(awaited, "cr_frame", None)
            if frame is not None and frame.f_code.co_filename == self.handler.file:
                return int(frame.f_lineno)
            awaited = getattr(awaited, "cr_await", None)
        return None


def stack_of(thread: int | None) -> Iterator[FrameType]:
    """What a thread executes right now, the innermost frame first."""
    frame: FrameType | None = sys._current_frames().get(thread or 0)  # noqa: SLF001  # the documented way to look
    while frame:
        yield frame
        frame = frame.f_back


def blocking_hook(hooks: Iterable[Hook], thread: int | None) -> tuple[Hook, str] | None:
    """The hook whose code a thread executes right now, and where."""
    for frame in stack_of(thread):
        file = frame.f_code.co_filename
        for hook in hooks:
            if hook.holds(file):
                return hook, f"{file.rpartition('/')[2]}:{frame.f_lineno}"
    return None
