"""What is inside a line of Markdown: emphasis, code, links. Everything comes out as spans of plain text."""

from markdown_it import MarkdownIt
from markdown_it.token import Token

from marvin_agent.frontends.tui.conversation.rows import Span
from marvin_agent.text import printable

_MARKS = {"strong": "strong", "em": "em", "s": "strike"}
_parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable("strikethrough")


def inline(
    text: str, references: dict[str, str], style: str = "", *, growing: bool = False
) -> tuple[tuple[Span, ...], ...]:
    """The lines of a text, each as its spans; only a hard break begins another line."""
    if growing:
        text = _closed(text)
    known = {"references": {label.upper(): {"title": "", "href": url} for label, url in references.items()}}
    tokens = _parser.parseInline(printable(text), known)[0].children or []
    return _Flow(style).lines(tokens)


class _Flow:
    def __init__(self, style: str) -> None:
        self._styles = [style] if style else []
        self._line: list[Span] = []
        self._lines: list[tuple[Span, ...]] = []
        self._links: list[tuple[str, int]] = []

    def lines(self, tokens: list[Token]) -> tuple[tuple[Span, ...], ...]:
        for token in tokens:
            self._token(token)
        self._lines.append(tuple(self._line))
        return tuple(self._lines)

    def _token(self, token: Token) -> None:
        match token.type:
            case "text" | "text_special" | "html_inline":
                self._add(token.content)
            case "softbreak":
                self._add(" ")
            case "hardbreak":
                self._lines.append(tuple(self._line))
                self._line = []
            case "code_inline":
                self._add(token.content, "code")
            case "link_open":
                self._links.append((str(token.attrs.get("href", "")), len(self._line)))
                self._styles.append("link")
            case "link_close":
                self._styles.remove("link")
                self._address(*self._links.pop())
            case "image":
                self._add(token.content or "image", "link")
                self._address(str(token.attrs.get("src", "")), len(self._line) - 1)
            case kind:
                mark = _MARKS.get(kind.rpartition("_")[0])
                if mark and kind.endswith("_open"):
                    self._styles.append(mark)
                elif mark and mark in self._styles:
                    self._styles.remove(mark)

    def _add(self, text: str, style: str = "") -> None:
        if text:
            self._line.append(Span(text, " ".join((*self._styles, style) if style else self._styles)))

    def _address(self, address: str, start: int) -> None:
        """Where a link leads, unless its text says so."""
        shown = "".join(span.text for span in self._line[start:])
        bare = address.removeprefix("mailto:")
        if bare and shown not in (address, bare) and f"{shown}/" != bare:
            self._add(f" ({printable(address)})", "address")


def _closed(text: str) -> str:
    """A growing text with what is open in it closed, so that its marks do not show until their other half comes."""
    text = text.rstrip("*_~ ") if text.endswith(("*", "_", "~")) else text
    code = text.count("`") % 2
    if code:
        return text[:-1] if text.endswith("`") else text + "`"
    if text.count("**") % 2:
        return text + "**"
    return text
