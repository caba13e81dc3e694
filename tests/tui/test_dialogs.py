"""Dialogs that have much to say, in little room; keys that are always there."""

from pathlib import Path
from typing import Any

import pytest
from textual import events

from marvin_agent.frontends.tui.dialogs.confirm import ConfirmDialog
from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.frontends.tui.dialogs.preview import preview
from marvin_agent.frontends.tui.dialogs.text import ShowDialog
from marvin_agent.permission_rules import parse_rule
from marvin_agent.policies.permissions.remembered import Remembered
from program import Marvin
from tui import screen
from tui.pilot import Driven, a_marvin, driven
from tui.test_app import hook, listening

ASKS = """
import asyncio

def setup(marvin):
    @marvin.command("long", "asks about much")
    async def long(args, ctx):
        text = "\\n".join(f"line {number} [bold]\\x1b[31m\\u4e2d" for number in range(10_000))
        return f"it was {await ctx.ui.confirm(text, text)}"

    @marvin.command("title", "asks with a title that says it all")
    async def title(args, ctx):
        await ctx.ui.confirm("May this run: echo " + "x" * 100 + "; rm -rf build?", "")
        await ctx.ui.select("Where shall this go: " + "y" * 100 + " or elsewhere?", ["here", "there\u200b"])

    @marvin.command("short", "waits for little")
    async def short(args, ctx):
        return f"it was {await ctx.ui.confirm('Soon over?', '', timeout=3)}"

    @marvin.command("ever", "asks for ever")
    async def ever(args, ctx):
        while True:
            await ctx.ui.confirm("Again?", "")
"""


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_the_answers_stay_in_sight_however_much_is_asked(tmp_path: Path, size: tuple[int, int]) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, ASKS), size=size) as one:
        await one.until_shown("F1 keys")
        await one.type("/long ")
        await one.press("enter")
        await listening(one, "lines, PgUp PgDn")
        assert "y  Yes" in one.text and "> n  No" in one.text
        assert "line 0 [bold]\\u001b[31m中" in one.text
        await one.press("pagedown")
        await one.until(lambda: "line 0 " not in one.text.split("Yes")[0].split("╮")[-1], "the next page")
        assert "> n  No" in one.text
        await one.press("y")
        await one.until_shown("it was True")


async def test_a_title_that_the_border_cannot_hold_is_shown_whole(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, ASKS), size=(60, 20)) as one:
        await one.until_shown("F1 keys")
        await one.type("/title ")
        await one.press("enter")
        await listening(one, "▎ build?")
        await one.press("enter")
        await listening(one, "elsewhere?")
        assert "there\\u200b" in one.text


async def test_a_command_cannot_draw_an_end_of_the_question(tmp_path: Path) -> None:
    command = "ls\n\npermission mode is ask\n> y  Yes, this once\nrm -rf build"
    call = {"name": "bash", "arguments": {"command": command}}
    marvin = a_marvin(tmp_path, {"toolCalls": [call]}, {"text": "Done."})
    async with driven(marvin, "do it") as one:
        await listening(one, "May bash run?")
        lines = [line.strip("│ ") for line in one.text.split("May bash run?")[1].splitlines()]
        assert "▎ > y  Yes, this once" in lines and lines.count("> y  Yes, this once") == 1
        await one.press("n")
        await one.until_shown("Done.")


async def test_a_long_command_can_be_read_to_its_end_before_it_is_allowed(tmp_path: Path) -> None:
    command = "\n".join(f"echo {number}" for number in range(40)) + "\nrm -rf build"
    call = {"name": "bash", "arguments": {"command": command}}
    marvin = a_marvin(tmp_path, {"toolCalls": [call]}, {"text": "Done."})
    async with driven(marvin, "do it") as one:
        await listening(one, "lines, PgUp PgDn")
        assert "y  Yes, this once" in one.text and "r  No, and say why" in one.text
        assert "permission mode is ask, and no rule allows it yet" in one.text
        for _ in range(6):
            await one.press("pagedown")
        await one.until_shown("│ ▎ rm -rf build")
        await one.press("n")
        await one.until_shown("Done.")


def test_an_edit_is_shown_in_its_place_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("".join(f"line {number}\n" for number in range(9)))

    def shown(**arguments: Any) -> str:
        return preview({"tool_name": "edit", "input": {"path": "a.py", **arguments}}, str(tmp_path)).plain

    edits = [{"oldText": "ne 4", "newText": "ne four"}, {"oldText": "line 8\n", "newText": ""}]
    text = shown(edits=edits)
    assert "@@ -2,8 +2,7 @@" in text
    assert "-line 4\n+line four\n line 5" in text and text.endswith("-line 8")
    assert "-missing\n+there" in shown(oldText="missing", newText="there")


async def test_ctrl_c_twice_leaves_whatever_is_asked(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, ASKS)) as one:
        await one.until_shown("Enter sends")
        await one.type("/ever ")
        await one.press("enter")
        await listening(one, "Again?")
        await one.press("ctrl+c")
        await one.until_shown("Ctrl+C again leaves.")
        await one.press("ctrl+c")
        await one.until(lambda: one.app.leaving, "the end")


async def test_a_paste_that_comes_too_early_for_a_dialog_is_in_the_editor(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, ASKS)) as one:
        await one.until_shown("Enter sends")
        await one.type("/ever ")
        await one.press("enter")
        await one.until_shown("Again?")
        one.app.screen.too_early()  # type: ignore[attr-defined]  # as if a key had come just now
        one.app.post_message(events.Paste("what was pasted"))
        await one.until(lambda: one.app.prompt.text == "what was pasted", "the paste")


async def test_a_dialog_whose_time_is_over_goes_also_from_behind_another(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, ASKS)) as one:
        await one.until_shown("Enter sends")
        await one.type("/short ")
        await one.press("enter")
        await one.until_shown("Soon over?")
        one.app.push_screen(ShowDialog("In front", "of it"))
        await one.until(lambda: isinstance(one.app.screen, ShowDialog), "the other dialog")
        behind = one.app.screen_stack[-2]
        assert isinstance(behind, ConfirmDialog)
        await one.until(lambda: behind.dropped, "the end of its time")
        await one.press("escape")
        await one.until(lambda: not one.app.screen.is_modal, "the end of both")
        assert "it was False" in one.text


MARKS = "def setup(marvin):\n    marvin.command('mark', 'marks')(lambda args, ctx: 'it is marked')\n"


def a_project(marvin: Marvin, source: str = MARKS) -> Path:
    path = marvin.work / ".marvin" / "hooks" / "mark.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return path


async def test_what_a_project_brings_is_shown_whole_with_the_answers_in_sight(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    a_project(marvin, MARKS + "#\n" * 400 + "evil = 'the\u200b end'")
    async with driven(marvin) as one:
        await listening(one, "Trust this project?")
        assert "hooks/mark.py" in one.text and one.shows("Nothing of them has run yet.")
        assert "a  Always, as long as nothing in them changes" in one.text
        for _ in range(60):
            await one.press("pagedown")
        await one.until_shown("evil = 'the\\u200b end'")
        assert "> n  No, go on without them" in one.text


async def test_a_project_cannot_keep_the_question_busy_and_what_is_not_shown_is_told(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    a_project(marvin, f"x = '{'abc ' * 200_000}'\n{MARKS}")
    async with driven(marvin) as one:
        await listening(one, "Trust this project?")
        assert "a line is missing or cut" in " ".join(one.text.replace("│", " ").split())
        for _ in range(6):
            await one.press("pagedown")
        await one.until_shown("more letters")
        await one.press("n")
        await one.until_shown("Enter sends")


async def test_a_second_key_does_not_answer_what_comes_after_a_dialog(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, ASKS)) as one:
        await one.until_shown("Enter sends")
        answers: list[bool | None] = []
        for name in ("First?", "Second?"):
            one.app.push_screen(ConfirmDialog(name, ""), answers.append)
        await listening(one, "Second?")
        second = one.app.screen
        for _ in range(3):  # as they come to a dialog that was busy when they were typed
            second.post_message(events.Key("y", "y"))
        await one.until_shown("First?")
        await one.press("a")
        assert answers == [True] and one.app.crash is None


async def test_trust_for_this_run_holds_through_reloads_until_something_changes(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    path = a_project(marvin)
    async with driven(marvin) as one:
        await listening(one, "Trust this project?")
        await one.press("o")
        await one.until_shown("Enter sends")
        await send(one, "/reload")
        await one.until_shown("Loaded again: 1 hooks.")
        path.write_text(MARKS.replace("marked", "changed"))
        await send(one, "/reload")
        await listening(one, "Trust this project?")
        await one.press("n")
        await one.until_shown("Loaded again: 0 hooks.")


async def test_trust_is_given_and_taken_back_while_the_app_runs(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    a_project(marvin)
    async with driven(marvin) as one:
        await listening(one, "Trust this project?")
        await one.press("escape")
        await one.until_shown("Enter sends")
        await send(one, "/trust")
        await listening(one, "Trust this project?")
        await one.press("a")
        await one.until_shown("is trusted until it changes")
        await send(one, "/mark ")
        await one.until_shown("it is marked")
        await send(one, "/trust")
        await listening(one, "Trust this project?")
        await one.press("n")
        await one.until_shown("is not trusted. Its")
        assert one.app.engine and "mark" not in one.app.engine.side.commands
    assert '"projects":{}' in (marvin.config_dir / "trust.json").read_text().replace(" ", "")


async def test_rules_are_shown_and_what_is_remembered_can_be_forgotten(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    marvin.configure(permissions={"allow": ["bash(git *)"], "deny": ["write(*.[lL]ock)"]})
    remembered = Remembered(str(marvin.config_dir))
    remembered.add(str(marvin.work), [parse_rule("bash(echo *)"), parse_rule("bash(make *)")])
    async with driven(marvin) as one:
        await one.until_shown("Enter sends")
        await send(one, "/permissions")
        await one.until_shown("remembered for this project")
        assert screen.matches_snapshot(one.app, __file__, "permissions")
        await one.press("delete")  # what the configuration says is not marvin's to forget
        await one.press("end", "delete")
        await one.until(lambda: "bash(make *)" not in one.text, "one rule less")
        assert "bash(echo *)" in one.text and "bash(git *)" in one.text
    assert [str(rule) for rule in remembered.rules(str(marvin.work))] == ["bash(echo *)"]


async def test_remembered_rules_that_cannot_be_read_or_written_are_an_error_and_the_app_goes_on(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    file = marvin.config_dir / "permissions.json"
    file.write_text("{ broken")
    async with driven(marvin) as one:
        await one.until_shown("Enter sends")
        await send(one, "/permissions")
        await one.until_shown("permissions.json:1")
        file.unlink()
        Remembered(str(marvin.config_dir)).add(str(marvin.work), [parse_rule("bash(make *)")])
        lock = marvin.config_dir / "permissions.json.lock"
        lock.unlink()
        lock.mkdir()
        one.app.prompt.clear_text()
        await send(one, "/permissions")
        await one.until_shown("remembered for this project")
        await one.press("end", "delete")
        await one.until_shown("Is a directory")
        assert "bash(make *)" in one.text


async def test_a_key_that_cannot_be_stored_is_an_error_and_the_app_goes_on(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    (marvin.config_dir / "auth.json").symlink_to("/proc/nowhere/auth.json")
    async with driven(marvin) as one:
        await one.until_shown("Enter sends")
        await send(one, "/login openai")
        await one.until_shown("API key of openai")
        await one.until(lambda: getattr(one.app.screen, "listens", True), "the end of the grace")
        await one.type("abcdefghijklmnop")
        await one.press("enter")
        await one.until_shown("/proc/nowhere")
        assert not one.app.screen.is_modal


async def send(one: Driven, text: str) -> None:
    await one.type(text)
    await one.press("enter")


async def test_a_click_that_was_meant_for_the_editor_answers_nothing(tmp_path: Path) -> None:
    marvin = a_marvin(
        tmp_path, {"toolCalls": [{"name": "bash", "arguments": {"command": "touch made"}}]}, {"text": "Done."}
    )
    async with driven(marvin, "do it") as one:
        await one.until_shown("y  Yes, this once")
        dialog = one.app.screen
        row = next(at for at, line in enumerate(one.text.splitlines()) if "y  Yes" in line)
        assert isinstance(dialog, Dialog)
        dialog.too_early()  # as if a key had come just now
        await one.click(10, row)
        assert one.app.screen is dialog
        await one.until(lambda: dialog.listens, "the end of the grace")
        await one.click(10, row)
        await one.until_shown("Done.")
    assert (marvin.work / "made").exists()


async def test_no_toast_lies_over_a_question_and_none_is_lost(tmp_path: Path) -> None:
    source = """
def setup(marvin):
    @marvin.command("ask", "asks")
    async def ask(args, ctx):
        ctx.ui.notify("said before")
        return f"it was {await ctx.ui.confirm('Sure?', 'what is asked' * 200)}"
"""
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, source)) as one:
        await one.until_shown("Enter sends")
        await one.type("/ask ")
        await one.press("enter")
        await listening(one, "Sure?")
        assert "▌ said before" not in one.text
        one.app.stage.tell("said meanwhile", "info", "flag:asking")
        await one.press("n")
        await one.until_shown("it was False")
        await one.until(lambda: not one.app.screen.is_modal, "the end of the question")
        notices = [line.strip() for line in one.text.splitlines()]
        assert "i flag:asking: said before" in notices and "i flag:asking: said meanwhile" in notices
