"""A session as one Markdown page: for a colleague, an issue, an archive."""

import os
import re
from collections.abc import Iterable, Iterator

from marvin_agent.masking import masked_text
from marvin_agent.messages import (
    AssistantMessage,
    HookMessage,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    UserPart,
)
from marvin_agent.session.entries import BranchSummaryEntry, CompactionEntry, Entry, MessageEntry
from marvin_agent.text import one_line, printable

SUMMARY = 100
"""Characters of a tool call that its folded line shows."""


def markdown(title: str, entries: Iterable[Entry]) -> str:
    """The page. What looks like a key is masked; images are named, not included; hidden hook messages are left out."""
    parts = [f"# {one_line(title, 200)}"]
    for entry in entries:
        match entry:
            case MessageEntry(message=message):
                changed = f"*changed by {', '.join(entry.changed_by)}*" if entry.changed_by else ""
                parts += [part for part in (*_said(message), changed) if part]
            case CompactionEntry(summary=summary):
                parts += ["## The conversation was summed up", summary]
            case BranchSummaryEntry(summary=summary):
                parts += ["## A branch that was left", summary]
            case _:
                pass
    return masked_text(printable("\n\n".join(parts))) + "\n"


def save(path: str, page: str) -> None:
    """Write a page into a new file, readable by its owner only, as the session is. OSError, also when it is there."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(page)


def _said(message: Message) -> Iterator[str]:
    match message:
        case UserMessage():
            yield "## You"
            yield _quoted("\n\n".join(map(_part, message.content)))
        case AssistantMessage():
            yield f"## {message.model}"
            for part in message.content:
                match part:
                    case Text():
                        yield part.text
                    case Thinking():
                        yield _folded("thinking", part.thinking) if part.thinking else ""
                    case ToolCall():
                        given = part.malformed or bytes(part.arguments).decode()
                        yield _folded(f"{part.name} {given}", given)
            yield f"**{message.error_message}**" if message.error_message else ""
        case ToolResultMessage():
            ending = "failed" if message.is_error else "gave"
            yield _folded(f"{message.tool_name} {ending}", "\n".join(map(_part, message.content)))
        case HookMessage(display=True):
            yield f"## {message.custom_type}, of a hook"
            yield _quoted("\n\n".join(map(_part, message.content)))
        case _:
            pass


def _part(part: UserPart) -> str:
    return part.text if isinstance(part, Text) else f"[image {part.mime_type}, {len(part.data) * 3 // 4} bytes]"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _folded(summary: str, text: str) -> str:
    # The fence is longer than any in the text, so that the text cannot end it.
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    shown = one_line(summary, SUMMARY).replace("&", "&amp;").replace("<", "&lt;")
    return f"<details><summary>{shown}</summary>\n\n{fence}\n{text}\n{fence}\n\n</details>"
