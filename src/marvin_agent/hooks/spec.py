"""The event table: one row per event says everything about it. A rule that is not here does not exist.

Validation, dispatch, the reference documentation, `marvin hooks list`, the JSON forms for other languages and the
conformance tests are derived from these rows.
"""

from typing import Literal, NamedTuple, TypeAlias

from marvin_agent.hooks import events as e
from marvin_agent.hooks import results as r
from marvin_agent.hooks.payload import Event, Result, fields_of

Rule: TypeAlias = Literal["refuse", "first", "chain", "append", "strictest"]

REFUSING = ("block", "cancel")
"""The fields that stop an event under the rule `refuse`; `reason` goes with them."""


class Field(NamedTuple):
    """One field of a result and how several handlers' values of it combine."""

    name: str
    kind: str
    rule: Rule
    at: str | None
    """Where the value stands on the event, so that changing it in place is the same as returning it."""


class Spec(NamedTuple):
    """One row."""

    name: str
    aliases: tuple[str, ...]
    event: type[Event]
    result: type[Result] | None
    fields: dict[str, Field]
    gate: bool
    """Something may be refused: no deadline while a person is there, `final` handlers are possible."""
    closed: bool
    """A failing handler refuses. Open events go on as if it had not run."""
    drained: bool
    """Does not hold the run up; finished before the run settles."""
    limit: float | None
    """Seconds for all handlers together, where the row has its own limit."""
    waits_for: str | None
    """The feature that will fire it, while that is not built yet."""


def _row(
    event: type[Event],
    *aliases: str,
    result: type[Result] | None = None,
    rules: str = "",
    gate: bool = False,
    closed: bool = False,
    drained: bool = False,
    limit: float | None = None,
    waits_for: str | None = None,
) -> Spec:
    """`rules` reads `field:rule` or `field@place:rule`, place being where the value stands on the event."""
    kinds = fields_of(result) if result else {}
    fields: dict[str, Field] = {}
    for rule in rules.split():
        target, _, how = rule.rpartition(":")
        name, _, at = target.partition("@")
        fields[name] = Field(name, kinds[name], how, at or None)  # type: ignore[arg-type]
    return Spec(event.type, aliases, event, result, fields, gate, closed, drained, limit, waits_for)


_CANCEL = "cancel:refuse reason:refuse"
_BLOCK = "block:refuse reason:refuse"

ROWS: tuple[Spec, ...] = (
    _row(e.AppStart),
    _row(e.SessionStart, "session_start"),
    _row(e.SessionResume, "session_resume"),
    _row(e.SessionBeforeClear, result=r.CancelResult, rules=_CANCEL, gate=True),
    _row(e.SessionClear, "session_clear"),
    _row(e.SessionBeforeSwitch, "session_before_switch", result=r.CancelResult, rules=_CANCEL, gate=True),
    _row(e.SessionSwitch, "session_switch"),
    _row(
        e.SessionBeforeBranch,
        "session_before_branch",
        "session_before_fork",
        result=r.BeforeBranchResult,
        rules=f"{_CANCEL} skip_conversation_restore@skip_conversation_restore:chain",
        gate=True,
        waits_for="branching",
    ),
    _row(e.SessionBranch, "session_branch", "session_fork", waits_for="branching"),
    _row(
        e.SessionBeforeTree,
        "session_before_tree",
        result=r.BeforeTreeResult,
        rules=f"{_CANCEL} summary:first",
        gate=True,
        waits_for="tree",
    ),
    _row(e.SessionTree, "session_tree", waits_for="tree"),
    _row(
        e.SessionBeforeCompact,
        "compact.before",
        "session_before_compact",
        result=r.BeforeCompactResult,
        rules="cancel@output.cancel:refuse reason:refuse summary:first compaction:first "
        "prompt@output.prompt:chain context@output.context:append",
        gate=True,
    ),
    _row(
        e.SessionCompacting,
        "session_compacting",
        result=r.CompactingResult,
        rules="context@output.context:append prompt@output.prompt:chain preserve_data@output.preserve_data:chain",
    ),
    _row(e.SessionCompact, "compact.after", "session_compact", drained=True),
    _row(e.SessionShutdown, "session_shutdown", limit=2.0),
    _row(
        e.ChatMessage,
        "input",
        result=r.ChatMessageResult,
        rules="parts@output.parts:chain handled:first",
    ),
    _row(
        e.AgentBeforeStart,
        "before_agent_start",
        result=r.BeforeStartResult,
        rules="message:append system_prompt@system_prompt:chain",
    ),
    _row(e.AgentStart, "agent_start"),
    _row(e.TurnStart, "turn_start"),
    _row(e.ChatSystemTransform, result=r.SystemTransformResult, rules="system_prompt@output.system_prompt:chain"),
    _row(e.ChatParams, result=r.ParamsResult, rules="stream_options@output.stream_options:chain"),
    _row(e.ModelResolve, result=r.ModelResult, rules="model@output.model:chain"),
    _row(
        e.AuthGet,
        result=r.AuthResult,
        rules="api_key@output.api_key:chain headers@output.headers:chain base_url@output.base_url:chain",
    ),
    _row(e.ChatMessagesTransform, "context", result=r.MessagesResult, rules="messages@messages:chain"),
    _row(e.ChatRequest, "before_provider_request", result=r.RequestResult, rules="payload@payload:chain"),
    _row(e.ChatResponse, "after_provider_response", drained=True),
    _row(e.MessageStart, "message_start", drained=True),
    _row(e.MessageUpdate, "message_update", drained=True),
    _row(e.MessageEnd, "message_end", drained=True),
    _row(
        e.ToolExecuteBefore,
        "tool_call",
        result=r.ToolBeforeResult,
        rules=f"{_BLOCK} input@input:chain",
        gate=True,
        closed=True,
    ),
    _row(e.ToolExecuteUpdate, drained=True),
    _row(
        e.ToolExecuteAfter,
        "tool_result",
        result=r.ToolAfterResult,
        rules="content@content:chain details@details:chain is_error@is_error:chain",
    ),
    _row(e.TurnEnd, "turn_end"),
    _row(e.AgentBeforeEnd, "session_stop", result=r.BeforeEndResult, rules="continue_with:first"),
    _row(e.AgentEnd, "agent_end"),
    _row(e.AgentSettled, "agent_settled"),
    _row(e.ModelChange, "model_select"),
    _row(e.ThinkingChange, "thinking_level_select"),
    _row(
        e.UserBash,
        "user_bash",
        result=r.UserBashResult,
        rules=f"{_BLOCK} command@command:chain result:first",
        gate=True,
        closed=True,
    ),
    _row(
        e.PermissionAsk,
        result=r.PermissionResult,
        rules="decision:strictest reason:strictest",
        gate=True,
        closed=True,
    ),
    _row(e.CompactionAutoStart, "auto_compaction_start", waits_for="automatic compaction"),
    _row(e.CompactionAutoEnd, "auto_compaction_end", waits_for="automatic compaction"),
    _row(e.RetryStart, "auto_retry_start"),
    _row(e.RetryEnd, "auto_retry_end"),
    _row(e.TtsrTriggered, "ttsr_triggered", waits_for="streamed rules"),
    _row(e.TodoReminder, "todo_reminder", waits_for="todo"),
    _row(
        e.SubagentBeforeStart,
        result=r.SubagentBeforeResult,
        rules=f"{_BLOCK} model@model:chain prompt@prompt:chain",
        gate=True,
        closed=True,
        waits_for="subagents",
    ),
    _row(e.SubagentEnd, waits_for="subagents"),
    _row(e.HookErrorEvent),
)

SPECS: dict[str, Spec] = {row.name: row for row in ROWS}
NAMES: dict[str, tuple[str, ...]] = {
    **{row.name: (row.name,) for row in ROWS},
    **{alias: (row.name,) for row in ROWS for alias in row.aliases},
    "session": ("session.start", "session.resume", "session.switch", "session.clear"),
}
"""Every name that `on` takes, with the events that it subscribes to."""
