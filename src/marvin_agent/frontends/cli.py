"""The command line: a first word that is a subcommand is one, all else is a prompt with options around it."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from marvin_agent import __version__
from marvin_agent.errors import MarvinError, UsageError

COMMANDS = {
    "models": ("models_command", "list models; `refresh` fetches prices and models; --local finds local servers"),
    "login": ("login_command", "store a provider's API key"),
    "logout": ("logout_command", "forget a provider's API key"),
    "config": ("config_command", "show the configuration and where each value comes from; `schema`, `path`"),
    "sessions": ("sessions_command", "list, show or remove stored sessions"),
    "trust": ("trust_command", "trust this project's hooks as they are now; --list, --package"),
    "untrust": ("untrust_command", "take that back"),
    "doctor": ("doctor_command", "check that everything marvin needs is there"),
    "local": ("local_command", "install or remove the embedded model's weights"),
    "completion": ("completion_command", "print a completion script for bash, zsh or fish"),
}
THINKING = ("off", "minimal", "low", "medium", "high", "xhigh")
EPILOG = """\
exit codes: 0 done, 1 the run failed, 2 usage, 78 configuration, 130 interrupted
"""


class Parser(argparse.ArgumentParser):
    """Errors are UsageErrors, so that all errors of marvin look alike."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}", hint=f"`{self.prog} --help` shows the options.")


def parser() -> argparse.ArgumentParser:
    """The options of a run. Commands have parsers of their own."""
    made = Parser(
        prog="marvin",
        usage="marvin [options] [prompt...]\n       marvin COMMAND ...",
        description="A terminal coding agent whose every step can be seen, changed or refused by a hook.",
        epilog="commands:\n" + "".join(f"  {name:<12}{text}\n" for name, (_, text) in COMMANDS.items()) + "\n" + EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = made.add_argument
    add("prompt", nargs="*", help="what to do; standard input is the prompt, or is attached to it")
    add("-p", "--print", action="store_true", help="headless: do it, print the answer, leave")
    add("--output", choices=("text", "json", "stream-json"), help="what a headless run prints (text)")
    add("--headless", action="store_true", help="the same as -p --output json")
    add("-c", "--continue", dest="continue_", action="store_true", help="go on with the latest session here")
    add("-r", "--resume", action="store_true", help="choose a session to go on with")
    add("--session", metavar="ID", help="go on with this session: an id, its beginning, or a path")
    add("--no-session", action="store_true", help="keep nothing")
    add("--model", metavar="MODEL", help="id, provider/id, a part of one, or a comma list")
    add("--provider", metavar="NAME", help="the provider of models named without one")
    add("--thinking", metavar="LEVEL", help=f"{', '.join(THINKING)}; or a comma list, one for each model")
    add("--auto", action="store_true", help="let tools act without asking; deny rules and gates still hold")
    add("--permission-mode", choices=("ask", "edits", "auto", "plan"), help="what tools may do (ask)")
    add("--tools", metavar="LIST", help="only these tools, separated by commas")
    add("--no-tools", action="store_true", help="no tools at all")
    add("--attach", metavar="FILE", action="append", default=[], help="an image or a text to send along")
    add("--system-prompt", metavar="TEXT", help="in place of marvin's own")
    add("--append-system-prompt", metavar="TEXT", help="added to the system prompt")
    add("--max-turns", metavar="N", type=int, help="stop after so many model calls")
    add("--max-cost", metavar="USD", type=float, help="stop when the run has cost so much")
    add("--hook", metavar="PATH", action="append", default=[], help="load this hook too; naming it is consent")
    add("--no-hooks", action="store_true", help="load no hooks but builtin and required ones")
    add("--trust-project", action="store_true", help="trust the project's .marvin directory for this run")
    add("--record", metavar="FILE", help="keep the model traffic, without secrets")
    add("--replay", metavar="FILE", help="play recorded traffic back in place of the network")
    add("--replay-loose", action="store_true", help="replay in order, even when requests differ")
    add("--fallback", action="store_true", help="go on with the next model of the list when one stays down")
    _add_places(made)
    add("-v", "--version", action="version", version=f"marvin {__version__}")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _main(words)
    except MarvinError as error:
        print(f"marvin: {error.show()}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has left; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1


def _main(words: list[str]) -> int:
    if words and words[0] in COMMANDS:
        return _command(words[0], words[1:])
    options = parse(words)
    return int(_load("run_command").run(options, _places(options)))


def _command(name: str, words: list[str]) -> int:
    module = _load(COMMANDS[name][0])
    made = command_parser(name, module)
    options = made.parse_args(words)
    return int(module.run(options, _places(options)))


def command_parser(name: str, module: Any) -> argparse.ArgumentParser:
    """The parser of a command: its own arguments, and where marvin's files are."""
    made = Parser(prog=f"marvin {name}", description=module.__doc__, allow_abbrev=False)
    module.add_arguments(made)
    _add_places(made)
    return made


def _add_places(made: argparse.ArgumentParser) -> None:
    made.add_argument("--cwd", metavar="DIR", help="work here")
    made.add_argument("--config", metavar="FILE", help="this config.json")
    made.add_argument("--config-dir", metavar="DIR", help="the directory of marvin's files (~/.config/marvin)")


def _places(options: argparse.Namespace) -> Any:
    # Only now is anything loaded that costs time: usage errors and --help come before.
    places = importlib.import_module("marvin_agent.places")
    return places.find_places(cwd=options.cwd, config_dir=options.config_dir, config_file=options.config)


def parse(words: list[str]) -> argparse.Namespace:
    """The options of a run; what stands behind `--` is prompt, whatever it looks like."""
    prompt: list[str] = []
    if "--" in words:
        at = words.index("--")
        words, prompt = words[:at], words[at + 1 :]
    options = parser().parse_intermixed_args(words)
    options.prompt = [*options.prompt, *prompt]
    return options


def _load(name: str) -> Any:
    # Each command loads what it needs; `--help` and `--version` load nothing.
    return importlib.import_module(f"marvin_agent.frontends.{name}")
