"""A reply made ready for a wire: text cut into pieces and each piece encoded once, ids given, usage filled in."""

import re
from typing import Any

import msgspec

from marvin_agent.llm.offline.reply import Reply, ReplyStop, ScriptedUsage

_WORD = re.compile(r"\s*\S+|\s+$")
_encode = msgspec.json.Encoder().encode


class AnswerCall:
    """A tool call with its id and the pieces of its arguments."""

    __slots__ = ("arguments", "id", "name", "pieces")

    def __init__(self, call_id: str, name: str, arguments: str, pieces: tuple[bytes, ...]) -> None:
        self.id = call_id
        self.name = name
        self.arguments = arguments
        self.pieces = pieces

    @property
    def decoded(self) -> dict[str, Any] | None:
        """The arguments, or None when their text is not a JSON object."""
        try:
            value = msgspec.json.decode(self.arguments)
        except msgspec.DecodeError:
            return None
        return value if isinstance(value, dict) else None


class Pieces:
    """The texts of a reply, cut up as they will be streamed: each piece is a JSON string, quotes included."""

    __slots__ = ("calls", "text", "thinking")

    def __init__(self, reply: Reply) -> None:
        size = reply.chunk if isinstance(reply.chunk, int) else None
        self.text = _encoded(reply.chunk if isinstance(reply.chunk, tuple) else cut(reply.text, size))
        self.thinking = _encoded(cut(reply.thinking, size))
        arguments = [
            _encode(call.arguments).decode() if call.raw_arguments is None else call.raw_arguments
            for call in reply.tool_calls
        ]
        self.calls = [(text, _encoded(cut(text, size)) or (b'""',)) for text in arguments]


class Answer:
    """What a dialect renders. `number` counts the answers of a script from 1; ids are made of it."""

    __slots__ = ("calls", "number", "stop_reason", "text", "text_pieces", "thinking", "thinking_pieces", "usage")

    def __init__(self, reply: Reply, pieces: Pieces, number: int, asked: int) -> None:
        self.number = number
        self.text = reply.text or ("".join(reply.chunk) if isinstance(reply.chunk, tuple) else "")
        self.thinking = reply.thinking
        self.text_pieces = pieces.text
        self.thinking_pieces = pieces.thinking
        self.calls = [
            AnswerCall(call.id or f"call_{number}_{index}", call.name, text, cut_up)
            for index, (call, (text, cut_up)) in enumerate(zip(reply.tool_calls, pieces.calls, strict=True))
        ]
        self.stop_reason: ReplyStop = reply.stop_reason or ("toolUse" if reply.tool_calls else "stop")
        self.usage = self._estimate(asked) if reply.usage is msgspec.UNSET else reply.usage

    @property
    def reasoning_tokens(self) -> int:
        """The part of the output that was thinking."""
        return min(len(self.thinking_pieces), self.usage.output) if self.usage else 0

    def _estimate(self, asked: int) -> ScriptedUsage:
        pieces = len(self.text_pieces) + len(self.thinking_pieces) + sum(len(call.pieces) for call in self.calls)
        return ScriptedUsage(input=max(1, asked // 4), output=max(1, pieces))


def cut(text: str, size: int | None) -> tuple[str, ...]:
    """The text in pieces of `size` characters, or of a word with the space before it."""
    if size is None:
        return tuple(_WORD.findall(text))
    return tuple(text[start : start + size] for start in range(0, len(text), size))


def _encoded(pieces: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(_encode(piece) for piece in pieces)
