"""Takes a command line apart with tree-sitter: every command, wherever it stands, and every file that is redirected to.

Only what is on the lists here is understood; all else, and all that bash may read in another way than the parser, is an
unknown part, which no rule allows. Loaded when the first command is judged.
"""

import functools
import os
import re
from collections.abc import Iterator
from typing import Literal

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from marvin_agent.policies.permissions.commands import Part, Word, unknown
from marvin_agent.policies.permissions.second_reader import LOST_DASH, reads_the_same
from marvin_agent.policies.permissions.wrappers import DEPTH, unwrap
from marvin_agent.programs import find_program

LIMIT = 64 * 1024
"""Longer command lines are not looked at."""

_PARSER = Parser(Language(tree_sitter_bash.language()))
_STRUCTURE = frozenset(
    [
        "program",
        "list",
        "pipeline",
        "subshell",
        "if_statement",
        "elif_clause",
        "else_clause",
        "for_statement",
        "while_statement",
        "do_group",
        "case_statement",
        "case_item",
        "negated_command",
        "redirected_statement",
        "function_definition",
        "command_substitution",
        "process_substitution",
        "command_name",
    ]
)
_TEXT = frozenset(
    [
        "word",
        "string",
        "string_content",
        "raw_string",
        "ansi_c_string",
        "translated_string",
        "concatenation",
        "number",
        "simple_expansion",
        "variable_name",
        "special_variable_name",
        "brace_expression",
        "extglob_pattern",
        "regex",
        "array",
        "heredoc_start",
        "heredoc_body",
        "heredoc_content",
        "heredoc_end",
        "comment",
        "file_descriptor",
        "test_operator",
    ]
)
_REDIRECTIONS: tuple[Literal["read", "write"], ...] = ("read", "write")
_BASH_ONLY = re.compile(r"\[\[|\(\(|\$['\"]|[<>]\(|&>|\|&|<<<|\{[^}]*,|\bfunction\b")
_SAFE_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})
_EXPANSION = re.compile(
    r"\$\{#?(\w+|[@*#?!$-])(\[(\d+|@|\*)\])?((:?[-+?]|##?|%%?|//?|\^\^?|,,?).*|:\d+(:\d+)?)?\}", re.DOTALL
)
_ARITHMETIC_TEST = re.compile(r"\s-(v|R|eq|ne|lt|le|gt|ge)\s")
_NUMBERS = re.compile(r"\[\[?\s+-?\d+\s+-(eq|ne|lt|le|gt|ge)\s+-?\d+\s+\]\]?")
_UNQUOTED_META = re.compile(r"[\s;|&()<>]")


@functools.cache
def _has_bash(path: str) -> bool:
    return find_program("bash", path) is not None


def take_apart(command: str, depth: int = 0) -> tuple[Part, ...]:
    """The parts of a command line. A part is never missing: what is not understood is there as unknown."""
    if len(command) > LIMIT or depth > 2 * DEPTH:
        return (unknown("the command is too long, or too deep, to look through"),)
    if re.search(r"[\0-\x08\x0b-\x1f\x7f]", command):
        return (unknown("control characters in the command"),)
    if not command.isascii() and re.search(r"[\u0085\u2028\u2029\ufeff]|[^\S \t\n]", command):
        return (unknown("odd white space in the command"),)
    if _BASH_ONLY.search(command) and not _has_bash(os.environ.get("PATH", os.defpath)):
        # The tool falls back on another shell: `[[ a && rm x ]]` is two commands there.
        return (unknown("what only bash understands, and there is no bash"),)
    raw = command.encode("utf-8", "surrogatepass")
    root = _PARSER.parse(raw).root_node
    reader = _Reader(raw, depth)
    reader.visit(root)
    parts = reader.parts
    if root.has_error:
        parts += _misread("the command cannot be parsed", command)
    elif not reads_the_same(raw, root):
        parts += _misread("the command can be read in two ways", command)
    if re.search(r"(?<!\$)\{\S[^}]*\}[<>]", command):
        parts.append(unknown("a redirection with a variable for its number"))
    if re.search(r"(?<![ \t])\\\n", command):
        # Bash joins the two halves to one word.
        parts.append(unknown("a line that goes on in the middle of a word"))
    return tuple(parts)


def _misread(why: str, command: str) -> list[Part]:
    redirected = [Part(kind, (Word(why, known=False),)) for kind in _REDIRECTIONS if set(command) & set("<>")]
    return [unknown(why), *redirected]


class _Reader:
    """Walks the tree of one command line."""

    def __init__(self, raw: bytes, depth: int) -> None:
        self.parts: list[Part] = []
        self._raw = raw
        self._depth = depth

    def visit(self, node: Node) -> None:
        match node.type:
            case "command":
                self._command(node)
            case "declaration_command" | "unset_command":
                words = tuple(_word(child) for child in node.children)
                self.parts.append(unwrap(Part("command", words), take_apart, self._depth))
                self._inside(node)
            case "variable_assignment" | "variable_assignments":
                self._assignment(node)
            case "test_command":
                self._test(node)
            case "compound_statement":
                if _text(node).startswith("(("):
                    self._arithmetic(node)
                self._inside(node, arithmetic=_text(node).startswith("(("))
            case "c_style_for_statement":
                self.parts.append(unknown("a for loop with arithmetic"))
                self._inside(node, arithmetic=True)
            case "arithmetic_expansion":
                self._arithmetic(node)
                self._inside(node, arithmetic=True)
            case "expansion":
                if not _EXPANSION.fullmatch(_text(node).lstrip()):
                    self.parts.append(unknown(f"an expansion: {_text(node)}"))
                self._backticks(_text(node))
                self._inside(node, arithmetic=True)
            case "file_redirect":
                self._redirect(node)
                self._inside(node)
            case "heredoc_redirect":
                self._heredoc(node)
            case "herestring_redirect":
                self._inside(node)
            case kind if kind in _STRUCTURE:
                if kind == "for_statement":
                    self._loop_variable(node)
                self._inside(node)
            case kind if kind in _TEXT:
                if kind == "array" and re.search(r"\[(?!\d+\]).*\]\+?=", _text(node), re.DOTALL):
                    self.parts.append(unknown("an array with indices"))
                if kind in ("word", "string_content", "regex", "extglob_pattern") and not node.named_children:
                    self._leaf(_text(node))
                self._inside(node)
            case "ERROR":
                self.parts.append(unknown("the command cannot be parsed"))
                self._inside(node, arithmetic=True)
            case kind:
                self.parts.append(unknown(f"{kind.replace('_', ' ')} in the command"))
                self._inside(node, arithmetic=True)

    def _inside(self, node: Node, *, arithmetic: bool = False) -> None:
        for child in node.named_children:
            if arithmetic and not _holds_commands(child):
                continue
            if arithmetic and child.type not in _STRUCTURE and child.type not in ("command", "expansion"):
                self._inside(child, arithmetic=True)
            else:
                self.visit(child)

    def _command(self, node: Node) -> None:
        before: list[Word] = []
        words: list[Word] = []
        for child in node.children:
            match child.type:
                case "variable_assignment" if not words:
                    before.append(_word(child))
                    self._inside(child)
                case "file_redirect" | "herestring_redirect" | "heredoc_redirect":
                    self.visit(child)
                case "subshell":
                    self.parts.append(unknown("brackets behind a command"))
                    self.visit(child)
                case _:
                    words.append(_word(child))
                    self.visit(child)
        if LOST_DASH.match(self._raw, node.end_byte):
            words.append(Word("-"))
        if not words:
            self.parts.append(unknown(f"a command that is none: {_text(node)[:80]}"))
            return
        part = Part("command", (*before, *words), len(before))
        self.parts.append(unwrap(part, take_apart, self._depth))

    def _assignment(self, node: Node) -> None:
        assigned = [node] if node.type == "variable_assignment" else node.named_children
        for each in assigned:
            name = _text(each).partition("=")[0].rstrip("+")
            if not _is_own(name):
                # PATH and its like change what the commands behind it are; such a variable needs a rule.
                self.parts.append(Part("command", (_word(each),)))
            self._inside(each)

    def _loop_variable(self, node: Node) -> None:
        name = node.child_by_field_name("variable")
        if name is not None and not _is_own(_text(name)):
            self.parts.append(Part("command", (Word(f"{_text(name)}="),)))

    def _test(self, node: Node) -> None:
        text = _text(node)
        # Arithmetic in a test, and -v, run what is in the index of an array.
        if text.startswith("((") or _ARITHMETIC_TEST.search(text):
            if not _NUMBERS.fullmatch(re.sub(r'"\$[?#]"|\$[?#]', "0", text)):
                self.parts.append(unknown(f"a test: {text[:80]}"))
        elif not text.startswith("[[") and re.search(r"(?<![\"\w{])\$", text):
            self.parts.append(unknown(f"a test with an unquoted variable: {text[:80]}"))
        self._inside(node, arithmetic=True)

    def _arithmetic(self, node: Node) -> None:
        if re.search(r"[A-Za-z_$`\[]", _text(node).removeprefix("$")):
            # The value of a variable is evaluated, and can hold a command.
            self.parts.append(unknown(f"arithmetic with variables: {_text(node)[:80]}"))

    def _redirect(self, node: Node) -> None:
        operator = next((child.type for child in node.children if not child.is_named), "")
        target = node.child_by_field_name("destination")
        if operator in ("<&-", ">&-") and target is None:
            return
        if target is None or len([c for c in node.named_children if c.type != "file_descriptor"]) != 1:
            self.parts.append(unknown("a redirection"))
            return
        word = _word(target)
        if operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", word.text) and word.known:
            return
        if operator in (">&", "<&") and not re.fullmatch(r"[\w./-]+", _text(target)):
            # Bash expands what is quoted here a second time.
            self.parts.append(unknown(f"a redirection: {_text(node)[:80]}"))
        if word.known and word.text in _SAFE_FILES:
            return
        if word.known and word.text.startswith(("/dev/tcp/", "/dev/udp/")):
            self.parts.append(unknown(f"a connection: {word.text}"))
            return
        self.parts.append(Part("read" if operator in ("<", "<&") else "write", (word,)))

    def _leaf(self, text: str) -> None:
        # Bash looks for commands here; the parser has found none.
        if re.search(r"(?<!\\)(?:\\\\)*(?:`|\$\()", text):
            self.parts.append(unknown(f"what may be a command: {text[:80]}"))

    def _backticks(self, text: str) -> None:
        """Commands in backticks where the parser sees only text."""
        if "`" in text:
            self.parts.append(unknown("backticks in an expansion or a here-document"))
        for code in re.findall(r"`([^`]*)`", text):
            self.parts += take_apart(code, self._depth + 1)

    def _heredoc(self, node: Node) -> None:
        start = next((child for child in node.named_children if child.type == "heredoc_start"), None)
        quoted = start is not None and bool(set(_text(start)) & set("'\"\\"))
        for child in node.named_children:
            if child.type != "heredoc_body":
                self.visit(child)
            elif not quoted:
                if re.search(r"`|\$\(|\$\{", _text(child)):
                    self.parts.append(unknown("a here-document with commands or expansions"))
                self._backticks(_text(child))
                self._inside(child)


def _is_own(name: str) -> bool:
    """Whether a variable is the script's own by custom, and not one that programs go by."""
    return re.fullmatch(r"[a-z_][a-z0-9_]*", name) is not None and not name.endswith("_proxy")


def _holds_commands(node: Node) -> bool:
    return any(True for _ in _commands(node))


def _commands(node: Node) -> Iterator[Node]:
    if node.type in ("command", "command_substitution", "process_substitution", "file_redirect", "expansion"):
        yield node
    for child in node.named_children:
        yield from _commands(child)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "surrogatepass")


def _word(node: Node) -> Word:
    return word_of(_text(node))


def word_of(raw: str) -> Word:
    """A word without its quotes. It is unknown when bash makes something else of it: a variable, a file's name."""
    text: list[str] = []
    known = True
    at = 0
    quoted = False
    # Braces alone stay what they are: `xargs -I{}`, `find -exec grep x {} +`.
    opening = "*?[{" if "," in raw or ".." in raw else "*?["
    while at < len(raw):
        letter = raw[at]
        at += 1
        if letter == "\\" and not quoted:
            following = raw[at : at + 1]
            at += 1
            text.append("" if following == "\n" else following)
        elif letter == "\\" and quoted and raw[at : at + 1] in ("$", "`", '"', "\\", "\n"):
            text.append("" if raw[at] == "\n" else raw[at])
            at += 1
        elif letter == '"':
            quoted = not quoted
        elif letter == "'" and not quoted:
            end = raw.find("'", at)
            if end < 0:
                return Word(raw, known=False)
            text.append(raw[at:end])
            at = end + 1
        elif letter == "$" and not quoted and raw[at : at + 1] in ("'", '"'):
            end = raw.find("'", at + 1)
            if raw[at] == '"' or end < 0 or "\\" in raw[at + 1 : end]:
                return Word(raw, known=False)
            text.append(raw[at + 1 : end])
            at = end + 1
        elif letter == "`" or (letter == "$" and re.match(r"[\w({@*#?!$-]", raw[at : at + 1])):
            return Word(raw, known=False)
        elif not quoted and (letter in opening or (letter == "~" and len("".join(text)) == 0)):
            known = False
            text.append(letter)
        elif not quoted and _UNQUOTED_META.match(letter):
            return Word(raw, known=False)
        else:
            text.append(letter)
    return Word("".join(text), known and not quoted)
