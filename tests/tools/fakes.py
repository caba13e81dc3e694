"""What a tool's test needs of an agent."""

from pathlib import Path
from typing import Any

from marvin_agent.messages import Text
from marvin_agent.tools.files import SeenFiles
from marvin_agent.tools.tool import Tool, ToolResult


class FakeContext:
    """The context of one agent in a directory of its own; `shown` is what it was told while a tool ran."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.call_id = "call-1"
        self.files = SeenFiles()
        self.shown: list[str] = []
        self.private = False
        self._scratch = cwd.parent / f"{cwd.name}-scratch"

    @property
    def scratch(self) -> Path:
        self._scratch.mkdir(mode=0o700, exist_ok=True)
        return self._scratch

    def update(self, text: str) -> None:
        self.shown.append(text)

    async def call(self, tool: Tool, **arguments: Any) -> ToolResult:
        """What the agent does with a call: check, then execute."""
        return await tool.execute(tool.check(arguments), self)


def text_of(result: ToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, Text))
