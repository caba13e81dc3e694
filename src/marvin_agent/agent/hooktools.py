"""Tools and commands that hooks bring: they run on the hook loop, with the hook's `ctx`, under the agent's gates."""

import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from marvin_agent.errors import HookError, ToolError
from marvin_agent.hooks.account import describe
from marvin_agent.hooks.calling import Use, call
from marvin_agent.hooks.context import ToolCallContext
from marvin_agent.hooks.dispatch import Dispatcher
from marvin_agent.hooks.engine import Engine
from marvin_agent.hooks.exits import Exited
from marvin_agent.hooks.registry import Hook
from marvin_agent.tools.registry import Registry
from marvin_agent.tools.schema import tool_from_function
from marvin_agent.tools.tool import Tool, ToolContext, ToolResult

RESERVED = frozenset(
    [
        "help",
        "tools",
        "model",
        "thinking",
        "theme",
        "clear",
        "compact",
        "status",
        "hooks",
        "trust",
        "reload",
        "permissions",
        "sessions",
        "resume",
        "tree",
        "branch",
        "name",
        "export",
        "copy",
        "editor",
        "login",
        "cost",
        "search",
        "steer",
        "followup",
        "quit",
        "exit",
        "new",
    ]
)
"""Names of built-in commands: a hook cannot take them, whether or not this frontend has them."""


_TOOL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Command(NamedTuple):
    """A slash command of a hook."""

    name: str
    description: str
    handler: Callable[..., Any]
    complete: Callable[..., Any] | None
    hook: str


class HookTools:
    """What hooks added to the tools and commands of one engine, and how it is called."""

    def __init__(
        self,
        tools: Registry,
        engine: Engine,
        dispatcher: Callable[[], Dispatcher],
        find: Callable[[str], Hook | None],
    ) -> None:
        self._tools = tools
        self._engine = engine
        self._dispatcher = dispatcher
        self._find = find
        self._replaced: dict[str, tuple[Tool, str]] = {}
        self.commands: dict[str, Command] = {}

    def add_tool(self, tool: Mapping[str, Any], replaces: str | None, hook: str) -> None:
        """Add a tool given as a typed function, or as name, description, schema and execute."""
        made = self._from_function(tool, hook) if "function" in tool else self._from_schema(tool, hook)
        if not _TOOL.fullmatch(made.name):
            raise HookError(f"{made.name!r} is no name of a tool that models take: 64 letters, digits, _ and - at most")
        owner = self._tools.owner(made.name) or "builtin"
        if old := self._tools.add(made, owner=hook, replaces=replaces):
            self._replaced[made.name] = (old, owner)

    def _from_function(self, tool: Mapping[str, Any], hook: str) -> Tool:
        async def run(function: Callable[..., Any], values: dict[str, Any], name: str) -> Any:
            context = values.pop("ctx", None)
            if context is None:
                return await self._call(hook, function, lambda ctx: function(**values), None, name)
            return await self._call(hook, function, lambda ctx: function(ctx=ctx, **values), context, name)

        return tool_from_function(tool["function"], name=tool.get("name"), acts=tool.get("acts", True), run=run)

    def _from_schema(self, tool: Mapping[str, Any], hook: str) -> Tool:
        missing = [key for key in ("name", "description", "execute") if not tool.get(key)]
        schema = tool.get("schema", tool.get("parameters"))
        if missing or not isinstance(schema, Mapping):
            wanted = ", ".join(missing or ["schema"])
            raise HookError(f"a tool needs {wanted}: give name, description, schema and execute(args, ctx)")
        execute, name = tool["execute"], str(tool["name"])
        # Only tools that bring their own schema need its library.
        room = importlib.import_module("marvin_agent.tools.json_schema")

        async def run(arguments: dict[str, Any], context: ToolContext) -> Any:
            return await self._call(hook, execute, lambda ctx: execute(arguments, ctx), context, name)

        made: Tool = room.tool_from_schema(
            name, str(tool["description"]), dict(schema), run, acts=bool(tool.get("acts", True))
        )
        return made

    async def _call(
        self, hook: str, function: Callable[..., Any], use: Use, context: ToolContext | None, name: str
    ) -> Any:
        """Call a tool's function on the hook loop, whatever it raises being the tool's failure."""
        dispatcher, owner = self._dispatcher(), self._find(hook)
        loop = dispatcher.loop
        old = self._old(name, context)
        inner = ToolCallContext(self._engine, hook, context, old, lambda: owner.off if owner else None)
        try:
            return _result(
                await dispatcher.attended(lambda: loop.owned(call(function, use, inner, loop), owner), f"tool {name}")
            )
        except (ToolError, HookError):
            raise
        except (Exception, Exited) as error:
            raise ToolError(f"{name} failed: {describe(error)}") from error

    def _old(self, name: str, context: ToolContext | None) -> Callable[[dict[str, Any]], Any] | None:
        if name not in self._replaced or context is None:
            return None
        old = self._replaced[name][0]

        async def replaced(arguments: dict[str, Any]) -> ToolResult:
            return await old.execute(old.check(arguments), context)

        return replaced

    def add_command(self, command: Command) -> None:
        """Add a slash command; HookError when the name is taken or reserved."""
        if command.name in RESERVED:
            raise HookError(f"/{command.name} is marvin's own command; give yours another name")
        if other := self.commands.get(command.name):
            raise HookError(f"the command /{command.name} is taken by {other.hook}")
        if not command.name.replace("-", "").replace("_", "").isalnum():
            raise HookError(f"{command.name!r} is no name for a command: letters, digits, - and _")
        self.commands[command.name] = command

    async def complete(self, name: str, beginning: str) -> list[str]:
        """What a hook's command offers behind its name. Raises what its function raises."""
        command = self.commands.get(name)
        if command is None or (offer := command.complete) is None:
            return []
        dispatcher, owner = self._dispatcher(), self._find(command.hook)
        loop = dispatcher.loop
        given = await dispatcher.attended(
            lambda: loop.owned(call(offer, lambda ctx: offer(beginning), None, loop), owner), f"/{name}"
        )
        return [str(text) for text in given] if isinstance(given, list | tuple) else []

    def forget(self, hook: str) -> None:
        """Take back what a hook added; what it replaced comes back."""
        self.commands = {name: command for name, command in self.commands.items() if command.hook != hook}
        for name in self._tools.added_by(hook):
            if name in self._replaced:
                old, owner = self._replaced.pop(name)
                self._tools.add(old, owner=owner, replaces=name)
            else:
                self._tools.remove(name)


def _result(value: Any) -> Any:
    """What a tool gave: `{content, details, is_error}` as a result, all else as it is."""
    if not isinstance(value, Mapping) or "content" not in value:
        return value
    content = value["content"]
    accepted = importlib.import_module("marvin_agent.hooks.forms").accept("list[UserPart]")
    parts = accepted([{"type": "text", "text": content}] if isinstance(content, str) else content)
    is_error = value.get("is_error", value.get("isError", False))
    return ToolResult(content=tuple(parts), details=value.get("details") or {}, is_error=bool(is_error))
