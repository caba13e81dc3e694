"""The terminal's answer about its background, in the middle of what is typed."""

from pathlib import Path
from typing import Any

import pytest
from textual.events import Key

from marvin_agent.frontends.tui.background import AnswerParser, BackgroundTold, is_light
from program import Marvin
from tui.test_app_in_terminal import READY

WHITE = "\x1b]11;rgb:ffff/ffff/ffff\x07"


def told(*pieces: str) -> list[Any]:
    """What the app hears of what the terminal sends: letters, and whether it is light."""
    parser = AnswerParser()
    heard = [message for piece in pieces for message in parser.feed(piece)]
    return [
        message.key if isinstance(message, Key) else message.light
        for message in heard
        if isinstance(message, Key | BackgroundTold)
    ]


@pytest.mark.parametrize("answer", [WHITE, "\x1b]11;rgb:ff/ff/ff\x1b\\", "\x1b]11;rgba:ffff/ffff/ffff/ffff\x07"])
def test_the_answer_is_heard_and_no_key_is_lost_or_made_of_it(answer: str) -> None:
    assert told(f"ab{answer}c") == ["a", "b", True, "c"]


@pytest.mark.parametrize("at", range(3, len(WHITE)))
def test_an_answer_in_two_pieces_is_one(at: int) -> None:
    assert told("a" + WHITE[:at], WHITE[at:] + "b") == ["a", True, "b"]


def test_two_answers_are_two_and_an_answer_may_come_alone() -> None:
    assert told(WHITE, "\x1b]11;rgb:0000/0000/0000\x07") == [True, False]


def test_what_is_no_answer_stays_what_it_was() -> None:
    assert told("\x1b", "[A") == ["up"]
    assert told("x1;y") == ["x", "1", "semicolon", "y"]


@pytest.mark.parametrize(
    ("colour", "light"),
    [("000", False), ("fff", True), ("1/2/3", False), ("fdfd/f6f6/e3e3", True), ("0000/2b2b/3636", False)],
)
def test_light_is_what_needs_dark_text(colour: str, light: bool) -> None:
    parts = colour.split("/") if "/" in colour else list(colour)
    assert is_light(*parts) is light


@pytest.mark.terminal
@pytest.mark.parametrize(
    ("answer", "environment", "theme"),
    [
        (WHITE, {}, "textual-light"),
        ("\x1b]11;rgb:1c1c/1c1c/1c1c\x07", {"COLORFGBG": "0;15"}, "textual-dark"),
        ("", {"COLORFGBG": "0;15"}, "textual-light"),
        ("", {}, "textual-dark"),
    ],
)
def test_auto_is_what_the_terminal_is(tmp_path: Path, answer: str, environment: dict[str, str], theme: str) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Hi."})
    with marvin.terminal(env=environment) as terminal:
        while b"\x1b]11;?" not in terminal.raw:
            terminal.quiet(0.02)
        terminal.send(f"typed{answer} on")
        terminal.wait_for(READY)
        terminal.wait_for("typed on")
        terminal.send("\x7f" * 8 + "/theme auto\r")
        terminal.wait_for(f"The theme is {theme} now")


@pytest.mark.terminal
def test_a_theme_that_was_chosen_stays_whatever_the_terminal_is(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "Hi."})
    marvin.configure(theme="nord")
    path = tmp_path / "tells.py"
    path.write_text("""
def setup(marvin):
    marvin.command("colours", "tells the theme")(lambda args, ctx: f"it is {ctx.ui.theme.name}")
""")
    with marvin.terminal("--hook", str(path)) as terminal:
        terminal.wait_for(READY)
        terminal.send(f"/colours{WHITE} \r")
        terminal.wait_for("it is nord")
