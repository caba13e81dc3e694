"""Reading files that others may have put there: no pipe hangs the reader, and nothing is read without end."""

import errno
import os
import stat


def read_regular_file(path: str, at_most: int) -> bytes:
    """The first `at_most` bytes of a file. OSError when it cannot be read or is no regular file."""
    # Without O_NONBLOCK a named pipe in a cloned repository would hang the start.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "It is not a regular file", path)
    with open(descriptor, "rb") as file:
        return file.read(at_most)
