"""What a tool is: a name, a description, a schema of its arguments and something to execute."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from marvin_agent.errors import ToolError
from marvin_agent.messages import Text, UserPart

if TYPE_CHECKING:
    from pathlib import Path


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool gives back: `content` for the model, `details` (JSON-like) for people and hooks."""

    content: tuple[UserPart, ...]
    details: dict[str, Any] = {}
    is_error: bool = False


def text_result(text: str, **details: Any) -> ToolResult:
    """A result of one text."""
    return ToolResult(content=(Text(text=text),), details=details)


class ToolFailure(ToolError):
    """A tool failed and has details to show with its text."""

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details = details


class ToolInterrupted(asyncio.CancelledError):
    """A tool was cancelled, and tells what had come of it by then."""

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class ToolContext(Protocol):
    """What a running tool may use. An abort is the cancellation of its task: a tool may raise ToolInterrupted then."""

    @property
    def cwd(self) -> "str | Path": ...

    @property
    def call_id(self) -> str: ...

    @property
    def files(self) -> "FileMemory":
        """What this session knows of the files that it has read and written."""
        ...

    @property
    def scratch(self) -> "str | Path":
        """A directory of this session for large outputs; made when first used, 0700."""
        ...

    @property
    def private(self) -> bool:
        """True when nothing of the output may be written or shown before the tool is done and a hook has seen it."""
        ...

    def update(self, text: str) -> None:
        """Show output as it comes: `text` is what was added since the last call."""
        ...


class FileMemory(Protocol):
    """Remembers the state of each file when the model last saw it, to notice what others changed since."""

    def saw(self, path: "str | Path", data: bytes | None = None) -> None:
        """The model knows the file as it is on disk now. `data` is its content when the caller has it at hand."""
        ...

    def changed_since_seen(self, path: "str | Path") -> bool:
        """True when the file was seen and is different, or gone, now."""
        ...


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool in the registry."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments: an object."""
    execute: Callable[[dict[str, Any], ToolContext], Awaitable[ToolResult]]
    check: Callable[[dict[str, Any]], dict[str, Any]]
    """Validates arguments and gives them back with their types; raises ToolError with every problem named."""
    acts: bool = True
    """False for tools that only look: they need no permission."""
    path_of: Callable[[dict[str, Any]], str | None] | None = None
    """The file that a call will write, so that calls on one file run one after the other."""
