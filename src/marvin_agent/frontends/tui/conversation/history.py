"""How events and stored messages become entries of the conversation."""

from collections.abc import Sequence
from itertools import zip_longest

from marvin_agent.agent import events as out
from marvin_agent.frontends.tui.conversation.diffs import Changed
from marvin_agent.frontends.tui.conversation.entry import Entry
from marvin_agent.frontends.tui.conversation.said import (
    AnswerEntry,
    ChangeEntry,
    Drawing,
    HookMessageEntry,
    NoticeEntry,
    ThinkingEntry,
    UserEntry,
)
from marvin_agent.frontends.tui.conversation.toolentry import ToolEntry
from marvin_agent.frontends.tui.conversation.transcript import Transcript
from marvin_agent.llm.values import Delta, TextDelta, ThinkingDelta, ToolCallDelta
from marvin_agent.messages import (
    AssistantMessage,
    HookMessage,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

ENDINGS = {
    "length": ("warning", "The answer was cut off: it reached the limit of its length."),
    "refusal": ("warning", "The model refused to answer."),
}
STORED_ENDINGS = {**ENDINGS, "aborted": ("warning", "Stopped."), "error": ("error", "The model failed.")}


class History:
    """Keeps a transcript in step with what happens."""

    def __init__(self, transcript: Transcript, draw: Drawing) -> None:
        self._transcript = transcript
        self._draw = draw
        self._parts: dict[int, Entry] = {}
        """The entries of the answer under way, by the index of the part."""
        self._start: int | None = None
        """Where the answer under way begins."""
        self._running: dict[str, ToolEntry] = {}
        self.thinking_opened = False

    def clear(self) -> None:
        self._transcript.clear()
        self._parts, self._start, self._running = {}, None, {}

    def user(self, message: UserMessage, changed_by: tuple[str, ...], changed: Changed | None = None) -> None:
        self._transcript.add(UserEntry(message.content, changed_by, changed.before if changed else None))

    def begin(self) -> None:
        self._settle_parts()
        self._parts, self._start = {}, len(self._transcript.entries)

    def grow(self, delta: Delta) -> None:
        if self._start is None:
            self.begin()
        entry = self._parts.get(delta.index)
        if entry is None:
            entry = self._parts[delta.index] = self._begun(delta)
            self._transcript.add(entry)
        if isinstance(entry, ToolEntry):
            entry.ask(delta.text)
        elif isinstance(entry, AnswerEntry):
            entry.grow(delta.text)

    def _begun(self, delta: Delta) -> Entry:
        for entry in self._parts.values():
            if isinstance(entry, AnswerEntry):
                entry.end()
        match delta:
            case TextDelta():
                return AnswerEntry(growing=True)
            case ThinkingDelta():
                return self._thinking("", growing=True)
            case ToolCallDelta():
                return self._tool(delta.id, delta.name)

    def end(self, message: AssistantMessage, changed_by: tuple[str, ...]) -> int:
        """The answer as it is stored; gives back the first entry that may be another now."""
        start = len(self._transcript.entries) if self._start is None else self._start
        streamed = bool(self._parts)
        shown = "".join(entry.source for entry in self._parts.values() if type(entry) is AnswerEntry)
        if self._parts and self._matches(message):
            self._settle_parts()
            for part, entry in zip(message.content, self._parts.values(), strict=True):
                if isinstance(entry, ToolEntry) and isinstance(part, ToolCall):
                    entry.asked(part)
        else:
            self._remove_from(start)
            for made in self._entries(message):
                self._transcript.add(made)
        if changed_by and streamed and shown != message.text:
            by = f"changed by {', '.join(changed_by)}"
            self._transcript.add(ChangeEntry(by, Changed(changed_by, shown, message.text)))
        elif changed_by:
            self._transcript.add(NoticeEntry("info", f"changed by {', '.join(changed_by)}"))
        if ending := ENDINGS.get(message.stop_reason):
            self._transcript.add(NoticeEntry(*ending))
        self._parts, self._start = {}, None
        return start

    def _matches(self, message: AssistantMessage) -> bool:
        """Whether the message is what has been shown of it."""
        if len(message.content) != len(self._parts):
            return False
        for part, entry in zip(message.content, self._parts.values(), strict=True):
            match part:
                case Text(text=text):
                    if type(entry) is not AnswerEntry or entry.source != text:
                        return False
                case Thinking(thinking=text):
                    if not isinstance(entry, ThinkingEntry) or entry.source != text:
                        return False
                case ToolCall(id=call_id):
                    if not isinstance(entry, ToolEntry) or entry.call_id != call_id:
                        return False
        return True

    def withdraw(self, reason: str) -> int | None:
        """What was shown of the answer is void; gives back where it began."""
        start, self._start, self._parts = self._start, None, {}
        if start is not None:
            self._remove_from(start)
            self._transcript.add(NoticeEntry("warning", f"The attempt failed, what it said is void: {reason}"))
        return start

    def _remove_from(self, start: int) -> None:
        for entry in self._transcript.entries[start:]:
            if isinstance(entry, ToolEntry):
                self._running.pop(entry.call_id, None)
        self._transcript.remove_from(start)

    def _settle_parts(self) -> None:
        for entry in self._parts.values():
            if isinstance(entry, AnswerEntry):
                entry.end()

    def _entries(self, message: AssistantMessage) -> list[Entry]:
        entries: list[Entry] = []
        for part in message.content:
            match part:
                case Text(text=text) if text.strip():
                    entries.append(AnswerEntry(text))
                case Thinking(thinking=text) if text.strip():
                    entries.append(self._thinking(text))
                case ToolCall():
                    entry = self._tool(part.id, part.name)
                    entry.asked(part)
                    entries.append(entry)
                case _:
                    pass
        return entries

    def _thinking(self, text: str, *, growing: bool = False) -> ThinkingEntry:
        entry = ThinkingEntry(text, growing=growing)
        entry.opened = self.thinking_opened
        return entry

    def _tool(self, call_id: str, name: str) -> ToolEntry:
        entry = self._running[call_id] = ToolEntry(call_id, name)
        return entry

    def tool_started(self, event: out.ToolStarted, before: Changed | None = None) -> None:
        entry = self._running.get(event.tool_call_id)
        if entry is None:
            entry = self._tool(event.tool_call_id, event.tool_name)
            self._transcript.add(entry)
        entry.start(event, {"command": before.before} if before else None)

    def tool_grew(self, event: out.ToolUpdated) -> None:
        if entry := self._running.get(event.tool_call_id):
            entry.grow(event.text)

    def tool_ended(self, event: out.ToolEnded, changed: Changed | None) -> ToolEntry:
        entry = self._running.pop(event.tool_call_id, None)
        if entry is None:
            entry = ToolEntry(event.tool_call_id, event.tool_name)
            self._transcript.add(entry)
        entry.end(event, changed)
        return entry

    def notice(self, event: out.Notice) -> None:
        made = NoticeEntry(event.level, event.text, event.source)
        last = self._transcript.entries[-1] if self._transcript.entries else None
        # What went wrong may be told by what was done and by who asked for it.
        if made.level == "error" and isinstance(last, NoticeEntry) and last.text == made.text:
            return
        self._transcript.add(made)

    def hook_acted(self, event: out.HookActed, changed: Changed | None) -> None:
        if event.verdict == "handled":
            text = f"{event.hook} {out.TOOK_OVER}"
            self._transcript.add(NoticeEntry("info", text))
            return
        # The blocks of tools and of messages name the hooks that had a hand in them, and a refusal tells of itself.
        if event.event.startswith(("tool.", "chat.message", "user.bash")):
            return
        if event.verdict == "blocked" and event.event.startswith("session.before_"):
            return
        text = f"{event.hook} {event.verdict} {event.event}{f': {event.reason}' if event.reason else ''}"
        self._transcript.add(ChangeEntry(text, changed) if changed else NoticeEntry("info", text))

    def hook_message(self, message: HookMessage) -> None:
        self._transcript.add(HookMessageEntry(message, self._draw))

    def load(self, messages: Sequence[Message], changed_by: Sequence[tuple[str, ...]]) -> None:
        """The messages of a stored session."""
        for message, by in zip_longest(messages, changed_by[: len(messages)], fillvalue=()):
            match message:
                case UserMessage():
                    self.user(message, by)
                case AssistantMessage():
                    self._load_answer(message)
                case ToolResultMessage():
                    self._load_result(message, by)
                case HookMessage() if message.display:
                    self.hook_message(message)
                case _:
                    pass
        for entry in self._running.values():
            entry.give_up()
        self._running = {}

    def _load_answer(self, message: AssistantMessage) -> None:
        for entry in self._entries(message):
            self._transcript.add(entry)
        if ending := STORED_ENDINGS.get(message.stop_reason):
            level, text = ending
            why = message.error_message
            self._transcript.add(NoticeEntry(level, why if isinstance(why, str) and why else text))

    def _load_result(self, message: ToolResultMessage, by: tuple[str, ...]) -> None:
        entry = self._running.pop(message.tool_call_id, None)
        if entry is None:
            entry = ToolEntry(message.tool_call_id, message.tool_name)
            self._transcript.add(entry)
        entry.result(message, by)

    def last_answer(self) -> str:
        """The text of the latest answer: all of it since the user spoke, without what came before a tool ran."""
        texts: list[str] = []
        for entry in reversed(self._transcript.entries):
            if type(entry) is AnswerEntry:
                texts.append(entry.source)
            elif texts and isinstance(entry, ToolEntry | UserEntry):
                break
        return "\n\n".join(reversed(texts))

    def code_blocks(self) -> tuple[str, ...]:
        """The code blocks of the latest answer."""
        blocks: list[str] = []
        for entry in reversed(self._transcript.entries):
            if type(entry) is AnswerEntry:
                blocks = [*entry.document.code_blocks, *blocks]
            elif isinstance(entry, UserEntry) and blocks:
                break
        return tuple(blocks)
