"""Loads the examples as a user's hooks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.testing import BlockingHarness

HOOKS = Path(__file__).parents[2] / "examples" / "hooks"
GOOGLE = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
Example = Callable[..., BlockingHarness]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have some."""
    for name in ("SUPERMEMORY_API_KEY", "SUPERMEMORY_API_URL", "CURSOR_REFRESH_TOKEN", *GOOGLE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def example(marvin_hook: Callable[..., BlockingHarness]) -> Example:
    """Load an example by its name, with the options of Harness."""

    def load(name: str, **options: Any) -> BlockingHarness:
        return marvin_hook(HOOKS / f"{name}.py", **options)

    return load
