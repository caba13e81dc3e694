"""Judges the arguments that a model gave: each problem is named, in words that say what to do."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from marvin_agent.errors import ToolError
from marvin_agent.nearest import nearest
from marvin_agent.tools.typeschema import options_of, without_none


class InvalidArguments(ToolError):
    """A tool was called with arguments that it cannot take; nothing was executed."""

    kind = "invalid_arguments"

    def __init__(self, tool: str, problems: list[str], names: Iterable[str], required: Iterable[str]) -> None:
        needed = set(required)
        listed = ", ".join(f"{name} (required)" if name in needed else name for name in names)
        takes = f"It takes: {listed}." if listed else "It takes no arguments."
        lines = "\n".join(f"- {problem}" for problem in problems)
        super().__init__(
            f"Invalid arguments for {tool}; nothing was done:\n{lines}\n{takes} Correct them and call again."
        )
        self.problems = problems


def unknown_argument(name: str, names: Iterable[str]) -> str:
    """The problem of an argument that a tool does not have."""
    known = nearest(name, names)
    return f"{name}: there is no such argument" + (f"; did you mean {known}?" if known else "")


class WrongValue(Exception):
    """A value does not fit its type. Each problem begins with its place inside the argument, or with a colon."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems)
        self.problems = problems


def convert(value: Any, annotation: Any) -> Any:
    """A value from a model as the type asks; lax where the meaning is plain (`"5"` is a number, a list may be text)."""
    plain = _bare(annotation)
    value = _unquoted(value, plain)
    if get_origin(plain) is list and isinstance(value, list):
        (item_type,) = get_args(plain)
        value = [_unquoted(item, _bare(item_type)) for item in value]
        problems: list[str] = []
        for index, item in enumerate(value):
            try:
                convert(item, item_type)
            except WrongValue as wrong:
                problems += [f"[{index}]{problem}" for problem in wrong.problems]
        if problems:
            raise WrongValue(problems)
    try:
        return msgspec.convert(value, annotation, strict=False)
    except msgspec.ValidationError as error:
        if get_origin(plain) is Literal:
            options = ", ".join(map(repr, get_args(plain)))
            raise WrongValue([f": {value!r} is not one of {options}"]) from error
        raise WrongValue([_place_first(str(error))]) from error


def _bare(annotation: Any) -> Any:
    """The type without `None` and without constraints."""
    plain = without_none(annotation)
    return without_none(get_args(plain)[0]) if get_origin(plain) is Annotated else plain


def _unquoted(value: Any, plain: Any) -> Any:
    """Some models write a list or an object as the text of its JSON; that is decoded where no text is wanted."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    if any(option is str or option is Any or get_origin(option) is Literal for option in options_of(plain)):
        return value
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return value


def _place_first(text: str) -> str:
    message, _, path = text.partition(" - at `")
    place = path.rstrip("`").removeprefix("$")
    message = message.replace("`", "")
    return f"{place}: {message[:1].lower()}{message[1:]}"
