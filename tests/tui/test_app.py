"""The app's parts together, under Textual's Pilot."""

import json
from pathlib import Path
from typing import Any

from textual import events

from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.frontends.tui.themes import COLOURS
from tui import screen
from tui.pilot import Driven, a_marvin, driven

ASKING = """
def setup(marvin):
    @marvin.command("ask", "asks everything")
    async def ask(args, ctx):
        ui = ctx.ui
        chosen = await ui.select("Which [one]?", ["first", "[bold]second"])
        sure = await ui.confirm("Sure?", "It is [red]final[/red].")
        line = await ui.input("A name", "of a thing")
        text = await ui.editor("A text", "one\\ntwo")
        return f"{chosen} {sure} {line} {text!r}"
"""


def hook(tmp_path: Path, source: str) -> str:
    path = tmp_path / "asking.py"
    path.write_text(source)
    return str(path)


async def listening(one: Driven, text: str) -> None:
    """Wait for a dialog, and for the moment that it wants for itself."""
    await one.until_shown(text)
    shown = one.app.screen
    assert isinstance(shown, Dialog)
    await one.until(lambda: shown.listens, "the end of the grace")


async def test_the_first_screen(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."}, contextWindow=32_000)
    async with driven(marvin) as one:
        await one.until_shown("Enter sends")
        lines = one.text.splitlines()
        assert lines[0].startswith(" marvin") and lines[0].endswith("demo/one")
        assert [line.strip() for line in lines[-4:]] == [
            f"╭{'─' * 78}╮",
            f"│ What shall be done?{' ' * 58}│",
            f"╰{'─' * 78}╯",
            "Enter sends · / commands · @ files · F1 keys",
        ]


async def test_every_dialog_of_a_hook_is_answered(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, ASKING)) as one:
        await one.until_shown("Enter sends")
        await one.type("/ask")
        await one.press("enter", "enter")
        await listening(one, "Which [one]?")
        assert screen.matches_snapshot(one.app, __file__, "select")
        await one.press("down", "enter")
        await listening(one, "It is [red]final[/red].")
        assert screen.matches_snapshot(one.app, __file__, "confirm")
        await one.press("y")
        await listening(one, "A name")
        await one.type("thing")
        await one.press("enter")
        await listening(one, "A text")
        assert screen.matches_snapshot(one.app, __file__, "editor")
        await one.type(" three")
        await one.press("ctrl+s")
        await one.until_shown("[bold]second True thing 'one\\ntwo three'")


async def test_cancelled_dialogs_give_their_safe_answers(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, ASKING)) as one:
        await one.until_shown("Enter sends")
        await one.type("/ask")
        await one.press("enter", "enter")
        for title in ("Which [one]?", "Sure?", "A name", "A text"):
            await listening(one, title)
            await one.press("escape")
        await one.until_shown("None False None None")


async def test_a_permission_shows_the_diff_and_remembers_the_pattern_as_edited(tmp_path: Path) -> None:
    call: dict[str, Any] = {"name": "write", "arguments": {"path": "notes.md", "content": "one\n[two]\n"}}
    marvin = a_marvin(tmp_path, {"toolCalls": [call]}, {"toolCalls": [call]}, {"text": "Written."})
    (marvin.work / "notes.md").write_text("one\n")
    async with driven(marvin, "write it") as one:
        await listening(one, "May write run?")
        assert screen.matches_snapshot(one.app, __file__, "permission")
        await one.press("a")
        await one.until_shown("Enter answers")
        assert screen.matches_snapshot(one.app, __file__, "permission_always")
        await one.press("ctrl+u")
        await one.type("*.md")
        await one.press("enter")
        # The second call is covered by the pattern.
        await one.until_shown("Written.")
    assert (marvin.work / "notes.md").read_text() == "one\n[two]\n"
    assert "write(*.md)" in json.dumps(
        [json.loads(p.read_text()) for p in marvin.config_dir.glob("*.json") if "permission" in p.name]
    )


async def test_a_long_command_is_told_to_be_longer_than_what_is_in_sight(tmp_path: Path) -> None:
    call = {"name": "bash", "arguments": {"command": "\n".join(f"echo {n}" for n in range(50))}}
    marvin = a_marvin(tmp_path, {"toolCalls": [call]}, {"text": "Done."})
    async with driven(marvin, "go") as one:
        await listening(one, "May bash run?")
        await one.until_shown("lines, PgUp PgDn")
        await one.until_shown("n  No")
        await one.press("n")
        await one.until_shown("Done.")


async def test_a_long_question_leaves_its_answers_in_sight_and_can_be_read(tmp_path: Path) -> None:
    asking = """
def setup(marvin):
    @marvin.command("long", "")
    async def long(args, ctx):
        ctx.ui.notify(str(await ctx.ui.confirm("Sure?", "\\n".join(f"line {n}" for n in range(60)))))
"""
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, asking)) as one:
        await one.until_shown("Enter sends")
        await one.type("/long")
        await one.press("enter", "enter")
        await listening(one, "Sure?")
        await one.until_shown("n  No")
        await one.press("tab", "end")
        await one.until_shown("line 59")
        await one.press("y")
        await one.until_shown("True")


async def test_the_menu_completes_commands_arguments_and_files(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."}, models=("one", "two"))
    for name in ("alpha.py", "beta.py", "ignored.log"):
        (marvin.work / name).touch()
    (marvin.work / ".gitignore").write_text("*.log\n")
    async with driven(marvin) as one:
        await one.until_shown("Enter sends")
        await one.type("/the")
        await one.until_shown("> /theme")
        await one.press("tab")
        await one.type("nor")
        await one.until_shown("> nord")
        await one.press("escape", "ctrl+c")
        assert one.app.prompt.text == ""
        await one.type("look at @bet")
        await one.until_shown("> @beta.py")
        await one.press("enter")
        assert one.app.prompt.text == "look at @beta.py "
        await one.type("@log")
        await one.until(lambda: "ignored" not in one.text, "no ignored file")


async def test_a_command_that_takes_no_words_runs_from_the_menu_at_once(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin) as one:
        await one.until_shown("Enter sends")
        await one.type("/stat")
        await one.until_shown("> /status")
        await one.press("enter")
        await one.until_shown("permissions")
        await one.press("escape")
        await one.until(lambda: not one.app.screen.is_modal)


async def test_a_menu_that_is_behind_the_typing_completes_nothing(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "unused"})
    async with driven(marvin) as app:
        await app.type("/cos")
        await app.until_shown("what this session has used")
        # Both are there before the menu has heard of the first.
        app.app.post_message(events.Key("t", "t"))
        app.app.post_message(events.Key("enter", "\r"))
        await app.until_shown("This session has used 0 tokens")


async def test_a_wrong_command_is_told_and_stays_in_the_editor(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin) as one:
        await one.until_shown("Enter sends")
        await one.type("/stauts")
        await one.press("escape", "enter")
        await one.until_shown("Did you mean /status?")
        assert one.app.prompt.text == "/stauts"


async def test_keys_can_be_configured_and_what_is_wrong_with_them_is_told(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."}, models=("one", "two"))
    marvin.configure(model="demo/one,demo/two", keybindings={"cycleModel": "f5", "openTool": "f1", "nothing": "f6"})
    async with driven(marvin) as one:
        await one.until_shown("Enter sends")
        assert "there is no action 'nothing'" in " ".join(one.text.split())
        assert "f1 is the key of" in one.text
        await one.press("ctrl+p")
        assert one.app.running_engine().model.id == "one"
        await one.press("f5")
        await one.until_shown("demo/two")


async def test_the_model_and_its_thinking_are_cycled_by_keys(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."}, models=("one", "two"), reasoning=True)
    marvin.configure(model="demo/one,demo/two", thinking="low")
    async with driven(marvin) as one:
        await one.until_shown("demo/one · low")
        await one.press("shift+tab")
        await one.until_shown("demo/one · medium")
        await one.press("ctrl+p")
        await one.until_shown("demo/two")


async def test_a_shortcut_of_a_hook_runs_and_a_taken_key_is_reported(tmp_path: Path) -> None:
    source = """
def setup(marvin):
    marvin.register_shortcut("ctrl+b", lambda ctx: ctx.ui.notify("[b]pressed[/b]"))
    marvin.register_shortcut("ctrl+p", lambda ctx: None)
    for key in ("x", "space", "shift+up", "ctrl+k"):
        marvin.register_shortcut(key, lambda ctx: ctx.ui.notify("taken away"))

    async def ask(ctx):
        ctx.ui.notify(str(await ctx.ui.confirm("Sure?")))

    marvin.register_shortcut("Ctrl-L", ask)
"""
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, source)) as one:
        await one.until_shown("the key Ctrl+P is taken by cycleModel")
        for key in ("X", "Space", "Shift+Up", "Ctrl+K"):
            assert f"the key {key} is taken by the editor" in one.text
        await one.type("x y")
        assert one.app.prompt.text == "x y"
        await one.press("ctrl+b")
        await one.until_shown("[b]pressed[/b]")
        await one.press("ctrl+l")
        await listening(one, "Sure?")
        await one.press("y")
        await one.until_shown("True")


async def test_a_hook_whose_key_or_renderer_comes_second_does_the_rest_of_its_work(tmp_path: Path) -> None:
    source = """
def setup(marvin):
    marvin.register_shortcut("ctrl+b", lambda ctx: ctx.ui.notify("pressed"))
    marvin.register_message_renderer("card", lambda message, expanded, theme: "drawn")
    marvin.command(marvin.id.partition(":")[2], "is there")(lambda args, ctx: "it works")
"""
    paths = [tmp_path / f"{name}.py" for name in ("first", "second")]
    for path in paths:
        path.write_text(source)
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", str(paths[0]), "--hook", str(paths[1])) as one:
        await one.until_shown("flag:second: the key 'ctrl+b' is taken by flag:first")
        assert "messages of type 'card' are rendered by flag:first already" in " ".join(one.text.split())
        await one.type("/second ")
        await one.press("enter")
        await one.until_shown("it works")
        await one.press("ctrl+b")
        await one.until_shown("pressed")


async def test_statuses_and_widgets_of_hooks_are_shown_without_being_obeyed(tmp_path: Path) -> None:
    source = """
def setup(marvin):
    @marvin.on("session.start")
    async def show(event, ctx):
        ctx.ui.set_status("b", "second [red]\\x1b[2J\\x07.")
        ctx.ui.set_widget("long", [f"line {number}" for number in range(30)])
        ctx.ui.set_status("a", "first")
        ctx.ui.set_widget("w", ["a [bold]widget", "of two lines"])
"""
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, source)) as one:
        await one.until_shown("first · second [red] [2J .")
        assert "line 8\n ... and 21 more lines\n" in one.text
        assert "a [bold]widget" in one.text and "of two lines" in one.text
        assert "\x1b" not in one.text


async def test_a_hook_that_is_waited_for_is_named_with_its_line_and_can_be_skipped(tmp_path: Path) -> None:
    source = """
import asyncio
def setup(marvin):
    @marvin.on("turn.start")
    async def slow(event, ctx):
        await asyncio.sleep(600)
"""
    marvin = a_marvin(tmp_path, {"text": "Went on."})
    async with driven(marvin, "--hook", hook(tmp_path, source), "hello") as one:
        await one.until_shown("waiting for flag:asking (turn.start) at asking.py:6")
        assert "F8 skips it" in one.text
        await one.press("f8")
        await one.until_shown("Went on.")
        assert "F8" not in one.text


async def test_reload_takes_new_hooks_and_commands(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Reviewed.", "match": "Review src, then docs"})
    async with driven(marvin) as one:
        await one.until_shown("Enter sends")
        (marvin.config_dir / "hooks").mkdir()
        (marvin.config_dir / "hooks" / "new.py").write_text(ASKING)
        (marvin.config_dir / "commands").mkdir()
        template = "---\ndescription: looks at things\n---\nReview $1, then $2."
        (marvin.config_dir / "commands" / "review.md").write_text(template)
        await one.type("/reload")
        await one.press("enter")
        await one.until_shown("Loaded again: 1 hooks.")
        await one.type("/")
        await one.until_shown("asks everything")
        await one.press("ctrl+c")
        await one.type("/review src docs")
        await one.press("escape", "enter")
        await one.until_shown("Reviewed.")


async def test_search_shows_where_it_is(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "needle\n\nhay\n\nneedle"})
    async with driven(marvin, "look") as one:
        await one.until_shown("hay")
        await one.press("ctrl+r")
        await one.type("needle")
        await one.until_shown("2 of 2")
        await one.press("enter")
        await one.until_shown("1 of 2")
        await one.press("escape")
        assert one.app.focused is one.app.prompt


async def test_a_refused_clear_says_by_whom(tmp_path: Path) -> None:
    source = """
def setup(marvin):
    @marvin.on("session.before_clear")
    async def keep(event, ctx):
        return {"cancel": True, "reason": "it is needed"}
"""
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, source)) as one:
        await one.until_shown("Enter sends")
        await one.type("/clear")
        await one.press("enter")
        await one.until_shown("Clear cancelled by flag:asking: it is needed")


async def test_a_cleared_conversation_is_gone_from_the_screen(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "An answer."})
    async with driven(marvin, "a question") as one:
        await one.until_shown("An answer.")
        await one.type("/clear")
        await one.press("enter")
        await one.until(lambda: "An answer." not in one.text, "the clearing")
        assert len(marvin.sessions) == 1


async def test_a_theme_of_the_user_and_the_terminals_own_colours(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    (marvin.config_dir / "themes").mkdir()
    (marvin.config_dir / "themes" / "mine.json").write_text('{"primary": "#ff8800", "dark": false}')
    (marvin.config_dir / "themes" / "broken.json").write_text('{"primary": "no colour"}')
    marvin.configure(theme="mine")
    async with driven(marvin) as one:
        await one.until_shown("themes/broken.json")
        assert one.app.theme == "mine"
        await one.type("/theme ansi")
        await one.until_shown("> ansi")
        await one.press("enter")
        await one.until(lambda: one.app.theme == "ansi-dark")
        await one.type("/theme nrod")
        await one.press("enter")
        await one.until_shown("Did you mean nord?")
        assert one.app.theme == "ansi-dark"


async def test_no_theme_of_the_user_ends_the_app(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    themes = marvin.config_dir / "themes"
    themes.mkdir()
    for name in sorted(COLOURS):
        (themes / f"{name}-clear.json").write_text(json.dumps({"primary": "red", name: "#00ff0000"}))
        (themes / f"{name}-ansi.json").write_text(json.dumps({"primary": "red", name: "ansi_default"}))
    (themes / "styles.json").write_text('{"primary": "red", "variables": {"block-cursor-text-style": "wobbly"}}')
    async with driven(marvin, size=(100, 60)) as one:
        await one.until_shown("Enter sends")
        assert " ".join(one.text.split()).count("there is nothing behind it") == len(COLOURS)
        assert "unknown field `variables`" in one.text
        for name in sorted(COLOURS):
            one.app.themes.take(f"{name}-ansi")
            await one.until(lambda name=name: one.app.theme == f"{name}-ansi", name)  # type: ignore[misc]
        assert one.app.crash is None


async def test_the_conversation_is_exported_and_never_over_a_file(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "It is **mended**."})
    async with driven(marvin, "mend it") as app:
        await app.until_shown("It is mended.")
        await app.type("/export talk.md")
        await app.press("enter")
        await app.until_shown("The conversation is in")
        page = (marvin.work / "talk.md").read_text()
        assert "> mend it" in page
        assert "It is **mended**." in page
        await app.type("/export talk.md")
        await app.press("enter")
        await app.until_shown("cannot be written")
    assert (marvin.work / "talk.md").read_text() == page


async def test_a_key_that_cannot_do_its_work_says_so_and_the_app_goes_on(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."}, reasoning=True)
    async with driven(marvin, "hello") as one:
        await one.until_shown("Hi.")
        assert one.app.engine
        path = one.app.engine.session.path
        assert path
        Path(path).unlink()
        await one.press("shift+tab")
        await one.until_shown("it was in use")
        await one.type("still here")
        assert one.app.prompt.text == "still here"
