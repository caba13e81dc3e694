"""The pytest plugin: fixtures for tests of hooks. Installed with marvin; costs nothing until a test asks for one."""

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from marvin_agent import testing

if TYPE_CHECKING:
    from marvin_agent.testing.blocking import BlockingHarness
    from marvin_agent.testing.server import ScriptedServer

Replies = dict[str, Any]


@pytest.fixture
def marvin_hook(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., "BlockingHarness"]]:
    """Load a hook: `marvin_hook("gate.py", answers=[True], settings={...}, replies=[{"text": "Hello"}])`.

    A path is relative to the test's file. Gives a BlockingHarness (`emit`, `prompt`, `tool`, `command`, `told`, ...)
    that works in a plain test and in an async one, and is closed at the end of the test.
    """
    numbers = itertools.count()
    with contextlib.ExitStack() as opened:

        def load(hook: str | Path | Callable[[Any], Any], **options: Any) -> "BlockingHarness":
            directory = tmp_path / f"marvin-{next(numbers)}"
            directory.mkdir()
            found = request.path.parent / hook if isinstance(hook, str | Path) else hook
            return opened.enter_context(testing.BlockingHarness(found, **{"directory": directory, **options}))

        yield load


@pytest.fixture
def model_server() -> Iterator[Callable[..., "ScriptedServer"]]:
    """Start a model server on 127.0.0.1 that follows a script: `model_server({"text": "Hello"}).url`."""
    with contextlib.ExitStack() as started:

        def serve(*replies: Replies) -> "ScriptedServer":
            return started.enter_context(testing.ScriptedServer(testing.Script.of(*replies)))

        yield serve


@pytest.fixture
def scripted_model(tmp_path: Path) -> Callable[..., Path]:
    """Make a config directory whose only model follows a script, for tests that start `marvin` itself:

    `subprocess.run(["marvin", "--config-dir", scripted_model({"text": "Hello"}), "-p", "hi"])`
    """

    def configure(*replies: Replies) -> Path:
        directory = tmp_path / "marvin-config"
        directory.mkdir(exist_ok=True)
        (directory / "script.json").write_text(json.dumps({"version": 1, "replies": replies}))
        provider = {"api": "scripted", "baseUrl": "script.json", "models": [{"id": "one"}]}
        (directory / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
        return directory

    return configure
