"""The files of the project for `@`: what git does not ignore, listed by ripgrep in the background."""

import asyncio
import os
import time
from typing import TYPE_CHECKING

from marvin_agent.frontends.tui.fuzzy import best
from marvin_agent.later import Later

if TYPE_CHECKING:
    from marvin_agent import processes, programs
else:
    processes = Later("marvin_agent.processes")
    programs = Later("marvin_agent.programs")

MOST = 300_000
FRESH = 10.0
"""Seconds after which the list is read again when it is asked for."""
SLICE = 5_000
"""How many paths are looked at before the keys get their turn."""


class FileList:
    """Paths relative to the working directory. Made once; reads nothing before it is asked."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._paths: list[str] = []
        self._read_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    async def find(self, query: str, limit: int) -> list[str]:
        """The paths that fit best. The first call waits for the list; later ones take it as it is."""
        if time.monotonic() - self._read_at > FRESH and self._reading is None:
            self._reading = asyncio.ensure_future(self._read())
        if not self._paths and self._reading:
            await asyncio.shield(self._reading)
        found: list[str] = []
        paths = self._paths
        for start in range(0, len(paths), SLICE):
            found = best(query, (*found, *paths[start : start + SLICE]), limit)
            await asyncio.sleep(0)
        return found

    def take(self, paths: list[str]) -> None:
        """These are the paths, as of now."""
        self._paths = paths
        self._read_at = time.monotonic()

    async def _read(self) -> None:
        try:
            self.take(await self._listed())
        finally:
            self._reading = None

    async def _listed(self) -> list[str]:
        program = programs.installed_program("rg")
        if program is None:
            return sorted(os.listdir(self._cwd))
        try:
            done = await processes.execute(
                [program, "--no-config", "--files", "--hidden", "--no-require-git", "--glob=!.git", "--null"],
                cwd=self._cwd,
                env=dict(os.environ),
                timeout=30,
                limit=MOST * 200,
            )
        except processes.CannotStart:
            return []
        files = done.stdout.decode("utf-8", "replace").split("\0")[:MOST]
        files = [path for path in files if path and path.isprintable()]
        return sorted(files + _directories(files))


def _directories(files: list[str]) -> list[str]:
    found = set()
    for path in files:
        directory = os.path.dirname(path)
        while directory and directory not in found:
            found.add(directory)
            directory = os.path.dirname(directory)
    return [f"{directory}/" for directory in found]
