"""A process that hosts hooks: how it starts and with what environment, its pipes, its pulse and its end."""

import asyncio
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from marvin_agent import proctree
from marvin_agent.errors import HookError
from marvin_agent.hooks import forms
from marvin_agent.hooks.hosts.rpc import Closed, Peer, RpcError, Serve
from marvin_agent.text import printable

PULSE = 1.0
"""Seconds between two questions whether it is there, while it works; without work they are rarer."""
RESTING = 5.0
SILENCE = 10.0
"""Seconds without an answer after which it counts as dead."""
LAST_MOMENT = 0.4
"""Seconds that it has to end by itself."""
PASSED_ON = ("PATH", "HOME", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL")
"""Variables that every host may see; and `LC_*`."""

LINE = 2_000
LINES = 20
WINDOW = 10.0


def environment_for(named: Iterable[str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a host: what every program needs, and what the user named for this hook."""
    wanted = {*PASSED_ON, *named}
    return {name: value for name, value in environ.items() if name in wanted or name.startswith("LC_")}


class Process:
    """One running host. Lives on the loop that started it; `end` may be called from anywhere.

    `on_end` hears once how it ended, unless `end` was called. `on_output` gets what it prints, bounded, in lines.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        serve: Serve,
        tell_error: Callable[[BaseException], Any],
        on_cancelled: Callable[["asyncio.Future[None]"], None],
        on_end: Callable[[str], None],
        on_output: Callable[[str], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_end = on_end
        self._ended = False
        self.calls = 0
        """How many calls are under way; while there are some, the pulse is felt more often."""
        self.lines: dict[str, int] = {}
        """The line in which each call was when the pulse was last felt, by the call's number."""
        try:
            self._popen = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(env),
                cwd=cwd if os.path.isdir(cwd) else None,
                # Ctrl+C is for marvin; and what it starts can be reached as a group.
                start_new_session=True,
            )
        except OSError as error:
            raise HookError(f"{command[0]} cannot be started: {error.strerror}") from error
        popen = self._popen
        assert popen.stdin is not None
        assert popen.stdout is not None
        assert popen.stderr is not None
        self.output = Output(os.dup(popen.stderr.fileno()), on_output)
        self.peer = Peer(
            os.dup(popen.stdout.fileno()),
            os.dup(popen.stdin.fileno()),
            serve,
            encode=forms.to_json,
            tell_error=tell_error,
            on_cancelled=on_cancelled,
            on_closed=self._over,
        )
        for pipe in (popen.stdin, popen.stdout, popen.stderr):
            pipe.close()
        self._watch = -1
        self._watch_exit()
        self._pulse = self._loop.create_task(self._feel_pulse())

    @property
    def pid(self) -> int:
        return self._popen.pid

    def fail(self, why: str) -> None:
        """End it since it is of no use any more, and tell so."""
        self._over(why, told=why)

    def hang_up(self) -> None:
        """Close its input: it ends by itself as soon as it can."""
        if self._ended:
            return
        self._ended = True
        self.peer.close("it was ended")
        self._forget()

    async def ended(self) -> None:
        """Wait a moment for its end after `hang_up`."""
        until = time.monotonic() + LAST_MOMENT
        # Its exit is not watched any more.
        while self._popen.poll() is None and time.monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.005)

    def end(self, patience: float = LAST_MOMENT) -> None:
        """Kill what is left a moment after `hang_up`, or at once without. From any thread; blocks no longer."""
        if self._ended:
            try:
                self._popen.wait(patience)
            except subprocess.TimeoutExpired:
                pass
        self._ended = True
        self._kill()

    def _kill(self) -> None:
        started = proctree.family(self.pid)
        # The group's number belongs to nobody else while a process of it is not reaped or runs.
        if self._popen.returncode is None or proctree.alive(self.pid, started):
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        for identity in started:
            proctree.send(identity, signal.SIGKILL)
        try:
            self._popen.wait(1.0)
        except subprocess.TimeoutExpired:
            pass

    def _watch_exit(self) -> None:
        try:
            self._watch = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            return  # the end of its output and its pulse tell as much, a little later
        self._loop.add_reader(self._watch, self._exited)

    def _exited(self) -> None:
        # What it said last is in the pipe: let that be read first.
        self._loop.remove_reader(self._watch)
        self._loop.call_later(0.01, self._over, "it ended")

    def _over(self, why: str, told: str | None = None) -> None:
        if self._ended:
            return
        self._ended = True
        if told is None:
            try:
                self._popen.wait(0.2)
            except subprocess.TimeoutExpired:
                told = why
        self._kill()
        told = told or ending(self._popen.returncode)
        self.output.drain()
        self.peer.close(told)
        self._forget()
        self._on_end(told)

    def _forget(self) -> None:
        self._pulse.cancel()
        self.output.close()
        if self._watch >= 0:
            self._loop.remove_reader(self._watch)
            os.close(self._watch)
            self._watch = -1

    async def _feel_pulse(self) -> None:
        while True:
            await asyncio.sleep(PULSE * 0.8 if self.calls else RESTING)
            beat = asyncio.ensure_future(self.peer.request("ping"))
            silent = 0.0
            while not beat.done():
                before = time.monotonic()
                await asyncio.wait({beat}, timeout=PULSE)
                # A loop that was blocked by somebody else proves nothing.
                silent += min(time.monotonic() - before, PULSE * 1.5)
                if silent > SILENCE and not beat.done():
                    beat.cancel()
                    self._loop.call_soon(self.fail, f"it has not answered for {SILENCE:g} s and was killed")
                    return
            try:
                self.lines = beat.result() or {}
            except (RpcError, Closed):
                return


def ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "it cannot be ended"
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        return f"it was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was killed by signal {-code}"


class Output:
    """What a host prints: passed on line by line, not too much at once, its last lines kept."""

    def __init__(self, reader: int, tell: Callable[[str], None]) -> None:
        os.set_blocking(reader, False)
        self._reader = reader
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._line = bytearray()
        self._told = 0
        self._since = time.monotonic()
        self.last: deque[str] = deque(maxlen=40)
        self._loop.add_reader(reader, self._readable)

    def _readable(self) -> bool:
        try:
            data = os.read(self._reader, 256 * 1024)
        except BlockingIOError:
            return False
        if not data:
            self.close()
            return False
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._line += line[:LINE]
            self._say(bytes(self._line))
            self._line.clear()
        self._line += rest[: max(0, LINE - len(self._line))]
        return True

    def _say(self, line: bytes) -> None:
        text = printable(line[:LINE].decode("utf-8", "replace")).rstrip()
        if not text:
            return
        self.last.append(text)
        now = time.monotonic()
        if now - self._since > WINDOW:
            self._since, self._told = now, 0
        if self._told >= LINES:
            if self._told == LINES:
                self._told += 1
                self._tell("... (it prints more than is shown)")
            return
        self._told += 1
        self._tell(text)

    def drain(self) -> None:
        """Take what is in the pipe: the writer has ended."""
        while self._reader >= 0 and self._readable():
            pass

    def close(self) -> None:
        if self._reader >= 0:
            if self._line:
                self._say(bytes(self._line))
                self._line.clear()
            self._loop.remove_reader(self._reader)
            os.close(self._reader)
            self._reader = -1
