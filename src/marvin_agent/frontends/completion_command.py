"""`marvin completion bash|zsh|fish`: a script that completes the command line, made from its parser."""

import argparse
import sys
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from marvin_agent.frontends.completion.bash import bash_script
from marvin_agent.frontends.completion.fish import fish_script
from marvin_agent.frontends.completion.grammar import read_parser
from marvin_agent.frontends.completion.zsh import zsh_script
from marvin_agent.hooks.spec import ROWS
from marvin_agent.llm.providers import VARIABLES
from marvin_agent.llm.values import ThinkingLevel
from marvin_agent.tools.login import LoginEnvironment
from marvin_agent.tools.registry import builtin_tools

Shell: TypeAlias = Literal["bash", "zsh", "fish"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The word that stands after `marvin completion`."""
    parser.add_argument("shell", choices=get_args(Shell), help="the shell to print a script for")


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Print the script for the whole command line that `parser` parses."""
    words = {
        "provider": tuple(VARIABLES),
        "thinking": get_args(ThinkingLevel),
        "tools": tuple(tool.name for tool in builtin_tools(LoginEnvironment())),
        "event": tuple(row.name for row in ROWS),
    }
    sys.stdout.write(script(arguments.shell, parser, words))
    return 0


def script(shell: Shell, parser: argparse.ArgumentParser, words: Mapping[str, tuple[str, ...]] = {}) -> str:
    """A completion script for everything that a parser takes: its options, their choices, its commands, files.

    An option or argument whose metavar is FILE or PATH completes files, DIR or DIRECTORY directories; `words` has what
    is offered for others.
    """
    root = read_parser(parser, words)
    match shell:
        case "bash":
            return bash_script(parser.prog, root)
        case "zsh":
            return zsh_script(parser.prog, root)
        case "fish":
            return fish_script(parser.prog, root)
