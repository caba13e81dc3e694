"""What single entries of the conversation look like: tool calls, long prompts, attempts that failed."""

from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from marvin_agent.agent.events import CALL_OF_USER, CALL_UNSEEN, ToolEnded, ToolStarted, ToolUpdated
from marvin_agent.frontends.tui.conversation.view import ConversationView
from marvin_agent.messages import Text, ToolStatus, user
from tui.screen import lines


class Shown(App[None]):
    def compose(self) -> ComposeResult:
        yield ConversationView()

    @property
    def view(self) -> ConversationView:
        return self.query_one(ConversationView)


async def painted(app: Shown, pilot: Pilot[None]) -> list[str]:
    await pilot.pause()
    app.view.frame()
    await pilot.pause()
    shown = [line[: app.size.width - 1].rstrip() for line in lines(app)]
    return shown[: max((at + 1 for at, line in enumerate(shown) if line), default=0)]


def called(
    view: ConversationView,
    name: str,
    output: str,
    *,
    status: ToolStatus = "ok",
    details: Any = None,
    call_id: str = "1",
    **given: Any,
) -> None:
    view.tool_started(ToolStarted(tool_call_id=call_id, tool_name=name, input=given))
    view.tool_ended(
        ToolEnded(
            tool_call_id=call_id,
            tool_name=name,
            status=status,
            content=(Text(text=output),),
            details=details,
            duration_ms=1,
        )
    )


@pytest.mark.parametrize(
    ("given", "head"),
    [
        ({"pattern": "def ", "path": "src"}, " ▸ ✓ grep def in src (1 line)"),
        ({"pattern": "def ", "path": "."}, " ▸ ✓ grep def (1 line)"),
        ({"path": "src"}, " ▸ ✓ grep src (1 line)"),
    ],
)
async def test_a_search_says_what_it_looks_for_and_where(given: dict[str, Any], head: str) -> None:
    app = Shown()
    async with app.run_test(size=(60, 10)) as pilot:
        called(app.view, "grep", "a.py:1:def f", **given)
        assert await painted(app, pilot) == [head]


async def test_a_new_file_shows_how_long_it_is_and_how_it_begins() -> None:
    app = Shown()
    async with app.run_test(size=(60, 40)) as pilot:
        content = "".join(f"line {number}\n" for number in range(1, 21))
        called(
            app.view,
            "write",
            "Created new.py: 171 bytes written.",
            details={"path": "new.py", "created": True},
            path="new.py",
            content=content,
        )
        shown = await painted(app, pilot)
        assert shown[:2] == [" ▸ ✓ write new.py (new, 20 lines)", "      1 + line 1"]
        assert shown[-2:] == ["      8 + line 8", "      … 12 more lines"]
        app.view.toggle_last_tool()
        assert (await painted(app, pilot))[-1] == "     20 + line 20"


async def test_a_file_that_is_written_as_it_was_shows_that_nothing_changed() -> None:
    app = Shown()
    async with app.run_test(size=(60, 10)) as pilot:
        called(app.view, "write", "Replaced a.py.", details={"created": False, "diff": ""}, path="a.py", content="a\n")
        assert await painted(app, pilot) == [" ▸ ✓ write a.py (no change)"]


async def test_an_opened_command_is_not_said_twice() -> None:
    app = Shown()
    async with app.run_test(size=(60, 10)) as pilot:
        called(app.view, "bash", "hi", command="echo hi")
        app.view.toggle_last_tool()
        assert await painted(app, pilot) == [" ▾ ✓ bash echo hi (1 line)", "   hi"]


async def test_a_command_of_several_lines_opens_to_all_of_them() -> None:
    app = Shown()
    async with app.run_test(size=(60, 10)) as pilot:
        called(app.view, "bash", "hi", command="cd src\necho hi")
        app.view.toggle_last_tool()
        shown = await painted(app, pilot)
        assert shown == [" ▾ ✓ bash cd src echo hi (1 line)", "   cd src", "   echo hi", "   ────────", "   hi"]


async def test_a_users_own_commands_are_open_and_marked_as_he_typed_them() -> None:
    app = Shown()
    async with app.run_test(size=(60, 20)) as pilot:
        called(app.view, "bash", "a", command="ls", call_id=f"{CALL_OF_USER}1")
        # The agent's own runs at the same time and began later: it stays as it is.
        app.view.tool_started(ToolStarted(tool_call_id="agent", tool_name="bash", input={"command": "make"}))
        called(app.view, "bash", "b", command="pwd", call_id=f"{CALL_UNSEEN}2")
        assert await painted(app, pilot) == [
            " ▾ ✓ ! ls (1 line)",
            "   a",
            " ▸ … bash make",
            " ▾ ✓ !! pwd (1 line)",
            "   b",
        ]


async def test_output_is_read_without_its_colours_and_its_progress() -> None:
    app = Shown()
    async with app.run_test(size=(60, 20)) as pilot:
        output = "\x1b[31mred\x1b[0m\x1b[K\n10 %\r20 %\rdone\r\n\x1b]8;;http://a/\x1b\\link\x1b]8;;\x1b\\\n\x1b]0;title\x07\n"
        called(app.view, "bash", output, command="make")
        app.view.toggle_last_tool()
        app.view.tool_started(ToolStarted(tool_call_id="2", tool_name="bash", input={"command": "run"}))
        app.view.tool_grew(ToolUpdated(tool_call_id="2", text="\x1b[32mgreen\x1b[0m\n1\r2\x1b[K"))
        shown = await painted(app, pilot)
        # What would do more than colour a text is shown for what it is.
        assert shown[1:5] == ["   red", "   done", "   link", "   \\u001b]0;title\\u0007"]
        assert shown[5:] == [" ▸ … bash run", "   green", "   2"]


async def test_a_long_prompt_is_folded_and_opens() -> None:
    app = Shown()
    async with app.run_test(size=(60, 20)) as pilot:
        app.view.add_user(user("\n".join(f"pasted {number}" for number in range(5_000))))
        shown = await painted(app, pilot)
        assert shown[0].endswith(" pasted 0") and shown[9:] == ["   pasted 9", " ▸ … 4,990 more lines"]
        app.view.toggle(app.view.transcript.entries[0])
        assert (await painted(app, pilot))[-1] == "   pasted 4999"


async def test_a_long_prompt_in_one_line_is_folded_too() -> None:
    app = Shown()
    async with app.run_test(size=(80, 40)) as pilot:
        app.view.add_user(user("words " * 2_000))
        assert (await painted(app, pilot))[-1] == " ▸ … 10,000 more characters"


async def test_a_prompt_that_is_a_little_long_is_shown_whole() -> None:
    app = Shown()
    async with app.run_test(size=(60, 20)) as pilot:
        app.view.add_user(user("\n".join(f"line {number}" for number in range(12))))
        assert (await painted(app, pilot))[-1] == "   line 11"
