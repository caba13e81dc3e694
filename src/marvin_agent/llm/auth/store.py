"""The file of stored keys, `auth.json`: for its owner alone, written whole or not at all."""

import os
import stat
from collections.abc import Callable
from typing import Any

from marvin_agent.errors import ConfigError
from marvin_agent.jsonfile import read_json, write_json


class AuthFile:
    """`{PROVIDER: {"type": "api_key", "key": KEY}}`. Entries of other types stay as they are."""

    __slots__ = ("_entries", "_notify", "_stamp", "path")

    def __init__(self, path: str, notify: Callable[[str], None] = lambda line: None) -> None:
        self.path = path
        self._notify = notify
        self._entries: dict[str, Any] = {}
        self._stamp: tuple[int, ...] | None = None

    def get(self, provider: str) -> str | None:
        """The key of a provider; None when none is stored."""
        entry = self._read().get(provider)
        if isinstance(entry, dict) and entry.get("type", "api_key") == "api_key":
            key = entry.get("key")
            return key if isinstance(key, str) and key else None
        return None

    def providers(self) -> tuple[str, ...]:
        """Those with a key, sorted."""
        return tuple(sorted(name for name in self._read() if self.get(name)))

    def store(self, provider: str, key: str) -> None:
        write_json(self.path, {**self._read(), provider: {"type": "api_key", "key": key}}, mode=0o600)

    def remove(self, provider: str) -> bool:
        """Forget a provider's key; False when there was none."""
        entries = {**self._read()}
        if entries.pop(provider, None) is None:
            return False
        write_json(self.path, entries, mode=0o600)
        return True

    def _read(self) -> dict[str, Any]:
        """The entries, not to be changed. The file is read again only when it is another one than before."""
        try:
            status = os.stat(self.path)
            stamp = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size)
            if stamp == self._stamp:
                return self._entries
            self._close_to_others(status)
            value = read_json(self.path).value
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError:
            raise self._broken(None) from None
        except ConfigError as error:
            # Its words could quote a piece of a key.
            raise self._broken(error.line) from None
        if not isinstance(value, dict):
            raise self._broken(1)
        self._entries, self._stamp = value, stamp
        return value

    def _broken(self, line: int | None) -> ConfigError:
        return ConfigError(
            "the stored keys cannot be read",
            file=self.path,
            line=line,
            hint="Mend the file, or remove it and store the keys again with `marvin login PROVIDER`.",
        )

    def _close_to_others(self, status: os.stat_result) -> None:
        mode = stat.S_IMODE(status.st_mode)
        if not mode & 0o077:
            return
        try:
            os.chmod(self.path, 0o600)
        except PermissionError:
            self._notify(f"{self.path} can be read by others (mode {mode:o}): make it yours alone, with mode 600.")
        else:
            self._notify(f"{self.path} could be read by others (mode {mode:o}); now only you can.")
