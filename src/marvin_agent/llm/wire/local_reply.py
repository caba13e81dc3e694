"""Reads what the embedded model writes, while it writes it: an answer or a tool call in JSON, or bare text."""

import json
import re
from typing import Literal

from marvin_agent.llm.builder import Builder

_ANSWER = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
_TOOL = re.compile(r'\s*\{\s*"tool"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"arguments"\s*:\s*(?=\{)')
_BEGINNING = re.compile(r'\s*(?:\{\s*(?:"[^"]*(?:"[^{]*)?)?)?')
_LONGEST_BEGINNING = 400
_PLAIN = re.compile(r'[^"\\]+')
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_STRUCTURE = re.compile(r'[{}"]|\\.')


class LocalReply:
    """Feed it text; it tells the builder of the answer's words and the call's arguments as they come."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._rest = ""
        self._kind: Literal["beginning", "answer", "tool", "text", "over"] = "beginning"
        self._depth = 0
        self._quoted = False

    def feed(self, text: str) -> None:
        self._rest += text
        if self._kind == "beginning":
            self._begin()
        match self._kind:
            case "answer":
                self._answer()
            case "tool":
                self._tool()
            case "text":
                self._builder.text("text", self._rest)
                self._rest = ""
            case _:
                pass

    def finish(self) -> None:
        """The stream is over: a beginning that never became anything was text."""
        if self._kind == "beginning":
            self._builder.text("text", self._rest)
            self._rest = ""

    def _begin(self) -> None:
        if found := _ANSWER.match(self._rest):
            self._kind = "answer"
            self._rest = self._rest[found.end() :]
        elif found := _TOOL.match(self._rest):
            self._kind = "tool"
            self._builder.tool("call", name=json.loads(found[1]))
            self._rest = self._rest[found.end() :]
        elif not _BEGINNING.fullmatch(self._rest) or len(self._rest) > _LONGEST_BEGINNING:
            self._kind = "text"

    def _answer(self) -> None:
        """Decode the string as far as it has come."""
        text, place = self._rest, 0
        while place < len(text):
            if found := _PLAIN.match(text, place) or _ESCAPE.match(text, place):
                piece = found[0]
                self._builder.text("text", json.loads(f'"{piece}"') if piece[0] == "\\" else piece)
                place = found.end()
            elif text[place] == '"':
                self._kind = "over"
                place = len(text)
            elif len(text) - place >= len("\\u0000"):
                # No escape of JSON: what follows the backslash is taken as it is.
                place += 1
            else:
                break
        self._rest = text[place:]

    def _tool(self) -> None:
        """Pass the arguments on up to the brace that closes them."""
        text = self._rest
        # A backslash at the end says something about the next character.
        end = len(text) - 1 if text.endswith("\\") and not text.endswith("\\\\") else len(text)
        for found in _STRUCTURE.finditer(text, 0, end):
            match found[0]:
                case '"':
                    self._quoted = not self._quoted
                case "{" if not self._quoted:
                    self._depth += 1
                case "}" if not self._quoted:
                    self._depth -= 1
                    if self._depth == 0:
                        self._kind = "over"
                        end = found.end()
                        break
                case _:
                    pass
        self._builder.tool("call", arguments=text[:end])
        self._rest = text[end:]
