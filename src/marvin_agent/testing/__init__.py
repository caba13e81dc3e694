"""What tests of hooks are written with: the harness, the scripted model, model servers that follow a script."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marvin_agent.llm.offline.script import Script
    from marvin_agent.testing.blocking import BlockingHarness
    from marvin_agent.testing.engine import ScriptedEngine
    from marvin_agent.testing.harness import Called, Emitted, Harness
    from marvin_agent.testing.person import Person, Question
    from marvin_agent.testing.server import ScriptedServer

__all__ = [
    "BlockingHarness",
    "Called",
    "Emitted",
    "Harness",
    "Person",
    "Question",
    "Script",
    "ScriptedEngine",
    "ScriptedServer",
]

_HOMES = {
    "BlockingHarness": "testing.blocking",
    "Called": "testing.harness",
    "Emitted": "testing.harness",
    "Harness": "testing.harness",
    "Person": "testing.person",
    "Question": "testing.person",
    "Script": "llm.offline.script",
    "ScriptedEngine": "testing.engine",
    "ScriptedServer": "testing.server",
}


def __getattr__(name: str) -> Any:
    # Lazily: the model server in this package is a program of its own, and a pytest plugin is loaded in every run.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"marvin_agent.{_HOMES[name]}"), name)
