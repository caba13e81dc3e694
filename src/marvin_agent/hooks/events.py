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
    """The name of a model."""

    provider: str
    id: str


# Session


class AppStart(Event):
    """The program has started and everything is wired: `send` and `ui` work."""

    type = "app.start"
    cwd: str
    """Where tools work."""
    config_dir: str
    """Where marvin's files are."""


class SessionStart(Event):
    """A session begins: at the start, after `/new`, in a fork, and for hooks that were loaded again."""

    type = "session.start"
    reason: Literal["startup", "new", "fork", "reload"]


class SessionResume(Event):
    """A stored session goes on."""

    type = "session.resume"
    session_path: str | None
    """Its file; None when nothing is kept."""


class SessionBeforeClear(Event):
    """Before `/clear` leaves this session for an empty one."""

    type = "session.before_clear"


class SessionClear(Event):
    """After `/clear`: this is the new, empty session. The old file stays."""

    type = "session.clear"
    previous_session_id: str


class SessionBeforeSwitch(Event):
    """Before another session takes the place of this one."""

    type = "session.before_switch"
    reason: Literal["new", "resume"]
    target_session: str | None
    """The file that will be resumed; None for a new one."""


class SessionSwitch(Event):
    """Another session has taken the place of the one before."""

    type = "session.switch"
    reason: Literal["new", "resume"]
    previous_session: str | None
    """The file of the session that was left."""


class SessionBeforeBranch(Event):
    """Before the conversation goes on from an earlier entry, here or in a file of its own."""

    type = "session.before_branch"
    entry_id: str
    """Where the conversation will go on from."""
    fork: bool
    """Whether into a file of its own."""
    skip_conversation_restore: bool


class SessionBranch(Event):
    """The conversation goes on from an earlier entry."""

    type = "session.branch"
    entry_id: str
    previous_session: str | None


class SessionBeforeTree(Event):
    """Before the user goes to another place in the session's tree."""

    type = "session.before_tree"
    target_id: str
    old_leaf_id: str | None
    common_ancestor_id: str | None
    entries_to_summarize: list[dict[str, Any]]
    """What is left behind."""
    user_wants_summary: bool
    custom_instructions: str | None


class SessionTree(Event):
    """The user has gone to another place in the session's tree."""

    type = "session.tree"
    new_leaf_id: str | None
    old_leaf_id: str | None
    summary_entry: dict[str, Any] | None


class SessionOnly(Payload):
    """The `input` of events whose only input is the session."""

    session_id: str


class BeforeCompactOutput(Payload):
    """What a hook may change in place."""

    cancel: bool
    prompt: str | None
    """The instructions for the summary, in place of marvin's."""
    context: list[str]
    """What the summary should take into account."""


class SessionBeforeCompact(Event):
    """Before the conversation is summed up, by hand or because the context is full."""

    type = "session.before_compact"
    messages: list[Message]
    """What will be summed up."""
    custom_instructions: str | None
    """What the user wrote behind `/compact`."""
    model: ModelRef
    reason: CompactReason
    first_kept_entry_id: str | None
    """From this entry on the conversation stays as it is."""
    tokens_before: int | None
    """How full the context is."""
    input: SessionOnly
    output: BeforeCompactOutput


class CompactingOutput(Payload):
    """What a hook may change in place."""

    context: list[str]
    prompt: str | None
    preserve_data: Any
    """Kept with the summary; `ctx.sessions.compaction_state()` gives it back."""


class SessionCompacting(Event):
    """A model is about to be asked for the summary; not when a hook supplied it."""

    type = "session.compacting"
    input: SessionOnly
    output: CompactingOutput
    previous_preserve_data: Any
    """What was kept with the compaction before."""


class SessionCompact(Event):
    """The conversation was summed up."""

    type = "session.compact"
    summary: str
    from_hook: bool
    """Whether a hook wrote the summary."""
    reason: CompactReason
    tokens_before: int | None
    tokens_after: int | None
    entry_id: str


class SessionShutdown(Event):
    """The end, once, also on SIGTERM and SIGHUP. All handlers together have two seconds."""

    type = "session.shutdown"
    reason: Literal["quit", "signal", "error", "reload"]


# One prompt


class ChatMessageInput(Payload):
    """The message as it was given."""

    session_id: str
    text: str
    """The text as it was given."""
    source: str
    """`user`, `rpc`, `acp` or `hook:<id>`."""


class ChatMessageOutput(Payload):
    """The message as it will be stored, shown and sent."""

    parts: list[UserPart]
    """Texts and images."""


class ChatMessage(Event):
    """A message for the model, from whomever, before it is stored, shown or sent."""

    type = "chat.message"
    input: ChatMessageInput
    output: ChatMessageOutput


class AgentBeforeStart(Event):
    """A run is about to begin with this prompt."""

    type = "agent.before_start"
    prompt: str
    """The user's text, after `chat.message`."""
    images: list[Image]
    system_prompt: str
    """For this run."""


class AgentStart(Event):
    """A run has begun."""

    type = "agent.start"


class TurnStart(Event):
    """A turn begins: one model call and the tools that it asks for."""

    type = "turn.start"
    turn_index: int
    """From 0, in each run."""


class SystemPrompt(Payload):
    """The system prompt as it will be sent."""

    system_prompt: str


class SystemPromptInput(Payload):
    """The system prompt as it was."""

    session_id: str
    system_prompt: str


class ChatSystemTransform(Event):
    """The system prompt of a model call, every one."""

    type = "chat.system.transform"
    input: SystemPromptInput
    output: SystemPrompt
    purpose: Purpose


class StreamParams(Payload):
    """How the model samples; None leaves it to the provider."""

    temperature: float | None
    max_tokens: int | None
    reasoning: str
    """The thinking level: off, minimal, low, medium, high or xhigh."""
    stop: list[str]
    extra: dict[str, Any]
    """Merged into the request's body as it is."""


class ChatParamsOutput(Payload):
    """How this call samples."""

    stream_options: StreamParams


class ChatParams(Event):
    """The sampling of a model call, every one."""

    type = "chat.params"
    input: SessionOnly
    output: ChatParamsOutput
    purpose: Purpose


class ModelInput(Payload):
    """The model that was chosen."""

    session_id: str
    model: Model


class ModelOutput(Payload):
    """The model that will be called."""

    model: Model


class ModelResolve(Event):
    """Which model a call goes to, every one."""

    type = "model.resolve"
    input: ModelInput
    output: ModelOutput
    purpose: Purpose


class AuthGetInput(Payload):
    """Who will be called."""

    session_id: str
    provider: str
    model_id: str


class AuthGetOutput(Payload):
    """What to log in with; empty at first, since stored keys are not shown to hooks."""

    api_key: str | None
    headers: dict[str, str]
    base_url: str | None


class AuthGet(Event):
    """The key, headers and address for a model call, before marvin looks for its own."""

    type = "auth.get"
    input: AuthGetInput
    output: AuthGetOutput
    purpose: Purpose


class ChatMessagesTransform(Event):
    """The messages of a turn's model call, as stored, about to be converted and sent. For that call only."""

    type = "chat.messages.transform"
    messages: list[Message]
    """As stored, the newest included."""
    purpose: Purpose


class ChatRequest(Event):
    """The body of a model call in the provider's own form, just before it is sent."""

    type = "chat.request"
    payload: dict[str, Any]
    """In the provider's own form."""
    provider: str
    api: str
    """Which form: `anthropic-messages`, `openai-completions`, ..."""
    purpose: Purpose


class ChatResponse(Event):
    """The head of a provider's answer."""

    type = "chat.response"
    status: int
    headers: dict[str, str]
    request_id: str | None
    """The provider's name for this request."""


class MessageStart(Event):
    """A message begins: of the user, the model, a tool or a hook."""

    type = "message.start"
    message: Message


class MessageUpdate(Event):
    """A piece of the model's answer has arrived."""

    type = "message.update"
    message: AssistantMessage | None
    """Left out in JSON: the deltas add up to it."""
    delta: dict[str, Any]
    """`{type: text, thinking or toolCall, index, text, ...}`."""


class MessageEnd(Event):
    """A message is complete and stored."""

    type = "message.end"
    message: Message


class ToolExecuteBefore(Event):
    """A tool is about to run; its arguments are valid."""

    type = "tool.execute.before"
    tool_name: str
    tool_call_id: str
    input: dict[str, Any]
    """The arguments."""


class ToolExecuteUpdate(Event):
    """A tool that still runs shows output."""

    type = "tool.execute.update"
    tool_name: str
    tool_call_id: str
    partial: str
    """The output so far, or its end."""


class ToolExecuteAfter(Event):
    """A tool call is over, whatever came of it, before the model sees the result."""

    type = "tool.execute.after"
    tool_name: str
    tool_call_id: str
    input: dict[str, Any]
    """As executed."""
    content: list[UserPart]
    details: Any
    """For people and hooks, never sent to the model."""
    is_error: bool
    """True for every status but ok."""
    status: Literal["ok", "error", "blocked", "invalid", "aborted", "skipped"]
    duration_ms: int


class TurnEnd(Event):
    """A turn is over: the answer is there and its tools have run."""

    type = "turn.end"
    turn_index: int
    message: AssistantMessage
    """The model's answer."""
    tool_results: list[ToolResultMessage]
    tokens: Tokens | None
    """Of this turn; None when the provider reports nothing."""
    context_limit: int | None
    """How many tokens the model can take."""


class AgentBeforeEnd(Event):
    """The agent has stopped by itself and may be told to go on. Not after an abort or an error."""

    type = "agent.before_end"
    messages: list[Message]
    """Of this run."""
    continuations: int
    """How often hooks have let it go on in a row; it ends at eight."""


class AgentEnd(Event):
    """A run is over, well or not."""

    type = "agent.end"
    messages: list[Message]
    """Of this run."""
    total_tokens: Tokens | None
    """Of the whole run."""
    context_limit: int | None
    stop_reason: str
    """`stop`, `length`, `refusal`, `error` or `aborted`."""
    error: str | None


class AgentSettled(Event):
    """Nothing automatic is left to do: no retry, compaction or queued message."""

    type = "agent.settled"


# Around


class ModelChange(Event):
    """Another model is used from the next turn on."""

    type = "model.change"
    previous_provider: str | None
    previous_model_id: str | None
    new_provider: str
    new_model_id: str
    thinking_level: str
    source: Literal["cycle", "command", "hook", "restore"]


class ThinkingChange(Event):
    """Another thinking level is used from the next turn on."""

    type = "thinking.change"
    level: str
    previous_level: str


class UserBash(Event):
    """The user runs a command of their own with `!`."""

    type = "user.bash"
    command: str
    exclude_from_context: bool
    """Whether the model will not see it (`!!`)."""
    cwd: str


class PermissionAsk(Event):
    """A tool call needs permission, and nobody has been asked yet."""

    type = "permission.ask"
    tool_name: str
    input: dict[str, Any]
    rule: str | None
    """The rule that asks; None when it is the mode."""


class CompactionAutoStart(Event):
    """The context is full: marvin begins to sum the conversation up by itself."""

    type = "compaction.auto_start"
    reason: CompactReason


class CompactionAutoEnd(Event):
    """An automatic compaction is over."""

    type = "compaction.auto_end"
    reason: CompactReason
    aborted: bool
    will_retry: bool
    error: str | None


class RetryStart(Event):
    """A model call has failed and will be tried again."""

    type = "retry.start"
    attempt: int
    max_attempts: int
    delay_ms: int
    error: str


class RetryEnd(Event):
    """The retries of a model call are over."""

    type = "retry.end"
    attempt: int
    success: bool
    error: str | None


class TtsrTriggered(Event):
    """A streamed rule has matched what the model is writing."""

    type = "ttsr.triggered"
    rules: list[str]
    matched: str


class TodoReminder(Event):
    """The model is reminded of what it wanted to do."""

    type = "todo.reminder"
    todos: list[dict[str, Any]]
    attempt: int
    max_attempts: int


class SubagentBeforeStart(Event):
    """A subagent is about to begin."""

    type = "subagent.before_start"
    name: str
    prompt: str
    model: ModelRef | None


class SubagentEnd(Event):
    """A subagent is done."""

    type = "subagent.end"
    name: str
    result: str
    tokens: Tokens | None


class HookErrorEvent(Event):
    """A hook has failed. What fails in here is reported and not sent here again."""

    type = "hook.error"
    hook: str
    """The id of the hook that failed."""
    event: str
    """What it was handling; `setup` or `background` too."""
    error: str
    traceback: str
