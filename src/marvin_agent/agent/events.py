"""What the engine tells its frontends: frozen events, in order, one channel for all modes."""

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from marvin_agent.llm.values import Delta
from marvin_agent.messages import AssistantMessage, Message, ToolResultMessage, ToolStatus, Usage, UserPart, Value

Level: TypeAlias = Literal["info", "success", "warning", "error"]

CALL_OF_USER = "user_"
"""What the id of a tool call begins with that the user made himself, with `!`."""
CALL_UNSEEN = f"{CALL_OF_USER}unseen_"
"""What it begins with when the model does not see the output: `!!`."""


class AgentStarted(Value, tag="agent.start"):
    """A run begins."""

    prompt: str


class TurnStarted(Value, tag="turn.start"):
    turn_index: int


class MessageStarted(Value, tag="message.start"):
    """A message begins: whole already for all but the assistant's, whose parts come as deltas."""

    message: Message


class MessageGrew(Value, tag="message.update"):
    delta: Delta


class MessageEnded(Value, tag="message.end"):
    """The message as it is stored. `changed_by`: the hooks that had a hand in it."""

    message: Message
    changed_by: tuple[str, ...] | UnsetType = UNSET


class MessageWithdrawn(Value, tag="message.withdrawn"):
    """The attempt failed: what was shown of the assistant's message since its start is void."""

    reason: str


class ToolStarted(Value, tag="tool.start"):
    """A call, with the arguments that will run (or would have, had it not been refused)."""

    tool_call_id: str
    tool_name: str
    input: dict[str, Any]
    changed_by: tuple[str, ...] | UnsetType = UNSET


class ToolUpdated(Value, tag="tool.update"):
    """More output of a running tool."""

    tool_call_id: str
    text: str


class ToolEnded(Value, tag="tool.end"):
    tool_call_id: str
    tool_name: str
    status: ToolStatus
    content: tuple[UserPart, ...]
    details: Any = None
    duration_ms: int = 0
    changed_by: tuple[str, ...] | UnsetType = UNSET


class TurnEnded(Value, tag="turn.end"):
    turn_index: int
    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...] = ()


class RetryStarted(Value, tag="retry.start"):
    attempt: int
    max_attempts: int
    delay_ms: int
    error: str


class RetryEnded(Value, tag="retry.end"):
    attempt: int
    success: bool
    error: str | None = None


class CompactionStarted(Value, tag="compaction.start"):
    reason: str


class CompactionEnded(Value, tag="compaction.end"):
    summary: str | None
    error: str | None = None
    from_hook: bool = False
    usage: Usage | None = None


class AgentEnded(Value, tag="agent.end"):
    """A run is over. `usage` is the whole run's, with what hooks used meanwhile and attempts that failed."""

    stop_reason: str
    error: str | None = None
    error_kind: str | None = None
    exit_code: int = 0
    turns: int = 0
    tool_calls: int = 0
    usage: Usage | None = None


class AgentSettled(Value, tag="agent.settled"):
    """Nothing automatic is left: no retry, no compaction, no queue."""


class QueueChanged(Value, tag="queue"):
    """What waits to be taken up."""

    steering: tuple[str, ...]
    follow_up: tuple[str, ...]


class ModelChanged(Value, tag="model.change"):
    provider: str
    model_id: str
    thinking_level: str


class SessionChanged(Value, tag="session"):
    """Another session is open now."""

    reason: Literal["startup", "resume", "new", "clear", "fork"]
    session_id: str
    session_path: str | None


class Notice(Value, tag="notice"):
    """A line for the user. `source` is `marvin` or a hook's id."""

    level: Level
    text: str
    source: str = "marvin"


class HookFailed(Value, tag="hook.error"):
    hook: str
    event: str
    error: str
    place: str = ""
    traceback: str = ""


TOOK_OVER = "took the message over: nothing goes to the model"
"""What a hook did whose verdict is `handled`."""


class HookActed(Value, tag="hook.acted"):
    """A hook changed or refused something."""

    hook: str
    event: str
    verdict: str
    """`changed`, `blocked`, or `handled`: it took a message over, and nothing goes to the model."""
    subject: str = ""
    reason: str = ""


class HookWaiting(Value, tag="hook.waiting"):
    """The run waits for a hook; an empty hook says that it does not any more."""

    hook: str
    event: str
    place: str


EngineEvent: TypeAlias = (
    AgentStarted
    | TurnStarted
    | MessageStarted
    | MessageGrew
    | MessageEnded
    | MessageWithdrawn
    | ToolStarted
    | ToolUpdated
    | ToolEnded
    | TurnEnded
    | RetryStarted
    | RetryEnded
    | CompactionStarted
    | CompactionEnded
    | AgentEnded
    | AgentSettled
    | QueueChanged
    | ModelChanged
    | SessionChanged
    | Notice
    | HookFailed
    | HookActed
    | HookWaiting
)
