"""JSON that is still being written, read as far as it goes: tool arguments to show while they stream."""

import re
from typing import Any

from marvin_agent.llm.lenient import load_json
from marvin_agent.messages import clean_value

_PIECE = r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}:,]|[^\s\[\]{}:,"]+'
_LAST_ESCAPE = r"(\\+)(?:u[0-9a-fA-F]{0,3})?\Z"
_NUMBER = r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?"
_CLOSER = {"{": "}", "[": "]"}


def parse_partial(text: str) -> dict[str, Any]:
    """The object as far as it has come: strings that are not closed yet as they are, keys without a value left out.

    What is no JSON object gives an empty one. It reads the whole text each time: call it as often as a screen is drawn,
    not for every delta.
    """
    try:
        value = load_json(text)
    except ValueError:
        try:
            value = load_json(_completed(text))
        except ValueError:
            return {}
    cleaned = clean_value(value)
    return cleaned if isinstance(cleaned, dict) else {}


def _completed(text: str) -> str:
    """The text up to the last place where closing all that is open makes it whole, and the closers."""
    stack: list[str] = []
    whole, tail = 0, ""
    wants_value = True
    for match in re.finditer(_PIECE, text, re.DOTALL):
        piece = match.group()
        match piece[0]:
            case "{" | "[":
                stack.append(piece)
                whole, tail = match.end(), ""
                wants_value = piece == "["
            case "}" | "]":
                if stack:
                    stack.pop()
                whole, tail = match.end(), ""
                wants_value = False
            case ":":
                wants_value = True
            case ",":
                wants_value = bool(stack) and stack[-1] == "["
            case _ if wants_value:
                finished = _finished(piece)
                if finished is not None:
                    whole, tail = match.start(), finished
                wants_value = False
            case _:
                pass  # a key, which counts when its value begins
    return text[:whole] + tail + "".join(_CLOSER[opened] for opened in reversed(stack))


def _finished(piece: str) -> str | None:
    """A string, number or word that may be cut off, as one that is whole; None when nothing can be made of it."""
    if piece[0] == '"':
        return _finished_string(piece)
    for word in ("true", "false", "null"):
        if word.startswith(piece):
            return word
    number = re.match(_NUMBER, piece)
    return number.group() if number else None


def _finished_string(piece: str) -> str:
    body = piece[1:-1]
    if len(piece) > 1 and piece[-1] == '"' and (len(body) - len(body.rstrip("\\"))) % 2 == 0:
        return piece
    escape = re.search(_LAST_ESCAPE, piece)
    if escape and len(escape.group(1)) % 2:
        piece = piece[: escape.end(1) - 1]
    return piece + '"'
