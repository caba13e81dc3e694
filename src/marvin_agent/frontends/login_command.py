"""`marvin login PROVIDER`: the key of a provider is stored."""

import argparse
import getpass
import os
import sys
from collections.abc import Callable, Mapping
from typing import TextIO

from marvin_agent.errors import ConfigError, UsageError
from marvin_agent.frontends.model_sources import ModelSources, open_sources
from marvin_agent.llm.providers import VARIABLES
from marvin_agent.places import Places

_MAX_KEY = 8192


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The word that stands after `marvin login`."""
    parser.add_argument("provider", help=f"one of {', '.join(VARIABLES)}, or one of your models.json")


def run(
    arguments: argparse.Namespace,
    places: Places,
    environ: Mapping[str, str] = os.environ,
    stdin: TextIO | None = None,
    ask: Callable[[str], str] = getpass.getpass,
) -> int:
    """Store the key that is typed, without an echo, or comes from a pipe; the exit code."""
    sources = open_sources(places, _notice)
    provider = _known(arguments.provider, sources)
    source = stdin if stdin is not None else sys.stdin
    typed = _typed(provider, ask) if source.isatty() else source.readline(_MAX_KEY + 2)
    sources.auth_file.store(provider, checked_key(typed))
    print(f"The key of {provider} is stored in {sources.auth_file.path}.")
    own = sources.custom.get(provider)
    if own is not None and own.api_key is not None:
        print(f"It has no effect while {places.models_file} gives an apiKey for {provider}.", file=sys.stderr)
    for name in VARIABLES.get(provider, ()):
        if environ.get(name):
            print(f"It is used instead of {name} of your environment.", file=sys.stderr)
    return 0


def _typed(provider: str, ask: Callable[[str], str]) -> str:
    try:
        return ask(f"API key of {provider} (not shown): ")
    except UnicodeDecodeError:
        return "\ufffd"  # no key has what is no text


def checked_key(typed: str) -> str:
    """The key in what was typed or piped. UsageError, which quotes nothing of it, when it cannot be one."""
    key = typed.strip()
    if not key:
        raise UsageError("no key was given; nothing is stored")
    if len(key) > _MAX_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError("that is not a key: a key is one line of letters, digits and signs; nothing is stored")
    return key


def _known(provider: str, sources: ModelSources) -> str:
    try:
        return sources.catalog.known_provider(provider)
    except ConfigError as error:
        raise UsageError(error.message, hint=error.hint) from None


def _notice(line: str) -> None:
    print(line, file=sys.stderr)
