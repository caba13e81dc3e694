"""The running example of each event in docs/hooks/reference.md does what its page says."""

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from marvin_agent.hooks.spec import ROWS
from marvin_agent.testing import BlockingHarness

SNIPPETS = Path(__file__).parents[2] / "docs" / "hooks" / "snippets"
EVENTS = [row.name for row in ROWS]


def test_every_event_has_a_snippet_and_every_snippet_an_event() -> None:
    assert sorted(path.stem for path in SNIPPETS.glob("*.py")) == sorted(name.replace(".", "_") for name in EVENTS)


@pytest.mark.parametrize("event", EVENTS)
def test_the_snippet_has_its_effect(event: str, marvin_hook: Callable[..., BlockingHarness]) -> None:
    path = SNIPPETS / f"{event.replace('.', '_')}.py"
    snippet = runpy.run_path(str(path))
    hook = marvin_hook(path, **snippet.get("OPTIONS", {}))
    assert event in hook.events
    snippet["effect"](hook, hook.emit(event, **snippet["PAYLOAD"]))
