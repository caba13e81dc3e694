"""Hooks in installed distributions: entry points of the group `marvin.hooks`, found by a scan that is cached."""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from marvin_agent.jsonfile import write_json

GROUP = "marvin.hooks"
VERSION = 1


class Packaged(NamedTuple):
    """An entry point: the hook's name, its module (and object), the distribution and where its file is."""

    name: str
    value: str
    distribution: str
    path: str

    @property
    def code(self) -> list[str]:
        """The files of its module's outermost package: an editable install does not list them as its own."""
        above = len(self.value.partition(":")[0].split(".")) - 1
        directory, name = os.path.split(self.path)
        if name != "__init__.py":
            if not above:
                return [self.path]
            above -= 1
        top = os.path.normpath(os.path.join(directory, *[os.pardir] * above))
        return [
            os.path.join(directory, name)
            for directory, _, names in os.walk(top)
            for name in names
            if not name.endswith(".pyc")
        ]


class _Cache(msgspec.Struct, frozen=True):
    version: int
    stamps: dict[str, int]
    found: tuple[tuple[str, str, str, str], ...]


def packaged_hooks(cache_dir: str) -> list[Packaged]:
    """The entry points of what is installed. The scan is done again when a directory of the path has changed."""
    stamps = _stamps()
    file = os.path.join(cache_dir, "hook-packages.json")
    try:
        with open(file, "rb") as opened:
            cached = msgspec.json.decode(opened.read(), type=_Cache)
        if cached.version == VERSION and cached.stamps == stamps:
            return [Packaged(*each) for each in cached.found]
    except (OSError, msgspec.MsgspecError):
        pass  # no cache, or not ours: scan
    found = _scan()
    try:
        write_json(file, _Cache(VERSION, stamps, tuple(tuple(each) for each in found)))  # type: ignore[misc]
    except OSError:
        pass  # a home that cannot be written to: the next start scans again
    return found


def digest_of(hooks: Sequence[Packaged]) -> str:
    """A hash over the files of the distribution that these hooks are of, as they are now."""
    paths = {os.path.realpath(path) for hook in hooks for path in (*_files(hook.distribution), *hook.code)}
    found = _sha256()
    for path in sorted(paths):
        found.update(path.encode("utf-8", "surrogateescape") + b"\0")
        try:
            with open(path, "rb") as file:
                found.update(_sha256(file.read()).digest())
        except OSError:
            found.update(b"missing")
    digest: str = found.hexdigest()
    return digest


def _scan() -> list[Packaged]:
    found = []
    for point in _metadata().entry_points(group=GROUP):
        distribution = point.dist.name if point.dist else "unknown"
        path = _module_path(point.value.partition(":")[0])
        if path:
            found.append(Packaged(point.name, point.value, distribution, path))
    return sorted(found)


def _module_path(module: str) -> str | None:
    """The file of a module, without importing it or its parents."""
    parts = module.split(".")
    for directory in sys.path:
        base = os.path.join(directory or os.getcwd(), *parts)
        for path in (os.path.join(base, "__init__.py"), f"{base}.py"):
            if os.path.isfile(path):
                return path
    return None


def _files(distribution: str) -> list[str]:
    listed = _metadata().distribution(distribution).files or []
    return [str(file.locate()) for file in listed if not file.name.endswith(".pyc")]


def _stamps() -> dict[str, int]:
    stamps = {}
    for directory in sys.path:
        try:
            stamps[directory] = os.stat(directory or ".").st_mtime_ns
        except OSError:
            continue
    return stamps


def _metadata() -> Any:
    # Ten milliseconds that no run needs whose scan is cached.
    return importlib.import_module("importlib.metadata")


def _sha256(data: bytes = b"") -> Any:
    # The module is loaded when there is something to hash, which is seldom.
    return importlib.import_module("hashlib").sha256(data)
