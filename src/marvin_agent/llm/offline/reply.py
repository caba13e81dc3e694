"""One reply of a script as its file has it; docs/scripted.md tells what each key means."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

FaultKind: TypeAlias = Literal["status", "connect", "cut", "noEnd", "silence", "errorEvent", "garbage"]
ReplyStop: TypeAlias = Literal["stop", "length", "toolUse", "refusal"]
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Amount: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]


class Fault(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What goes wrong with a reply."""

    kind: FaultKind = "status"
    status: int | None = None
    """The HTTP status of an answer that is an error."""
    retry_after: Amount | None = None
    """Seconds, sent as the header of that name."""
    message: str = ""
    body: Any = msgspec.UNSET
    """Sent instead of the error that the protocol would have: a text as it is, anything else as JSON."""
    after_chunks: Count | None = None
    """How many pieces arrive before it happens: one when absent, all of them for `noEnd`."""


class ScriptedCall(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A tool call of a reply."""

    name: str
    arguments: dict[str, Any] = {}
    raw_arguments: str | None = None
    """The text of the arguments as it is, for arguments that are not JSON."""
    id: str | None = None


class ScriptedUsage(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Tokens that the reply reports."""

    input: Count = 0
    output: Count = 0
    cache_read: Count = 0
    cache_write: Count = 0


class Reply(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What the model answers to one request."""

    text: str = ""
    thinking: str = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    usage: ScriptedUsage | msgspec.UnsetType | None = msgspec.UNSET
    """Estimated when absent, not reported when null."""
    stop_reason: ReplyStop | None = None
    """`toolUse` when there are tool calls and `stop` when not, unless it is given."""
    chunk: int | tuple[str, ...] | None = None
    """Characters of a piece, or the pieces of the text themselves; by words when absent."""
    delay_ms: Amount = 0
    chunk_delay_ms: Amount = 0
    match: str | None = None
    repeat: bool = False
    fault: FaultKind | Fault | None = None
