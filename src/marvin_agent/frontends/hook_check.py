"""Checking hooks: each is loaded in a process of its own, with a clean environment and an empty working directory."""

import json
import os
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

from marvin_agent.hooks.sources import Source

TIME_LIMIT = 60.0
KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV")


class Checked(NamedTuple):
    """What came of loading a hook."""

    source: Source
    handlers: tuple[dict[str, Any], ...] = ()
    tools: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def events(self) -> list[str]:
        return list(dict.fromkeys(handler["event"] for handler in self.handlers))


def check(source: Source) -> Checked:
    """Load a hook and say what is wrong with it, if anything."""
    with tempfile.TemporaryDirectory() as empty:
        env = {name: os.environ[name] for name in KEPT if name in os.environ}
        env |= {"HOME": empty, "MARVIN_CONFIG_DIR": empty}
        command = [sys.executable, "-m", "marvin_agent.testing.check", os.path.realpath(source.path)]
        try:
            done = subprocess.run(command, cwd=empty, env=env, capture_output=True, timeout=TIME_LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return Checked(source, problems=(f"{source.path}: did not load within {TIME_LIMIT:g} s",))
    return _read(source, done)


def _read(source: Source, done: "subprocess.CompletedProcess[bytes]") -> Checked:
    try:
        found = json.loads(done.stdout)
    except ValueError:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return Checked(source, problems=(f"{source.path}: ended the process that loaded it: {last[0]}",))
    problems = tuple(_problem(source, problem) for problem in found["problems"])
    return Checked(source, tuple(found["handlers"]), tuple(found["tools"]), tuple(found["commands"]), problems)


def _problem(source: Source, problem: dict[str, str]) -> str:
    line = problem["place"].rpartition(":")[2]
    where = f"{source.path}:{line}" if line.isdigit() else source.path
    return f"{where}: {problem['error'].removeprefix(source.path + ': ')}"
