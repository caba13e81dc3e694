"""A tool call in the conversation: a compact block with its status, which opens to all of its input and output."""

from typing import Any

from msgspec import UNSET

from marvin_agent.agent.events import CALL_OF_USER, CALL_UNSEEN, ToolEnded, ToolStarted
from marvin_agent.frontends.progress import MARKS
from marvin_agent.frontends.tui.conversation.diffs import Changed, counts, diff_lines, difference
from marvin_agent.frontends.tui.conversation.entry import Entry
from marvin_agent.frontends.tui.conversation.rows import Line, Piece, Span
from marvin_agent.frontends.tui.conversation.said import parts_text, sign, text_lines
from marvin_agent.frontends.tui.conversation.sections import Flow, Listing, Part, Stack
from marvin_agent.frontends.tui.conversation.subject import subject
from marvin_agent.llm.partial_json import parse_partial
from marvin_agent.llm.values import decode_json
from marvin_agent.messages import ToolCall, ToolResultMessage, ToolStatus, UserPart, encode
from marvin_agent.text import as_printed, one_line, printable
from marvin_agent.tools.diff import unified

BEGINNING = 100
"""Pieces of the arguments, while they are written, in which their subject is looked for."""
TAIL = 6
"""Lines of output that a running command shows while it is folded."""
NEW = 8
"""Lines of a new file that are seen before it is opened."""
SUBJECT = 160
"""Characters of what a call is about, in its line."""
DIFF = 24
"""Lines of a diff that are seen before it is opened."""
KEPT = 20_000
"""Lines of a running command's output that are kept to be seen; the result has its own end."""
STYLES = {
    "ok": "ok",
    "error": "error",
    "invalid": "error",
    "blocked": "warning",
    "aborted": "warning",
    "skipped": "muted",
}
_MARGIN = (Piece("  "),)


class ToolEntry(Entry):
    """A call, from the model's first word of it to its result."""

    opens = True
    close_to = "tool"

    def __init__(self, call_id: str, name: str) -> None:
        super().__init__()
        self.call_id = call_id
        self.name = name
        self.status: ToolStatus | None = None
        self.growing = True
        self._arguments: list[str] = []
        self._asked: dict[str, Any] | None = None
        """The arguments as the model gave them."""
        self._input: dict[str, Any] | None = None
        """The arguments that run."""
        self._content: tuple[UserPart, ...] = ()
        self._details: dict[str, Any] = {}
        self._duration = 0
        self._hooks: tuple[str, ...] = ()
        self._changed: Changed | None = None
        """What hooks made of the result."""
        self._output = Output()
        self._diff = ""
        """What the call did to a file."""
        self._dirty = True

    def ask(self, text: str) -> None:
        """More of the arguments' JSON, as the model writes it."""
        self._arguments.append(text)
        self._dirty = True

    def asked(self, call: ToolCall) -> None:
        """The call as the model wrote it, whole."""
        self._asked = call.input
        self._arguments = [call.malformed] if isinstance(call.malformed, str) else []
        self._dirty = True

    def start(self, event: ToolStarted, asked: dict[str, Any] | None = None) -> None:
        self._input = event.input
        self._asked = asked or self._asked
        self._hooks = event.changed_by or ()
        self._dirty = True

    def grow(self, text: str) -> None:
        self._output.feed(text)
        self._dirty = True

    def end(self, event: ToolEnded, changed: Changed | None = None) -> None:
        self._hooks = tuple(dict.fromkeys((*self._hooks, *(event.changed_by or ()))))
        self._duration = event.duration_ms
        self._changed = changed
        # Who runs a command himself wants to read what it prints.
        self.opened = self.opened or self.call_id.startswith(CALL_OF_USER)
        self._finish(event.status, event.content, event.details)

    def result(self, message: ToolResultMessage, changed_by: tuple[str, ...] = ()) -> None:
        """The result as a session keeps it."""
        self._hooks = changed_by
        if message.input is not UNSET and isinstance(given := decode_json(message.input), dict):
            self._input = given
        details: Any = decode_json(message.details) if message.details is not UNSET else None
        status: ToolStatus = message.status or ("error" if message.is_error else "ok")
        self._finish(status, message.content, details)

    def give_up(self) -> None:
        """The call was never made, or its end is not known."""
        if self.growing:
            self._finish("skipped", (), None)

    def _finish(self, status: ToolStatus, content: tuple[UserPart, ...], details: Any) -> None:
        self.status, self._content = status, content
        self._details = details if isinstance(details, dict) else {}
        self._diff = self._made()
        self.growing = False
        self._output = Output()
        self.changed()

    @property
    def source(self) -> str:
        given = self._input if self._input is not None else self._asked
        asked = readable(given) if given else "".join(self._arguments)
        return f"{self.name} {asked}\n{self._diff or parts_text(self._content)}"

    def first_guess(self, width: int) -> int:
        if self.status in ("error", "invalid", "blocked") or self.opened:
            return super().first_guess(width)
        return 1 + min(self._diff.count("\n"), self._seen)

    @property
    def _seen(self) -> int:
        return NEW if self._is_new else DIFF

    def build(self) -> Stack:
        self._dirty = False
        return Stack([self._head(), *self._body()])

    def update(self, stack: Stack) -> None:
        if not self.growing or not self._dirty:
            return
        self._dirty = False
        if self.opened and len(stack.parts) > 1 and stack.parts[-1].section is self._output.listing:
            self._output.update()
            stack.grew(len(stack.parts) - 1)
            return
        stack.replace(0, [self._head(), *self._body()])

    def _head(self) -> Part:
        status = self.status
        mark = MARKS.get(status, "?") if status else "…"
        spans = [
            Span(sign(self), "muted"),
            Span(f"{mark} ", STYLES.get(status, "") if status else "info"),
            Span(self._who(), "tool"),
        ]
        if about := self._subject():
            spans.append(Span(f" {about}", "code" if self.name == "bash" else ""))
        if facts := self._facts():
            spans.append(Span(f" {facts}", "muted"))
        if self._hooks:
            did = "refused by" if status == "blocked" else "changed by"
            spans.append(Span(f" [{did} {printable(', '.join(self._hooks))}]", "hook"))
        return Part(Flow([Line(tuple(spans), (), (Piece("    "),))]))

    def _who(self) -> str:
        """The tool; of a command of the user's own, what he typed before it."""
        if not self.call_id.startswith(CALL_OF_USER):
            return printable(self.name)
        return "!!" if self.call_id.startswith(CALL_UNSEEN) else "!"

    def _subject(self) -> str:
        given = self._input if self._input is not None else self._asked
        if given is None:
            given = parse_partial("".join(self._arguments[:BEGINNING]))
        return subject(given, SUBJECT) or (one_line(encode(given).decode(), 80) if given else "")

    def _facts(self) -> str:
        facts = []
        if self._diff:
            added, removed = counts(self._diff)
            facts.append(f"new, {count_of(added, 'line')}" if self._is_new else f"+{added} -{removed}")
        if self.name == "read" and "totalLines" in self._details:
            first, last, total = (self._details.get(key) for key in ("firstLine", "lastLine", "totalLines"))
            facts.append(f"lines {first} to {last} of {total}")
        elif self._details.get("diff") == "":
            facts.append("no change")
        elif self.status == "ok" and not self._diff and (text := parts_text(self._content)).strip():
            facts.append(count_of(text.rstrip("\n").count("\n") + 1, "line"))
        if self._duration >= 1000:
            facts.append(f"{self._duration / 1000:.1f} s")
        return f"({', '.join(facts)})" if facts else ""

    @property
    def _is_new(self) -> bool:
        return self._details.get("created") is True

    def _made(self) -> str:
        """The diff of an edit; of a new file, all of it."""
        diff, content = self._details.get("diff"), (self._input or self._asked or {}).get("content")
        if self._is_new and isinstance(content, str):
            return unified("", content, "")
        return diff if isinstance(diff, str) else ""

    def _body(self) -> list[Part]:
        if self.growing:
            return self._running()
        return [*self._result_parts(), *self._changed_result()]

    def _changed_result(self) -> list[Part]:
        if not self.opened or self._changed is None:
            return []
        by = f"result changed by {printable(', '.join(self._changed.hooks))}:"
        title = Line((Span(by, "hook"),), _MARGIN)
        return [Part(Flow([title])), Part(difference(self._changed.before, self._changed.after))]

    def _result_parts(self) -> list[Part]:
        parts = self._opened_input() if self.opened else []
        failed = self.status not in ("ok", "skipped")
        if self._diff and not failed:
            lines = diff_lines(self._diff)
            return [*parts, *_portion(lines, len(lines) if self.opened else self._seen)]
        text = parts_text(self._content)
        if text.strip() and (failed or self.opened):
            style = "error" if self.status in ("error", "invalid") else "output"
            # What a tool printed keeps its columns; what marvin says of a call is prose.
            printed = self.status in ("ok", "error", "aborted")
            if self.status == "aborted" and not self.opened:
                text = "\n".join(text.split("\n")[-TAIL - 2 :])
            parts += [Part(Flow(text_lines(as_printed(text) if printed else text, style, "  ", hard=printed)))]
        return parts

    def _running(self) -> list[Part]:
        parts = self._opened_input() if self.opened else []
        self._output.update()
        if self.opened and self._output.listing.lines:
            parts.append(Part(self._output.listing))
        elif last := self._output.last(TAIL):
            parts.append(Part(Flow(text_lines("\n".join(last), "output", "  ", hard=True))))
        return parts

    def _opened_input(self) -> list[Part]:
        """All of the arguments, and what hooks made of them."""
        parts: list[Part] = []
        given = self._input if self._input is not None else self._asked
        if given and not self._diff and not (len(given) == 1 and readable(given) == self._subject()):
            parts.append(Part(Flow(text_lines(readable(given), "", "  ", hard=True))))
        elif self._arguments and self._asked is None:
            parts.append(Part(Flow(text_lines("".join(self._arguments), "", "  ", hard=True))))
        if self._hooks and self._asked is not None and self._input is not None and self._asked != self._input:
            title = Line((Span(f"changed by {printable(', '.join(self._hooks))}:", "hook"),), _MARGIN)
            parts += [Part(Flow([title])), Part(difference(readable(self._asked), readable(self._input)))]
        if parts:
            parts.append(Part(Flow([Line((Span("─" * 8, "rule"),), _MARGIN)])))
        return parts


class Output:
    """What a running tool printed so far."""

    def __init__(self) -> None:
        self.listing = Listing(_MARGIN, _MARGIN, style="output")
        self._waiting: list[str] = []
        self._tail = ""

    def feed(self, text: str) -> None:
        self._waiting.append(text)

    def update(self) -> None:
        if self._waiting and len(self.listing.lines) < KEPT:
            *lines, self._tail = (self._tail + "".join(self._waiting)).split("\n")
            self._tail = self._tail[-4000:]
            self.listing.extend([as_printed(line) for line in lines], as_printed(self._tail))
        self._waiting = []

    def last(self, count: int) -> list[str]:
        lines = [*self.listing.lines[-count:], as_printed(self._tail)]
        return [line for line in lines if line][-count:]


def readable(given: dict[str, Any]) -> str:
    """Arguments for people: a text as it is, several by name."""
    if len(given) == 1 and isinstance(value := next(iter(given.values())), str):
        return value
    lines = []
    for key, value in given.items():
        text = value if isinstance(value, str) else encode(value).decode()
        lines.append(f"{key}: {text}" if "\n" not in text else f"{key}:\n{text}")
    return "\n".join(lines)


def count_of(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _portion(lines: list[Line], count: int) -> list[Part]:
    if len(lines) <= count + 1:
        return [Part(Flow(lines))]
    more = Line((Span(f"     … {len(lines) - count:,} more lines", "muted"),))
    return [Part(Flow([*lines[:count], more]))]
