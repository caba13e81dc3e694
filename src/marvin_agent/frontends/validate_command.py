"""`marvin validate`: config.json, models.json, then what `marvin hooks check` checks."""

import argparse

from marvin_agent.frontends import hooks_command
from marvin_agent.frontends.hook_sources import configuration
from marvin_agent.frontends.model_sources import open_sources
from marvin_agent.places import Places


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(what="check", path=None)


def run(options: argparse.Namespace, places: Places) -> int:
    """The configuration and the models first, then the hooks; the exit code."""
    configuration(places)
    open_sources(places, lambda line: None).catalog.models()
    return hooks_command.run(options, places)
