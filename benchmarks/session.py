"""How long a session takes to open, and whether an append costs the same in a long one."""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable

from marvin_agent.messages import AssistantMessage, Message, Text, ToolCall, ToolResultMessage, Usage, raw, user
from marvin_agent.session.entries import MessageEntry, encode_line
from marvin_agent.session.index import list_sessions
from marvin_agent.session.store import Session

GOAL = 1.0
"""Seconds to open a session of 100,000 entries."""


def message(number: int) -> Message:
    match number % 4:
        case 0:
            return user(f"Question {number}: " + "why does this test fail? " * 10)
        case 1:
            call = ToolCall(id=f"call_{number}", name="bash", arguments=raw({"command": "pytest -x", "timeout": 60}))
            return AssistantMessage(
                content=(Text(text="I run the tests. " * 10), call),
                api="local",
                provider="bench",
                model="bench",
                usage=Usage(input=1000, output=100, total_tokens=1100),
                stop_reason="toolUse",
            )
        case 2:
            content = (Text(text="FAILED tests/test_x.py::test_y\n" * 15),)
            return ToolResultMessage(
                tool_call_id=f"call_{number - 1}", tool_name="bash", content=content, is_error=False
            )
        case _:
            text = (Text(text="It fails since the clock stands still. " * 10),)
            return AssistantMessage(content=text, api="local", provider="bench", model="bench", stop_reason="stop")


def session_of(root: str, count: int) -> str:
    """A session file of so many entries."""
    session = Session.create(root, "/bench")
    first = session.append_message(message(0))
    session.close()
    assert session.path is not None
    parent = first.id
    with open(session.path, "ab") as file:
        for number in range(1, count):
            entry_id = f"{number:08x}"
            entry = MessageEntry(id=entry_id, parent_id=parent, timestamp=first.timestamp, message=message(number))
            file.write(encode_line(entry) + b"\n")
            parent = entry_id
    return session.path


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def append_microseconds(path: str) -> float:
    """The median append, with the model's context asked for after each, as the loop does it."""
    session = Session.open(path)
    session.append_message(message(0))
    session.messages()
    times = []
    for number in range(300):
        stored = message(number)
        times.append(seconds(lambda stored=stored: session.append_message(stored)))
    session.close()
    return statistics.median(times) * 1e6


def main() -> int:
    with tempfile.TemporaryDirectory() as root:
        path = session_of(root, 100_000)
        opening = []
        for _ in range(5):
            start = time.perf_counter()
            session = Session.open(path)
            opened = time.perf_counter() - start
            count = len(session.messages())
            context = time.perf_counter() - start - opened
            session.close()
            opening.append((opened, context))
            assert count == 100_000
        opened, context = min(opening)
        print(f"open 100,000 entries: {opened:.3f} s (goal {GOAL:.0f} s), context {context:.3f} s")
        long = append_microseconds(path)
        short = append_microseconds(session_of(root, 10))
        print(f"append: {long:.0f} us after 100,000 entries, {short:.0f} us after 10: ratio {long / short:.2f}")
        listing = seconds(lambda: list_sessions(root))
        print(f"list two sessions, one of 100,000 entries: {listing:.3f} s")
    return 0 if opened < GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
