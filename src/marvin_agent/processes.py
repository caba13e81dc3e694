"""Programs that marvin starts: each in a session of its own, read without blocking, and ended with all it started."""

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from marvin_agent import proctree
from marvin_agent.errors import MarvinError

TERM_GRACE = 2.0
"""Seconds between TERM and KILL."""
REAP_GRACE = 0.5
"""Seconds that what was killed may take to be gone."""
PIPE_GRACE = 0.1
"""Seconds that a program's output may still come after it has exited, when something else holds the pipe."""
PIPE_CAPACITY = 1024 * 1024
CHUNK = 64 * 1024
IDLE_READ = 0.05

Sink = Callable[[bytes], None]

_live: "dict[Running, frozenset[proctree.Identity]]" = {}
"""What runs, or is being ended, with those that it was known to have started."""


def kill_all() -> None:
    """End at once everything that was started here and has not finished: for a program that leaves without waiting."""
    for running, started in list(_live.items()):
        running.kill(started)


class CannotStart(MarvinError):
    """The program was not there, or the system refused to run it."""


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """What a program left behind."""

    stdout: bytes
    stderr: bytes
    code: int
    """The exit code; 128 and the signal's number when a signal ended the program."""
    killed: bool
    """True when we ended it since it took too long."""
    truncated: bool
    """True when it wrote more than was kept; the beginning is kept."""


async def execute(
    args: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    limit: int = 8 * 1024 * 1024,
) -> Completed:
    """Run a program to its end and keep the first `limit` bytes of each of its outputs.

    Raises CannotStart. When the calling task is cancelled, the program and all that it started are ended first.
    """
    out, err = _Head(limit), _Head(limit)
    running = Running.start(args, cwd=cwd, env=env, out=out.feed, err=err.feed)
    killed = await running.finish(timeout)
    return Completed(
        stdout=bytes(out.data),
        stderr=bytes(err.data),
        # A program may end well on TERM, and yet it was not allowed to finish.
        code=running.code or (128 + signal.SIGKILL if killed else 0),
        killed=killed,
        truncated=out.full or err.full,
    )


class _Head:
    """Keeps the beginning of what it is fed."""

    __slots__ = ("data", "full", "limit")

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self.limit = limit
        self.full = False

    def feed(self, chunk: bytes) -> None:
        room = self.limit - len(self.data)
        self.data += chunk[:room]
        if len(chunk) > room:
            self.full = True


class Running:
    """A program that runs, and all that it has started."""

    __slots__ = ("_exited", "_finished", "_loop", "_pipes", "_popen", "_watch")

    def __init__(self, popen: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop) -> None:
        self._popen = popen
        self._loop = loop
        self._pipes: list[_Pipe] = []
        self._exited: asyncio.Future[None] = loop.create_future()
        self._finished: asyncio.Future[None] = loop.create_future()
        self._watch = -1

    @classmethod
    def start(
        cls,
        args: Sequence[str],
        *,
        out: Sink,
        err: Sink | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> "Running":
        """Start a program without input or terminal. Without `err`, both outputs go to `out` as they come."""
        loop = asyncio.get_running_loop()
        ends = [os.pipe() for _ in range(1 if err is None else 2)]
        try:
            popen = subprocess.Popen(
                list(args),
                stdin=subprocess.DEVNULL,
                stdout=ends[0][1],
                stderr=ends[-1][1],
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            for reader, _ in ends:
                os.close(reader)
            raise CannotStart(_why_not_started(args, cwd, error)) from error
        finally:
            for _, writer in ends:
                os.close(writer)
        self = cls(popen, loop)
        _live[self] = frozenset()
        sinks = (out,) if err is None else (out, err)
        self._pipes = [_Pipe(loop, end[0], sink, self._pipe_closed) for end, sink in zip(ends, sinks, strict=True)]
        self._watch_exit()
        return self

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def code(self) -> int | None:
        """The exit code as a shell tells it, or None while the program runs."""
        code = self._popen.returncode
        return 128 - code if code is not None and code < 0 else code

    @property
    def lingering(self) -> bool:
        """True when the program exited and something that it started still holds its output."""
        return any(pipe.forgotten for pipe in self._pipes)

    async def finish(self, timeout: float | None = None) -> bool:
        """Wait until the program has exited and its output is read; True when it had to be ended for its time.

        What it left in the background goes on, and is not waited for. Cancellation ends everything.
        """
        try:
            async with asyncio.timeout(timeout):
                await asyncio.shield(self._finished)
        except TimeoutError:
            await self.stop()
            return True
        except asyncio.CancelledError:
            await self.stop()
            raise
        return False

    async def stop(self) -> None:
        """End the program and all that it started: TERM, and KILL for what is left after two seconds.

        A second cancellation does not wait that long.
        """
        started = _live[self] = proctree.family(self.pid)
        self._send(signal.SIGTERM, started)
        # A stopped process would not notice.
        self._send(signal.SIGCONT, started)
        try:
            async with asyncio.timeout(TERM_GRACE):
                await asyncio.shield(self._exited)
                await self._everything_gone(started)
        except TimeoutError:
            pass
        finally:
            killed = started | proctree.family(self.pid)
            self._send(signal.SIGKILL, killed)
            self._reap(killed)
            _live.pop(self, None)
            for pipe in self._pipes:
                pipe.close()

    async def _everything_gone(self, started: frozenset[proctree.Identity]) -> None:
        # Nothing announces the end of a process that is not our child.
        while proctree.alive(self.pid, started):  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    def kill(self, started: frozenset[proctree.Identity] = frozenset()) -> None:
        """End it at once, with all that it started; `finish` waits for what is left of it."""
        self._send(signal.SIGKILL, started | proctree.family(self.pid))

    def _send(self, number: int, started: frozenset[proctree.Identity]) -> None:
        # The number of a group that is gone may be another's by now.
        if self._popen.returncode is None or proctree.alive(self.pid, started):
            try:
                os.killpg(self.pid, number)
            except (ProcessLookupError, PermissionError):
                pass
        for identity in started:
            proctree.send(identity, number)

    def _reap(self, killed: frozenset[proctree.Identity]) -> None:
        # They were killed: this is a matter of microseconds, save for a program stuck in the kernel.
        until = time.monotonic() + REAP_GRACE
        try:
            self._popen.wait(REAP_GRACE)
        except subprocess.TimeoutExpired:
            return
        while proctree.alive(self.pid, killed) and time.monotonic() < until:
            time.sleep(0.001)
        self._on_exit()

    def _watch_exit(self) -> None:
        try:
            self._watch = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            threading.Thread(target=self._wait_in_thread, name="wait-for-program", daemon=True).start()
        else:
            self._loop.add_reader(self._watch, self._on_exit)

    def _wait_in_thread(self) -> None:
        self._popen.wait()
        try:
            self._loop.call_soon_threadsafe(self._on_exit)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    def _on_exit(self) -> None:
        if self._exited.done() or self._popen.poll() is None:
            return
        if self._watch >= 0:
            self._loop.remove_reader(self._watch)
            os.close(self._watch)
            self._watch = -1
        self._exited.set_result(None)
        if not _live.get(self):
            # What it left in the background was meant to stay; unless it is being ended.
            _live.pop(self, None)
        for pipe in self._pipes:
            pipe.soon_over()
        self._pipe_closed()
        if not self._finished.done():
            self._loop.call_later(PIPE_GRACE, self._give_up_pipes)

    def _pipe_closed(self) -> None:
        if self._exited.done() and not self._finished.done() and all(pipe.over for pipe in self._pipes):
            self._finished.set_result(None)

    def _give_up_pipes(self) -> None:
        for pipe in self._pipes:
            pipe.forget()


class _Pipe:
    """The reading end of a program's output."""

    __slots__ = ("_fd", "_left", "_loop", "_on_over", "_sink", "forgotten", "over")

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int, sink: Sink, on_over: Callable[[], None]) -> None:
        os.set_blocking(fd, False)
        self._loop = loop
        self._fd = fd
        self._sink = sink
        self._on_over = on_over
        self._left: int | None = None
        self.over = False
        """True when nothing more will be handed to the sink."""
        self.forgotten = False
        loop.add_reader(fd, self._readable)

    def _readable(self) -> None:
        data = self._read()
        if data is None:
            return
        if not data:
            self.close()
            return
        self._sink(data)
        if self._left is not None:
            self._left -= len(data)
            if self._left <= 0:
                self.forget()

    def _read(self) -> bytes | None:
        try:
            return os.read(self._fd, CHUNK)
        except BlockingIOError:
            return None

    def soon_over(self) -> None:
        """The program has exited: what it wrote is in the pipe already, so no more than a pipe can hold."""
        self._left = PIPE_CAPACITY
        if not self.over:
            self._readable()

    def forget(self) -> None:
        """Hand nothing on any more, but read slowly what a background program writes: a closed pipe would kill it."""
        if not self.over:
            self.over = self.forgotten = True
            self._on_over()
            self._loop.remove_reader(self._fd)
            self._loop.add_reader(self._fd, self._drop)

    def _drop(self) -> None:
        self._loop.remove_reader(self._fd)
        data = self._read()
        if data == b"":
            os.close(self._fd)
            self._fd = -1
        else:
            self._loop.call_later(IDLE_READ, self._listen_again)

    def _listen_again(self) -> None:
        if self._fd >= 0:
            self._loop.add_reader(self._fd, self._drop)

    def close(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
        if not self.over:
            self.over = True
            self._on_over()


def _why_not_started(args: Sequence[str], cwd: str | None, error: OSError | ValueError) -> str:
    if cwd is not None and not os.path.isdir(cwd):
        return f"Cannot run {args[0]}: the directory {cwd} does not exist."
    if cwd is not None and not os.access(cwd, os.X_OK):
        return f"Cannot run {args[0]}: the directory {cwd} may not be entered."
    match error:
        case FileNotFoundError():
            return f"Cannot run {args[0]}: there is no such program."
        case PermissionError():
            return f"Cannot run {args[0]}: it is not executable."
        case OSError(strerror=str(reason)):
            return f"Cannot run {args[0]}: {reason}."
        case _:
            return f"Cannot run {args[0]}: {error}."
