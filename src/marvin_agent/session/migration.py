"""A session of an older format becomes one of ours when it is first appended to.

The file is replaced in one step by a new one with the same entries, ids and lines that could not be read; the old one
stays beside it as `<name>.v<version>.bak`, byte for byte. Reading alone changes nothing: a session that is only looked
at stays as its writer left it.
"""

import os

from marvin_agent.errors import SessionError
from marvin_agent.session.document import Document
from marvin_agent.session.entries import encode_line
from marvin_agent.session.foreign import current


def migrate(document: Document) -> int:
    """Rewrite the file of a document that is not ours; the size of the new one."""
    path = document.path
    lines = [encode_line(current(document.header)), *map(encode_line, document.entries), b""]
    data = b"\n".join(lines)
    fresh = f"{path}.tmp"
    try:
        _write_synced(fresh, data)
        if os.stat(path).st_size != document.size:
            raise SessionError(f"{path} was changed by another program meanwhile", hint="Open it again.")
        _keep(path, _backup_name(path, document.header.version))
        os.replace(fresh, path)
        _sync_directory(os.path.dirname(path))
    except OSError as error:
        raise SessionError(
            f"Cannot bring {path} to the present format: {error.strerror}",
            hint="It was left as it is; copy it to a directory that you can write to, and open the copy.",
        ) from error
    finally:
        if os.path.exists(fresh):
            os.unlink(fresh)
    return len(data)


def backups(path: str) -> list[str]:
    """The older formats of a session that were kept beside it."""
    directory, name = os.path.split(path)
    start = f"{name}.v"
    return [
        os.path.join(directory, other)
        for other in os.listdir(directory or ".")
        if other.startswith(start) and other.endswith(".bak")
    ]


def _backup_name(path: str, version: int) -> str:
    names = (f"{path}.v{version}{f'.{count}' if count else ''}.bak" for count in range(1000))
    return next(name for name in names if not os.path.lexists(name))


def _keep(path: str, backup: str) -> None:
    try:
        os.link(path, backup)
    except OSError:
        # No hard links on this file system.
        with open(path, "rb") as file:
            _write_synced(backup, file.read())


def _write_synced(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        os.fchmod(fd, 0o600)
        file.write(data)
        file.flush()
        os.fsync(fd)


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
