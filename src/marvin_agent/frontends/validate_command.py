"""Check every hook there is: the same as `marvin hooks check` over everything."""

import argparse

from marvin_agent.config import load
from marvin_agent.frontends import hooks_command
from marvin_agent.places import Places


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(what="check", path=None)


def run(options: argparse.Namespace, places: Places) -> int:
    """The configuration first, then the hooks; the exit code."""
    load(places)
    return hooks_command.run(options, places)
