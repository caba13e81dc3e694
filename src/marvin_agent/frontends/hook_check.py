"""Checking hooks: each is loaded in a process of its own, with a clean environment and an empty working directory."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from marvin_agent.errors import HookError
from marvin_agent.hooks.hosts.environment import python_for
from marvin_agent.hooks.hosts.script import read_block
from marvin_agent.hooks.hosts.settings import HostSettings
from marvin_agent.hooks.sources import Source
from marvin_agent.llm.auth.keys import provider_key_names
from marvin_agent.text import printable

TIME_LIMIT = 60.0
AT_ONCE = 4
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


def check_each(sources: Sequence[Source], cache_dir: str) -> list[Checked]:
    """Check several, some at once; in their order."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda source: check(source, cache_dir), sources))


def check(source: Source, cache_dir: str) -> Checked:
    """Load a hook and say what is wrong with it, if anything. `cache_dir` keeps the environments of hooks."""
    try:
        _prepare(source, cache_dir)
    except HookError as error:
        return Checked(source, problems=(f"{source.path}: {error.message}",))
    with tempfile.TemporaryDirectory() as empty:
        env = {name: os.environ[name] for name in KEPT if name in os.environ}
        env |= {"HOME": empty, "MARVIN_CONFIG_DIR": empty}
        command = [sys.executable, "-m", "marvin_agent.testing.check", os.path.realpath(source.path), cache_dir]
        try:
            done = subprocess.run(command, cwd=empty, env=env, capture_output=True, timeout=TIME_LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return Checked(source, problems=(f"{source.path}: did not load within {TIME_LIMIT:g} s",))
    return _read(source, done)


def _prepare(source: Source, cache_dir: str) -> None:
    """Install what a hook needs, as a run would: with the user's own settings for where packages come from."""
    path = os.path.realpath(source.path)
    data = source.read(source.path) or b""
    if not HostSettings().may_host(source.stem, data) or not (block := read_block(data, path)):
        return
    making = python_for(
        block,
        base=os.path.dirname(path),
        cache_dir=os.path.join(cache_dir, "hooks"),
        environ={name: value for name, value in os.environ.items() if name not in provider_key_names()},
        progress=lambda text: print(printable(f"{source.path}: {text}"), file=sys.stderr),
    )
    asyncio.run(making)


def _read(source: Source, done: "subprocess.CompletedProcess[bytes]") -> Checked:
    try:
        found = json.loads(done.stdout)
    except ValueError:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return Checked(source, problems=(f"{source.path}: ended the process that loaded it: {last[0]}",))
    problems = tuple(_problem(source, problem) for problem in found["problems"])
    return Checked(source, tuple(found["handlers"]), tuple(found["tools"]), tuple(found["commands"]), problems)


def _problem(source: Source, problem: dict[str, str]) -> str:
    # The place is from where the hook really is; it is told by the path that the user knows.
    file, _, line = problem["place"].rpartition(":")
    path = os.path.join(os.path.dirname(source.path), file) if file else source.path
    if not os.path.exists(path):
        path = source.path
    where = f"{path}:{line}" if line.isdigit() else path
    real = os.path.join(os.path.dirname(os.path.realpath(source.path)), file or os.path.basename(source.path))
    return f"{where}: {problem['error'].removeprefix(f'{real}:{line}: ').removeprefix(f'{real}: ')}"
