"""The tools that an agent has, by name and in order."""

from collections.abc import Iterable, Iterator

from marvin_agent.errors import HookError, ToolError
from marvin_agent.nearest import nearest_names
from marvin_agent.tools.bash import bash_tool
from marvin_agent.tools.edit import edit_tool
from marvin_agent.tools.find import find_tool
from marvin_agent.tools.grep import grep_tool
from marvin_agent.tools.login import LoginEnvironment
from marvin_agent.tools.ls import ls_tool
from marvin_agent.tools.read import read_tool
from marvin_agent.tools.tool import Tool
from marvin_agent.tools.write import write_tool


class Registry:
    """Tools in the order in which they were added; a replacement takes the place of the old one.

    `only` names those that there are, whoever adds more: the others are kept, but not given out.
    """

    __slots__ = ("_only", "_owners", "_tools")

    def __init__(
        self, tools: Iterable[Tool] = (), *, owner: str = "builtin", only: frozenset[str] | None = None
    ) -> None:
        self._tools: dict[str, Tool] = {}
        self._owners: dict[str, str] = {}
        self._only = only
        for tool in tools:
            self.add(tool, owner=owner)

    def add(self, tool: Tool, *, owner: str, replaces: str | None = None) -> Tool | None:
        """Add a tool, and give back the one that it replaces.

        `owner` is who brings it, for messages. Raises HookError when the name is taken by a tool that `replaces` does
        not name, or when there is nothing to replace.
        """
        if replaces is not None and replaces != tool.name:
            raise HookError(
                f"{owner} adds the tool '{tool.name}' in place of '{replaces}': a replacement has the same name."
            )
        old = self._tools.get(tool.name)
        if old is not None and replaces is None:
            raise HookError(
                f"{owner} adds the tool '{tool.name}', which {self._owners[tool.name]} has added already.",
                hint=f'Give it another name, or replace the old one on purpose with replaces="{tool.name}".',
            )
        if old is None and replaces is not None:
            raise HookError(f"{owner} replaces the tool '{replaces}': {self._missing(replaces, self._tools.values())}")
        self._tools[tool.name] = tool
        self._owners[tool.name] = owner
        return old

    def remove(self, name: str) -> None:
        """Take a tool out; nothing happens when it is not there."""
        self._tools.pop(name, None)
        self._owners.pop(name, None)

    def get(self, name: str) -> Tool:
        """The tool of that name. Raises ToolError with the nearest names."""
        if name not in self:
            raise ToolError(self._missing(name, self))
        return self._tools[name]

    def unknown(self) -> list[str]:
        """The names in `only` that no tool has."""
        return sorted((self._only or frozenset()) - self._tools.keys())

    def _missing(self, name: str, tools: Iterable[Tool]) -> str:
        names = [tool.name for tool in tools]
        near = nearest_names(name, names)
        if near:
            return f"There is no tool '{name}'. Did you mean {' or '.join(near)}?"
        return f"There is no tool '{name}'. There are: {', '.join(names) or 'none'}."

    def owner(self, name: str) -> str | None:
        """Who added the tool."""
        return self._owners.get(name)

    def all_names(self) -> list[str]:
        """Every name, those that are not given out too."""
        return sorted(self._tools)

    def added_by(self, owner: str) -> list[str]:
        """The names of all tools that somebody added."""
        return [name for name, by in self._owners.items() if by == owner]

    def __iter__(self) -> Iterator[Tool]:
        return iter(tuple(tool for name, tool in self._tools.items() if name in self))

    def __contains__(self, name: object) -> bool:
        return name in self._tools and (self._only is None or name in self._only)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def builtin_tools(login: LoginEnvironment, *, scrub: frozenset[str] = frozenset()) -> tuple[Tool, ...]:
    """The tools that marvin brings. `scrub` names the variables that no command shall see."""
    return (
        read_tool(),
        write_tool(),
        edit_tool(),
        bash_tool(login, scrub=scrub),
        grep_tool(),
        find_tool(),
        ls_tool(),
    )
