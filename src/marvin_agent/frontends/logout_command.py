"""`marvin logout PROVIDER`: the stored key of a provider is forgotten."""

import argparse
import os
import sys
from collections.abc import Mapping

from marvin_agent.frontends.table import printable
from marvin_agent.llm.auth.store import AuthFile
from marvin_agent.llm.providers import VARIABLES, canonical
from marvin_agent.places import Places


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The word that stands after `marvin logout`."""
    parser.add_argument("provider")


def run(arguments: argparse.Namespace, places: Places, environ: Mapping[str, str] = os.environ) -> int:
    """Forget the key; the exit code, which is 1 when none was stored."""
    auth_file = AuthFile(places.auth_file, lambda line: print(line, file=sys.stderr))
    # What is stored can be forgotten, whether or not its provider is known any more.
    removed = next(
        (name for name in (arguments.provider, canonical(arguments.provider.lower())) if auth_file.remove(name)),
        None,
    )
    if removed is None:
        stored = ", ".join(map(printable, auth_file.providers())) or "none"
        print(f"No key of {printable(arguments.provider)} is stored. Stored are: {stored}.", file=sys.stderr)
        return 1
    print(f"The key of {removed} is forgotten.")
    for name in VARIABLES.get(removed, ()):
        if environ.get(name):
            print(f"{name} of your environment still gives one.", file=sys.stderr)
    return 0
