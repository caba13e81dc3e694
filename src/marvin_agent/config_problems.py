"""What is wrong with a configuration: every problem at once, each with its line, its key and what was probably meant.

Loaded only when something is wrong.
"""

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from msgspec import inspect

from marvin_agent.errors import ConfigError
from marvin_agent.jsonfile import Document, JsonPath
from marvin_agent.permission_rules import problem_of
from marvin_agent.settings import THINKING_LEVELS, Settings, comma_list, unknown_levels

Problem: TypeAlias = tuple[JsonPath, str, str | None]
"""Where, what, and what to do."""


def explain(name: str, values: Any, document: Document | None, reason: str) -> list[ConfigError]:
    """The problems of a file's values, in the order of its lines; `reason` is what is said when none is found."""
    found = list(_check(inspect.type_info(Settings), values, ()))
    if document is not None:
        found.sort(key=lambda problem: document.line_of(problem[0]))
    return [
        ConfigError(message, file=name, line=document.line_of(path) if document else None, hint=hint)
        for path, message, hint in found
    ] or [ConfigError(reason, file=name)]


def nearest(word: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The name that was probably meant: other case and other separators are no difference."""
    plain = {_plain(name): name for name in names}
    found = difflib.get_close_matches(_plain(word), plain, n=1, cutoff=cutoff)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _check(kind: inspect.Type, value: Any, path: JsonPath) -> Iterator[Problem]:
    match kind:
        case inspect.Metadata():
            yield from _check(kind.type, value, path)
        case inspect.StructType() if isinstance(value, dict):
            yield from _check_section(kind, value, path)
        case inspect.DictType() if isinstance(value, dict):
            for key, item in value.items():
                yield from _check(kind.value_type, item, (*path, key))
        case inspect.VarTupleType() if isinstance(value, list | tuple):
            if not value and kind.min_length:
                yield path, f"{_name(path)} must not be empty", None
            for index, item in enumerate(value):
                yield from _check(kind.item_type, item, (*path, index))
        case inspect.UnionType():
            # The one that has the right shape says what is wrong inside.
            fitting = [one for one in kind.types if _has_shape(one, value)]
            if fitting:
                yield from _check(fitting[0], value, path)
            else:
                yield path, f"{_name(path)} must be {_expected(kind)}, but is {_found(value)}", None
        case _ if not _fits(kind, value):
            yield path, f"{_name(path)} must be {_expected(kind)}, but is {_found(value, kind)}", _meant(kind, value)
        case _ if path == ("thinking",) and (unknown := unknown_levels(value)):
            for level in unknown:
                levels = ", ".join(THINKING_LEVELS)
                yield path, f"thinking must be one of {levels}, but is {level!r}", _did_you_mean(level, THINKING_LEVELS)
        case _ if path == ("model",) and not comma_list(value):
            yield path, f"model names none: {value!r}", None
        case _ if path[:1] == ("permissions",) and len(path) == 3 and (problem := problem_of(value)):
            yield path, f"{_name(path)}: {problem}", None


def _check_section(section: inspect.StructType, values: dict[str, Any], path: JsonPath) -> Iterator[Problem]:
    fields = {field.encode_name: field for field in section.fields}
    for key, value in values.items():
        if field := fields.get(key):
            yield from _check(field.type, value, (*path, key))
        else:
            yield (*path, key), f"unknown key {_name((*path, key))}", _known(key, path, fields)
    for key, field in fields.items():
        if field.required and key not in values:
            yield path, f"{_name(path)} needs the key {key}", None


def _known(key: str, path: JsonPath, here: Iterable[str]) -> str:
    everywhere = {name: where for where, name in _all_keys(inspect.type_info(Settings), ())}
    # The very key in another section is likelier than one here that merely looks like it.
    for cutoff in (1.0, 0.6):
        if near := nearest(key, here, cutoff):
            return f"Did you mean {_name((*path, near))}?"
        if near := nearest(key, everywhere, cutoff):
            return f"Did you mean {everywhere[near]}?"
    return f"Known here: {', '.join(here)}."


def _all_keys(kind: inspect.Type, path: JsonPath) -> Iterator[tuple[str, str]]:
    if isinstance(kind, inspect.StructType):
        for field in kind.fields:
            here = (*path, field.encode_name)
            yield _name(here), field.encode_name
            yield from _all_keys(field.type, here)


def _fits(kind: inspect.Type, value: Any) -> bool:
    match kind:
        case inspect.AnyType():
            return True
        case inspect.NoneType():
            return value is None
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.StrType():
            return isinstance(value, str) and len(value) >= (kind.min_length or 0)
        case inspect.IntType():
            low, high = kind.ge, kind.le
            return (
                isinstance(value, int)
                and not isinstance(value, bool)
                and (low is None or value >= low)
                and (high is None or value <= high)
            )
        case inspect.LiteralType():
            return value in kind.values
        case _:
            return False


def _has_shape(kind: inspect.Type, value: Any) -> bool:
    match kind:
        case inspect.Metadata():
            return _has_shape(kind.type, value)
        case inspect.StructType() | inspect.DictType():
            return isinstance(value, dict)
        case inspect.VarTupleType():
            return isinstance(value, list | tuple)
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.IntType():
            return isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            return _fits(kind, value)


def _expected(kind: inspect.Type) -> str:
    match kind:
        case inspect.Metadata():
            return _expected(kind.type)
        case inspect.StructType() | inspect.DictType():
            return "an object"
        case inspect.VarTupleType():
            return "a list"
        case inspect.StrType():
            return "a string that is not empty" if kind.min_length else "a string"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType() if kind.ge is not None and kind.le is not None:
            return f"a whole number from {kind.ge} to {kind.le}"
        case inspect.IntType() if kind.ge is not None:
            return f"a whole number, {kind.ge} or more"
        case inspect.LiteralType():
            return f"one of {', '.join(map(str, kind.values))}"
        case inspect.NoneType():
            return "null"
        case inspect.UnionType():
            *others, last = dict.fromkeys(_expected(one) for one in kind.types)
            return f"{', '.join(others)} or {last}"
        case _:
            return "something else"


def _found(value: Any, kind: inspect.Type | None = None) -> str:
    # A string is quoted only where a few words are known, so that a key pasted in the wrong place is not shown.
    match value:
        case str() if isinstance(kind, inspect.LiteralType):
            return repr(value[:40])
        case "":
            return "empty"
        case str():
            return "a string"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case None:
            return "null"
        case dict():
            return "an object"
        case _:
            return "a list"


def _meant(kind: inspect.Type, value: Any) -> str | None:
    match kind, value:
        case inspect.LiteralType(values=values), str():
            return _did_you_mean(value, map(str, values))
        case inspect.BoolType(), "true" | "false":
            return f"Write {value} without quotes."
        case inspect.IntType(), str() if value.isdecimal():
            return f"Write {value} without quotes."
        case _:
            return None


def _did_you_mean(word: str, names: Iterable[str]) -> str | None:
    near = nearest(word, names)
    return f"Did you mean {near}?" if near else None


def _name(path: JsonPath) -> str:
    name = ""
    for part in path:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
    return name or "the configuration"
