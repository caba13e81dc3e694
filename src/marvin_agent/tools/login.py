"""The environment of the user's login shell, asked for once: what commands run in."""

import asyncio
import os
import shlex
from collections.abc import Mapping

import msgspec

from marvin_agent.processes import CannotStart, execute
from marvin_agent.programs import find_program

TIMEOUT = 5.0
_SHELLS = ("bash", "zsh", "fish", "dash", "ksh", "sh")
_ITS_OWN = ("_", "OLDPWD", "PWD", "SHLVL")
"""Variables that belong to the shell that was asked, not to the user."""


class Captured(msgspec.Struct, frozen=True):
    """An environment for commands."""

    variables: dict[str, str]
    problem: str | None = None
    """Why this is our own environment and not that of a login shell."""


class LoginEnvironment:
    """Asks the login shell in the background; whoever needs the answer waits for it."""

    __slots__ = ("_own", "_shell", "_task", "_timeout")

    def __init__(
        self, own: Mapping[str, str] | None = None, *, shell: str | None = None, timeout: float = TIMEOUT
    ) -> None:
        self._own = dict(os.environ if own is None else own)
        self._shell = shell or self._own.get("SHELL") or ""
        self._timeout = timeout
        self._task: asyncio.Task[Captured] | None = None

    def prepare(self) -> None:
        """Begin to ask; returns at once."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._capture(), name="login environment")

    async def get(self) -> Captured:
        """The environment, asked for now if nobody prepared it."""
        self.prepare()
        assert self._task is not None
        # A call that is cancelled while it waits must not spoil the answer for the others.
        return await asyncio.shield(self._task)

    async def _capture(self) -> Captured:
        shell = self._shell if os.path.basename(self._shell) in _SHELLS else "bash"
        mark = f"marvin-{os.urandom(8).hex()}"
        # By their full paths: where PATH has the working directory in it, a repository could bring its own.
        path = self._own.get("PATH", os.defpath)
        program = shell if os.sep in shell else find_program(shell, path) or shell
        script = f"printf %s {mark}; command {shlex.quote(find_program('env', path) or 'env')} -0"
        try:
            done = await execute([program, "-l", "-c", script], env=self._own, timeout=self._timeout)
        except CannotStart as error:
            return Captured(self._own, error.message)
        if done.killed:
            return Captured(self._own, f"{shell} -l took longer than {self._timeout:g} seconds")
        _, found, after = done.stdout.partition(mark.encode())
        if done.code != 0 or not found:
            return Captured(self._own, f"{shell} -l ended with exit code {done.code}")
        return Captured(self._merged(after))

    def _merged(self, listing: bytes) -> dict[str, str]:
        pairs = (entry.partition(b"=") for entry in listing.split(b"\0"))
        login = {os.fsdecode(name): os.fsdecode(value) for name, equals, value in pairs if name and equals}
        for name in _ITS_OWN:
            login.pop(name, None)
        if "SHLVL" in self._own:
            login["SHLVL"] = self._own["SHLVL"]
        login["PATH"] = merged_path(self._own.get("PATH", ""), login.get("PATH", ""))
        return login


def merged_path(own: str, login: str) -> str:
    """The login shell's PATH with what only ours has: an activated environment stays in front.

    A profile that sets PATH anew would lose it.
    """
    ours, theirs = own.split(os.pathsep), login.split(os.pathsep)
    known = set(theirs)
    first_common = next((index for index, entry in enumerate(ours) if entry in known), len(ours))
    front = ours[:first_common]
    back = [entry for entry in ours[first_common:] if entry not in known]
    return os.pathsep.join(entry for entry in [*front, *theirs, *back] if entry)
