"""What is on the screen of an app under test, as plain lines, and snapshots of it in text files."""

import os
from pathlib import Path
from typing import Any

from textual.app import App

ACCEPT = "MARVIN_ACCEPT_SNAPSHOTS"


def lines(app: App[Any]) -> list[str]:
    """The screen, line by line, without styles and without spaces at the ends."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip if not segment.control).rstrip() for strip in strips]


def text(app: App[Any]) -> str:
    return "\n".join(lines(app)).rstrip() + "\n"


def matches_snapshot(app: App[Any], test: str, name: str) -> bool:
    """Compare the screen with `snapshots/NAME.txt` beside the test; with MARVIN_ACCEPT_SNAPSHOTS=1 it is written."""
    return same_as_snapshot(text(app), test, name)


def same_as_snapshot(shown: str, test: str, name: str) -> bool:
    """Compare what was read off a screen with a snapshot."""
    path = Path(test).with_name("snapshots") / f"{name}.txt"
    if os.environ.get(ACCEPT):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert path.exists(), f"no snapshot {path.name}; write it with {ACCEPT}=1:\n{shown}"
    expected = path.read_text(encoding="utf-8")
    assert shown == expected, f"the screen is not {path.name}; if it is right, accept it with {ACCEPT}=1:\n{shown}"
    return True
