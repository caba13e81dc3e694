"""Trust by content: what a project's `.marvin` can do is hashed, and runs only as it was when somebody looked at it."""

import importlib
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from marvin_agent.config import acting_keys
from marvin_agent.errors import ConfigError, HookError
from marvin_agent.files import read_regular_file
from marvin_agent.jsonfile import read_json, write_json

ACTING = ("hooks", "agents", "commands", "tools")
"""The directories of `.marvin` whose content can act."""
CONFIG = "config.json"
LIMIT = 4 * 1024 * 1024
FILES_LIMIT = 2_000
"""Files, and directories: a few links in a cloned repository can stand for millions of both."""
TOTAL_LIMIT = 32 * 1024 * 1024
VERSION = 1


class Snapshot(NamedTuple):
    """The part of a project's `.marvin` that can act, as it was read."""

    root: str
    files: Mapping[str, bytes]
    """Paths below `.marvin` with their bytes; `config.json` stands for its keys that act."""

    @property
    def hashes(self) -> dict[str, str]:
        return {path: _sha256(data).hexdigest() for path, data in sorted(self.files.items())}

    def by_real_path(self) -> dict[str, bytes]:
        """The files by where they really are, for loading."""
        base = os.path.join(self.root, ".marvin")
        return {os.path.realpath(os.path.join(base, path)): data for path, data in self.files.items()}


def take_snapshot(root: str) -> Snapshot:
    """Read what can act. Raises HookError when something is in the way: then nothing may be trusted."""
    # However the project is reached, it is one.
    root = os.path.realpath(root)
    base = os.path.join(root, ".marvin")
    files: dict[str, bytes] = {}
    seen = size = 0
    for name in ACTING:
        for directory, directories, names in os.walk(os.path.join(base, name), followlinks=True):
            directories[:] = sorted(d for d in directories if d != "__pycache__")
            seen += 1 + len(names)
            if seen > FILES_LIMIT:
                raise HookError(f"{base}: more than {FILES_LIMIT} files and directories; too much to look at")
            for each in sorted(names):
                path = os.path.join(directory, each)
                if each.endswith(".pyc"):
                    continue
                files[os.path.relpath(path, base)] = data = _read(path)
                size += len(data)
                if size > TOTAL_LIMIT:
                    raise HookError(f"{base}: over {TOTAL_LIMIT // 1024 // 1024} MiB; too much to look at")
    config = os.path.join(base, CONFIG)
    if os.path.lexists(config) and (acting := _acting_keys(config)):
        files[CONFIG] = acting
    return Snapshot(root, files)


def _read(path: str) -> bytes:
    try:
        data = read_regular_file(path, LIMIT + 1)
    except OSError as error:
        raise HookError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > LIMIT:
        raise HookError(f"{path}: over {LIMIT // 1024 // 1024} MiB; too much to look at")
    return data


def _acting_keys(path: str) -> bytes:
    try:
        value = read_json(path).value
    except (ConfigError, FileNotFoundError):
        # A file that is wrong is reported by whoever reads the configuration; until then its bytes are what it is.
        return b"unreadable: " + (_sha256(_read(path)).hexdigest().encode() if os.path.isfile(path) else b"")
    return acting_keys(value) if isinstance(value, dict) else b""


class Trust:
    """`trust.json`: what was trusted, by project and by distribution."""

    def __init__(self, path: str) -> None:
        self._path = path

    def allows(self, snapshot: Snapshot) -> bool:
        """Whether this very content was trusted. What cannot act needs no trust."""
        return not snapshot.files or self._projects().get(snapshot.root) == snapshot.hashes

    def changes(self, snapshot: Snapshot) -> dict[str, str]:
        """What is different from what was trusted: path to `new`, `changed` or `gone`."""
        before, now = self._projects().get(snapshot.root, {}), snapshot.hashes
        found = {path: "new" if path not in before else "changed" for path in now if before.get(path) != now[path]}
        return found | {path: "gone" for path in before if path not in now}

    def knows(self, root: str) -> bool:
        return root in self._projects()

    def grant(self, snapshot: Snapshot) -> None:
        self._write("projects", snapshot.root, snapshot.hashes)

    def allows_package(self, name: str, digest: str) -> bool:
        """Whether this very build of a distribution was trusted."""
        return bool(self._read().get("packages", {}).get(name) == digest)

    def grant_package(self, name: str, digest: str) -> None:
        self._write("packages", name, digest)

    def revoke(self, name: str) -> bool:
        """Forget a project or a distribution; False when it was not trusted."""
        data = self._read()
        found = any(data.get(kind, {}).pop(name, None) is not None for kind in ("projects", "packages"))
        if found:
            write_json(self._path, data)
        return found

    def list(self) -> dict[str, list[str]]:
        """The trusted projects and distributions."""
        data = self._read()
        return {kind: sorted(data.get(kind, {})) for kind in ("projects", "packages")}

    def _projects(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = self._read().get("projects", {})
        return found

    def _read(self) -> dict[str, Any]:
        try:
            value = read_json(self._path).value
        except FileNotFoundError:
            return {"version": VERSION}
        if not isinstance(value, dict) or value.get("version") != VERSION:
            raise ConfigError(
                "is not a list of what is trusted that this marvin reads",
                file=self._path,
                hint="Remove it; `marvin trust` writes a new one.",
            )
        return value

    def _write(self, kind: str, name: str, value: Any) -> None:
        data = self._read()
        data.setdefault(kind, {})[name] = value
        write_json(self._path, data)


def _sha256(data: bytes = b"") -> Any:
    # The module is loaded when there is something to hash, which is seldom.
    return importlib.import_module("hashlib").sha256(data)
