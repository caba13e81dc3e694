"""Server-sent events from bytes that arrive in any pieces."""

from marvin_agent.llm.values import ServerSentEvent

_BOM = b"\xef\xbb\xbf"


class EventStream:
    """Feed it chunks, it gives the events that became complete. Comments, ids and retry times are dropped."""

    def __init__(self) -> None:
        self._tail: list[bytes] = []
        self._carriage_return = False
        self._beginning = True

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        if b"\r" in chunk or self._carriage_return:
            chunk = self._normal(chunk)
        tail = self._tail
        if b"\n\n" not in chunk and not (chunk[:1] == b"\n" and tail and tail[-1][-1:] == b"\n"):
            if chunk:
                tail.append(chunk)
            return []
        if tail:
            tail.append(chunk)
            chunk = b"".join(tail)
        *blocks, rest = chunk.split(b"\n\n")
        self._tail = [rest] if rest else []
        if self._beginning:
            self._beginning = False
            blocks[0] = blocks[0].removeprefix(_BOM)
        return _events(blocks)

    def end(self) -> list[ServerSentEvent]:
        """The last event, when the server closed the connection without the blank line after it."""
        block = b"".join(self._tail)
        self._tail = []
        return _events([block.removeprefix(_BOM) if self._beginning else block])

    def _normal(self, chunk: bytes) -> bytes:
        """The chunk with each line end as a line feed; one that is cut between `\\r` and `\\n` counts once."""
        if self._carriage_return and chunk[:1] == b"\n":
            chunk = chunk[1:]
            if not chunk:
                self._carriage_return = False
                return chunk
        elif not chunk:
            return chunk
        self._carriage_return = chunk[-1:] == b"\r"
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _events(blocks: list[bytes]) -> list[ServerSentEvent]:
    events = []
    for block in blocks:
        if block[:6] == b"data: " and b"\n" not in block:
            events.append(ServerSentEvent(event="message", data=block[6:].decode("utf-8", "replace")))
        elif (event := _event(block)) is not None:
            events.append(event)
    return events


def _event(block: bytes) -> ServerSentEvent | None:
    name = "message"
    data: list[str] = []
    for line in block.decode("utf-8", "replace").split("\n"):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "data":
                data.append(value)
            case "event":
                name = value or "message"
            case "error":
                # llama.cpp has called the field so.
                name = "error"
                data.append(value)
            case _:
                pass
    return ServerSentEvent(event=name, data="\n".join(data)) if data else None
