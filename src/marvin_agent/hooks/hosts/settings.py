"""What the configuration says of hooks' processes, and which hooks get one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class HostSettings(NamedTuple):
    """For each hook by its id."""

    isolate: Sequence[str] = ()
    """Hooks that run in a process of their own, whatever their file says."""
    env: Mapping[str, Sequence[str]] = {}
    """The names of the environment variables that a hook's process may see beside the usual ones."""
    cache_dir: str = ""
    """Where environments are kept."""
    secret_names: frozenset[str] = frozenset()
    """Environment variables that hold keys: what installs packages does not see them."""
    setup_timeout: float = 30.0

    def may_host(self, hook: str, source: bytes | None) -> bool:
        """Whether a hook needs a closer look: most do not, and for them nothing of this is loaded."""
        return hook in self.isolate or (source is not None and b"# /// script" in source)
