"""One writer for a session file: a lock beside it that the system frees when its holder dies."""

import errno
import fcntl
import os

from marvin_agent.errors import SessionError

_NO_LOCKS_HERE = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)


def lock_path(path: str) -> str:
    """The lock of a session file."""
    return path + ".lock"


class WriterLock:
    """Held from `acquire` to `release`, or to the death of the process. The file carries the holder's pid."""

    __slots__ = ("_fd", "path")

    def __init__(self, session_path: str) -> None:
        self.path = lock_path(session_path)
        self._fd = -1

    def acquire(self) -> bool:
        """Take the lock. False when this file system has none; raises when another process holds it."""
        while True:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_same_file(fd, self.path):
                    os.fchmod(fd, 0o600)
                    os.ftruncate(fd, 0)
                    os.pwrite(fd, b"%d\n" % os.getpid(), 0)
                    self._fd, fd = fd, -1
                    return True
                # The last holder removed it between our open and our lock.
            except BlockingIOError:
                raise _held_by(_read_pid(fd), self.path) from None
            except OSError as error:
                if error.errno in _NO_LOCKS_HERE:
                    return False
                raise
            finally:
                if fd >= 0:
                    os.close(fd)

    def release(self) -> None:
        if self._fd < 0:
            return
        # Removed while it is held: whoever waits with the old file open finds out and opens a new one.
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass
        finally:
            os.close(self._fd)
            self._fd = -1


def _read_pid(fd: int) -> str:
    return os.pread(fd, 32, 0).decode("ascii", "replace").strip()


def _is_same_file(fd: int, path: str) -> bool:
    ours = os.fstat(fd)
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    return (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)


def _held_by(pid: str, path: str) -> SessionError:
    session = path.removesuffix(".lock")
    if pid == str(os.getpid()):
        return SessionError(
            f"Session {session} is already open in this process", hint="Close it there before opening it again."
        )
    who = f"process {pid}" if pid.isdigit() else "another process"
    return SessionError(
        f"Session {session} is in use by {who}",
        hint="Close that marvin first (or end the process), or start a new session.",
    )
