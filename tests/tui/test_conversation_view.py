"""The conversation on the screen: what is told to it is seen, followed, opened, selected, found."""

import asyncio
import cProfile
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import UNSET
from rich.panel import Panel
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.theme import BUILTIN_THEMES
from textual.widgets import Button, Static

from marvin_agent.agent import events as out
from marvin_agent.frontends.tui.conversation.palette import STYLES, Palette
from marvin_agent.frontends.tui.conversation.view import ConversationView
from marvin_agent.llm.values import TextDelta, ThinkingDelta, ToolCallDelta
from marvin_agent.messages import (
    AssistantMessage,
    HookMessage,
    Image,
    Message,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    raw,
    user,
)
from marvin_agent.tools.diff import unified
from tui.screen import lines, matches_snapshot


class Shown(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.selected: list[str] = []

    def compose(self) -> ComposeResult:
        yield ConversationView()

    @property
    def view(self) -> ConversationView:
        return self.query_one(ConversationView)

    def on_conversation_view_selected(self, event: ConversationView.Selected) -> None:
        self.selected.append(event.text)


async def painted(app: Shown, pilot: Pilot[None]) -> list[str]:
    await pilot.pause()
    app.view.frame()
    await pilot.pause()
    return body(app)


def body(app: Shown) -> list[str]:
    """The lines without the scrollbar."""
    return [line[: app.size.width - 1].rstrip() for line in lines(app)]


async def until(app: Shown, pilot: Pilot[None], true: Callable[[list[str]], bool]) -> list[str]:
    while not true(shown := await painted(app, pilot)):
        await asyncio.sleep(0.01)
    return shown


def answer(*parts: Text | Thinking | ToolCall | str, reason: StopReason = "stop", error: str = "") -> AssistantMessage:
    content = tuple(Text(text=part) if isinstance(part, str) else part for part in parts)
    return AssistantMessage(
        content=content, api="a", provider="p", model="m", stop_reason=reason, error_message=error or UNSET
    )


def call(call_id: str, name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=raw(arguments))


def started(call_id: str, name: str, by: tuple[str, ...] = (), **given: Any) -> out.ToolStarted:
    return out.ToolStarted(tool_call_id=call_id, tool_name=name, input=given, changed_by=by or UNSET)


def ended(
    call_id: str, name: str, text: str, status: Any = "ok", by: tuple[str, ...] = (), **more: Any
) -> out.ToolEnded:
    return out.ToolEnded(
        tool_call_id=call_id, tool_name=name, status=status, content=(Text(text=text),), changed_by=by or UNSET, **more
    )


def work(view: ConversationView) -> None:
    """A run with everything in it."""
    view.add_user(user("Why does [the] test fail?\nIt is \x1b[31mred.", (Image(data="AAAA", mime_type="image/png"),)))
    view.begin_answer()
    view.grow(ThinkingDelta(index=0, text="Let me look at it."))
    view.grow(TextDelta(index=1, text="I **look** at `a.py`"))
    thought, said = (
        Thinking(thinking="Let me look at it."),
        "I **look** at `a.py` 漢字 👩‍👩‍👧:\n\n```py\nx = [1]\n```\n",
    )
    calls = (
        call("1", "read", path="src/a.py"),
        call("2", "bash", command="pytest -x"),
        call("3", "edit", path="src/a.py", oldText="b", newText="B"),
        call("4", "bash", command="rm -rf /"),
        call("5", "grep", pattern="x"),
    )
    view.end_answer(answer(thought, said, *calls, reason="toolUse"))
    view.tool_started(started("1", "read", path="src/a.py"))
    view.tool_started(started("2", "bash", ("redact",), command="pytest -x -q"))
    view.tool_started(started("3", "edit", path="src/a.py", oldText="b", newText="B"))
    view.tool_started(started("4", "bash", ("gate",), command="rm -rf /"))
    view.tool_started(started("5", "grep", pattern="x"))
    facts = {"firstLine": 1, "lastLine": 3, "totalLines": 3}
    view.tool_ended(ended("1", "read", "a\nb\nc", details=facts))
    view.tool_ended(ended("2", "bash", "E   assert [x]\n1 failed\nexit code 1", "error", duration_ms=1500))
    view.tool_ended(ended("3", "edit", "Edited", details={"diff": unified("a\nb\nc\n", "a\nB\nc\n", "src/a.py")}))
    view.tool_ended(ended("4", "bash", "Not run: gate refused the call: too dangerous", "blocked", ("gate",)))
    view.tool_ended(ended("5", "grep", "Interrupted", "aborted"))
    view.notice(out.Notice(level="warning", text="[bold]careful[/bold]", source="gate"))
    view.hook_acted(out.HookActed(hook="gate", event="turn.end", verdict="changed", reason="because"))
    view.hook_message(HookMessage(custom_type="note", content=(Text(text="from a [hook]"),)))
    view.begin_answer()
    view.end_answer(answer("It is mended."), ("redact",))


@pytest.mark.parametrize("width", [80, 60])
async def test_a_run_is_readable(width: int) -> None:
    app = Shown()
    async with app.run_test(size=(width, 60)) as pilot:
        work(app.view)
        await painted(app, pilot)
        assert matches_snapshot(app, __file__, f"run_{width}")


async def test_everything_opens() -> None:
    app = Shown()
    async with app.run_test(size=(80, 80)) as pilot:
        work(app.view)
        for entry in list(app.view.transcript.entries):
            app.view.toggle(entry)
        await painted(app, pilot)
        assert matches_snapshot(app, __file__, "run_opened")


async def test_a_stored_session_looks_as_it_did() -> None:
    live, stored = Shown(), Shown()
    messages: tuple[Message, ...] = (
        user("go"),
        answer(Thinking(thinking="hm"), "I **run** it.", call("1", "bash", command="ls"), reason="toolUse"),
        ToolResultMessage(
            tool_call_id="1", tool_name="bash", content=(Text(text="a\nb"),), is_error=False, status="ok"
        ),
        answer("Done."),
    )
    async with live.run_test(size=(60, 30)) as pilot:
        live.view.add_user(messages[0])  # type: ignore[arg-type]
        live.view.begin_answer()
        for index, delta in enumerate(["hm", "I **run** it."]):
            live.view.grow((ThinkingDelta, TextDelta)[index](index=index, text=delta))
        live.view.grow(ToolCallDelta(index=2, id="1", name="bash", text='{"comm'))
        live.view.end_answer(messages[1])  # type: ignore[arg-type]
        live.view.tool_started(started("1", "bash", command="ls"))
        live.view.tool_ended(ended("1", "bash", "a\nb"))
        live.view.begin_answer()
        live.view.grow(TextDelta(index=0, text="Done."))
        live.view.end_answer(answer("Done."))
        first = await painted(live, pilot)
    async with stored.run_test(size=(60, 30)) as pilot:
        stored.view.load(messages)
        assert await painted(stored, pilot) == first
    assert " ▸ ✓ bash ls (2 lines)" in first


async def test_running_commands_show_the_end_of_their_output() -> None:
    app = Shown()
    async with app.run_test(size=(60, 20)) as pilot:
        app.view.tool_started(started("1", "bash", command="make"))
        for number in range(50):
            app.view.tool_grew(out.ToolUpdated(tool_call_id="1", text=f"line {number}\n"))
        app.view.tool_grew(out.ToolUpdated(tool_call_id="1", text="10 %\r20 %"))
        shown = await painted(app, pilot)
        assert shown[:7] == [" ▸ … bash make", *(f"   line {number}" for number in range(45, 50)), "   20 %"]
        app.view.toggle_last_tool()
        shown = await painted(app, pilot)
        assert shown[-1] == "   20 %" and shown[-16] == "   line 35"
        app.view.tool_grew(out.ToolUpdated(tool_call_id="1", text="\nready\n"))
        assert (await painted(app, pilot))[-2:] == ["   20 %", "   ready"]


async def test_a_call_shows_its_subject_while_its_arguments_are_written() -> None:
    app = Shown()
    async with app.run_test(size=(60, 20)) as pilot:
        app.view.begin_answer()
        for piece in ('{"path": "src/', 'a.py", "content": "', "one\\ntw"):
            app.view.grow(ToolCallDelta(index=0, id="1", name="write", text=piece))
        assert (await painted(app, pilot))[0] == " ▸ … write src/a.py"


async def test_the_end_is_followed_unless_the_reader_scrolled_up() -> None:
    app = Shown()
    async with app.run_test(size=(60, 10)) as pilot:
        view = app.view
        view.begin_answer()
        view.grow(TextDelta(index=0, text="".join(f"line {number}\n\n" for number in range(100))))
        shown = await painted(app, pilot)
        assert shown[-1] == " line 99"
        await pilot.press("pageup")
        held = await painted(app, pilot)
        assert held[-1] != shown[-1]
        view.grow(TextDelta(index=0, text="more\n\nand more\n\n"))
        assert await painted(app, pilot) == held
        await pilot.press("end")
        assert (await painted(app, pilot))[-1] == " and more"
        view.grow(TextDelta(index=0, text="last\n\n"))
        assert (await painted(app, pilot))[-1] == " last"


async def test_a_frame_comes_by_itself() -> None:
    app = Shown()
    async with app.run_test(size=(60, 10)) as pilot:
        app.view.grow(TextDelta(index=0, text="hello"))
        app.view.grow(TextDelta(index=0, text=" world"))
        while body(app)[0] != " hello world":
            await pilot.pause(0.01)


async def test_the_reader_stays_at_the_same_text_when_the_window_changes() -> None:
    app = Shown()
    async with app.run_test(size=(80, 12)) as pilot:
        for number in range(60):
            app.view.add_user(user(f"question {number} " + "words and words " * 20))
        await painted(app, pilot)
        for _ in range(8):
            await pilot.press("pageup")
        shown = await painted(app, pilot)
        first = next(line for line in shown if "question" in line).split("words")[0].strip()
        for width in (60, 100, 40, 80):
            await pilot.resize_terminal(width, 12)
            await until(app, pilot, lambda seen: any(first in line for line in seen))
        assert await painted(app, pilot) == shown


async def test_a_window_that_becomes_larger_in_both_directions_is_filled_to_its_new_width() -> None:
    app = Shown()
    async with app.run_test(size=(40, 8)) as pilot:
        app.view.add_user(user("words and words " * 10))
        await painted(app, pilot)
        await pilot.resize_terminal(160, 30)
        # No frame is asked for: nothing happens in the conversation of somebody who only enlarges his window.
        while not any(len(line) > 100 for line in body(app)):
            await pilot.pause(0.01)


async def test_a_long_session_is_walked_through_without_jumping() -> None:
    """Heights are guessed until they are seen: what was on the screen must only move by the rows scrolled."""
    app = Shown()
    async with app.run_test(size=(60, 20)) as pilot:
        view = app.view
        texts = [
            f"answer {number}\n\n" + "- item\n" * (number % 9) + "word " * (number * 7 % 90) for number in range(300)
        ]
        view.load([message for text in texts for message in (user(text[:12]), answer(text))])
        before = await painted(app, pilot)
        for _ in range(150):
            view.action_page(-1)
            view.refresh()
            after = body(app)
            assert after[-2:] == before[:2]
            before = after
        view.action_top()
        assert "answer 0" in (await painted(app, pilot))[0]


async def test_the_mouse_selects_across_blocks_and_copies_no_decoration() -> None:
    app = Shown()
    async with app.run_test(size=(40, 20)) as pilot:
        app.view.begin_answer()
        text = "> quoted words that are long enough to be wrapped\n\n```\n\tcode()\n```\n- item\n"
        app.view.end_answer(answer(text))
        shown = await painted(app, pilot)
        assert shown[0] == " ▌ quoted words that are long enough to"
        await pilot.mouse_down(ConversationView, offset=(3, 0))
        await pilot.hover(ConversationView, offset=(30, 7))
        await pilot.mouse_up(ConversationView, offset=(30, 7))
        assert app.view.selected_text == "quoted words that are long enough to be wrapped\n\n\tcode()\n\n• item"
        assert app.selected == [app.view.selected_text]
        await pilot.click(ConversationView, offset=(3, 12))
        assert app.view.selected_text == ""


async def test_a_double_click_takes_a_word() -> None:
    app = Shown()
    async with app.run_test(size=(40, 20)) as pilot:
        app.view.end_answer(answer("look at src/a.py, please"))
        await painted(app, pilot)
        await pilot.click(ConversationView, offset=(12, 0), times=2)
        assert app.view.selected_text == "src/a.py"


async def test_dragging_over_the_edge_scrolls_on() -> None:
    app = Shown()
    async with app.run_test(size=(40, 10)) as pilot:
        for number in range(30):
            app.view.add_user(user(f"message {number}"))
        await painted(app, pilot)
        app.view.action_top()
        await painted(app, pilot)
        await pilot.mouse_down(ConversationView, offset=(3, 0))
        await pilot.hover(ConversationView, offset=(20, 9))
        view = app.view
        view._pointer = (20, 10)
        view._edge_timer = view.set_interval(0.001, view._scroll_on)
        while "message 20" not in view.selected_text:
            await pilot.pause(0.01)
        await pilot.mouse_up(ConversationView, offset=(20, 9))
        assert view.selected_text.startswith("message 0\nmessage 1\n")


async def test_a_click_or_enter_opens_a_block() -> None:
    app = Shown()
    async with app.run_test(size=(60, 20)) as pilot:
        app.view.tool_started(started("1", "bash", command="ls"))
        app.view.tool_ended(ended("1", "bash", "output here"))
        assert (await painted(app, pilot))[0] == " ▸ ✓ bash ls (1 line)"
        await pilot.click(ConversationView, offset=(5, 0))
        assert "   output here" in await painted(app, pilot)
        app.view.focus()
        await pilot.press("enter")
        assert "   output here" not in await painted(app, pilot)
        await pilot.press("down", "enter")
        assert "   output here" in await painted(app, pilot)


async def test_search_finds_folded_texts_and_opens_them() -> None:
    app = Shown()
    async with app.run_test(size=(60, 10)) as pilot:
        view = app.view
        view.tool_started(started("1", "bash", command="ls"))
        view.tool_ended(ended("1", "bash", "a\nNeedle in output\nb"))
        for number in range(30):
            view.end_answer(answer(f"text {number} with **nee**dle" if number == 20 else f"a needle {number}"))
        await painted(app, pilot)
        assert view.search("needle in") == (1, 1)
        assert "   Needle in output" in await painted(app, pilot)
        view.action_bottom()
        await painted(app, pilot)
        assert view.search("a needle") == (29, 29)
        assert view.search_next() == (1, 29)
        assert " a needle 0" in await painted(app, pilot)
        assert view.search_previous() == (29, 29)
        assert (await painted(app, pilot))[-1] == " a needle 29"
        assert view.search("nowhere") == (0, 0)
        assert view.search("") == (0, 0)


async def test_another_letter_of_a_search_does_not_lay_the_conversation_out_again() -> None:
    app = Shown()
    async with app.run_test(size=(60, 10)) as pilot:
        app.view.load([answer(f"the **answer** {number}") for number in range(200)])
        await painted(app, pilot)
        costs = []
        for text in ("a", "an", "ans"):
            profile = cProfile.Profile()
            assert profile.runcall(app.view.search, text) == (200, 200)
            costs.append(sum(entry.callcount for entry in profile.getstats()))
        assert max(costs[1:]) < costs[0] / 4


async def test_what_an_attempt_said_goes_when_it_is_withdrawn() -> None:
    app = Shown()
    async with app.run_test(size=(60, 10)) as pilot:
        app.view.begin_answer()
        app.view.grow(TextDelta(index=0, text="half an answ"))
        app.view.withdraw("connection lost")
        shown = await painted(app, pilot)
        assert shown[0] == " ! The attempt failed, what it said is void: connection"
        assert "half" not in "".join(shown)


async def test_a_changed_answer_names_the_hook_and_opens_to_the_difference() -> None:
    app = Shown()
    async with app.run_test(size=(60, 12)) as pilot:
        app.view.begin_answer()
        app.view.grow(TextDelta(index=0, text="the key is 1234"))
        app.view.end_answer(answer("the key is ****"), ("redact",))
        assert (await painted(app, pilot))[:3] == [" the key is ****", "", " ▸ changed by redact"]
        app.view.toggle(app.view.transcript.entries[-1])
        shown = await painted(app, pilot)
        assert shown[3:5] == ["      1 - the key is 1234", "      1 + the key is ****"]


async def test_thinking_is_folded_and_opens() -> None:
    app = Shown()
    async with app.run_test(size=(60, 12)) as pilot:
        app.view.begin_answer()
        app.view.grow(ThinkingDelta(index=0, text="one\n\ntwo"))
        assert (await painted(app, pilot))[0] == " ▸ Thinking… (8 characters)"
        app.view.toggle_thinking()
        assert (await painted(app, pilot))[:4] == [" ▾ Thinking… (8 characters)", "   one", "", "   two"]
        app.view.grow(ThinkingDelta(index=0, text="\n\nthree"))
        assert (await painted(app, pilot))[5] == "   three"
        app.view.end_answer(answer(Thinking(thinking="one\n\ntwo\n\nthree"), "hello"))
        assert (await painted(app, pilot))[:1] == [" ▾ Thinking (15 characters)"]
        app.view.toggle_thinking()
        assert (await painted(app, pilot))[:3] == [" ▸ Thinking (15 characters)", "", " hello"]


def raising(message: HookMessage, opened: bool) -> object:
    raise ValueError("[no]")


@pytest.mark.parametrize(
    ("renderer", "expected"),
    [
        (lambda message, opened: Panel("inside", width=12), "   │ inside   │"),
        (lambda message, opened: Static("[not markup]", markup=False), "   [not markup]"),
        (lambda message, opened: "[b]text[/b]", "   [b]text[/b]"),
        (lambda message, opened: None, "   plain [text]"),
        (raising, "   its renderer failed: ValueError: [no]"),
        (raising, "   plain [text]"),
        (lambda message, opened: Button("no"), "   plain [text]"),
        (lambda message, opened: 7, "   plain [text]"),
    ],
)
async def test_hooks_draw_their_messages_or_the_text_is_shown(renderer: Any, expected: str) -> None:
    app = Shown()
    async with app.run_test(size=(100, 12)) as pilot:
        app.view.renderer = renderer
        app.view.hook_message(HookMessage(custom_type="note", content=(Text(text="plain [text]"),)))
        shown = await painted(app, pilot)
        assert shown[0] == " ▸ note"
        assert expected in shown


async def test_the_last_answer_and_its_code_can_be_asked_for() -> None:
    app = Shown()
    async with app.run_test(size=(60, 12)):
        view = app.view
        assert view.last_answer == "" and view.code_blocks == ()
        view.load(
            [user("a"), answer("old ```x```"), user("b"), answer("new\n```py\none\n\n  two\n```\nand\n\n    three\n")]
        )
        assert view.last_answer == "new\n```py\none\n\n  two\n```\nand\n\n    three\n"
        assert view.code_blocks == ("one\n\n  two", "three")
        view.clear()
        assert view.last_answer == ""


@pytest.mark.parametrize("theme", sorted(BUILTIN_THEMES))
async def test_every_style_can_be_made_in_every_theme(theme: str) -> None:
    app = Shown()
    async with app.run_test(size=(60, 12)):
        app.theme = theme
        palette = Palette(app.view)
        for name in STYLES:
            palette.style(name)


TEXTS: dict[str, Callable[[int], str]] = {
    "a fence": lambda number: "```py\n" if not number else f"value_{number} = work({number})  # {number}\n",
    "a paragraph": lambda number: f"word{number} **bold** and `code` ",
    "a table": lambda number: "| a | b |\n|---|---|\n" if not number else f"| cell {number} | `{number}` |\n",
    "a list": lambda number: f"- item {number} with [a link](http://example.org)\n",
    "a fence in a list": lambda number: "1. x\n   ```py\n" if not number else f"   value_{number} = {number}\n",
    "paragraphs": lambda number: f"paragraph **{number}**\n\n",
}


@pytest.mark.parametrize("text", sorted(TEXTS))
async def test_a_frame_costs_the_same_however_much_was_said_before(text: str) -> None:
    app = Shown()
    async with app.run_test(size=(80, 24)) as pilot:
        view = app.view
        view.begin_answer()
        calls = []
        for start in range(0, 3000, 50):
            view.grow(TextDelta(index=0, text="".join(TEXTS[text](number) for number in range(start, start + 50))))
            counter = cProfile.Profile()
            counter.enable()
            view.frame()
            lines(app)
            counter.disable()
            calls.append(sum(entry.callcount for entry in counter.getstats()))
            if start % 500 == 0:
                await pilot.pause()
        early, late = sorted(calls[10:30])[10], sorted(calls[-20:])[10]
        assert late < 1.3 * early, f"{early} calls for a frame became {late}"
