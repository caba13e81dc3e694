"""What handlers may return, a class for each shape. How several handlers combine is in `spec`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from marvin_agent.hooks.payload import Payload, Result

if TYPE_CHECKING:
    from marvin_agent.hooks.events import ModelRef, StreamParams
    from marvin_agent.llm.values import Model
    from marvin_agent.messages import Message, UserPart

    Content = str | list[UserPart]


class CancelResult(Result):
    cancel: bool
    reason: str


class BeforeBranchResult(CancelResult):
    skip_conversation_restore: bool


class BeforeTreeResult(CancelResult):
    summary: dict[str, Any]
    """`{summary, details}`."""


class OwnCompaction(Payload):
    """A compaction that a hook made."""

    required = ("summary",)

    summary: str
    first_kept_entry_id: str | None
    tokens_before: int | None
    details: Any


class BeforeCompactResult(CancelResult):
    summary: str
    """Used as it is: no model call is made."""
    compaction: OwnCompaction
    prompt: str
    context: list[str]


class CompactingResult(Result):
    context: list[str]
    prompt: str
    preserve_data: Any


class ChatMessageResult(Result):
    parts: list[UserPart]
    handled: bool


class CustomMessage(Payload):
    """A message of a hook's own."""

    custom_type: str
    content: Content
    """A text, or parts."""
    display: bool
    details: Any


class BeforeStartResult(Result):
    message: CustomMessage
    system_prompt: str


class SystemTransformResult(Result):
    system_prompt: str


class ParamsResult(Result):
    stream_options: StreamParams


class ModelResult(Result):
    model: Model


class AuthResult(Result):
    api_key: str | None
    headers: dict[str, str]
    base_url: str | None


class MessagesResult(Result):
    messages: list[Message]


class RequestResult(Result):
    payload: dict[str, Any]


class ToolBeforeResult(Result):
    block: bool
    reason: str
    input: dict[str, Any]


class ToolAfterResult(Result):
    content: list[UserPart]
    details: Any
    is_error: bool


class BeforeEndResult(Result):
    continue_with: str


class UserBashResult(Result):
    block: bool
    reason: str
    command: str
    result: dict[str, Any]
    """`{output, exit_code}`: what the command is said to have printed."""


class PermissionResult(Result):
    decision: Literal["allow", "ask", "deny"]
    reason: str


class SubagentBeforeResult(Result):
    block: bool
    reason: str
    model: ModelRef
    prompt: str
