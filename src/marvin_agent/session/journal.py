"""The writing end of a session file: whole lines are appended, or nothing is."""

import os

from marvin_agent.errors import SessionError


class Journal:
    """A file that one process appends to. What it wrote is on its way to the disk when `append` returns."""

    __slots__ = ("_fd", "_size", "path")

    def __init__(self, path: str, fd: int, size: int) -> None:
        self.path = path
        self._fd = fd
        self._size = size

    @classmethod
    def create(cls, path: str) -> "Journal":
        """A new file of mode 0600, whatever the umask."""
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.fchmod(fd, 0o600)
        return cls(path, fd, 0)

    @classmethod
    def reopen(cls, path: str, *, read: int, good: int) -> "Journal":
        """An existing file, of which `read` bytes were read and `good` hold whole lines; the rest is cut off."""
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        journal = cls(path, fd, read)
        try:
            journal._check()
            if good < read:
                os.ftruncate(fd, good)
            os.fchmod(fd, 0o600)
        except BaseException:
            os.close(fd)
            raise
        journal._size = good
        return journal

    def append(self, lines: bytes, *, sync: bool = False) -> None:
        """Write whole lines at the end. When that fails the file is as it was before, and the error says so."""
        if self._fd < 0:
            raise SessionError(f"Session {self.path} is closed")
        self._check()
        try:
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            if sync:
                os.fsync(self._fd)
            self._size += len(lines)
        except OSError as error:
            raise SessionError(
                f"Cannot write to the session file {self.path}: {error.strerror}{self._undo()}",
                hint="Free some space or mend the directory, then go on with `marvin -c`.",
            ) from error
        except BaseException:
            self._undo()
            raise

    def discard(self) -> None:
        """Close a file that was made for nothing, and remove it."""
        self.close()
        try:
            os.unlink(self.path)
        except OSError:
            pass  # what stays is an empty file, which no list shows

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _check(self) -> None:
        # A file that somebody removed or changed takes our lines without a word; nobody would find them again.
        state = os.fstat(self._fd)
        if state.st_nlink == 0:
            raise SessionError(
                f"The session file {self.path} was removed while it was in use", hint="Start a new session."
            )
        if state.st_size != self._size:
            raise SessionError(
                f"The session file {self.path} was changed by another program while it was in use",
                hint="Open the session again to go on from what it holds now.",
            )

    def _undo(self) -> str:
        try:
            os.ftruncate(self._fd, self._size)
        except OSError:
            return " (and the half-written line could not be taken back; the next start will cut it off)"
        return ""
