"""The command line: a first word that is a subcommand is one, all else is a prompt with options around it."""

import argparse
import errno
import importlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from marvin_agent import __version__
from marvin_agent.errors import Aborted, MarvinError, UsageError, of_file

NOT_WRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
COMMANDS = {
    "models": ("models_command", "list models; `refresh` fetches prices and models; --local finds local servers"),
    "login": ("login_command", "store a provider's API key"),
    "logout": ("logout_command", "forget a provider's API key"),
    "config": ("config_command", "show the configuration and where each value comes from; `schema`, `path`"),
    "sessions": ("sessions_command", "list, show or remove stored sessions"),
    "hooks": ("hooks_command", "list, check, write, run, switch and explain hooks"),
    "validate": ("validate_command", "check the configuration and every hook"),
    "trust": ("trust_command", "trust this project's hooks as they are now; --list, --package"),
    "untrust": ("untrust_command", "take that back"),
    "permissions": ("permissions_command", "list or forget what you allowed for good"),
    "doctor": ("doctor_command", "check that everything marvin needs is there"),
    "local": ("local_command", "install, show or remove the weights of the embedded model"),
    "completion": ("completion_command", "print a completion script for bash, zsh or fish"),
}
_FRONTENDS = "marvin_agent.frontends"
THINKING = ("off", "minimal", "low", "medium", "high", "xhigh")
OUTPUTS = ("text", "json", "stream-json")
PLACES = {
    "--cwd": ("DIR", "work here"),
    "--config": ("FILE", "this config.json"),
    "--config-dir": ("DIR", "the directory of marvin's files (~/.config/marvin)"),
}
EPILOG = """\
hooks: Python files with a function `setup(marvin)`, which see, change or refuse every step
  where       ~/.config/marvin/hooks, .marvin/hooks of a trusted project, hooks.paths, packages, --hook
  imports     the standard library and what is installed beside marvin; a PEP 723 block at the top names more, and
              gives the hook an environment and a process of its own
  config      hooks.paths, required, disabled, settings, isolate, env, timeoutMs, gateTimeoutMs in config.json
  commands    marvin hooks new, check, run, list, enable, disable, why, trace; marvin trust, untrust

exit codes: 0 done, 1 the run failed, 2 usage, 78 configuration, 130 interrupted
"""


class Help(argparse.RawDescriptionHelpFormatter):
    """Finds the terminal's width without `shutil`, which loads four compressors.

    argparse makes a formatter for every option that it is told of, whether help is wanted or not.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


class Parser(argparse.ArgumentParser):
    """Errors are UsageErrors, so that all errors of marvin look alike; the beginning of an option is not the option."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        hint = f"`{self.prog} --help` shows the options."
        what, _, words = message.partition("unrecognized arguments: ")
        if not what and words.startswith("-"):
            flag = words.split()[0].partition("=")[0]
            message = f"there is no option {flag}"
            flags = [name for name in _options_of(self) if name.startswith("--")]
            if len(flag) == 2:
                near = next((name for name in flags if name[2] == flag[1]), None)
            else:
                near = _load("marvin_agent.nearest").nearest(flag, flags)
            hint = f"Did you mean {near}? {hint}" if near else hint
            if self.prog == "marvin":
                hint += " A prompt that begins with a dash stands behind `--`."
        command = self.prog.partition(" ")[2]
        raise UsageError(f"{command}: {message}" if command else message, hint=hint)


def _options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The names of its options and of those of its commands, to which a wrong one may belong."""
    facts = vars(parser)
    yield from facts["_option_string_actions"]
    for action in facts["_actions"]:
        if isinstance(action.choices, dict):
            for below in action.choices.values():
                yield from _options_of(below)


def parser() -> argparse.ArgumentParser:
    """The options of a run. Commands have parsers of their own."""
    made = Parser(
        prog="marvin",
        usage="marvin [options] [prompt...]\n       marvin COMMAND ...",
        description="A terminal coding agent whose every step can be seen, changed or refused by a hook.",
        epilog="commands:\n" + "".join(f"  {name:<12}{text}\n" for name, (_, text) in COMMANDS.items()) + "\n" + EPILOG,
        formatter_class=Help,
    )
    add = made.add_argument
    add("prompt", nargs="*", help="what to do; standard input is the prompt, or is attached to it")
    add("-p", "--print", action="store_true", help="headless: do it, print the answer, leave")
    shape = made.add_mutually_exclusive_group().add_argument
    shape("--output", choices=OUTPUTS, help="what a headless run prints (text)")
    shape("--headless", action="store_true", help="the same as -p --output json")
    session = made.add_mutually_exclusive_group().add_argument
    session("-c", "--continue", dest="continue_", action="store_true", help="go on with the latest session here")
    session("-r", "--resume", action="store_true", help="choose a session to go on with")
    session("--session", metavar="ID", help="go on with this session: an id, its beginning, or a path")
    session("--no-session", action="store_true", help="keep nothing")
    add("--model", metavar="MODEL", help="id, provider/id, a part of one, or a comma list")
    add("--provider", metavar="NAME", help="the provider of models named without one")
    add("--thinking", metavar="LEVEL", type=_levels, help=f"{', '.join(THINKING)}; or a comma list, one for each model")
    add("--fallback", action="store_true", help="go on with the next model of the list when one stays down")
    mode = made.add_mutually_exclusive_group().add_argument
    mode("--auto", action="store_true", help="let tools act without asking; deny rules and gates still hold")
    mode("--permission-mode", choices=("ask", "edits", "auto", "plan"), help="what tools may do (ask)")
    tools = made.add_mutually_exclusive_group().add_argument
    tools("--tools", metavar="LIST", help="only these tools, separated by commas")
    tools("--no-tools", action="store_true", help="no tools at all")
    add("--attach", metavar="FILE", action="append", default=[], help="an image or a text to send along")
    add("--system-prompt", metavar="TEXT", help="in place of marvin's own")
    add("--append-system-prompt", metavar="TEXT", help="added to the system prompt")
    add("--max-turns", metavar="N", type=_count, help="stop after so many model calls")
    add("--max-cost", metavar="USD", type=_money, help="stop when the run has cost so much")
    add("--hook", metavar="PATH", action="append", default=[], help="load this hook too; naming it is consent")
    add("--flag", metavar="NAME[=VALUE]", action="append", default=[], help="set a flag that a hook has registered")
    add("--no-hooks", action="store_true", help="load no hooks but builtin and required ones")
    add("--trace-hooks", metavar="FILE", help="write a JSON line for every call of a hook's handler")
    add("--trust-project", action="store_true", help="trust the project's .marvin directory for this run")
    traffic = made.add_mutually_exclusive_group().add_argument
    traffic("--record", metavar="FILE", help="keep the model traffic, without secrets")
    traffic("--replay", metavar="FILE", help="play recorded traffic back in place of the network")
    add("--replay-loose", action="store_true", help="replay in order, even when requests differ")
    _add_places(made)
    add("-v", "--version", action="version", version=f"marvin {__version__}")
    return made


def _columns() -> int:
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named) > 0:
        return int(named)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


def _levels(text: str) -> str:
    for level in text.split(","):
        if level.strip() not in THINKING:
            raise argparse.ArgumentTypeError(f"{level.strip()!r} is no level; there are {', '.join(THINKING)}")
    return text


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _money(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 < amount < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount above 0")
    return amount


def whole_parser() -> argparse.ArgumentParser:
    """All of the command line with its commands, for those who describe it. It parses no prompt."""
    made = parser()
    commands = made.add_subparsers(metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        _fill(commands.add_parser(name, help=text), _load(f"{_FRONTENDS}.{module}"))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _open_standard_streams()
    try:
        return _main(words)
    except MarvinError as error:
        return _tell(error, words)
    except KeyboardInterrupt:
        return _tell_below(Aborted(), words)
    except EOFError:  # Ctrl-D, where a command asks
        return _tell_below(Aborted("No answer was given"), words)
    except BrokenPipeError:
        # Whoever read our output has left; there is nobody to tell. The interpreter flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 128 + 13
    except OSError as error:
        if error.filename is not None:
            return _tell(of_file(error), words)
        if error.errno not in NOT_WRITABLE:
            raise
        return cannot_print(error)


def cannot_print(error: OSError) -> int:
    """Say that standard output takes nothing more, a full disk for instance; gives the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    print(f"marvin: what is printed cannot be written: {error.strerror or error}", file=sys.stderr)
    return 1


def _main(words: list[str]) -> int:
    name, rest = split_command(words)
    if name:
        module = _load(f"{_FRONTENDS}.{COMMANDS[name][0]}")
        options = command_parser(name, module).parse_args(rest)
        # What completes the command line needs to know all of it.
        known = whole_parser() if name == "completion" else _places(options)
        return int(module.run(options, known))
    options = parse(words)
    return int(_load(f"{_FRONTENDS}.run_command").run(options, _places(options)))


def _tell(error: MarvinError, words: list[str]) -> int:
    """Show an error of before the run, in the form that was asked for."""
    output = wanted_output(words)
    if output == "text":
        text = _load("marvin_agent.text").printable(error.show())
        try:
            print(f"marvin: {text}", file=sys.stderr, flush=True)
        except OSError:
            pass  # nobody can be told; the exit code still says it
    else:
        try:
            _load(f"{_FRONTENDS}.report").Report(output, sys.stdout).failed(error)
        except OSError as problem:
            if problem.errno in NOT_WRITABLE:
                cannot_print(problem)
    return error.exit_code


def _tell_below(error: MarvinError, words: list[str]) -> int:
    if sys.stderr.isatty():
        print(file=sys.stderr)  # after a question, or ^C
    return _tell(error, words)


def wanted_output(words: Sequence[str]) -> str:
    """What the words ask to print, even when the rest of them is wrong."""
    own = words[: words.index("--")] if "--" in words else words
    for word, after in zip(own, [*own[1:], ""], strict=False):
        output = word.removeprefix("--output=") if word.startswith("--output=") else after
        if word.startswith("--output") and output in OUTPUTS:
            return output
    return "json" if "--headless" in own else "text"


def split_command(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The command that the first word is, if it is one, and its words, those first that say where marvin's files are.

    They may stand before the command or anywhere after it.
    """
    at = 0
    while at < len(words) and words[at].partition("=")[0] in PLACES:
        at += 1 if "=" in words[at] else 2
    if at < len(words) and words[at] in COMMANDS:
        return words[at], _places_first([*words[:at], *words[at + 1 :]])
    return None, list(words)


def _places_first(words: list[str]) -> list[str]:
    end = words.index("--") if "--" in words else len(words)
    first: list[str] = []
    others: list[str] = []
    at = 0
    while at < end:
        size = 1 if "=" in words[at] or words[at] not in PLACES else 2
        (first if words[at].partition("=")[0] in PLACES else others).extend(words[at : min(at + size, end)])
        at += size
    return [*first, *others, *words[end:]]


def command_parser(name: str, module: Any) -> argparse.ArgumentParser:
    """The parser of a command: its own arguments, and where marvin's files are."""
    return _fill(Parser(prog=f"marvin {name}", description=COMMANDS[name][1]), module)


def _fill(made: argparse.ArgumentParser, module: Any) -> argparse.ArgumentParser:
    module.add_arguments(made)
    _add_places(made)
    return made


def _add_places(made: argparse.ArgumentParser) -> None:
    for flag, (metavar, text) in PLACES.items():
        made.add_argument(flag, metavar=metavar, help=text)


def _places(options: argparse.Namespace) -> Any:
    # Only now is anything loaded that costs time: usage errors and --help come before.
    for flag, path in (("--config", options.config), ("--config-dir", options.config_dir)):
        if path == "":
            raise UsageError(f"{flag} is empty")
    if options.cwd is not None and not os.path.isdir(options.cwd):
        raise UsageError(f"--cwd {options.cwd}: there is no such directory")
    places = _load("marvin_agent.places")
    return places.find_places(cwd=options.cwd, config_dir=options.config_dir, config_file=options.config)


def parse(words: list[str]) -> argparse.Namespace:
    """The options of a run; what stands behind `--` is prompt, whatever it looks like."""
    prompt: list[str] = []
    if "--" in words:
        at = words.index("--")
        words, prompt = words[:at], words[at + 1 :]
    options = parser().parse_intermixed_args(words)
    if options.replay_loose and not options.replay:
        raise UsageError("--replay-loose goes with --replay FILE")
    options.prompt = [*options.prompt, *prompt]
    return options


def _open_standard_streams() -> None:
    """Where one of them was closed, something else would be opened in its place and get what is meant for it."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
        if getattr(sys, name) is None:
            # Open as long as the program runs.
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    # Where letters are few, those that are missing are shown as escapes.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _load(name: str) -> Any:
    # Each command loads what it needs; `--help` and `--version` load nothing.
    return importlib.import_module(name)
