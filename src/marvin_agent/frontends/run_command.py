"""A run: headless with -p, in the terminal app otherwise."""

import argparse
import importlib
import sys

from marvin_agent.places import Places


def run(options: argparse.Namespace, places: Places) -> int:
    """Start what the options ask for; the exit code."""
    headless = options.print or options.headless or options.output or not sys.stdout.isatty()
    # Each loads what it needs: the app's libraries cost more than a whole headless run.
    name = "headless" if headless else "tui.run"
    return int(importlib.import_module(f"marvin_agent.frontends.{name}").run(options, places))
