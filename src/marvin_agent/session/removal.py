"""A session is deleted for good, with all that lies beside it."""

import os
import shutil

from marvin_agent.errors import SessionError
from marvin_agent.session.layout import files_directory
from marvin_agent.session.lock import WriterLock
from marvin_agent.session.migration import backups


def remove_session(path: str) -> None:
    """Delete a session, its large outputs and its older formats. Raises SessionError while a process has it open."""
    lock = WriterLock(path)
    try:
        lock.acquire()
        files = files_directory(path)
        if os.path.isdir(files):
            shutil.rmtree(files)
        # The session itself goes last: as long as it is there, what is left can be removed again.
        for file in (*backups(path), path):
            os.unlink(file)
    except OSError as error:
        raise SessionError(f"Cannot remove {error.filename or path}: {error.strerror}") from error
    finally:
        lock.release()
    try:
        os.rmdir(os.path.dirname(path))
    except OSError:
        pass  # other sessions are in it
