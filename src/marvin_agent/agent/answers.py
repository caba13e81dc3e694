"""What `ctx.exec`, `ctx.call_tool` and `ctx.session.complete` give."""

from typing import Any, NamedTuple

from marvin_agent.messages import Usage, UserPart, text_of


class Executed(NamedTuple):
    """What `exec` gives."""

    stdout: str
    stderr: str
    code: int
    killed: bool


class ToolAnswer(NamedTuple):
    """What `call_tool` gives."""

    content: tuple[UserPart, ...]
    details: Any
    is_error: bool
    status: str

    @property
    def text(self) -> str:
        return text_of(self.content)


class Completion(NamedTuple):
    """What `complete` gives."""

    text: str
    stop_reason: str
    usage: Usage | None
