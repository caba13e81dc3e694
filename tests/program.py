"""The installed program in a test: a home of its own, a scripted model, a clean environment, a time limit.

def test_it_answers(tmp_path):
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Hello"})
    assert marvin.run("-p", "hi").stdout == "Hello\\n"
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pexpect
import pyte

TIME_LIMIT = 30.0
_BESIDE = Path(sys.executable).with_name("marvin")
PROGRAM: list[str] = [str(_BESIDE)] if _BESIDE.exists() else [sys.executable, "-m", "marvin_agent"]


class Done(NamedTuple):
    """How a run ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON value."""
        return json.loads(self.stdout)

    @property
    def lines(self) -> list[Any]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.stdout.splitlines()]


class Marvin:
    """Runs `marvin` as a user would who has nothing but what the test gives."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.config_dir = self.home / ".config" / "marvin"
        self.work = base / "work"
        """The working directory: a project of its own."""
        for directory in (self.config_dir, self.work / ".git"):
            directory.mkdir(parents=True, exist_ok=True)
        self.env = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PYTHONWARNINGS": "error",
        }

    # What there is before the run.

    def script(
        self, *replies: dict[str, Any], name: str = "demo", models: tuple[str, ...] = ("one",), **facts: Any
    ) -> None:
        """A provider whose models follow a script (docs/scripted.md); `facts` go to each model."""
        path = self.config_dir / f"{name}.json"
        path.write_text(json.dumps({"version": 1, "replies": replies}))
        described = [{"id": model, **facts} for model in models]
        self.provider(name, api="scripted", baseUrl=path.name, models=described)

    def provider(self, name: str, **facts: Any) -> None:
        """A provider in models.json, beside those that are there."""
        path = self.config_dir / "models.json"
        data = json.loads(path.read_text()) if path.exists() else {"providers": {}}
        data["providers"][name] = facts
        path.write_text(json.dumps(data))

    def configure(self, **keys: Any) -> None:
        """config.json, in place of the one that is there."""
        (self.config_dir / "config.json").write_text(json.dumps(keys))

    # The run.

    def run(
        self,
        *arguments: str,
        stdin: str | bytes = b"",
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float = TIME_LIMIT,
    ) -> Done:
        """Run it to its end, with pipes; nothing is on standard input unless given."""
        done = subprocess.run(
            [*PROGRAM, *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env={**self.env, **(env or {})},
            cwd=cwd or self.work,
            timeout=timeout,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *arguments: str, env: dict[str, str] | None = None, **pipes: Any) -> "subprocess.Popen[bytes]":
        """Start it and give the process; standard output and error are pipes unless `pipes` says otherwise."""
        given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **pipes}
        return subprocess.Popen([*PROGRAM, *arguments], env={**self.env, **(env or {})}, cwd=self.work, **given)

    def terminal(
        self, *arguments: str, env: dict[str, str] | None = None, columns: int = 100, rows: int = 30
    ) -> "Terminal":
        """Start it in a terminal of its own."""
        return Terminal([*PROGRAM, *arguments], {**self.env, **(env or {})}, str(self.work), columns, rows)

    # What there is after it.

    @property
    def sessions(self) -> list[Path]:
        """The session files, the oldest first."""
        return sorted((self.config_dir / "sessions").rglob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)

    def messages(self, session: Path | None = None) -> list[dict[str, Any]]:
        """The messages of a session file, or of the only one."""
        if session is None:
            (session,) = self.sessions
        entries = [json.loads(line) for line in session.read_text().splitlines()]
        return [entry["message"] for entry in entries if entry["type"] == "message"]


class Terminal:
    """The program in a pseudo-terminal, and what its screen shows."""

    def __init__(self, command: list[str], env: dict[str, str], cwd: str, columns: int, rows: int) -> None:
        self.child: pexpect.spawn[bytes] = pexpect.spawn(
            command[0], command[1:], env=env, cwd=cwd, timeout=TIME_LIMIT, dimensions=(rows, columns)
        )
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        """All that was written so far."""

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self.child.close(force=True)

    @property
    def text(self) -> str:
        """The screen, without what is blank at the ends."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    def send(self, text: str) -> None:
        self.child.send(text)

    def wait_for(self, pattern: str, timeout: float = TIME_LIMIT) -> str:
        """Wait until the screen shows a regular expression; gives the screen."""
        until = time.monotonic() + timeout
        while not re.search(pattern, self.text):
            if time.monotonic() > until:
                raise AssertionError(f"{pattern!r} did not show up in {timeout} s. The screen:\n{self.text}")
            if not self._read():
                assert re.search(pattern, self.text), f"it ended without {pattern!r}. The screen:\n{self.text}"
        return self.text

    def wait_for_not(self, pattern: str, timeout: float = TIME_LIMIT) -> None:
        """Wait until the screen does not show a regular expression any more."""
        until = time.monotonic() + timeout
        while re.search(pattern, self.text):
            assert time.monotonic() < until, f"{pattern!r} is still there. The screen:\n{self.text}"
            self._read()

    def quiet(self, seconds: float) -> None:
        """Read for a while: for what must not happen, and for a person who takes his time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._read()

    def resize(self, columns: int, rows: int) -> None:
        """Another size of the window."""
        self._screen.resize(rows, columns)
        self.child.setwinsize(rows, columns)

    def end(self) -> int:
        """Wait for the program's end; gives its exit code, or minus the signal that killed it."""
        until = time.monotonic() + TIME_LIMIT
        while self._read():
            assert time.monotonic() < until, f"it does not end. The screen:\n{self.text}"
        return self._ended()

    def _ended(self) -> int:
        self.child.wait()
        return -self.child.signalstatus if self.child.signalstatus is not None else int(self.child.exitstatus or 0)

    def hang_up(self) -> int:
        """Close the window; gives the exit code, or minus a signal, once the program has ended."""
        process = self.child.ptyproc
        process.fileobj.close()
        process.closed = self.child.closed = True
        return self._ended()

    def _read(self) -> bool:
        try:
            data = self.child.read_nonblocking(65536, timeout=0.1)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(data)
        return True
