"""Every event a hook can listen to, as a class: its name and its payload. The rules are in `spec`.

The types are written as strings and double as the names of the JSON forms (`hooks.forms`): a type that has no form
there is an error at start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from marvin_agent.hooks.payload import Event, Payload

if TYPE_CHECKING:
    from marvin_agent.llm.values import Model
    from marvin_agent.messages import AssistantMessage, Image, Message, ToolResultMessage, UserPart

Purpose = Literal["turn", "compaction", "branch_summary", "complete"]
CompactReason = Literal["manual", "threshold", "overflow"]


class Tokens(Payload):
    """Tokens spent; `total` is the sum of the four, `cost` is in US dollars."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    total: int
    cost: float


class ModelRef(Payload):
    provider: str
    id: str


# Session


class AppStart(Event):
    """Everything is wired: `send` and `ui` work."""

    type = "app.start"
    cwd: str
    config_dir: str


class SessionStart(Event):
    type = "session.start"
    reason: Literal["startup", "new", "fork", "reload"]


class SessionResume(Event):
    type = "session.resume"
    session_path: str | None


class SessionBeforeClear(Event):
    type = "session.before_clear"


class SessionClear(Event):
    type = "session.clear"
    previous_session_id: str


class SessionBeforeSwitch(Event):
    type = "session.before_switch"
    reason: Literal["new", "resume"]
    target_session: str | None


class SessionSwitch(Event):
    type = "session.switch"
    reason: Literal["new", "resume"]
    previous_session: str | None


class SessionBeforeBranch(Event):
    type = "session.before_branch"
    entry_id: str
    fork: bool
    skip_conversation_restore: bool


class SessionBranch(Event):
    type = "session.branch"
    entry_id: str
    previous_session: str | None


class SessionBeforeTree(Event):
    type = "session.before_tree"
    target_id: str
    old_leaf_id: str | None
    common_ancestor_id: str | None
    entries_to_summarize: list[dict[str, Any]]
    user_wants_summary: bool
    custom_instructions: str | None


class SessionTree(Event):
    type = "session.tree"
    new_leaf_id: str | None
    old_leaf_id: str | None
    summary_entry: dict[str, Any] | None


class SessionOnly(Payload):
    """The `input` of events whose only input is the session."""

    session_id: str


class BeforeCompactOutput(Payload):
    cancel: bool
    prompt: str | None
    context: list[str]


class SessionBeforeCompact(Event):
    type = "session.before_compact"
    messages: list[Message]
    custom_instructions: str | None
    model: ModelRef
    reason: CompactReason
    first_kept_entry_id: str | None
    tokens_before: int | None
    input: SessionOnly
    output: BeforeCompactOutput


class CompactingOutput(Payload):
    context: list[str]
    prompt: str | None
    preserve_data: Any


class SessionCompacting(Event):
    type = "session.compacting"
    input: SessionOnly
    output: CompactingOutput
    previous_preserve_data: Any


class SessionCompact(Event):
    type = "session.compact"
    summary: str
    from_hook: bool
    reason: CompactReason
    tokens_before: int | None
    tokens_after: int | None
    entry_id: str


class SessionShutdown(Event):
    type = "session.shutdown"
    reason: Literal["quit", "signal", "error", "reload"]


# One prompt


class ChatMessageInput(Payload):
    session_id: str
    text: str
    source: str
    """`user`, `rpc`, `acp` or `hook:<id>`."""


class ChatMessageOutput(Payload):
    parts: list[UserPart]


class ChatMessage(Event):
    type = "chat.message"
    input: ChatMessageInput
    output: ChatMessageOutput


class AgentBeforeStart(Event):
    type = "agent.before_start"
    prompt: str
    images: list[Image]
    system_prompt: str


class AgentStart(Event):
    type = "agent.start"


class TurnStart(Event):
    type = "turn.start"
    turn_index: int


class SystemPrompt(Payload):
    system_prompt: str


class SystemPromptInput(Payload):
    session_id: str
    system_prompt: str


class ChatSystemTransform(Event):
    type = "chat.system.transform"
    input: SystemPromptInput
    output: SystemPrompt
    purpose: Purpose


class StreamParams(Payload):
    """How the model samples; None leaves it to the provider."""

    temperature: float | None
    max_tokens: int | None
    reasoning: str
    stop: list[str]
    extra: dict[str, Any]
    """Merged into the request's body as it is."""


class ChatParamsOutput(Payload):
    stream_options: StreamParams


class ChatParams(Event):
    type = "chat.params"
    input: SessionOnly
    output: ChatParamsOutput
    purpose: Purpose


class ModelInput(Payload):
    session_id: str
    model: Model


class ModelOutput(Payload):
    model: Model


class ModelResolve(Event):
    type = "model.resolve"
    input: ModelInput
    output: ModelOutput
    purpose: Purpose


class AuthGetInput(Payload):
    session_id: str
    provider: str
    model_id: str


class AuthGetOutput(Payload):
    api_key: str | None
    headers: dict[str, str]
    base_url: str | None


class AuthGet(Event):
    type = "auth.get"
    input: AuthGetInput
    output: AuthGetOutput
    purpose: Purpose


class ChatMessagesTransform(Event):
    type = "chat.messages.transform"
    messages: list[Message]
    purpose: Purpose


class ChatRequest(Event):
    type = "chat.request"
    payload: dict[str, Any]
    provider: str
    api: str
    purpose: Purpose


class ChatResponse(Event):
    type = "chat.response"
    status: int
    headers: dict[str, str]
    request_id: str | None


class MessageStart(Event):
    type = "message.start"
    message: Message


class MessageUpdate(Event):
    type = "message.update"
    message: AssistantMessage | None
    """Left out in JSON: the deltas add up to it."""
    delta: dict[str, Any]


class MessageEnd(Event):
    type = "message.end"
    message: Message


class ToolExecuteBefore(Event):
    type = "tool.execute.before"
    tool_name: str
    tool_call_id: str
    input: dict[str, Any]


class ToolExecuteUpdate(Event):
    type = "tool.execute.update"
    tool_name: str
    tool_call_id: str
    partial: str


class ToolExecuteAfter(Event):
    type = "tool.execute.after"
    tool_name: str
    tool_call_id: str
    input: dict[str, Any]
    """As executed."""
    content: list[UserPart]
    details: Any
    is_error: bool
    status: Literal["ok", "error", "blocked", "invalid", "aborted", "skipped"]
    duration_ms: int


class TurnEnd(Event):
    type = "turn.end"
    turn_index: int
    message: AssistantMessage
    tool_results: list[ToolResultMessage]
    tokens: Tokens | None
    context_limit: int | None


class AgentBeforeEnd(Event):
    type = "agent.before_end"
    messages: list[Message]
    continuations: int


class AgentEnd(Event):
    type = "agent.end"
    messages: list[Message]
    total_tokens: Tokens | None
    context_limit: int | None
    stop_reason: str
    error: str | None


class AgentSettled(Event):
    type = "agent.settled"


# Around


class ModelChange(Event):
    type = "model.change"
    previous_provider: str | None
    previous_model_id: str | None
    new_provider: str
    new_model_id: str
    thinking_level: str
    source: Literal["cycle", "command", "hook", "restore"]


class ThinkingChange(Event):
    type = "thinking.change"
    level: str
    previous_level: str


class UserBash(Event):
    type = "user.bash"
    command: str
    exclude_from_context: bool
    cwd: str


class PermissionAsk(Event):
    type = "permission.ask"
    tool_name: str
    input: dict[str, Any]
    rule: str | None


class CompactionAutoStart(Event):
    type = "compaction.auto_start"
    reason: CompactReason


class CompactionAutoEnd(Event):
    type = "compaction.auto_end"
    reason: CompactReason
    aborted: bool
    will_retry: bool
    error: str | None


class RetryStart(Event):
    type = "retry.start"
    attempt: int
    max_attempts: int
    delay_ms: int
    error: str


class RetryEnd(Event):
    type = "retry.end"
    attempt: int
    success: bool
    error: str | None


class TtsrTriggered(Event):
    type = "ttsr.triggered"
    rules: list[str]
    matched: str


class TodoReminder(Event):
    type = "todo.reminder"
    todos: list[dict[str, Any]]
    attempt: int
    max_attempts: int


class SubagentBeforeStart(Event):
    type = "subagent.before_start"
    name: str
    prompt: str
    model: ModelRef | None


class SubagentEnd(Event):
    type = "subagent.end"
    name: str
    result: str
    tokens: Tokens | None


class HookErrorEvent(Event):
    type = "hook.error"
    hook: str
    event: str
    error: str
    traceback: str
