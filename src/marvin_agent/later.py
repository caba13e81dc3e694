"""A module that is loaded when it is first used: for what a start does not need, but the next moment may."""

import importlib
from typing import Any


class Later:
    """Stands for a module at the top of a file; a type checker is given the real import beside it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self.load(), attribute)

    def load(self) -> Any:
        """The module. Safe from any thread: a program may load it in the background before it is used."""
        return importlib.import_module(self._name)
