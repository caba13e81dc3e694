"""Every view of the app as text, at 80 columns and where it matters at 60."""

from pathlib import Path

import pytest

from tui import screen
from tui.pilot import Driven, a_marvin, driven

SLOW = {"text": "I think about it.", "delayMs": 60_000}
STATUS = """
def setup(marvin):
    @marvin.on("app.start")
    async def show(event, ctx):
        ctx.ui.set_status("build", "build [green]")
        ctx.ui.set_widget("plan", ["1. look", "2. mend [it]"])

    @marvin.command("line", "asks for a line")
    async def line(args, ctx):
        return str(await ctx.ui.input("The [name]", "of a thing"))
"""


async def command(one: Driven, text: str, shown: str) -> None:
    await one.type(text)
    await one.press("enter")
    await one.until_shown(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("/help", "Commands (F1"), ("/tools", "Tools"), ("/thinking", "How hard"), ("/theme", "Which theme")],
)
async def test_lists_and_texts(tmp_path: Path, text: str, shown: str) -> None:
    async with driven(a_marvin(tmp_path, {"text": "Hi."}, reasoning=True)) as one:
        await one.until_shown("Enter sends")
        await command(one, text, shown)
        assert screen.matches_snapshot(one.app, __file__, text[1:])


@pytest.mark.parametrize("columns", [80, 60])
async def test_the_keys(tmp_path: Path, columns: int) -> None:
    async with driven(a_marvin(tmp_path, {"text": "Hi."}), size=(columns, 40)) as one:
        await one.until_shown("F1 keys")
        await one.press("f1")
        await one.until_shown("Esc closes")
        assert screen.matches_snapshot(one.app, __file__, f"keys_{columns}")


async def test_the_menu(tmp_path: Path) -> None:
    async with driven(a_marvin(tmp_path, {"text": "Hi."})) as one:
        await one.until_shown("Enter sends")
        await one.type("/co")
        await one.until_shown("/compact")
        assert screen.matches_snapshot(one.app, __file__, "menu")


@pytest.mark.parametrize("columns", [80, 60])
async def test_what_hooks_show_and_what_waits(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "showing.py"
    path.write_text(STATUS)
    async with driven(a_marvin(tmp_path, SLOW), "--hook", str(path), "think", size=(columns, 24)) as one:
        await one.until_shown("build [green]")
        await one.until_shown("waiting for the model")
        await one.type("look at [this] first")
        await one.press("alt+enter")
        await one.until_shown("follow-up: look")
        # The line of the activity has its spinner and its seconds, other ones in every run.
        seen = [line for line in screen.lines(one.app) if "Esc stops" not in line]
        assert screen.same_as_snapshot("\n".join(seen).rstrip() + "\n", __file__, f"waiting_{columns}")
        await one.press("escape")
        await one.until_shown("Stopped.")


async def test_a_line_that_a_hook_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "showing.py"
    path.write_text(STATUS)
    async with driven(a_marvin(tmp_path, {"text": "Hi."}), "--hook", str(path)) as one:
        await one.until_shown("Enter sends")
        await one.type("/line")
        await one.press("enter", "enter")
        await one.until_shown("The [name]")
        assert screen.matches_snapshot(one.app, __file__, "line")


async def test_a_search(tmp_path: Path) -> None:
    async with driven(a_marvin(tmp_path, {"text": "One bird.\n\nTwo birds."}), "how many birds?") as one:
        await one.until_shown("Two birds.")
        await one.press("ctrl+r")
        await one.until_shown("search:")
        await one.type("bird")
        await one.until_shown("3 of 3")
        seen = [line for line in screen.lines(one.app) if "tokens" not in line]
        assert screen.same_as_snapshot("\n".join(seen).rstrip() + "\n", __file__, "search")
