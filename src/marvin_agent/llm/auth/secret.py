"""A value of models.json that may be secret: literal, a variable's name, or a command that prints it."""

import asyncio
import os
import re
import signal
from collections.abc import Mapping

from marvin_agent.errors import AuthenticationError, ConfigError

COMMAND_SECONDS = 10.0
# A name like MY_API_KEY: a literal key does not look so, and sending the name as the key would only puzzle.
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")


def value_of(name: str, env: Mapping[str, str]) -> str:
    """What a variable holds, without the line end that a file has left on it; nothing when it is not set."""
    return env.get(name, "").strip()


class Secret:
    """`!command`, the name of an environment variable, or the value itself. Found when first needed, once."""

    __slots__ = ("_found", "_lock", "file", "key", "line", "text")

    def __init__(self, text: str, file: str = "", line: int = 0, key: str = "") -> None:
        self.text = text
        self.file = file
        self.line = line
        self.key = key
        self._lock = asyncio.Lock()
        self._found: str | None = None

    def __repr__(self) -> str:
        return f"Secret({self.key})"

    def source(self, env: Mapping[str, str]) -> str | None:
        """Where the value would come from, for people; None when it would not be found. Runs nothing."""
        if self.text.startswith("!"):
            return "a command of models.json"
        if value_of(self.text, env):
            return f"{self.text}, named by models.json"
        return None if not self.text or _VARIABLE.fullmatch(self.text) else "models.json"

    def variable(self, env: Mapping[str, str]) -> str | None:
        """The environment variable that it names, if it names one."""
        return self.text if value_of(self.text, env) or _VARIABLE.fullmatch(self.text) else None

    async def value(self, env: Mapping[str, str]) -> str:
        """The value. ConfigError when its command fails, AuthenticationError when its variable is not set."""
        if not self.text.startswith("!"):
            if found := value_of(self.text, env):
                return found
            if self.text and not _VARIABLE.fullmatch(self.text):
                return self.text
            raise self.unset()
        async with self._lock:
            if self._found is None:
                self._found = await self._run(env)
            return self._found

    def unset(self) -> AuthenticationError:
        """What to say when `source` is None: the variable that the value names is not set."""
        return AuthenticationError(
            f"{self.file}:{self.line}: `{self.key}` names the environment variable {self.text}, which is not set",
            hint=f"Set {self.text}, or write `!command` or the value itself there.",
        )

    async def _run(self, env: Mapping[str, str]) -> str:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            self.text[1:],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(env),
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                output, complaint = await process.communicate()
        except TimeoutError:
            raise self._failed(f"gave nothing within {COMMAND_SECONDS:.0f} seconds") from None
        finally:
            # The whole group: what the shell started must not live on.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            await process.wait()
        if process.returncode:
            said = complaint.decode(errors="replace").strip()[-300:]
            raise self._failed(f"ended with exit code {process.returncode}" + (f": {said}" if said else ""))
        if not (value := output.decode(errors="replace").strip()):
            raise self._failed("printed nothing")
        return value

    def _failed(self, what: str) -> ConfigError:
        return ConfigError(
            f"the command of `{self.key}` {what}",
            file=self.file,
            line=self.line,
            hint="Run it in a shell to see why.",
        )
