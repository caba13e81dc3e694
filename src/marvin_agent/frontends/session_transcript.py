"""A session as text for people: who said what, what was called, and what it gave."""

from collections.abc import Iterable, Iterator

from marvin_agent.messages import (
    AssistantMessage,
    HookMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    UserPart,
)
from marvin_agent.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    CustomEntry,
    Entry,
    InfoEntry,
    LabelEntry,
    LeafEntry,
    MessageEntry,
    ModelChangeEntry,
    ThinkingChangeEntry,
    UnreadEntry,
)
from marvin_agent.text import printable


def transcript(entries: Iterable[Entry]) -> str:
    """The entries, each under a heading, an empty line between them."""
    return "\n".join(block for entry in entries for block in _blocks(entry))


def _blocks(entry: Entry) -> Iterator[str]:
    match entry:
        case MessageEntry(message=message):
            changed = f" (changed by {', '.join(entry.changed_by)})" if entry.changed_by else ""
            yield _block(_speaker(message) + changed, "\n".join(_lines(message)))
        case CompactionEntry():
            yield _block(f"Compaction of {entry.tokens_before} tokens{_by_hook(entry.from_hook)}", entry.summary)
        case BranchSummaryEntry():
            yield _block(f"Summary of a branch that was left{_by_hook(entry.from_hook)}", entry.summary)
        case ModelChangeEntry():
            yield _block(f"Model: {entry.provider}/{entry.model_id}")
        case ThinkingChangeEntry():
            yield _block(f"Thinking: {entry.level}")
        case InfoEntry():
            yield _block(f"Name: {entry.name or '(none)'}")
        case LabelEntry():
            yield _block(f"Label of {entry.target_id}: {entry.label or '(none)'}")
        case LeafEntry():
            yield _block(f"Moved to {entry.target_id or 'the beginning'}")
        case CustomEntry():
            yield _block(f"Kept by a hook: {entry.custom_type}", bytes(entry.data).decode() if entry.data else "")
        case UnreadEntry():
            text = entry.line.decode("utf-8", "replace")
            yield _block(f"Line {entry.number} cannot be read ({entry.type})", text)


def _speaker(message: Message) -> str:
    match message:
        case UserMessage():
            return "You"
        case AssistantMessage():
            ending = "" if message.stop_reason in ("stop", "toolUse") else f", ended by {message.stop_reason}"
            return f"{message.provider}/{message.model}{ending}"
        case ToolResultMessage():
            return f"{message.tool_name} {'failed' if message.is_error else 'gave'}"
        case HookMessage():
            return f"Hook message {message.custom_type}{'' if message.display else ' (hidden)'}"


def _lines(message: Message) -> Iterator[str]:
    if not isinstance(message, AssistantMessage):
        yield from map(_part, message.content)
        return
    for part in message.content:
        match part:
            case Thinking():
                yield "[thinking]" + (f" {part.thinking}" if part.thinking else "")
            case ToolCall():
                yield f"[calls {part.name}] {part.malformed or bytes(part.arguments).decode()}"
            case Text():
                yield part.text
    if message.error_message:
        yield f"[error] {message.error_message}"


def _part(part: UserPart) -> str:
    match part:
        case Text():
            return part.text
        case Image():
            return f"[image {part.mime_type}, {len(part.data) * 3 // 4} bytes]"


def _by_hook(from_hook: bool) -> str:
    return " by a hook" if from_hook else ""


def _block(heading: str, text: str = "") -> str:
    # What stands under a heading is indented, so that no message can pass for a heading.
    body = "".join(f"  {line}\n" if line else "\n" for line in printable(text).splitlines())
    return f"{printable(heading)}\n{body}"
