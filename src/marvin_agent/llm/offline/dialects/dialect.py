"""What a dialect is: the server's side of one wire."""

from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from marvin_agent.llm.offline.answer import Answer

encode = msgspec.json.Encoder().encode


class Asked:
    """A request as the server sees it: the path and the decoded body."""

    __slots__ = ("body", "path", "size")

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.size = len(data)
        try:
            body = msgspec.json.decode(data) if data else {}
        except msgspec.DecodeError:
            body = {}
        self.body: dict[str, Any] = body if isinstance(body, dict) else {}

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return str(self.body.get("model") or "scripted")


class Streamed:
    """A streamed answer: what comes first, one entry for each piece of text, thinking or arguments, and the end."""

    __slots__ = ("end", "head", "pieces")

    def __init__(self, head: bytes, pieces: list[bytes], end: bytes) -> None:
        self.head = head
        self.pieces = pieces
        self.end = end


class Dialect(Protocol):
    """The server's side of a wire."""

    def last_text(self, asked: Asked) -> str:
        """The last text of the user or of a tool: what `match` looks at."""
        ...

    def wants_stream(self, asked: Asked) -> bool: ...

    def streamed(self, answer: Answer, asked: Asked) -> Streamed: ...

    def whole(self, answer: Answer, asked: Asked) -> bytes:
        """The answer to a request that did not ask for a stream."""
        ...

    def error(self, status: int, message: str) -> bytes:
        """The body of an answer that is an error."""
        ...

    def error_event(self, message: str) -> bytes:
        """What an overloaded server sends in the middle of a stream."""
        ...


def event(name: str, value: object) -> bytes:
    """A server-sent event with a name, as Anthropic and OpenAI's responses send it."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), encode(value))


def texts(content: Any) -> Iterator[str]:
    """The texts in a message's content: a string, or parts that have a `text`."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict):
                text = part.get("text")
                yield text if isinstance(text, str) else "".join(texts(part.get("content")))
