"""Take the trust in a project's `.marvin`, or in a package's hooks, back."""

import argparse
import os

from marvin_agent.errors import UsageError
from marvin_agent.hooks.trust import Trust
from marvin_agent.places import Places, find_places
from marvin_agent.text import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", nargs="?", metavar="DIR", help="the project (the one around the working directory)")
    parser.add_argument("--package", metavar="NAME", help="an installed package instead")


def run(options: argparse.Namespace, places: Places) -> int:
    """Forget it; an error when it was not trusted."""
    if options.project and not options.package:
        # A project that is not there any more can be forgotten too.
        there = os.path.isdir(options.project)
        name = find_places(cwd=options.project).project_root if there else os.path.abspath(options.project)
    else:
        name = options.package or places.project_root
    name = name if options.package else os.path.realpath(name)
    if not Trust(places.trust_file).revoke(name):
        raise UsageError(f"{name} was not trusted", hint="`marvin trust --list` shows what is.")
    print(f"{printable(name)}: not trusted any more.")
    return 0
