"""Python environments made of what hook files say they need: installed once, locked, kept by what they are made of.

An environment counts once its marker is written, which is the last thing that happens, so that one which was cut off
is made anew. Who makes one holds a file lock, and others wait for it. The lock file with exact versions and hashes
outlives the environment: made again, it is the same.
"""

import asyncio
import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from marvin_agent.errors import HookError
from marvin_agent.hooks.hosts.script import Block
from marvin_agent.hooks.hosts.versions import satisfies
from marvin_agent.places import make_private_directory
from marvin_agent.processes import CannotStart, execute
from marvin_agent.text import printable

Progress = Callable[[str], None]

MOST_TIME = 1800.0
SHOWN_LINES = 15
_UV_OPTIONS = {"index-url": "--index-url", "extra-index-url": "--extra-index-url", "find-links": "--find-links"}
_NOT_PASSED = ("VIRTUAL_ENV", "PYTHON")
"""Beginnings of variables that concern this Python and not the one that is made."""


async def python_for(block: Block, *, base: str, cache_dir: str, environ: Mapping[str, str], progress: Progress) -> str:
    """The Python of the environment that a block asks for, made when it is not there; this one when it asks for none.

    `base` is the directory that relative places in the block start from. Raises HookError, with what to do.
    """
    version = platform.python_version()
    if not satisfies(version, block.requires_python):
        raise HookError(
            f"it needs Python {block.requires_python} (requires-python), and marvin runs on {version}: "
            "install marvin with such a Python, or change the block"
        )
    if not block.dependencies:
        return sys.executable
    plan = _plan(
        block, base, cache_dir, {key: value for key, value in environ.items() if not key.startswith(_NOT_PASSED)}
    )
    if not plan.ready:
        make_private_directory(cache_dir)
        async with _locked(f"{plan.directory}.flock", progress):
            if not plan.ready:
                await _make(plan, progress)
    return plan.python


class _Plan(NamedTuple):
    """One environment: where it is and how it is made."""

    directory: str
    dependencies: tuple[str, ...]
    options: tuple[str, ...]
    """Where packages come from, as options of uv and pip alike."""
    environ: dict[str, str]

    @property
    def python(self) -> str:
        return os.path.join(self.directory, "bin", "python")

    @property
    def marker(self) -> str:
        return os.path.join(self.directory, "marvin-ready")

    @property
    def lock(self) -> str:
        return f"{self.directory}.lock"

    @property
    def ready(self) -> bool:
        # The interpreter is a link to one that may have been removed since.
        return os.path.exists(self.marker) and os.access(self.python, os.X_OK)


def _plan(block: Block, base: str, cache_dir: str, environ: dict[str, str]) -> _Plan:
    dependencies = tuple(sorted({" ".join(item.split()) for item in block.dependencies}))
    options = _source_options(block.tool.get("uv", {}), base)
    made_of = [dependencies, options, block.requires_python, sys.version, os.path.realpath(sys.executable)]
    key = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:20]
    return _Plan(os.path.join(cache_dir, key), dependencies, options, environ)


def _source_options(table: Any, base: str) -> tuple[str, ...]:
    """The options for `[tool.uv]` of a block: what says where packages come from, and nothing else."""
    if not isinstance(table, dict):
        raise HookError("[tool.uv] in the `# /// script` block is a table")
    options: list[str] = ["--no-index"] if table.get("no-index") is True else []
    for key, option in _UV_OPTIONS.items():
        given = table.get(key, [])
        for place in [given] if isinstance(given, str) else given:
            if not isinstance(place, str):
                raise HookError(f"[tool.uv] {key} in the `# /// script` block is a text or a list of texts")
            local = key == "find-links" and "://" not in place
            options += [option, os.path.join(base, os.path.expanduser(place)) if local else place]
    return tuple(options)


@asynccontextmanager
async def _locked(path: str, progress: Progress) -> AsyncIterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        told = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    told = True
                    progress("waiting for another marvin that installs the same")
                await asyncio.sleep(0.1)
        yield
    finally:
        os.close(descriptor)


async def _make(plan: _Plan, progress: Progress) -> None:
    began = time.monotonic()
    uv = shutil.which("uv", path=plan.environ.get("PATH"))
    progress(f"installing what it needs with {'uv' if uv else 'pip'}: {', '.join(plan.dependencies)}")
    shutil.rmtree(plan.directory, ignore_errors=True)
    try:
        await (_make_with_uv(plan, uv) if uv else _make_with_pip(plan))
    except BaseException:
        shutil.rmtree(plan.directory, ignore_errors=True)
        raise
    _write(plan.marker, "\n".join(plan.dependencies) + "\n")
    progress(f"installed in {time.monotonic() - began:.1f} s")


async def _make_with_uv(plan: _Plan, uv: str) -> None:
    await _run(plan, [uv, "venv", "--quiet", "--no-project", "--python", sys.executable, plan.directory])
    if not os.path.exists(plan.lock):
        wanted = _write(os.path.join(plan.directory, "wanted.txt"), "\n".join(plan.dependencies) + "\n")
        made = os.path.join(plan.directory, "made.lock")
        compiling = ["pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--python", plan.python]
        await _run(plan, [uv, *compiling, *plan.options, "--output-file", made, wanted])
        os.replace(made, plan.lock)
    installing = ["pip", "install", "--quiet", "--python", plan.python]
    await _run(plan, [uv, *installing, *plan.options, "--requirements", plan.lock])


async def _make_with_pip(plan: _Plan) -> None:
    making = [sys.executable, "-I", "-m", "venv", plan.directory]
    if has_pip():
        # Installing pip itself takes longer than most hooks' dependencies.
        await _run(plan, [*making, "--without-pip"])
        pip = [sys.executable, "-I", "-m", "pip", "--python", plan.python]
    else:
        await _run(plan, making)
        pip = [plan.python, "-I", "-m", "pip"]
    pip += ["--disable-pip-version-check", "--quiet", "--no-input", "install"]
    if not os.path.exists(plan.lock):
        report = os.path.join(plan.directory, "report.json")
        looking = ["--dry-run", "--ignore-installed", "--report", report]
        await _run(plan, [*pip, *looking, *plan.options, *plan.dependencies])
        os.replace(_write(os.path.join(plan.directory, "made.lock"), _lock_of(report)), plan.lock)
    await _run(plan, [*pip, *plan.options, "--requirement", plan.lock])


def has_pip() -> bool:
    """Whether this Python has a pip that can install into another's environment."""
    return importlib.util.find_spec("pip") is not None


def _lock_of(path: str) -> str:
    """Pip's report as requirements: exact versions with hashes, or none with a hash when one can have none."""
    with open(path, "rb") as file:
        report = json.load(file)
    lines: list[tuple[str, str | None]] = []
    for item in report["install"]:
        metadata, source = item["metadata"], item["download_info"]
        name = f"{metadata['name']}=={metadata['version']}"
        if commit := source.get("vcs_info", {}).get("commit_id"):
            name = f"{metadata['name']} @ {source['vcs_info']['vcs']}+{source['url']}@{commit}"
        elif item.get("is_direct"):
            name = f"{metadata['name']} @ {source['url']}"
        lines.append((name, _digest_of(source)))
    hashed = all(digest for _, digest in lines)
    return "".join(f"{name} --hash=sha256:{digest}\n" if hashed else f"{name}\n" for name, digest in sorted(lines))


def _digest_of(source: dict[str, Any]) -> str | None:
    """The SHA-256 of what a package comes from. Before 23.1, pip has it in a form of its own, and of a file on this
    machine not at all."""
    archive = source.get("archive_info")
    if archive is None:
        return None
    kind, _, former = archive.get("hash", "").partition("=")
    digest: str | None = archive.get("hashes", {}).get("sha256") or (former if kind == "sha256" else None)
    if digest:
        return digest
    where = urlsplit(source["url"])
    if where.scheme != "file":
        return None
    with open(unquote(where.path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def _run(plan: _Plan, command: list[str]) -> None:
    make_private_directory(plan.directory + ".empty")
    try:
        # A directory of our own: a tool would read the configuration that a project has put around its files.
        done = await execute(command, cwd=plan.directory + ".empty", env=plan.environ, timeout=MOST_TIME)
    except CannotStart as error:
        raise HookError(f"its dependencies cannot be installed: {error.message}") from error
    if done.code == 0 and not done.killed:
        return
    output = printable((done.stdout + done.stderr).decode("utf-8", "replace"))
    last = "\n".join(line for line in output.splitlines() if line.strip()).splitlines()[-SHOWN_LINES:]
    tool = os.path.basename(command[0]) if os.path.basename(command[0]) == "uv" else "pip"
    took = "took too long" if done.killed else f"failed with exit code {done.code}"
    raise HookError(
        f"its dependencies ({', '.join(plan.dependencies)}) cannot be installed: {tool} {took}\n"
        + "\n".join(f"    {line}" for line in last)
        + "\nMend the `# /// script` block or the network, then load it again."
    )


def _write(path: str, text: str) -> str:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
