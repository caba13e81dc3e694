"""Replaces a file in one step: whoever reads it sees the old content or the new, never a part of either."""

import errno
import os
import stat
import threading
from typing import TypeAlias

from marvin_agent.tools.tool import ToolFailure

Signature: TypeAlias = tuple[int, int, int]

_NO_RENAME = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.ETXTBSY)
"""A mounted file, or a directory that we may not write: the content is written in place then."""
_replacing = threading.Lock()


def signature(state: os.stat_result) -> Signature:
    """What tells that a file was changed by somebody else."""
    return state.st_mtime_ns, state.st_size, state.st_ino


def replace_file(path: str, data: bytes, name: str, expected: Signature | None) -> None:
    """Write a file. Links are followed, mode and owner stay. `expected`: what it was when it was read, if it was there.

    Raises ToolFailure, and nothing is changed, when it cannot be written or when it is not as expected.
    """
    target = os.path.realpath(path)
    old = writable_state(target, name)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        temporary = _beside(target, data, old)
    except OSError as error:
        if old is None or error.errno not in _NO_RENAME:
            raise ToolFailure(f"Cannot write {name}: {error.strerror}.") from error
        temporary = None
    try:
        # Two calls of this process must not both find the file as they expect it.
        with _replacing:
            _expect(target, name, expected)
            _put(temporary, target, data, name)
    except BaseException:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise


def writable_state(target: str, name: str) -> os.stat_result | None:
    """What is there to be replaced, if anything. Raises ToolFailure for what must not be."""
    try:
        state = os.stat(target)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolFailure(f"Cannot write {name}: {error.strerror}.") from error
    if stat.S_ISDIR(state.st_mode):
        raise ToolFailure(f"Cannot write {name}: it is a directory.")
    if not stat.S_ISREG(state.st_mode):
        raise ToolFailure(f"Cannot write {name}: it is not a regular file but a device, pipe or socket.")
    if not os.access(target, os.W_OK):
        raise ToolFailure(f"Cannot write {name}: it is read-only.")
    return state


def _expect(target: str, name: str, expected: Signature | None) -> None:
    try:
        found = signature(os.stat(target))
    except FileNotFoundError:
        found = None
    if found != expected:
        raise ToolFailure(f"{name} was changed by somebody else just now. Nothing was written; read it again first.")


def _beside(target: str, data: bytes, old: os.stat_result | None) -> str:
    """The content in a file of its own in the same directory, with the mode and owner of the old one."""
    directory, base = os.path.split(target)
    # Names have at most 255 bytes, and the one that is replaced may be as long.
    temporary = os.path.join(directory, f".{base[:40]}.{os.urandom(6).hex()}.tmp")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if old is None else 0o600)
    try:
        if old is not None:
            _keep_owner(file, target, old)
        _write(file, data)
        os.fsync(file)
    except BaseException:
        os.unlink(temporary)
        raise
    finally:
        os.close(file)
    return temporary


def _keep_owner(file: int, target: str, old: os.stat_result) -> None:
    try:
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(file, old.st_uid, old.st_gid)
    except OSError:
        pass  # only the superuser may give files away
    os.fchmod(file, stat.S_IMODE(old.st_mode))
    if not hasattr(os, "listxattr"):
        return
    for attribute in os.listxattr(target):
        try:
            os.setxattr(file, attribute, os.getxattr(target, attribute))
        except OSError:
            pass  # some belong to the system


def _put(temporary: str | None, target: str, data: bytes, name: str) -> None:
    try:
        if temporary is not None:
            try:
                os.replace(temporary, target)
                return
            except OSError as error:
                if error.errno not in _NO_RENAME:
                    raise
                os.unlink(temporary)
        file = os.open(target, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            _write(file, data)
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise ToolFailure(f"Cannot write {name}: {error.strerror}.") from error


def _write(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
