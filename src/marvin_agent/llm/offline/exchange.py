"""What happens on the connection when a script answers one request: the bytes, the pauses and how it ends."""

from typing import Literal

import msgspec

from marvin_agent.llm.offline.dialects.dialect import Asked, Dialect, Streamed
from marvin_agent.llm.offline.reply import Fault
from marvin_agent.llm.offline.script import Exhausted, Script

_GARBAGE = b'data: {"choices":[{"index":0,"delta":{"content":\n\n'


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, ready to be played."""

    delay: float = 0.0
    """Seconds before anything happens."""
    status: int = 200
    headers: dict[str, str] = {}
    chunks: list[bytes]
    chunk_delay: float = 0.0
    """Seconds before each chunk but the first."""
    ending: Literal["end", "refuse", "cut", "silence"] = "end"
    """`refuse`: no answer at all; `cut`: the connection breaks; `silence`: nothing more comes, and no end either."""


def answer(script: Script, dialect: Dialect, asked: Asked) -> Exchange:
    """The next reply of the script as this dialect's server would send it."""
    try:
        taken = script.take(dialect.last_text(asked), asked.size)
    except Exhausted as error:
        return _whole(400, dialect.error(400, str(error)))
    delay = taken.reply.delay_ms / 1000
    fault = taken.fault
    match fault:
        case Fault(kind="status"):
            return _refused(fault, dialect, delay)
        case Fault(kind="connect"):
            return Exchange(delay=delay, chunks=[], ending="refuse")
        case _ if not dialect.wants_stream(asked):
            return _whole(200, dialect.whole(taken.answer, asked), delay, taken.answer.number)
    streamed = dialect.streamed(taken.answer, asked)
    ending: Literal["end", "cut", "silence"] = "end"
    if fault and (fault.kind == "cut" or fault.kind == "silence"):
        ending = fault.kind
    return Exchange(
        delay=delay,
        headers=_headers("text/event-stream; charset=utf-8", taken.answer.number),
        chunks=_chunks(streamed, fault, dialect),
        chunk_delay=taken.reply.chunk_delay_ms / 1000,
        ending=ending,
    )


def _chunks(streamed: Streamed, fault: Fault | None, dialect: Dialect) -> list[bytes]:
    head, pieces, end = streamed.head, streamed.pieces, streamed.end
    if fault is None:
        # An end of its own would be one more pause after the last word.
        return [head, *pieces, end] if head else [*pieces, end]
    place = fault.after_chunks
    if place is None:
        place = len(pieces) if fault.kind == "noEnd" else 1
    kept = [head, *pieces[:place]] if head else pieces[:place]
    match fault.kind:
        case "errorEvent":
            return [*kept, dialect.error_event(fault.message or "The scripted server is overloaded")]
        case "garbage":
            return [*kept, _GARBAGE, *pieces[place:], end]
        case _:
            return kept


def _refused(fault: Fault, dialect: Dialect, delay: float) -> Exchange:
    status = fault.status or 500
    match fault.body:
        case msgspec.UNSET:
            body = dialect.error(status, fault.message or f"Scripted error {status}")
        case str(text):
            body = text.encode()
        case value:
            body = msgspec.json.encode(value)
    exchange = _whole(status, body, delay)
    if fault.retry_after is not None:
        exchange.headers["retry-after"] = f"{fault.retry_after:g}"
    return exchange


def _whole(status: int, body: bytes, delay: float = 0.0, number: int = 0) -> Exchange:
    return Exchange(delay=delay, status=status, headers=_headers("application/json", number), chunks=[body])


def _headers(content_type: str, number: int) -> dict[str, str]:
    request_id = f"req_{number}"
    # Each vendor has its own name for it.
    return {"content-type": content_type, "x-request-id": request_id, "request-id": request_id}
