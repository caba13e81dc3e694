"""What stands in the editor is kept on disk, so that a crash does not take it along."""

import contextlib
import os
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from marvin_agent.later import Later
from marvin_agent.places import make_private_directory

if TYPE_CHECKING:
    import hashlib
    import json
else:
    hashlib = Later("hashlib")
    json = Later("json")


class Kept(NamedTuple):
    """A draft with its folded pastes."""

    text: str
    pastes: dict[int, str]


class Draft:
    """The draft of this program: a file of its own for each that runs, found again by the next one in the project."""

    def __init__(self, config_dir: str, project_root: str) -> None:
        self._directory = os.path.join(config_dir, "drafts")
        self._root = project_root
        self._written = False

    @cached_property
    def _slug(self) -> str:
        return hashlib.sha256(self._root.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    @cached_property
    def _path(self) -> str:
        return os.path.join(self._directory, f"{self._slug}-{os.getpid()}.json")

    def write(self, text: str, pastes: dict[int, str]) -> None:
        """Keep the text; an empty one is not kept."""
        if not text.strip():
            self.forget()
            return
        data = json.dumps({"text": text, "pastes": pastes}).encode("utf-8", "replace")
        temporary = f"{self._path}.new"
        try:
            make_private_directory(self._directory)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(data)
            os.replace(temporary, self._path)
            self._written = True
        except OSError:
            return  # a full disk must not stop the typing

    def forget(self) -> None:
        """The text was sent or deleted."""
        if self._written:
            self._written = False
            with contextlib.suppress(OSError):
                os.unlink(self._path)

    def left_behind(self) -> Kept | None:
        """The newest draft of this project whose program is gone. It is ours from now on."""
        found: list[tuple[float, str]] = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._directory):
                slug, _, rest = entry.name.partition("-")
                number = rest.removesuffix(".json")
                if slug == self._slug and number.isdecimal() and not _runs(int(number)):
                    found.append((entry.stat().st_mtime, entry.path))
        for _, path in sorted(found, reverse=True):
            kept = _read(path)
            with contextlib.suppress(OSError):
                os.unlink(path)
            if kept:
                self.write(kept.text, kept.pastes)
                return kept
        return None


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return pid != os.getpid()


def _read(path: str) -> Kept | None:
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read())
        pastes = {int(number): str(text) for number, text in value["pastes"].items()}
        return Kept(str(value["text"]), pastes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
