"""Where sessions are: `<root>/<project>/<time>_<id>.jsonl`."""

import os
from binascii import crc32

from marvin_agent.messages import clean

SUFFIX = ".jsonl"

_SLUG_LENGTH = 60


def project_of(cwd: str) -> str:
    """A working directory as sessions write it: absolute, and text that JSON can hold."""
    return clean(os.path.abspath(cwd))


def project_slug(cwd: str) -> str:
    """A directory name for a project: the end of its path to be read, and a checksum that tells `/a/b` from `/a-b`.

    `cwd` is what `project_of` gave.
    """
    spelled = "".join(char if char.isascii() and (char.isalnum() or char in "._") else "-" for char in cwd)
    readable = spelled.strip("-.")[-_SLUG_LENGTH:].lstrip("-.") or "root"
    return f"{readable}-{crc32(cwd.encode()):08x}"


def session_path(root: str, cwd: str, session_id: str, timestamp: str) -> str:
    """The file of a new session; names sort by time."""
    time = timestamp.replace(":", "-").replace(".", "-")
    return os.path.join(root, project_slug(cwd), f"{time}_{session_id}{SUFFIX}")


def files_directory(path: str) -> str:
    """Where what belongs to a session but is too large for it is kept, beside its file."""
    return path.removesuffix(SUFFIX) + ".files"


def id_in_name(path: str) -> str:
    """The session id in a file's name."""
    return os.path.basename(path).removesuffix(SUFFIX).rpartition("_")[2]
