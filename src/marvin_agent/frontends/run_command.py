"""A run: headless with -p, in the terminal app otherwise."""

import argparse
import sys

from marvin_agent.errors import UsageError
from marvin_agent.frontends import headless
from marvin_agent.places import Places


def run(options: argparse.Namespace, places: Places) -> int:
    """Start what the options ask for; the exit code."""
    if options.print or options.headless or options.output or not sys.stdout.isatty():
        return headless.run(options, places)
    raise UsageError("the terminal app is not there yet", hint='Use `marvin -p "prompt"`.')
