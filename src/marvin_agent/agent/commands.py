"""Slash commands: the built-in ones and those of hooks, run at once and never sent to the model."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from marvin_agent.errors import UsageError
from marvin_agent.hooks.command import run_command as run_hook_command

if TYPE_CHECKING:
    from marvin_agent.agent.engine import Engine


class Builtin(NamedTuple):
    """A command of marvin's own. `action` gives the line that tells what it did."""

    description: str
    action: Callable[["Engine", str], Awaitable[str]]
    arguments: str = ""
    """What may stand behind its name, as help shows it; empty when nothing may."""


class Call(NamedTuple):
    """A command with what stands behind its name."""

    name: str
    arguments: str


def command_in(text: str, engine: "Engine") -> Call | None:
    """The command that a text is; None for a prompt, also for one that begins with a slash and names no command."""
    word, *rest = text.split(None, 1) or [""]
    name = word.removeprefix("/")
    if not text.startswith("/") or (name not in BUILTIN and name not in engine.side.commands):
        return None
    return Call(name, rest[0].strip() if rest else "")


async def run_command(engine: "Engine", call: Call) -> str:
    """Do a command; a line that tells what it did, empty when there is nothing to tell. Raises MarvinError."""
    builtin = BUILTIN.get(call.name)
    if builtin is None:
        command = engine.side.commands[call.name]
        hook = next(hook for hook in engine.hooks.registry.hooks if hook.id == command.hook)
        answer = await run_hook_command(
            engine.hooks.dispatcher, engine.side, hook, f"/{call.name}", command.handler, call.arguments
        )
        return answer if isinstance(answer, str) else ""
    if call.arguments and not builtin.arguments:
        raise UsageError(f"/{call.name} takes no words behind it, not {call.arguments!r}")
    return await builtin.action(engine, call.arguments)


async def _compact(engine: "Engine", instructions: str) -> str:
    await engine.wait_until_idle()
    done = await engine.compact(instructions or None)
    by = " by a hook" if done.from_hook else ""
    return f"The conversation is compacted{by} to a summary of {len(done.summary):,} characters."


async def _clear(engine: "Engine", _: str) -> str:
    await engine.conversation.clear()
    return "A new, empty session; the old one is kept."


async def _new(engine: "Engine", _: str) -> str:
    await engine.conversation.new()
    return "A new session; the old one is kept."


BUILTIN: dict[str, Builtin] = {
    "compact": Builtin("sum the conversation up, to have room again", _compact, "[instructions]"),
    "clear": Builtin("begin again with an empty session", _clear),
    "new": Builtin("begin another session", _new),
}
