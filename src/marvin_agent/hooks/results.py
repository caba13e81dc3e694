"""What handlers may return, a class for each shape. How several handlers combine is in `spec`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from marvin_agent.hooks.payload import LEFT_OUT, Payload, Result

if TYPE_CHECKING:
    from marvin_agent.hooks.events import ModelRef, StreamParams
    from marvin_agent.llm.values import Model
    from marvin_agent.messages import Message, UserPart

    Content = str | list[UserPart]


class CancelResult(Result):
    cancel: bool = LEFT_OUT
    reason: str = LEFT_OUT


class BeforeBranchResult(CancelResult):
    skip_conversation_restore: bool = LEFT_OUT


class BeforeTreeResult(CancelResult):
    summary: dict[str, Any] = LEFT_OUT
    """`{summary, details}`."""


class OwnCompaction(Payload):
    """A compaction that a hook made."""

    required = ("summary",)

    summary: str
    first_kept_entry_id: str | None = LEFT_OUT
    tokens_before: int | None = LEFT_OUT
    details: Any = LEFT_OUT


class BeforeCompactResult(CancelResult):
    summary: str = LEFT_OUT
    """Used as it is: no model call is made."""
    compaction: OwnCompaction = LEFT_OUT
    prompt: str = LEFT_OUT
    context: list[str] = LEFT_OUT


class CompactingResult(Result):
    context: list[str] = LEFT_OUT
    prompt: str = LEFT_OUT
    preserve_data: Any = LEFT_OUT


class ChatMessageResult(Result):
    parts: list[UserPart] = LEFT_OUT
    handled: bool = LEFT_OUT


class CustomMessage(Payload):
    """A message of a hook's own."""

    required = ("content",)

    custom_type: str = LEFT_OUT
    content: Content = LEFT_OUT
    """A text, or parts."""
    display: bool = LEFT_OUT
    details: Any = LEFT_OUT


class BeforeStartResult(Result):
    message: CustomMessage = LEFT_OUT
    system_prompt: str = LEFT_OUT


class SystemTransformResult(Result):
    system_prompt: str = LEFT_OUT


class ParamsResult(Result):
    stream_options: StreamParams = LEFT_OUT


class ModelResult(Result):
    model: Model = LEFT_OUT


class AuthResult(Result):
    api_key: str | None = LEFT_OUT
    headers: dict[str, str] = LEFT_OUT
    base_url: str | None = LEFT_OUT


class MessagesResult(Result):
    messages: list[Message] = LEFT_OUT


class RequestResult(Result):
    payload: dict[str, Any] = LEFT_OUT


class ToolBeforeResult(Result):
    block: bool = LEFT_OUT
    reason: str = LEFT_OUT
    input: dict[str, Any] = LEFT_OUT


class ToolAfterResult(Result):
    content: list[UserPart] = LEFT_OUT
    details: Any = LEFT_OUT
    is_error: bool = LEFT_OUT


class BeforeEndResult(Result):
    continue_with: str = LEFT_OUT


class UserBashResult(Result):
    block: bool = LEFT_OUT
    reason: str = LEFT_OUT
    command: str = LEFT_OUT
    result: dict[str, Any] = LEFT_OUT
    """`{output, exit_code}`: what the command is said to have printed."""


class PermissionResult(Result):
    decision: Literal["allow", "ask", "deny"] = LEFT_OUT
    reason: str = LEFT_OUT


class SubagentBeforeResult(Result):
    block: bool = LEFT_OUT
    reason: str = LEFT_OUT
    model: ModelRef = LEFT_OUT
    prompt: str = LEFT_OUT
