"""Where in a JSON text each key stands, and what exactly is wrong with a text that is not JSON.

Loaded only when somebody asks for a line, or something is wrong.
"""

import re

import msgspec

from marvin_agent.jsonfile import MAX_DEPTH, JsonPath

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z0-9_$.+-]+")
_COMMENTS = ("//", "/*", "#")
_LITERALS = ("true", "false", "null")
_NOT_QUITE = {"True": "true", "False": "false", "None": "null", "undefined": "null", "TRUE": "true", "FALSE": "false"}


class Malformed(Exception):
    """The text is not JSON: where, why and what to do."""

    def __init__(self, offset: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message
        self.hint = hint


class Positions:
    """The offset of each key and element of a JSON text, and of each key that stands there twice."""

    __slots__ = ("duplicates", "malformed", "offsets", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.offsets: dict[JsonPath, int] = {(): _skip(text, 0)}
        self.duplicates: list[tuple[JsonPath, int]] = []
        self.malformed: Malformed | None = None
        """What is wrong with the text; positions after it are not known."""
        try:
            self._document()
        except Malformed as malformed:
            self.malformed = malformed

    def line_at(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def line_of(self, path: JsonPath) -> int:
        """The line of a key or element; where there is none, of the innermost thing around it."""
        while path not in self.offsets:
            path = path[:-1]
        return self.line_at(self.offsets[path])

    def _document(self) -> None:
        text = self.text
        end = _skip(text, self._value((), _skip(text, 0)))
        if end < len(text):
            if text.startswith(_COMMENTS, end):
                raise _comment(end)
            raise Malformed(end, f"{_seen(text, end)} after the end of the value", "Remove what follows it.")

    def _value(self, path: JsonPath, at: int) -> int:
        text = self.text
        if len(path) > MAX_DEPTH:
            raise Malformed(at, f"nested deeper than {MAX_DEPTH} levels")
        match text[at : at + 1]:
            case "{":
                return self._object(path, at)
            case "[":
                return self._array(path, at)
            case '"':
                return _string_end(text, at)
        if number := _NUMBER.match(text, at):
            end = number.end()
            if rest := _WORD.match(text, end):
                raise Malformed(at, f"{text[at : rest.end()]} is not a number in JSON")
            if float(number[0]) in (float("inf"), float("-inf")):
                raise Malformed(at, "a number that is too large")
            return end
        word = _WORD.match(text, at)
        if word and word[0] in _LITERALS:
            return word.end()
        raise _no_value(text, at, word[0] if word else "")

    def _object(self, path: JsonPath, start: int) -> int:
        text = self.text
        at = _skip(text, start + 1)
        if text.startswith("}", at):
            return at + 1
        while True:
            if not text.startswith('"', at):
                raise _no_key(text, start, at)
            end = _string_end(text, at)
            key = (*path, str(msgspec.json.decode(text[at:end].encode())))
            if key in self.offsets:
                self.duplicates.append((key, at))
            else:
                self.offsets[key] = at
            colon = _skip(text, end)
            if not text.startswith(":", colon):
                raise Malformed(end, f"a colon is missing after {text[at:end]}")
            end = self._value(key, _skip(text, colon + 1))
            at = _skip(text, end)
            if text.startswith("}", at):
                return at + 1
            at = self._comma(start, end, at)

    def _array(self, path: JsonPath, start: int) -> int:
        text = self.text
        at = _skip(text, start + 1)
        if text.startswith("]", at):
            return at + 1
        index = 0
        while True:
            item = (*path, index)
            self.offsets[item] = at
            end = self._value(item, at)
            at = _skip(text, end)
            if text.startswith("]", at):
                return at + 1
            at = self._comma(start, end, at)
            if text.startswith("]", at):
                raise Malformed(at, "a comma before ]", "Remove the comma.")
            index += 1

    def _comma(self, start: int, end: int, at: int) -> int:
        text = self.text
        if text.startswith(",", at):
            return _skip(text, at + 1)
        if at >= len(text):
            raise _unclosed(text, start)
        if text.startswith(_COMMENTS, at):
            raise _comment(at)
        raise Malformed(end, f"a comma is missing before {_seen(text, at)}")


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    assert space is not None
    return space.end()


def _string_end(text: str, at: int) -> int:
    string = _STRING.match(text, at)
    if string is None:
        stop = next((i for i in range(at + 1, len(text)) if text[i] < " "), len(text))
        if text.startswith("\t", stop):
            raise Malformed(stop, "a tab inside a string", "Write it as \\t.")
        raise Malformed(at, "a string is not closed", 'End it with ".')
    try:
        msgspec.json.decode(string[0].encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise Malformed(at, "a string with an escape that JSON does not know", "A backslash is \\\\.") from None
    return string.end()


def _seen(text: str, at: int) -> str:
    """What stands there, short enough to quote; of a string, only that it is one, for it may be a secret."""
    if at >= len(text):
        return "the end of the file"
    if text[at] == '"':
        return "a string"
    word = _WORD.match(text, at)
    return word[0][:30] if word else repr(text[at])[1:-1]


def _no_value(text: str, at: int, word: str) -> Malformed:
    if word in _NOT_QUITE:
        return Malformed(at, f"{word} is not JSON", f"Write {_NOT_QUITE[word]}.")
    if word.lstrip("+-") in ("NaN", "Infinity"):
        return Malformed(at, f"{word} is not JSON", "JSON has no such number.")
    if at >= len(text):
        return Malformed(at, "the file ends where a value should be", "An empty configuration is {}.")
    if text.startswith(_COMMENTS, at):
        return _comment(at)
    if text[at] in "'`":
        return Malformed(at, "a string needs double quotes")
    return Malformed(
        at, f"{_seen(text, at)} where a value should be", "A string needs double quotes." if word else None
    )


def _no_key(text: str, start: int, at: int) -> Malformed:
    if at >= len(text):
        return _unclosed(text, start)
    if text[at] == "}":
        return Malformed(at, "a comma before }", "Remove the comma.")
    if text.startswith(_COMMENTS, at):
        return _comment(at)
    return Malformed(at, f"{_seen(text, at)} where a key should be", "A key needs double quotes.")


def _comment(at: int) -> Malformed:
    return Malformed(at, "a comment, which JSON does not have", "Remove it.")


def _unclosed(text: str, start: int) -> Malformed:
    closing = "}" if text[start] == "{" else "]"
    return Malformed(start, f"{text[start]} is not closed: the file ends first", f"Add {closing} where it belongs.")
