"""Protected paths: the agent cannot write or edit files that it should keep its hands off.

Symlinks are followed, so that a link does not lead around the rule. Shell commands are refused when they name such a
file; a program that a command starts can still write anywhere, so this guards against mistakes, not against malice.

Settings: `paths`, a list of patterns in place of those below. A pattern with a slash is matched against the path from
the project's root; one without, against each name in it.
"""

import os
import shlex
from collections.abc import Iterable
from fnmatch import fnmatch

from marvin_agent.hooks import Context, HookAPI, ToolBeforeResult, ToolExecuteBefore

PATHS = (".env", ".env.*", ".git", "*.pem", "*.key", "id_rsa", "id_ed25519", "*.lock", ".marvin/*")


def protecting(path: str, root: str, patterns: Iterable[str]) -> str | None:
    """The pattern that protects a path; None when it may be written."""
    inside = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
    names = inside.split(os.sep)
    for pattern in patterns:
        if fnmatch(inside, pattern) if "/" in pattern else any(fnmatch(name, pattern) for name in names):
            return pattern
    return None


def words(command: str) -> list[str]:
    """The words of a shell command, those behind `>` and `=` too."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        found = list(lexer)
    except ValueError:
        found = command.split()
    return [part for word in found for part in (word, word.rpartition("=")[2]) if part]


def setup(marvin: HookAPI) -> None:
    """Watch what writes."""
    patterns = marvin.settings.get("paths", PATHS)

    def refusal(path: str, ctx: Context) -> ToolBeforeResult | None:
        if pattern := protecting(ctx.resolve(path), ctx.project_root, patterns):
            return ToolBeforeResult(block=True, reason=f"{path} is protected by the rule {pattern!r}: leave it alone")
        return None

    @marvin.on("tool.execute.before", tools=("write", "edit"), final=True)
    async def guard_files(event: ToolExecuteBefore, ctx: Context) -> ToolBeforeResult | None:
        return refusal(event.input["path"], ctx)

    @marvin.on("tool.execute.before", tools=("bash",), final=True)
    async def guard_shell(event: ToolExecuteBefore, ctx: Context) -> ToolBeforeResult | None:
        found = (refusal(word, ctx) for word in words(event.input["command"]))
        return next((each for each in found if each), None)
