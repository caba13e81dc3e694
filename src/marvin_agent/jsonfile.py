"""JSON files that people edit: read strictly, with a line number for each problem, and written whole or not at all."""

import importlib
import os
import re
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from marvin_agent.errors import ConfigError
from marvin_agent.files import read_regular_file
from marvin_agent.places import make_private_directory

if TYPE_CHECKING:
    from marvin_agent.jsonpositions import Positions

JsonPath: TypeAlias = tuple[str | int, ...]

MAX_DEPTH = 100
MAX_BYTES = 16 * 1024 * 1024

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_BOM = b"\xef\xbb\xbf"


class Document:
    """A JSON file that was read: its value, and the line of each key for those who ask."""

    __slots__ = ("_data", "_positions", "path", "value")

    def __init__(self, path: str, value: Any, data: bytes) -> None:
        self.path = path
        self.value = value
        self._data = data
        self._positions: Positions | None = None

    def line_of(self, path: JsonPath) -> int:
        """The line of a key (`("hooks", "paths", 0)`); of what is around it when it is not in the file."""
        if self._positions is None:
            self._positions = _positions(self._data.decode())
        return self._positions.line_of(path)


def read_json(path: str) -> Document:
    """Read a JSON file. FileNotFoundError when there is none; ConfigError, with the line, for all else."""
    return parse_json(path, _read(path))


def parse_json(path: str, data: bytes) -> Document:
    """The document in the bytes of a file."""
    data = data.removeprefix(_BOM)
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _explain(path, data, str(error)) from None
    # A key that stands twice leaves fewer keys in the value than there are colons outside of strings.
    if _count_keys(path, value) != _STRING.sub(b"", data).count(b":"):
        raise _duplicates(path, data)
    return Document(path, value, data)


def write_json(path: str, value: object, mode: int = 0o600) -> None:
    """Write a JSON file so that a reader, and a crash, find the old one or the new one. Its directory is made, 0700."""
    data = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    # Whoever keeps his configuration elsewhere and links to it wants the link to stay.
    path = os.path.realpath(path)
    directory = os.path.dirname(path)
    make_private_directory(directory)
    temporary = os.path.join(directory, f".{os.path.basename(path)}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        if isinstance(error, OSError):
            # A failed write does not say of which file it is, and nobody knows the temporary one.
            raise OSError(error.errno, error.strerror, path) from error
        raise
    _sync_directory(directory)


def _sync_directory(directory: str) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some network file systems cannot; the file itself is synced
    finally:
        os.close(descriptor)


def _read(path: str) -> bytes:
    try:
        data = read_regular_file(path, MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path) from None
    except OSError as error:
        hint = "Put a readable JSON file there, or remove it."
        raise ConfigError(f"cannot be read: {error.strerror}", file=path, hint=hint) from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"is larger than {MAX_BYTES >> 20} MiB", file=path)
    return data


def _count_keys(path: str, value: Any) -> int:
    keys = 0
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                keys += len(item)
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return keys
        level = below
    raise ConfigError(f"nested deeper than {MAX_DEPTH} levels", file=path)


def _positions(text: str) -> "Positions":
    # Positions cost more than the reading itself, to load and to find, and nearly no run asks for one.
    positions: Positions = importlib.import_module("marvin_agent.jsonpositions").Positions(text)
    return positions


def _explain(path: str, data: bytes, reason: str) -> ConfigError:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return ConfigError("is not UTF-8 text", file=path, line=line, hint="Save it as UTF-8.")
    malformed = _positions(text).malformed
    if malformed is None:
        return ConfigError(reason, file=path)
    line = text.count("\n", 0, malformed.offset) + 1
    return ConfigError(malformed.message, file=path, line=line, hint=malformed.hint)


def _duplicates(path: str, data: bytes) -> ConfigError:
    positions = _positions(data.decode())
    return ConfigError.several(
        [
            ConfigError(
                f"the key {'.'.join(map(str, key))} stands here a second time (first in line {positions.line_of(key)})",
                file=path,
                line=positions.line_at(offset),
                hint="Keep one of them.",
            )
            for key, offset in positions.duplicates
        ]
    )
