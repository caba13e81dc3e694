"""Reads a command line a second time, letter by letter as bash does, and tells whether the parser has seen the same.

tree-sitter takes `"$ $(rm x)"` for mere text, and what stands behind `\\ #` for a comment. So every quote, separator,
substitution, comment and here-document that this reader comes to has to be in the tree at the very same place. What is
too intricate for it counts as not the same: then the command is asked about.
"""

import re
from typing import NamedTuple

from tree_sitter import Node

_ORDINARY = re.compile(rb"[^\s;&|<>()'\"\\$`#]+")
_PLAIN_IN_DOUBLE = re.compile(rb"[^\"\\$`]+")
_PLAIN_IN_BRACES = re.compile(rb"[^'\"\\$`<>}]+")
_OPERATOR = re.compile(rb"[;&|<>()-]+")
_SUM = re.compile(rb"\$\(\([\d\s+*/%()<>=!&|^~?:,-]*\)\)")
_SINGLE = re.compile(rb"'[^']*'")
_ANSI = re.compile(rb"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
LOST_DASH = re.compile(rb"[ \t]*-(?=[ \t]+<<)")
"""In front of a here-document (`python - <<EOF`): the parser leaves it out."""
_HEREDOC = re.compile(rb"<<(-?)[ \t]*('[\w.-]+'|\"[\w.-]+\"|\\?[\w.-]+)")
# A line that goes on may be the end of the document in two halves.
_EXPANDS = re.compile(rb"`|\$[({\[]|\\\n")
_WORDS = frozenset(
    [
        *("word", "concatenation", "simple_expansion", "variable_name", "special_variable_name", "number", "string"),
        *("brace_expression", "raw_string", "ansi_c_string", "variable_assignment", "test_operator", "regex"),
        *("extglob_pattern", "file_descriptor", "heredoc_start", "heredoc_body", "heredoc_content", "heredoc_end"),
        *("string_content", "expansion", "comment", "translated_string"),
    ]
)
"""Nodes in which there is no white space but quoted."""
_LINES = frozenset(
    [
        *("program", "subshell", "compound_statement", "if_statement", "elif_clause", "else_clause", "do_group"),
        *("case_statement", "case_item", "command_substitution", "process_substitution", "for_statement"),
        *("while_statement", "function_definition", "array"),
    ]
)
"""Nodes that stand on several lines, each with its own commands."""
_JOINING = (b"&&", b"||", b"|", b"|&")


class _Differs(Exception):
    pass


def reads_the_same(raw: bytes, root: Node) -> bool:
    """Whether the tree has what bash will see. Never True by mistake of this reader alone."""
    try:
        _Reader(raw, root).read()
    except _Differs:
        return False
    return True


class _Heredoc(NamedTuple):
    """A here-document whose text begins with the next line."""

    depth: int
    """How much was open where it was announced."""
    begin: int
    indented: bool
    end: bytes
    plain: bool
    """Nothing in it is expanded."""


class _Reader:
    def __init__(self, raw: bytes, root: Node) -> None:
        self._raw = raw
        self._root = root
        self._at = 0
        self._inside: list[bytes] = []
        """What is open: `$(`, a backtick, a double quote, `${`."""
        self._word_begins = True
        self._operator = b""
        """The operator just read, if nothing but white space has come since."""
        self._heredoc: _Heredoc | None = None

    def read(self) -> None:
        while self._at < len(self._raw):
            match self._inside[-1:]:
                case [b'"']:
                    self._in_double()
                case [b"${"]:
                    self._in_braces()
                case _:
                    self._in_command()
        if self._inside or self._heredoc:
            raise _Differs

    # The tree.

    def _node(self, at: int) -> Node:
        node = self._root.descendant_for_byte_range(at, at + 1)
        if node is None:
            raise _Differs
        return node

    def _leaf(self, at: int) -> Node:
        node = self._node(at)
        if node.child_count:
            raise _Differs
        return node

    def _token(self, text: bytes) -> Node:
        """Take a token that the tree must have here, too. Its leaves may have white space in front."""
        leaf = self._leaf(self._at)
        if leaf.is_named or self._raw[leaf.start_byte : leaf.end_byte].lstrip() != text:
            raise _Differs
        if leaf.end_byte != self._at + len(text):
            raise _Differs
        self._at = leaf.end_byte
        return leaf

    def _whole(self, end: int, kind: str) -> None:
        """Take what is one leaf of this kind."""
        leaf = self._leaf(self._at)
        if (leaf.type, leaf.start_byte, leaf.end_byte) != (kind, self._at, end):
            raise _Differs
        self._at = end

    # What stands where commands stand.

    def _in_command(self) -> None:
        raw, at = self._raw, self._at
        letter = raw[at : at + 1]
        began, self._word_begins = self._word_begins, False
        match letter:
            case b"\n":
                self._line_ends()
            case b" " | b"\t":
                if self._node(at).type in _WORDS:
                    raise _Differs
                self._at += 1
                self._word_begins = True
                return
            case b"\\":
                self._escaped(began)
                if raw[at + 1 : at + 2] == b"\n":
                    return
            case b"'":
                self._quoted(_SINGLE, "raw_string")
            case b'"' if b"`" in self._inside:
                raise _Differs
            case b'"' | b"`" | b"$":
                self._opens()
            case b"#" if began:
                self._comment()
            case b";" | b"&" | b"|" | b"<" | b">" | b"(" | b")":
                self._operates()
                return
            case b"-" if began and LOST_DASH.match(raw, at):
                self._at += 1
            case _:
                found = _ORDINARY.match(raw, at)
                self._leaves(found.end() if found else at + 1)
        self._operator = b""

    def _leaves(self, end: int) -> None:
        """Letters that mean themselves; the tree has them somewhere."""
        while self._at < end:
            leaf = self._leaf(self._at)
            if leaf.type == "comment":
                raise _Differs
            self._at = min(leaf.end_byte, end)

    def _escaped(self, began: bool) -> None:
        at = self._at
        if b"`" in self._inside:
            # In backticks an escaped backtick opens others.
            raise _Differs
        if self._raw[at + 1 : at + 2] == b"\n":
            if self._node(at).type in _WORDS or not began:
                raise _Differs
            self._word_begins = True
        else:
            leaf = self._leaf(at)
            if leaf.type not in _WORDS or not leaf.start_byte <= at < at + 1 < leaf.end_byte:
                raise _Differs
        self._at += 2

    def _quoted(self, form: "re.Pattern[bytes]", kind: str) -> None:
        found = form.match(self._raw, self._at)
        if not found:
            raise _Differs
        self._whole(found.end(), kind)

    def _comment(self) -> None:
        end = self._raw.find(b"\n", self._at)
        if b"`" in self._inside:
            raise _Differs
        self._whole(end if end >= 0 else len(self._raw), "comment")
        self._word_begins = True

    def _operates(self) -> None:
        if self._heredoc_begins():
            return
        leaf = self._leaf(self._at)
        token = self._raw[self._at : leaf.end_byte]
        if not _OPERATOR.fullmatch(token):
            raise _Differs
        self._token(token)
        if token in (b"<(", b">("):
            self._inside.append(b"$(")
        elif token == b")" and leaf.parent and leaf.parent.type in ("command_substitution", "process_substitution"):
            if self._inside[-1:] != [b"$("]:
                raise _Differs
            self._inside.pop()
            self._operator = b""
            return
        self._word_begins = True
        self._operator = token

    def _line_ends(self) -> None:
        kind = self._node(self._at).type
        if self._heredoc:
            if kind not in _LINES and kind not in ("heredoc_redirect", "redirected_statement", "list", "pipeline"):
                raise _Differs
            self._at += 1
            self._heredoc_ends()
        elif kind in _LINES or (kind in ("list", "pipeline") and self._operator in _JOINING):
            self._at += 1
        else:
            raise _Differs
        self._word_begins = True

    # What may stand in quotes, too.

    def _opens(self) -> None:
        """A quote, or something behind a dollar."""
        raw, at = self._raw, self._at
        letter, pair = raw[at : at + 1], raw[at : at + 2]
        double = self._inside[-1:] == [b'"']
        if letter == b"`" and self._inside[-1:] == [b"`"]:
            self._token(letter)
            self._inside.pop()
        elif letter in (b'"', b"`"):
            if b"`" in self._inside:
                raise _Differs
            self._token(letter)
            self._inside.append(letter)
            self._word_begins = letter == b"`"
        elif found := _SUM.match(raw, at):
            self._at = found.end()
        elif raw[at : at + 3] == b"$((" or pair == b"$[" or (pair in (b"$'", b'$"') and self._inside[-1:] == [b"${"]):
            raise _Differs
        elif pair == b"$'" and not double:
            self._quoted(_ANSI, "ansi_c_string")
        elif pair == b'$"' and not double:
            raise _Differs
        elif pair in (b"$(", b"${"):
            self._token(pair)
            self._inside.append(pair)
            self._word_begins = pair == b"$("
        elif double:
            self._at += 1
        else:
            self._leaves(at + 1)

    def _in_double(self) -> None:
        raw, at = self._raw, self._at
        if raw[at : at + 1] == b'"':
            self._token(b'"')
            self._inside.pop()
        elif raw[at : at + 1] == b"\\":
            self._at += 2
        elif found := _PLAIN_IN_DOUBLE.match(raw, at):
            self._at = found.end()
        else:
            self._opens()

    def _in_braces(self) -> None:
        raw, at = self._raw, self._at
        letter = raw[at : at + 1]
        if letter == b"}":
            self._token(b"}")
            self._inside.pop()
        elif found := _PLAIN_IN_BRACES.match(raw, at):
            self._at = found.end()
        elif letter in b"$`":
            self._opens()
        else:
            raise _Differs

    # Here-documents.

    def _heredoc_begins(self) -> bool:
        raw, at = self._raw, self._at
        if raw[at : at + 2] != b"<<" or raw[at : at + 3] == b"<<<":
            return False
        found = _HEREDOC.match(raw, at)
        if not found or self._heredoc:
            raise _Differs
        self._token(b"<<" + found[1])
        self._at = found.start(2)
        self._whole(found.end(), "heredoc_start")
        end = found[2].strip(b"'\"\\")
        begin = raw.find(b"\n", self._at) + 1
        self._heredoc = _Heredoc(len(self._inside), begin, bool(found[1]), end, end != found[2])
        self._operator = b""
        return True

    def _heredoc_ends(self) -> None:
        assert self._heredoc
        depth, begin, tabs, end, plain = self._heredoc
        # A quote that goes over the end of the line may begin in front of the document and end behind it.
        if depth != len(self._inside) or begin != self._at:
            raise _Differs
        while self._at < len(self._raw):
            line_end = self._raw.find(b"\n", self._at)
            line_end = line_end if line_end >= 0 else len(self._raw)
            line = self._raw[self._at : line_end]
            if (line.lstrip(b"\t") if tabs else line) == end:
                if not plain and _EXPANDS.search(self._raw, begin, self._at):
                    raise _Differs
                self._at = line_end - len(end)
                self._whole(line_end, "heredoc_end")
                self._heredoc = None
                return
            self._at = min(line_end + 1, len(self._raw))
        raise _Differs
