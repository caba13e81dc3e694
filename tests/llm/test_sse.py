"""Server-sent events in any pieces."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marvin_agent.llm.sse import EventStream
from marvin_agent.llm.values import ServerSentEvent

LINES = st.one_of(
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["data", "event", "id", "retry", "dataset", ""]),
        st.sampled_from([":", ": ", ":  ", ""]),
        st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=6),
    ),
    st.just(""),
)
STREAMS = st.tuples(
    st.sampled_from(["", "\ufeff"]), st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n", "\r"])), max_size=14)
).map(lambda made: made[0] + "".join(line + end for line, end in made[1]))


def read_whole(text: str) -> list[ServerSentEvent]:
    """The specification, word by word, over the whole text; the last event counts without its blank line too."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n") + "\n\n"
    found, name, data = [], "", []
    for line in text.split("\n"):
        if not line:
            if data:
                found.append(ServerSentEvent(event=name or "message", data="\n".join(data)))
            name, data = "", []
            continue
        field, colon, value = line.partition(":")
        if colon and value.startswith(" "):
            value = value[1:]
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
    return found


def read(pieces: list[bytes]) -> list[ServerSentEvent]:
    stream = EventStream()
    return [event for piece in pieces for event in stream.feed(piece)] + stream.end()


@settings(deadline=None)
@given(STREAMS, st.data())
def test_any_split_gives_what_the_whole_text_gives(text: str, data: st.DataObject):
    raw = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    pieces = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert read(pieces) == read_whole(text)


@settings(deadline=None)
@given(STREAMS)
def test_byte_by_byte_gives_what_the_whole_text_gives(text: str):
    raw = text.encode()
    assert read([raw[at : at + 1] for at in range(len(raw))]) == read_whole(text)


@pytest.mark.parametrize(
    ("raw", "events"),
    [
        (b"data: a\n\n", [("message", "a")]),
        (b"data:a\n\n", [("message", "a")]),
        (b"data\n\n", [("message", "")]),
        (b"event: x\ndata: a\n\n", [("x", "a")]),
        (b"data: a\ndata: b\n\n", [("message", "a\nb")]),
        (b": comment\n\ndata: a\n\n", [("message", "a")]),
        (b"event: x\n\ndata: a\n\n", [("message", "a")]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", [("message", "a"), ("message", "b"), ("message", "c")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("message", "a")]),
        (b"data: last", [("message", "last")]),
        (b'error: {"code":500}\n\n', [("error", '{"code":500}')]),
        (b"data: \xff\n\n", [("message", "\ufffd")]),
        (b"", []),
    ],
)
def test_streams(raw: bytes, events: list[tuple[str, str]]):
    assert [(event.event, event.data) for event in read([raw])] == events


def test_an_event_is_given_as_soon_as_its_blank_line_is_there():
    stream = EventStream()
    assert stream.feed(b"data: a\r\n\r") == [ServerSentEvent(event="message", data="a")]
    assert stream.feed(b"\n") == []
    assert stream.feed(b"data: b\n") == []
    assert stream.feed(b"\n") == [ServerSentEvent(event="message", data="b")]


def test_one_event_of_many_megabytes_is_not_copied_for_every_piece():
    stream = EventStream()
    piece = b"x" * 16_384
    stream.feed(b"data: ")
    for _ in range(2_000):
        assert stream.feed(piece) == []
    (event,) = stream.feed(b"\n\n")
    assert len(event.data) == 2_000 * 16_384
