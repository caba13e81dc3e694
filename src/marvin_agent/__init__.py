"""Marvin: a terminal coding agent whose every step can be seen, changed or refused by a hook."""

__version__ = "0.1.0"
