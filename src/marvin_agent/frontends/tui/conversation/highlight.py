"""Colours for code, by pygments, in pages: what is not looked at is not worked on, and a growing text goes on."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pygments.lexer import ExtendedRegexLexer, Lexer, LexerContext, RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String
from pygments.util import ClassNotFound

from marvin_agent.frontends.tui.conversation.rows import Span

PAGE = 100
KEPT = 8
"""Pages whose colours are remembered."""
LONGEST_LINE = 1000

_STYLES: tuple[tuple[Any, str], ...] = (
    (Comment, "tok-comment"),
    (Keyword, "tok-keyword"),
    (Name.Function, "tok-name"),
    (Name.Class, "tok-name"),
    (Name.Builtin, "tok-builtin"),
    (Name.Decorator, "tok-builtin"),
    (Name.Tag, "tok-keyword"),
    (Name.Attribute, "tok-name"),
    (String, "tok-string"),
    (Number, "tok-number"),
    (Operator.Word, "tok-keyword"),
    (Generic.Inserted, "added"),
    (Generic.Deleted, "removed"),
    (Generic.Subheading, "muted"),
    (Generic.Heading, "strong"),
)


@lru_cache(maxsize=256)
def _style_of(token: Any) -> str:
    return next((style for kind, style in _STYLES if token in kind), "")


@lru_cache(maxsize=64)
def lexer_for(language: str) -> Lexer | None:
    """The lexer of a language by the name that a fence gives it."""
    if not language or len(language) > 40:
        return None
    try:
        lexer: Lexer = get_lexer_by_name(language.casefold(), stripnl=False, ensurenl=False)
    except (ClassNotFound, ImportError):
        return None
    return lexer


class Highlighter:
    """The spans of a code block's lines. A page that follows a known one goes on in its state; another starts anew."""

    def __init__(self, language: str) -> None:
        self._lexer = lexer_for(language)
        self._pages: dict[int, list[tuple[Span, ...]]] = {}
        """The spans of the pages that were looked at last, as far as they are known."""
        self._states: dict[int, list[str]] = {0: ["root"]}
        """The lexer's state before a line."""

    def line(self, lines: list[str], index: int) -> tuple[Span, ...]:
        """The spans of one of the whole lines."""
        if self._lexer is None or len(lines[index]) > LONGEST_LINE:
            return (Span(lines[index], "codeblock"),)
        number, place = divmod(index, PAGE)
        page = self._pages.pop(number, [])
        self._pages[number] = page
        if len(self._pages) > KEPT:
            del self._pages[next(iter(self._pages))]
        if place >= len(page):
            start = number * PAGE + len(page)
            page += self._read(lines, start, min((number + 1) * PAGE, len(lines)))
        return page[place]

    def tail(self, lines: list[str], text: str) -> tuple[Span, ...]:
        """The spans of the line after all whole lines, which is still being written."""
        if self._lexer is None or len(text) > LONGEST_LINE:
            return (Span(text, "codeblock"),)
        spans, _ = self._lex([text], list(self._states.get(len(lines), ["root"])))
        return next(iter(spans), (Span(text, "codeblock"),))

    def _read(self, lines: list[str], start: int, end: int) -> list[tuple[Span, ...]]:
        wanted = [line if len(line) <= LONGEST_LINE else "" for line in lines[start:end]]
        spans, state = self._lex(wanted, list(self._states.get(start, ["root"])))
        self._states[end] = state
        return spans

    def _lex(self, lines: list[str], state: list[str]) -> tuple[list[tuple[Span, ...]], list[str]]:
        text = "\n".join(lines) + "\n"
        try:
            tokens, after = _tokens(self._lexer, text, state)
        except Exception:
            # A lexer is a heap of regular expressions of others; colours are not worth a failure.
            self._lexer = None
            return [(Span(line, "codeblock"),) for line in lines], ["root"]
        return list(_by_line(tokens, len(lines)))[: len(lines)], after


def _tokens(lexer: Any, text: str, state: list[str]) -> tuple[list[tuple[Any, str]], list[str]]:
    """The tokens, and the state after them. Lexers that cannot go on in a state begin anew each time."""
    if isinstance(lexer, RegexLexer):
        context = LexerContext(text, 0, stack=state, end=len(text))
        try:
            found: Any = ExtendedRegexLexer.get_tokens_unprocessed(lexer, context=context)
            return [(token, value) for _, token, value in found], list(context.stack)
        except TypeError:
            pass  # its callbacks know nothing of a context
    return [(token, value) for _, token, value in lexer.get_tokens_unprocessed(text)], ["root"]


def _by_line(tokens: list[tuple[Any, str]], count: int) -> Iterator[tuple[Span, ...]]:
    line: list[Span] = []
    made = 0
    for token, value in tokens:
        style = _style_of(token)
        style = f"codeblock {style}" if style else "codeblock"
        for index, part in enumerate(value.split("\n")):
            if index:
                yield tuple(line)
                made += 1
                line = []
            if not part:
                continue
            if line and line[-1].style == style:
                line[-1] = Span(line[-1].text + part, style)
            else:
                line.append(Span(part, style))
    while made < count:
        yield tuple(line)
        made += 1
        line = []
