"""Sessions that pi (versions 1 to 3) and the original marvin (3) wrote, in terms of ours.

A line that is not ours as it stands is decoded freely, renamed and repaired here, and then read again as one of ours.
What no rule here understands stays unread in its file.
"""

import re
from typing import Any

import msgspec

from marvin_agent.messages import changed, encode
from marvin_agent.session.entries import (
    VERSION,
    Header,
    StoredEntry,
    decode_entry,
    decode_header,
    timestamp_ms,
)

SHELL_TYPE = "shell"
"""The custom type of a command that the user ran in another agent with `!`."""

# Escapes of a JSON string, whole pairs first, so that only a surrogate that stands alone is left to the second.
_ESCAPES = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
_STOP_REASONS = frozenset({"stop", "length", "toolUse", "refusal", "error", "aborted"})


def derived_id(number: int) -> str:
    """The id of an entry that has none: from the number of its line, so that it is the same at every reading."""
    return f"{number:08x}"


def mend_text(line: bytes) -> bytes:
    """A line without what no JSON decoder of ours takes: NUL bytes around it, unpaired surrogates in it."""
    line = line.strip(b"\0 \t\r")
    return re.sub(_ESCAPES, lambda found: rb"\ufffd" if found[1] else found[0], line)


def adopt_header(line: bytes) -> Header:
    """The header of any version; `version` is the one that the file has. Raises what decoding raises."""
    fields = _object(line)
    if fields.get("type") != "session":
        raise msgspec.ValidationError("not a session's header")
    parent = fields.get("parent") or fields.get("parentSession") or fields.get("forkedFrom")
    kept = {
        "type": "session",
        "version": fields.get("version") or 1,
        "id": fields.get("id"),
        "timestamp": fields.get("timestamp") or "",
        "cwd": fields.get("cwd") or "",
    }
    return decode_header(encode({**kept, "parent": parent} if isinstance(parent, str) else kept))


def current(header: Header) -> Header:
    """The header as a file of ours has it."""
    return changed(header, version=VERSION)


def adopt_entry(line: bytes, number: int, previous_id: str | None) -> StoredEntry:
    """An entry of ours from a line of theirs. Raises what decoding raises when there is no rule for it."""
    fields = _object(line)
    base = {
        "id": fields.get("id") or derived_id(number),
        # Version 1 was a list: each entry follows the one before.
        "parentId": fields.get("parentId", previous_id),
        "timestamp": fields.get("timestamp") or "",
    }
    return decode_entry(encode(_present({**fields, **_translated(fields)}) | base))


def _translated(fields: dict[str, Any]) -> dict[str, Any]:
    match fields.get("type"):
        case "message":
            return _message_entry(fields)
        case "custom_message":
            return {"type": "message", "message": _hook_message(fields)}
        case "thinking_level_change":
            return {"type": "thinking_change", "level": fields.get("thinkingLevel")}
        case "model_change" if "modelId" not in fields:
            provider, _, model_id = str(fields.get("model", "")).partition("/")
            return {"provider": provider, "modelId": model_id}
        case "compaction":
            return _compaction(fields)
        case "branch_summary":
            return {"fromId": fields.get("fromId") or "root", "fromHook": _from_hook(fields)}
        case _:
            return {}


def _compaction(fields: dict[str, Any]) -> dict[str, Any]:
    kept = fields.get("firstKeptEntryId")
    index = fields.get("firstKeptEntryIndex")
    if kept is None and isinstance(index, int) and index > 0:
        kept = derived_id(index + 1)  # version 1 counts its lines from 0, the header among them
    # An empty id is one that nothing has: `firstKeptEntryId: null`, which `_present` would take away.
    return {"firstKeptEntryId": kept or "", "tokensBefore": int(fields.get("tokensBefore") or 0)} | {
        "fromHook": _from_hook(fields)
    }


def _from_hook(fields: dict[str, Any]) -> bool:
    return bool(fields.get("fromHook") or fields.get("fromExtension"))


def _message_entry(fields: dict[str, Any]) -> dict[str, Any]:
    message = fields.get("message")
    if not isinstance(message, dict):
        return {}
    match message.get("role"):
        case "bashExecution" | "shell" if message.get("excludeFromContext"):
            return {"type": "custom", "customType": SHELL_TYPE, "data": message}
        case "bashExecution" | "shell":
            return {"message": _shell_message(message)}
        case "custom" | "hookMessage":
            return {"message": _hook_message(message)}
        case "assistant":
            return {"message": _assistant_message(message)}
        case "toolResult":
            return {"message": {"toolName": "", "isError": False, **_common(message)}}
        case _:
            return {"message": _common(message)}


def _assistant_message(message: dict[str, Any]) -> dict[str, Any]:
    fixed = {"api": "", "provider": "", "model": "", **_common(message)}
    if fixed.get("stopReason") not in _STOP_REASONS:
        fixed["stopReason"] = "stop"
    usage = fixed.get("usage")
    if isinstance(usage, dict):
        cost = usage.get("cost")
        fixed["usage"] = _present({**usage, "cost": _present(cost) if isinstance(cost, dict) else {"total": cost or 0}})
    return fixed


def _hook_message(message: dict[str, Any]) -> dict[str, Any]:
    return {
        **_common(message),
        "role": "hookMessage",
        "customType": message.get("customType") or "custom",
        "display": message.get("display") is not False,
    }


def _shell_message(message: dict[str, Any]) -> dict[str, Any]:
    code = message.get("exitCode")
    ending = "" if code in (0, None) else f"\n(exit code {code})"
    text = f"The user ran `{message.get('command', '')}`:\n{message.get('output') or '(no output)'}{ending}"
    return {
        "role": "hookMessage",
        "customType": SHELL_TYPE,
        "content": [{"type": "text", "text": text}],
        "details": message,
        "timestamp": _milliseconds(message.get("timestamp")),
    }


def _common(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    return _present(
        {
            **message,
            "content": [_present(part) if isinstance(part, dict) else part for part in parts],
            "timestamp": _milliseconds(message.get("timestamp")),
        }
    )


def _milliseconds(value: object) -> int:
    match value:
        case int() | float():
            return int(value)
        case str():
            return timestamp_ms(value)
        case _:
            return 0


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    # What they write as null is absent in ours.
    return {name: value for name, value in fields.items() if value is not None}


def _object(line: bytes) -> dict[str, Any]:
    fields = msgspec.json.decode(line)
    if not isinstance(fields, dict):
        raise msgspec.ValidationError("not an object")
    return fields
