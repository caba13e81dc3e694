"""What the conversation of the terminal app costs: streaming into it, opening a long session, scrolling through that.

Times are CPU time of this process, so that a busy machine does not show; `python -m benchmarks.tui_stream`.
"""

import asyncio
import gc
import random
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from textual.app import App, ComposeResult

from marvin_agent.frontends.tui.conversation.view import ConversationView
from marvin_agent.llm.values import TextDelta
from marvin_agent.messages import AssistantMessage, Message, Text, ToolCall, ToolResultMessage, raw, user

TOKENS = 20_000
SESSION = 5_000
A_FRAME_EVERY = 20
"""Tokens between two frames: a model that writes 600 tokens a second, 30 frames."""


class Bench(App[None]):
    def compose(self) -> ComposeResult:
        yield ConversationView()


class Frames:
    """Appends tokens and paints frames; measures each."""

    def __init__(self, app: Bench) -> None:
        self._view = app.query_one(ConversationView)
        self._app = app
        self.appends: list[float] = []
        self.frames: list[float] = []

    async def stream(self, tokens: Iterator[str]) -> None:
        view = self._view
        view.begin_answer()
        for number, token in enumerate(tokens):
            self.appends.append(timed(lambda token=token: view.grow(TextDelta(index=0, text=token))))
            if number % A_FRAME_EVERY == 0:
                self.frames.append(timed(self._paint))
                if number % 1000 == 0:
                    await asyncio.sleep(0)

    def _paint(self) -> None:
        self._view.frame()
        self._app.screen._compositor.render_strips()


def timed(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def prose(count: int) -> Iterator[str]:
    """An answer as models write them: headings, lists, tables and fences."""
    rng = random.Random(7)
    words = ("the **loop** reads `state` from [here](http://example.org/x) and writes", "it back when", "nobody waits")
    made = 0
    while made < count:
        made += 1
        match rng.randrange(12):
            case 0:
                piece = "\n\n## A heading\n\n"
            case 1:
                piece = "\n\n- one\n- two **bold**\n  - nested\n\n"
            case 2:
                piece = "\n\n```python\ndef work(state):\n    return [x for x in state if x]\n```\n\n"
            case 3:
                piece = "\n\n| a | b |\n|---|---|\n| 1 | `two` |\n\n"
            case _:
                piece = " ".join(rng.choices(words, k=15)) + ". "
        for token in _tokens(piece):
            yield token
            made += 1


def fence(lines: int) -> Iterator[str]:
    yield "```python\n"
    for number in range(lines):
        yield from _tokens(f"    value_{number} = compute(state, {number}) if state else None  # a comment\n", 18)


def table(rows: int) -> Iterator[str]:
    yield "| name | value | what |\n|---|---|---|\n"
    for number in range(rows):
        yield from _tokens(f"| row {number} | `{number * 7}` | some words about this row |\n")


def paragraph(count: int) -> Iterator[str]:
    for number in range(count):
        yield f"word{number} "


def items(count: int) -> Iterator[str]:
    for number in range(count):
        yield from _tokens(f"{number}. an item with **some** words\n")


def _tokens(text: str, size: int = 4) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def session(count: int) -> list[Message]:
    """A long session: questions, answers with code, tool calls and their output."""
    messages: list[Message] = []
    while len(messages) < count:
        number = len(messages)
        call = ToolCall(id=f"c{number}", name="bash", arguments=raw({"command": f"pytest tests/test_{number}.py"}))
        answer = "".join(token for _, token in zip(range(120), prose(200), strict=False))
        facts = {"api": "a", "provider": "p", "model": "m"}
        messages += [
            user(f"Question {number}: why does it fail?"),
            AssistantMessage(content=(Text(text="I look."), call), stop_reason="toolUse", **facts),
            ToolResultMessage(
                tool_call_id=call.id,
                tool_name="bash",
                content=(Text(text="line of output\n" * 40),),
                is_error=False,
            ),
            AssistantMessage(content=(Text(text=answer),), stop_reason="stop", **facts),
        ]
    return messages[:count]


def settle_memory() -> None:
    """What is there before, Textual and the test's own, does not count as garbage to be looked for in every frame."""
    gc.collect()
    gc.freeze()


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"


async def streams() -> None:
    texts: dict[str, Callable[[], Iterator[str]]] = {
        "prose": lambda: prose(TOKENS),
        "fence of 5,000 lines": lambda: fence(5_000),
        "one paragraph": lambda: paragraph(TOKENS),
        "table of 2,000 rows": lambda: table(2_000),
        "list of 3,000 items": lambda: items(3_000),
    }
    for name, text in texts.items():
        app = Bench()
        async with app.run_test(size=(100, 40)):
            frames = Frames(app)
            settle_memory()
            start = time.process_time()
            await frames.stream(text())
            total = time.process_time() - start
            appends, painted = frames.appends, frames.frames
            few = max(len(painted) // 20, 1)
            print(
                f"{name}: {len(appends)} tokens, {total:.2f} s CPU; "
                f"a thousand appends {ms(sum(appends[:1000]))}, the last thousand {ms(sum(appends[-1000:]))}, "
                f"one at most {ms(max(appends))}; a frame {ms(median(painted[few : 2 * few]))}, "
                f"at the end {ms(median(painted[-few:]))}, at most {ms(max(painted))}"
            )


async def opening() -> None:
    messages = session(SESSION)
    app = Bench()
    async with app.run_test(size=(100, 40)):
        view = app.query_one(ConversationView)

        def paint() -> None:
            view.frame()
            app.screen._compositor.render_strips()

        settle_memory()
        opened = timed(lambda: (view.load(messages), paint()))
        pages = [timed(lambda: (view.action_page(-1), paint())) for _ in range(300)]
        jump = timed(lambda: (view.action_top(), paint()))
        found = timed(lambda: view.search("Question 2500"))
        common = timed(lambda: view.search("heading"))
        print(
            f"session of {SESSION} messages: opened in {ms(opened)}; 300 pages up: max {ms(max(pages))}, "
            f"mean {ms(sum(pages) / len(pages))}; to the beginning {ms(jump)}; "
            f"search for a rare text {ms(found)}, for a common one {ms(common)}"
        )


def main() -> None:
    asyncio.run(streams())
    asyncio.run(opening())


if __name__ == "__main__":
    main()
