"""The lines of a session file: one header, then entries that form a tree by `parentId`."""

import os
import time
from collections.abc import Container
from datetime import datetime
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from marvin_agent.messages import Message, Value, clean, encode

VERSION = 4
"""Ours. 1 to 3 are the formats of pi and of the original marvin, read by `foreign`."""


class Header(Value, tag="session"):
    """The first line."""

    version: int
    id: str
    timestamp: str
    cwd: str
    parent: str | UnsetType = UNSET
    """Where this session was forked from: the id or the path of another."""


class BaseEntry(Value):
    """What every entry has. `id` is eight hexadecimal digits, unique in the file."""

    id: str
    parent_id: str | None
    timestamp: str
    """ISO 8601 in UTC, with milliseconds."""

    @property
    def type(self) -> str:
        """The entry's type as it stands in the file."""
        return str(cast(msgspec.Struct, self).__struct_config__.tag)


class MessageEntry(BaseEntry, tag="message"):
    message: Message
    changed_by: tuple[str, ...] | UnsetType = UNSET
    """The ids of the hooks that changed the message before it was stored."""


class CustomEntry(BaseEntry, tag="custom"):
    """What a hook keeps in the session; never for the model."""

    custom_type: str
    data: Raw | UnsetType = UNSET

    @property
    def value(self) -> Any:
        """A fresh copy of the data; None when there is none."""
        return msgspec.json.decode(self.data) if self.data else None


class CompactionEntry(BaseEntry, tag="compaction"):
    """From here on the model sees `summary` in place of everything before `first_kept_entry_id`."""

    summary: str
    first_kept_entry_id: str | None
    """None when nothing before the compaction is kept."""
    tokens_before: int = 0
    details: Raw | UnsetType = UNSET
    from_hook: bool = False
    preserve_data: Raw | UnsetType = UNSET


class BranchSummaryEntry(BaseEntry, tag="branch_summary"):
    """What happened on a branch that was left."""

    from_id: str
    """The leaf of the branch that was left."""
    summary: str
    details: Raw | UnsetType = UNSET
    from_hook: bool = False


class ModelChangeEntry(BaseEntry, tag="model_change"):
    provider: str
    model_id: str


class ThinkingChangeEntry(BaseEntry, tag="thinking_change"):
    level: str


class LabelEntry(BaseEntry, tag="label"):
    target_id: str
    label: str | UnsetType = UNSET
    """Unset takes the target's label away."""


class InfoEntry(BaseEntry, tag="session_info"):
    name: str | UnsetType = UNSET


class LeafEntry(BaseEntry, tag="leaf"):
    """The user moved in the tree. Never the parent of anything; `parent_id` is where they came from."""

    target_id: str | None
    """None is the place before the first entry."""


class UnreadEntry(BaseEntry):
    """A line that stays in the file as it is, because it is damaged or of a type that we do not know."""

    line: bytes
    number: int
    """Its line number, from 1."""
    kind: str = ""
    """Its type when that could be read."""

    @property
    def type(self) -> str:
        return self.kind or "unreadable"


StoredEntry: TypeAlias = (
    MessageEntry
    | CustomEntry
    | CompactionEntry
    | BranchSummaryEntry
    | ModelChangeEntry
    | ThinkingChangeEntry
    | LabelEntry
    | InfoEntry
    | LeafEntry
)
Entry: TypeAlias = StoredEntry | UnreadEntry

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding a damaged line raises."""

_decoder: msgspec.json.Decoder[StoredEntry] = msgspec.json.Decoder(StoredEntry)
_header_decoder: msgspec.json.Decoder[Header] = msgspec.json.Decoder(Header)

decode_entry = _decoder.decode
decode_header = _header_decoder.decode


def encode_line(value: Header | Entry) -> bytes:
    """The line of a header or an entry, without the newline at its end."""
    if isinstance(value, UnreadEntry):
        return value.line
    line = encode(value)
    # Raw JSON may be written over several lines; between its tokens a space says the same.
    return line.replace(b"\n", b" ").replace(b"\r", b" ") if b"\n" in line or b"\r" in line else line


def clean_texts(value: Any) -> Any:
    """A value with every text in it cleaned of what JSON cannot hold."""
    match value:
        case str():
            return clean(value)
        case tuple():
            return tuple(clean_texts(item) for item in value)
        case msgspec.Struct():
            return type(value)(**{name: clean_texts(getattr(value, name)) for name in value.__struct_fields__})
        case _:
            return value


def new_entry_id(taken: Container[str]) -> str:
    """An id that no entry has."""
    while (candidate := os.urandom(4).hex()) in taken:
        pass
    return candidate


def timestamp_now() -> str:
    """Now, as entries write it."""
    milliseconds = time.time_ns() // 1_000_000
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(milliseconds // 1000))
    return f"{seconds}.{milliseconds % 1000:03d}Z"


def timestamp_ms(timestamp: str) -> int:
    """An entry's timestamp as messages count time; 0 when it is none."""
    try:
        return round(datetime.fromisoformat(timestamp).timestamp() * 1000)
    except ValueError:
        return 0
