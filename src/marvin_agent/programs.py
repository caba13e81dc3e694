"""Finds programs: on a PATH, and those that came with marvin's own installation."""

import os
import sys

import msgspec


def find_program(name: str, path: str) -> str | None:
    """The first executable of that name on a PATH. Nothing relative counts: a repository could put a program there."""
    for directory in filter(os.path.isabs, path.split(os.pathsep)):
        candidate = os.path.join(directory, name)
        if os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            return candidate
    return None


def installed_program(name: str) -> str | None:
    """The program that a package installed next to us has brought, else one on our PATH."""
    # Packages put programs beside the interpreter (a venv), or three levels above themselves (`pip install --user`).
    above = os.path.abspath(os.path.join(os.path.dirname(msgspec.__file__), *[os.pardir] * 4, "bin"))
    beside = os.path.dirname(sys.executable)
    return find_program(name, os.pathsep.join((beside, above))) or find_program(name, os.environ.get("PATH", ""))
