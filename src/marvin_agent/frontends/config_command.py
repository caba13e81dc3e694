"""`marvin config`: every effective value and where it comes from, the schema, and where the file is."""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from marvin_agent.config import Config
from marvin_agent.config_schema import SCHEMA_FILE
from marvin_agent.frontends.hook_sources import configuration
from marvin_agent.jsonfile import JsonPath
from marvin_agent.masking import masked_value, names_a_secret
from marvin_agent.places import Places
from marvin_agent.settings import Settings

_WIDEST_VALUE = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options that stand after `marvin config`."""
    parser.add_argument(
        "what",
        nargs="?",
        choices=("show", "schema", "path"),
        default="show",
        help="show every value and where it comes from (the default), print the JSON Schema, or the file's path",
    )
    parser.add_argument("--json", action="store_true", help="show the values as JSON")


def run(arguments: argparse.Namespace, places: Places) -> int:
    """Do what the arguments say, with the configuration that a run here would have; the exit code."""
    match arguments.what:
        case "schema":
            sys.stdout.write(SCHEMA_FILE.read_text("utf-8"))
        case "path":
            print(places.config_file)
        case _:
            config = configuration(places)
            if arguments.json:
                sys.stdout.write(_as_json(config))
            else:
                sys.stdout.write(_as_text(config))
                for notice in config.notices:
                    print(f"marvin: {_printable(notice)}", file=sys.stderr)
    return 0


def _as_json(config: Config) -> str:
    values = {
        ".".join(map(str, path)): {"value": _masked(path, value), "origin": config.origin(path)}
        for path, value in _effective(config)
    }
    data = msgspec.json.encode({"values": values, "notices": config.notices})
    return msgspec.json.format(data, indent=2).decode() + "\n"


def _as_text(config: Config) -> str:
    rows = [
        (_printable(".".join(map(str, path))), _shown(_masked(path, value)), _printable(config.origin(path)))
        for path, value in _effective(config)
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    # One long prompt must not push all origins off the screen.
    name_width, value_width = widths[0], min(widths[1], _WIDEST_VALUE)
    return "".join(f"{name:<{name_width}}  {value:<{value_width}}  {origin}\n" for name, value, origin in rows)


def _effective(config: Config) -> Iterator[tuple[JsonPath, Any]]:
    """Every key that is not a section, with its value as JSON has it."""
    for name, key in zip(Settings.__struct_fields__, Settings.__struct_encode_fields__, strict=True):
        value = msgspec.to_builtins(getattr(config, name))
        if key != "$schema":
            yield from _leaves((key,), value)


def _leaves(path: JsonPath, value: Any) -> Iterator[tuple[JsonPath, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves((*path, key), item)
    else:
        yield path, value


def _masked(path: JsonPath, value: Any) -> Any:
    # Only hooks have settings of their own naming; marvin's own keys, actions and hook ids are no secrets.
    named = map(str, path[3:]) if path[:2] == ("hooks", "settings") else ()
    return masked_value(value, next(filter(names_a_secret, named), ""))


def _shown(value: Any) -> str:
    return "(not set)" if value is None else _printable(msgspec.json.encode(value).decode())


def _printable(text: str) -> str:
    """The text without what a terminal would take for a command."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
