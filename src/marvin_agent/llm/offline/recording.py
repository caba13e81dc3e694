"""The form of a recording: JSON lines, a header and then what went over the wire, in the order in which it went.

Exchanges that run at the same time are told apart by `exchange`, which counts requests from 1. `at` is in milliseconds
since the request was sent. A line is written whole, at once: a run that is killed keeps what it has.
"""

import base64
from typing import Any, Literal, TypeAlias

import msgspec

from marvin_agent.errors import ConfigError, UsageError
from marvin_agent.messages import Value

VERSION = 1


class Header(Value, tag="recording"):
    """The first line."""

    version: int = VERSION
    created: str = ""
    cwd: str = ""
    """Where the run worked: a replay elsewhere knows that paths under it are the same."""


class RecordedRequest(Value, tag="request"):
    exchange: int
    url: str
    headers: dict[str, str]
    body: Any
    """Decoded; the text when it was not JSON."""


class RecordedHead(Value, tag="response"):
    exchange: int
    at: float
    status: int
    headers: dict[str, str]


class RecordedChunk(Value, tag="chunk"):
    """Some bytes of the body, as they came: `text` when they are UTF-8 by themselves, else `base64`."""

    exchange: int
    at: float
    text: str | msgspec.UnsetType = msgspec.UNSET
    base64: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def data(self) -> bytes:
        if isinstance(self.text, str):
            return self.text.encode()
        return base64.b64decode(self.base64) if isinstance(self.base64, str) else b""


class RecordedEnd(Value, tag="end"):
    """How an exchange ended: the body was whole, it broke with an error, or marvin read no further."""

    exchange: int
    at: float
    how: Literal["complete", "network", "silence", "left"]
    message: str = ""


Line: TypeAlias = Header | RecordedRequest | RecordedHead | RecordedChunk | RecordedEnd


def decoded_body(body: bytes) -> Any:
    """The body of a request as a recording has it: decoded, or the text when it is not JSON."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body.decode("utf-8", "replace")


def chunk_line(exchange: int, at: float, data: bytes) -> RecordedChunk:
    """The line of a chunk."""
    try:
        return RecordedChunk(exchange=exchange, at=at, text=data.decode())
    except UnicodeDecodeError:
        return RecordedChunk(exchange=exchange, at=at, base64=base64.b64encode(data).decode())


class Recorded:
    """One exchange of a recording. `first` and `last` are the lines of the file that it spans."""

    __slots__ = ("chunks", "end", "first", "head", "last", "request")

    def __init__(self, request: RecordedRequest, line: int) -> None:
        self.request = request
        self.head: RecordedHead | None = None
        self.chunks: list[RecordedChunk] = []
        self.end: RecordedEnd | None = None
        """None when the recorded run was stopped before the end."""
        self.first = self.last = line


class Recording:
    """A recording that was read."""

    __slots__ = ("exchanges", "header", "path")

    def __init__(self, path: str, header: Header, exchanges: list[Recorded]) -> None:
        self.path = path
        self.header = header
        self.exchanges = exchanges

    @classmethod
    def load(cls, path: str) -> "Recording":
        """The recording in a file. A last line that was torn is left out, and its exchange has no end; whatever else is
        wrong is a ConfigError with its line, and a file that cannot be read a UsageError."""
        try:
            with open(path, "rb") as file:
                lines = file.read().split(b"\n")
        except OSError as error:
            raise UsageError(f"The recording {path} cannot be read: {error.strerror}") from None
        # What follows the last line end is nothing, or a line that nobody finished.
        complete = lines[:-1]
        if not complete:
            raise ConfigError("This is not a recording: it is empty", file=path)
        header = _header(path, complete[0])
        exchanges: dict[int, Recorded] = {}
        for number, data in enumerate(complete[1:], 2):
            _add(path, number, _line(path, number, data), exchanges)
        return cls(path, header, list(exchanges.values()))


_decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def _header(path: str, data: bytes) -> Header:
    try:
        first = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        first = None
    match first:
        case {"type": "recording", "version": int(version)} if version != VERSION:
            raise ConfigError(f"This marvin plays recordings of version {VERSION}, not {version}", file=path, line=1)
        case {"type": "recording", "version": int()}:
            return msgspec.convert(first, Header)
        case _:
            raise ConfigError(
                "This is not a recording: it does not begin as one", file=path, line=1, hint="--record makes one."
            )


def _line(path: str, number: int, data: bytes) -> Line:
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The recording is damaged: {error}", file=path, line=number, hint="Record the conversation again."
        ) from None


def _add(path: str, number: int, line: Line, exchanges: dict[int, Recorded]) -> None:
    match line:
        case RecordedRequest():
            exchanges[line.exchange] = Recorded(line, number)
            return
        case Header():
            raise ConfigError("The recording is damaged: a second header", file=path, line=number)
    exchange = exchanges.get(line.exchange)
    if exchange is None:
        raise ConfigError(
            f"The recording is damaged: there is no request {line.exchange} before this line", file=path, line=number
        )
    exchange.last = number
    match line:
        case RecordedHead():
            exchange.head = line
        case RecordedChunk():
            exchange.chunks.append(line)
        case RecordedEnd():
            exchange.end = line
