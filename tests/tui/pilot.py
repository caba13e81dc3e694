"""The app under Textual's Pilot: in the process of the test, with a scripted model and a home of its own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.keys import _character_to_key

from marvin_agent.frontends.cli import parse
from marvin_agent.frontends.stdin import Asked
from marvin_agent.frontends.tui.app import MarvinApp
from marvin_agent.places import find_places
from program import Marvin
from tui import screen


class Driven:
    """An app that runs, and the keys for it."""

    def __init__(self, app: MarvinApp, pilot: Any) -> None:
        self.app = app
        self._pilot = pilot

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)

    async def click(self, column: int, row: int) -> None:
        """Press and release the mouse, as the terminal says it."""
        for kind in (events.MouseDown, events.MouseUp):
            self.app.post_message(kind(None, column, row, 0, 0, 1, False, False, False, column, row))
            await self._pilot.pause()

    async def type(self, text: str) -> None:
        """Put a text where the keys go, as if it were typed quickly: the pilot rests after every key, people do not."""
        driver = self.app._driver
        assert driver
        for letter in text:
            key = events.Key("backspace" if letter == "\x7f" else _character_to_key(letter), letter)
            key.set_sender(self.app)
            driver.send_message(key)
        await self._pilot.pause()

    async def until(self, true: Callable[[], object], what: str = "it") -> None:
        """Wait for something to become true."""
        for _ in range(1000):
            await self._pilot.pause(0)
            if true():
                await self._pilot.pause()
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{what} did not come true. The screen:\n{self.text}")

    async def until_shown(self, text: str) -> None:
        await self.until(lambda: self.shows(text), repr(text))

    def shows(self, text: str) -> bool:
        """Whether it is on the screen, as it stands there or as a sentence that is wrapped somewhere."""
        return text in self.text or text in self.prose

    @property
    def text(self) -> str:
        return screen.text(self.app)

    @property
    def prose(self) -> str:
        """What is on the screen without lines and borders: where a sentence wraps depends on the paths in it."""
        return " ".join(line.strip(" │") for line in self.text.splitlines())


@contextlib.asynccontextmanager
async def driven(marvin: Marvin, *words: str, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Driven]:
    """Run the app with the words of a command line until the block ends."""
    options = parse(list(words))
    places = find_places(cwd=str(marvin.work), config_dir=str(marvin.config_dir), environ=marvin.env)
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("HOME", str(marvin.work.parent))  # so that a path on the screen is always the same
    app = MarvinApp(options, places, Asked(" ".join(options.prompt), tuple(options.attach)))
    try:
        async with app.run_test(size=size, notifications=True) as pilot:
            one = Driven(app, pilot)
            await one.until(lambda: app.screen.is_modal or not app.state.busy or app.engine, "the start")
            yield one
            await app.leave("quit")
    finally:
        monkeypatch.undo()


def a_marvin(tmp_path: Path, *replies: dict[str, Any], **facts: Any) -> Marvin:
    """A home with a scripted model."""
    marvin = Marvin(tmp_path)
    marvin.script(*replies, **facts)
    return marvin
