"""What tests of hooks are written with: the harness, the scripted model, model servers that follow a script."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marvin_agent.testing.engine import ScriptedEngine
    from marvin_agent.testing.harness import Emitted, Harness
    from marvin_agent.testing.person import Person

__all__ = ["Emitted", "Harness", "Person", "ScriptedEngine"]

_HOMES = {"Emitted": "harness", "Harness": "harness", "Person": "person", "ScriptedEngine": "engine"}


def __getattr__(name: str) -> Any:
    # Lazily: the model server in this package is a program of its own and needs none of these.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
