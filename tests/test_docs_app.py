"""docs/app.md says what the app does: its settings are taken, its commands and keys are those that there are."""

import json
import re
from pathlib import Path

import msgspec

from marvin_agent.frontends.tui.keys import configured
from marvin_agent.frontends.tui.owncommands import OWN
from marvin_agent.frontends.tui.templates import templates_of
from marvin_agent.frontends.tui.themes import COLOURS
from marvin_agent.settings import Settings

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "app.md").read_text()


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_settings_are_taken() -> None:
    settings = msgspec.convert(json.loads(block("json")), Settings)
    keymap, problems = configured(settings.keybindings)
    assert problems == []
    assert keymap == {"cycleModel": "ctrl+n", "search": "ctrl+r,f3"}


def test_the_command_of_the_user_is_one() -> None:
    made = templates_of([("review.md", block("markdown").encode())])["review"]
    assert made.description == "review a file"
    assert made.fill("a.py quickly") == "Review a.py. Look for bugs before style; name lines."


def test_the_commands_and_colours_that_it_names_are_there() -> None:
    prose = PAGE.partition("<!-- generated")[0]
    for name in re.findall(r"`/([a-z]+)", prose):
        assert name in OWN, name
    for colour in COLOURS:
        assert f"`{colour}`" in prose


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
