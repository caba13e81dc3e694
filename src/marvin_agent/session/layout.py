"""Where sessions are: `<root>/<project>/<time>_<id>.jsonl`."""

import os
import re
from binascii import crc32

SUFFIX = ".jsonl"

_NOT_IN_A_SLUG = re.compile(r"[^A-Za-z0-9._]+")
_SLUG_LENGTH = 60


def project_slug(cwd: str) -> str:
    """A directory name for a project: the end of its path to be read, and a checksum that tells `/a/b` from `/a-b`."""
    readable = _NOT_IN_A_SLUG.sub("-", cwd).strip("-.")[-_SLUG_LENGTH:].lstrip("-.") or "root"
    return f"{readable}-{crc32(os.fsencode(cwd)):08x}"


def session_path(root: str, cwd: str, session_id: str, timestamp: str) -> str:
    """The file of a new session; names sort by time."""
    time = timestamp.replace(":", "-").replace(".", "-")
    return os.path.join(root, project_slug(cwd), f"{time}_{session_id}{SUFFIX}")


def id_in_name(path: str) -> str:
    """The session id in a file's name."""
    return os.path.basename(path).removesuffix(SUFFIX).rpartition("_")[2]
