"""The forms of values that cross to a hook and back: what is accepted for each type of the table, and JSON.

The types are the strings written in `events` and `results`. Hooks may give a message, a part or a model as the
engine's own value or as its JSON form; keys of payloads in snake_case or camelCase.
"""

from collections.abc import Callable
from functools import cache
from math import isfinite
from typing import Any, TypeAlias

import msgspec

from marvin_agent.hooks import events, results
from marvin_agent.hooks.payload import Mode, Payload, Result, camel, fields_of
from marvin_agent.llm.values import Model
from marvin_agent.messages import (
    AssistantMessage,
    Image,
    Message,
    Text,
    ToolResultMessage,
    UserPart,
    clean,
    clean_value,
    encode,
)

Accept: TypeAlias = Callable[[Any], Any]
MAX_DEPTH = 100
"""How deep a value that a hook gives may be nested."""


class FormError(ValueError):
    """A value that does not have the form it should have; the message says what was expected and what came."""


_VALUES: dict[str, Any] = {
    "UserPart": UserPart,
    "Message": Message,
    "AssistantMessage": AssistantMessage,
    "ToolResultMessage": ToolResultMessage,
    "Image": Image,
}
_LITERALS: dict[str, Any] = {"Mode": Mode, "Purpose": events.Purpose, "CompactReason": events.CompactReason}
_PAYLOADS: dict[str, type[Payload]] = {
    cls.__name__: cls
    for module in (events, results)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, Payload)
}


def to_json(value: object) -> bytes:
    """JSON of an event, a result or anything inside; declared names in camelCase, the rest as it is."""
    return msgspec.json.encode(value, enc_hook=_plain)


def to_plain(value: object) -> Any:
    """The JSON form as dicts and lists, shared with nobody."""
    return msgspec.json.decode(to_json(value))


def _plain(value: object) -> Any:
    if isinstance(value, Payload):
        return {camel(name): item for name, item in vars(value).items()}
    if isinstance(value, type):
        return value.__name__
    raise TypeError(f"{type(value).__name__} has no JSON form")


class Lazy:
    """A value of an event that is costly to make: made anew for each handler."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


_SHARED = frozenset({str, int, float, bool, type(None)})


def fresh(value: Any) -> Any:
    """A copy that may be changed without anybody else noticing; frozen values are shared."""
    kind = type(value)
    if kind in _SHARED:
        return value  # nearly all values: each handler of each event gets a copy
    if isinstance(value, dict):
        return {key: item if type(item) in _SHARED else fresh(item) for key, item in value.items()}
    if isinstance(value, list):
        return [item if type(item) in _SHARED else fresh(item) for item in value]
    if isinstance(value, Payload):
        made: Any = object.__new__(kind)
        made.__dict__ = {name: item if type(item) in _SHARED else fresh(item) for name, item in value.__dict__.items()}
        return made
    if isinstance(value, Lazy):
        return value.make()
    return value


@cache
def accept(kind: str) -> Accept:
    """The function that takes a value of the type written `kind`, or raises FormError."""
    if kind.endswith(" | None"):
        inner = accept(kind.removesuffix(" | None"))
        return lambda value: None if value is None else inner(value)
    if kind.startswith("list["):
        return _list_of(kind[5:-1])
    if kind.startswith("Literal["):
        return _one_of(tuple(word.strip().strip("\"'") for word in kind[8:-1].split(",")))
    if kind in _LITERALS:
        return _one_of(_LITERALS[kind].__args__)
    if kind in _VALUES:
        return _value_of(kind)
    if kind in _PAYLOADS:
        return lambda value: payload(_PAYLOADS[kind], value)
    return _SIMPLE[kind]


def payload(cls: type[Payload], value: Any) -> Payload:
    """A payload from one of its kind or from a dict, every field checked."""
    given = vars(value) if isinstance(value, cls) else value
    if not isinstance(given, dict):
        raise FormError(f"expected {cls.__name__} or a dict, not {_name(value)}")
    kinds = fields_of(cls)
    made: dict[str, Any] = {}
    for key, item in given.items():
        name = key if key in kinds else _snake(key, kinds)
        try:
            made[name] = accept(kinds[name])(item)
        except FormError as error:
            raise FormError(f"{key}: {error}") from None
    if missing := [name for name in cls.required if name not in made]:
        raise FormError(f"{missing[0]} is missing")
    return cls(**made)


def result(cls: type[Result], value: Any) -> dict[str, Any]:
    """What a handler returned, as checked fields by their snake_case names; raises FormError."""
    if value is None:
        return {}
    return vars(payload(cls, value))


def _snake(key: Any, kinds: dict[str, str]) -> str:
    for name in kinds:
        if camel(name) == key:
            return name
    names = ", ".join(sorted(kinds)) or "nothing"
    raise FormError(f"unknown key {key!r}; known are {names}")


def _name(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _instance(cls: type, word: str, *, but: type | None = None) -> Accept:
    def check(value: Any) -> Any:
        if not isinstance(value, cls) or (but and isinstance(value, but)):
            raise FormError(f"expected {word}, not {_name(value)}")
        return clean(value) if isinstance(value, str) else value

    return check


def _one_of(words: tuple[str, ...]) -> Accept:
    def check(value: Any) -> Any:
        if value not in words:
            raise FormError(f"expected one of {', '.join(words)}, not {value!r}")
        return value

    return check


def _list_of(kind: str) -> Accept:
    inner = accept(kind)

    def check(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise FormError(f"expected a list, not {_name(value)}")
        made = []
        for index, item in enumerate(value):
            try:
                made.append(inner(item))
            except FormError as error:
                raise FormError(f"[{index}]: {error}") from None
        return made

    return check


def _value_of(kind: str) -> Accept:
    cls = _VALUES[kind]
    classes = getattr(cls, "__args__", (cls,))

    def check(value: Any) -> Any:
        if isinstance(value, classes):
            return _sound(value, cls, kind)
        if not isinstance(value, dict):
            raise FormError(f"expected {kind} or its JSON form, not {_name(value)}")
        try:
            return msgspec.json.decode(to_json(clean_value(value)), type=cls)
        except (msgspec.MsgspecError, TypeError) as error:
            raise FormError(f"not a {kind}: {error}") from None

    return check


def _sound(value: Any, cls: Any, kind: str) -> Any:
    """A value of ours that a hook made: its class does not check what it is made of."""
    try:
        data = encode(value)
    except UnicodeEncodeError:
        data = encode(clean_value(msgspec.to_builtins(value)))
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise FormError(f"not a {kind}: {error}") from None
    try:
        read = msgspec.json.decode(data, type=cls)
    except msgspec.MsgspecError as error:
        raise FormError(f"not a {kind}: {error}") from None
    return value if read == value else read


class _NotPlain(Exception):
    """A value is not what JSON decodes to, or too deep."""


def _json(value: Any) -> Any:
    """A value as JSON has it, shared with nobody: who gave it may change his own afterwards."""
    try:
        return _copied(value, MAX_DEPTH)
    except _NotPlain:
        pass
    try:
        plain = msgspec.json.decode(to_json(value))
    except UnicodeEncodeError:
        plain = clean_value(value)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise FormError(f"not JSON: {error}") from None
    try:
        return _copied(plain, MAX_DEPTH)
    except _NotPlain:
        raise FormError(f"not JSON, or nested deeper than {MAX_DEPTH} levels") from None


def _copied(value: Any, depth: int) -> Any:
    """A copy of what is as JSON decodes it, no deeper than that. A subclass of a plain type is not plain."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str and clean(value) is value:
        return value
    if kind is int and -(2**63) <= value < 2**64:
        return value
    if kind is float and isfinite(value):
        return value
    if kind is dict and depth:
        return {_key(key): _copied(item, depth - 1) for key, item in value.items()}
    if kind is list and depth:
        return [_copied(item, depth - 1) for item in value]
    raise _NotPlain


def _key(key: Any) -> str:
    if type(key) is str and clean(key) is key:
        return key
    raise _NotPlain


def _dict(value: Any) -> Any:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise FormError(f"expected a dict with text keys, not {_name(value)}")
    return _json(value)


def _texts(value: Any) -> Any:
    if not isinstance(value, dict) or not all(isinstance(t, str) for pair in value.items() for t in pair):
        raise FormError("expected a dict of texts")
    return clean_value(value)


def _content(value: Any) -> Any:
    """The parts of a message; a text is one."""
    return [Text(text=clean(value))] if isinstance(value, str) else accept("list[UserPart]")(value)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise FormError(f"expected a number, not {_name(value)}")
    return value


def _model(value: Any) -> Any:
    """A model, or a dict with `provider` and `id` that the engine looks up."""
    if isinstance(value, Model):
        return _sound(value, Model, "Model")
    if isinstance(value, dict) and isinstance(value.get("provider"), str) and isinstance(value.get("id"), str):
        return _json(value)
    raise FormError(f"expected a model, or a dict with `provider` and `id`, not {_name(value)}")


_SIMPLE: dict[str, Accept] = {
    "str": _instance(str, "text"),
    "bool": _instance(bool, "True or False"),
    "int": _instance(int, "a whole number", but=bool),
    "float": _number,
    "Any": _json,
    "dict[str, Any]": _dict,
    "dict[str, str]": _texts,
    "Model": _model,
    "Content": _content,
}
