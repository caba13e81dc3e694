"""What a command line takes, read from its argparse parser: commands, options, arguments and their values."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

FILE_NAMES = ("FILE", "PATH")
"""The metavars that mean a file."""
DIRECTORY_NAMES = ("DIR", "DIRECTORY")


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """What may stand somewhere: some words, a file, a directory, or anything."""

    name: str
    words: tuple[str, ...] = ()
    files: bool = False
    directories: bool = False
    repeated: bool = False
    optional: bool = False


class Option(msgspec.Struct, frozen=True, kw_only=True):
    flags: tuple[str, ...]
    help: str
    value: Value | None = None
    """None for a switch."""
    repeatable: bool = False


class Command(msgspec.Struct, frozen=True, kw_only=True):
    path: tuple[str, ...]
    """The words that lead to it, without the program's name."""
    help: str
    options: tuple[Option, ...]
    arguments: tuple[Value, ...]
    commands: tuple["Command", ...]

    def all(self) -> Iterator["Command"]:
        """This command and those below it."""
        yield self
        for command in self.commands:
            yield from command.all()


def read_parser(
    parser: argparse.ArgumentParser,
    words: Mapping[str, tuple[str, ...]] = {},
    path: tuple[str, ...] = (),
    help_text: str = "",
) -> Command:
    """The command that a parser stands for.

    `words` has, by destination, what to offer for arguments and options that take other words too.
    """
    options: list[Option] = []
    arguments: list[Value] = []
    commands: list[Command] = []
    # argparse has no public way to ask a parser what it takes.
    for action in vars(parser)["_actions"]:
        if action.help == argparse.SUPPRESS:
            continue
        if action.option_strings:
            options.append(_option(action, words))
        elif _has_commands(action):
            commands += _commands(action, words, path)
        else:
            arguments.append(_value(action, words))
    return Command(
        path=path,
        help=help_text,
        options=tuple(options),
        arguments=tuple(arguments),
        commands=tuple(commands),
    )


def _commands(
    action: argparse.Action, words: Mapping[str, tuple[str, ...]], path: tuple[str, ...]
) -> Iterator[Command]:
    helps = {choice.dest: choice.help or "" for choice in vars(action)["_choices_actions"]}
    parsers: Any = action.choices
    # A parser that is there under several names has aliases; the first one is the command's name.
    names = {id(parser): name for name, parser in reversed(parsers.items())}
    for name, parser in parsers.items():
        if names[id(parser)] == name and helps.get(name) != argparse.SUPPRESS:
            yield read_parser(parser, words, (*path, name), _first_line(helps.get(name, "")))


def _has_commands(action: argparse.Action) -> bool:
    choices: Any = action.choices
    return isinstance(choices, dict) and all(isinstance(one, argparse.ArgumentParser) for one in choices.values())


def _option(action: argparse.Action, words: Mapping[str, tuple[str, ...]]) -> Option:
    return Option(
        flags=tuple(action.option_strings),
        help=_first_line(action.help or ""),
        value=None if action.nargs == 0 else _value(action, words),
        repeatable=type(action).__name__ in ("_AppendAction", "_CountAction", "_ExtendAction"),
    )


def _value(action: argparse.Action, words: Mapping[str, tuple[str, ...]]) -> Value:
    metavar = action.metavar if isinstance(action.metavar, str) else None
    return Value(
        name=(metavar or action.dest).lower(),
        words=tuple(map(str, action.choices or words.get(action.dest, ()))),
        files=metavar in FILE_NAMES,
        directories=metavar in DIRECTORY_NAMES,
        repeated=action.nargs in ("*", "+", argparse.REMAINDER),
        optional=action.nargs in ("?", "*"),
    )


def _first_line(text: str) -> str:
    """A description short enough for a list; argparse's own `%(default)s` and the like say nothing there."""
    return text.partition("\n")[0].partition(" (default: %(")[0].replace("%%", "%").strip()
