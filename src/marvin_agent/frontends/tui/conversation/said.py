"""What people, models and hooks said: entries of the conversation that are text."""

from collections.abc import Callable, Sequence

from marvin_agent.frontends.tui.conversation.diffs import Changed, difference
from marvin_agent.frontends.tui.conversation.entry import Entry
from marvin_agent.frontends.tui.conversation.markdown import Document, whole
from marvin_agent.frontends.tui.conversation.rows import Line, Piece, Span
from marvin_agent.frontends.tui.conversation.sections import Flow, Nested, Part, Section, Stack
from marvin_agent.messages import HookMessage, Image, UserPart, text_of
from marvin_agent.text import one_line, printable

LEVELS = {"info": "i", "success": "✓", "warning": "!", "error": "✗"}
SEEN_LINES = 10
SEEN = 2_000
ABOUT_ALL = 500
"""Characters that are not worth a line that says that they are left out."""
PROMPT = "\u276f "
"""What stands before what the user said."""


def parts_text(parts: Sequence[UserPart]) -> str:
    """The texts, and a line for each image."""
    lines = [text] if (text := text_of(tuple(parts))) else []
    images = [part for part in parts if isinstance(part, Image)]
    lines += [f"[image {one_line(image.mime_type, 40)}, {len(image.data) * 3 // 4} bytes]" for image in images]
    return "\n".join(lines)


def text_lines(text: str, style: str = "", margin: str = "", *, hard: bool = False) -> list[Line]:
    """Foreign text, line by line, as it is."""
    prefix = (Piece(margin),) if margin else ()
    lines = printable(text).rstrip("\n").split("\n")
    return [Line((Span(line, style),), prefix, prefix, hard) for line in lines]


def sign(entry: Entry) -> str:
    """What shows that an entry opens."""
    return ("▾ " if entry.opened else "▸ ") if entry.opens else "  "


def beginning(text: str) -> str:
    """As much of a text as is read in passing; all of it when little would be missing."""
    first = "\n".join(text.split("\n", SEEN_LINES)[:SEEN_LINES])[:SEEN]
    return first if len(text) > len(first) + ABOUT_ALL or text.count("\n") > SEEN_LINES + 2 else text


class UserEntry(Entry):
    """What the user said: a long text opens, and one that hooks changed, to the difference."""

    def __init__(self, parts: Sequence[UserPart], changed_by: tuple[str, ...] = (), before: str | None = None) -> None:
        super().__init__()
        self._text = parts_text(parts).rstrip("\n")
        self._changed_by = changed_by
        self._before = before
        self._beginning = beginning(self._text)
        self.opens = before is not None or self._is_long

    @property
    def source(self) -> str:
        return self._text

    @property
    def _is_long(self) -> bool:
        return self._beginning != self._text

    def _rest(self) -> str:
        rest = self._text[len(self._beginning) :]
        lines = rest.count("\n")
        return f"{lines:,} more lines" if lines > 1 else f"{len(rest):,} more characters"

    def first_guess(self, width: int) -> int:
        return super().first_guess(width) if self.opened else 1 + self._beginning.count("\n")

    def build(self) -> Stack:
        mark, indent = (Piece(PROMPT, "prompt"),), (Piece("  ", "user"),)
        lines = [
            Line((Span(line, "user"),), indent if number else mark, indent, fill="user")
            for number, line in enumerate(printable(self._text if self.opened else self._beginning).split("\n"))
        ]
        if self._is_long and not self.opened:
            lines.append(Line((Span(f"{sign(self)}… {self._rest()}", "muted"),)))
        if self._changed_by:
            by = f"{sign(self)}changed by {printable(', '.join(self._changed_by))}"
            lines.append(Line((Span(by, "hook"),)))
        parts = [Part(Flow(lines))]
        if self.opened and self._before is not None:
            parts.append(Part(difference(self._before, self._text)))
        return Stack(parts)


class AnswerEntry(Entry):
    """A text of the model's, in Markdown, that may still grow."""

    style = ""

    def __init__(self, text: str = "", *, growing: bool = False) -> None:
        super().__init__()
        self._text = text
        self._document: Document | None = Document(self.style) if growing else None
        self.growing = growing

    @property
    def source(self) -> str:
        return self._document.source if self._document else self._text

    @property
    def document(self) -> Document:
        """The text, split into blocks."""
        if self._document is None:
            return whole(self._text, self.style)
        self._document.update()
        return self._document

    def grow(self, text: str) -> None:
        assert self._document
        self._document.feed(text)

    def end(self) -> None:
        if self.growing and self._document:
            self._document.finish()
            self.growing = False
            self._height = (-1, 0)

    def build(self) -> Stack:
        if self._document is None:
            self._document = whole(self._text, self.style)
        return self._document.stack

    def update(self, stack: Stack) -> None:
        if self._document:
            self._document.update()

    def release(self) -> None:
        if not self.growing and self._document:
            self._text, self._document, self._stack = self._document.source, None, None


class ThinkingEntry(AnswerEntry):
    """What a model thought: one line with its length, which opens."""

    opens = True
    close_to = "thinking"

    style = "thinking"

    def __init__(self, text: str = "", *, growing: bool = False) -> None:
        super().__init__(text, growing=growing)
        self._length = len(text)

    def grow(self, text: str) -> None:
        super().grow(text)
        self._length += len(text)

    def end(self) -> None:
        super().end()
        self.changed()

    def build(self) -> Stack:
        if not self.opened:
            return Stack([self._head()])
        return Stack([self._head(), Part(Nested(super().build(), (Piece("  "),)))])

    def first_guess(self, width: int) -> int:
        return 1

    def update(self, stack: Stack) -> None:
        if self.growing:
            super().update(stack)
            head = self._head()
            stack.replace(0, [head, *stack.parts[1:]])

    def _head(self) -> Part:
        text = f"{sign(self)}Thinking{'…' if self.growing else ''} ({self._length:,} characters)"
        return Part(Flow([Line((Span(text, "thinking"),))]))


class NoticeEntry(Entry):
    """A line of the program or of a hook."""

    close_to = "notice"

    def __init__(self, level: str, text: str, source: str = "marvin") -> None:
        super().__init__()
        self.level = level
        self.text = text if source == "marvin" else f"{source}: {text}"

    @property
    def source(self) -> str:
        return self.text

    def build(self) -> Stack:
        mark, indent = (Piece(f"{LEVELS.get(self.level, 'i')} ", self._style),), (Piece("  "),)
        lines = [
            Line((Span(line, self._style),), indent if number else mark, indent)
            for number, line in enumerate(printable(self.text).rstrip("\n").split("\n"))
        ]
        return Stack([Part(Flow(lines))])

    @property
    def _style(self) -> str:
        return "ok" if self.level == "success" else self.level if self.level in LEVELS else "info"


class ChangeEntry(Entry):
    """A hook changed something; opens to the difference."""

    opens = True
    close_to = "notice"

    def __init__(self, text: str, changed: Changed) -> None:
        super().__init__()
        self._text = text
        self._changed = changed

    @property
    def source(self) -> str:
        return f"{self._text}\n{self._changed.before}"

    def build(self) -> Stack:
        parts = [Part(Flow([Line((Span(f"{sign(self)}{printable(self._text)}", "hook"),))]))]
        if self.opened:
            parts.append(Part(difference(self._changed.before, self._changed.after)))
        return Stack(parts)

    def first_guess(self, width: int) -> int:
        return 1


Drawing = Callable[[HookMessage, bool], Section | None]
"""Draws a hook's message, folded or open, in the way that the hook registered; None when it has no way of its own."""


class HookMessageEntry(Entry):
    """What a hook put into the conversation."""

    opens = True

    def __init__(self, message: HookMessage, draw: Drawing) -> None:
        super().__init__()
        self._message = message
        self._draw = draw
        self._text = parts_text(message.content)

    @property
    def source(self) -> str:
        return self._text

    def build(self) -> Stack:
        head = Flow([Line((Span(f"{sign(self)}{printable(self._message.custom_type)}", "hook"),))])
        body, problem = self._own()
        if problem:
            note = Flow([Line((Span(f"  its renderer failed: {problem}", "error"),))])
            return Stack([Part(head), Part(note), Part(body)])
        return Stack([Part(head), Part(body)])

    def _own(self) -> tuple[Section, str]:
        problem = ""
        try:
            drawn = self._draw(self._message, self.opened)
        except Exception as error:
            drawn, problem = None, one_line(f"{type(error).__name__}: {error}", 200)
        if drawn is not None:
            return drawn, ""
        lines = text_lines(self._text, margin="  ")
        if not self.opened and len(lines) > 10:
            more = Line((Span(f"  … {len(lines) - 10} more lines", "muted"),))
            lines = [*lines[:10], more]
        return Flow(lines), problem
