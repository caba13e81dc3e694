"""What a hook gives to marvin, as JSON: with marks where JSON has no word, so that marvin judges what was meant.

A mark is an object with the one key `$marvin` and a list of its kind and its value: `object` (a value without a JSON
form, by the name of its type), `number` (not finite), `keys` (an object whose keys are not all texts), `dict` (an
object that looks like a mark), `call` (a function, by the number under which it can be called).
"""

import base64
import dataclasses
import datetime
import decimal
import enum
import math
import uuid
from collections.abc import Callable
from typing import Any

from marvin_agent.hooks.hosts.child.values import Stand, json_of
from marvin_agent.hooks.payload import Payload, camel

MARK = "$marvin"
DEEPEST = 200


def plain(value: Any, call: Callable[[Any], Any] | None = None, depth: int = 0) -> Any:
    """The JSON form of a value. `call` gives a function a number; without it functions have no form."""
    match value:
        case None | bool() | int() | str() if not isinstance(value, enum.Enum):
            return value
        case float():
            return value if math.isfinite(value) else {MARK: ["number", repr(value)]}
        case _ if depth > DEEPEST:
            return {MARK: ["object", "value nested too deep"]}
        case Stand():
            return json_of(value)
        case dict():
            return _object(value, call, depth)
        case list() | tuple() | set() | frozenset():
            return [plain(item, call, depth + 1) for item in value]
        case Payload():
            return {camel(name): plain(item, call, depth + 1) for name, item in vars(value).items()}
    return _other(value, call, depth)


def _object(value: dict[Any, Any], call: Callable[[Any], Any] | None, depth: int) -> Any:
    made = {key if isinstance(key, str) else str(key): plain(item, call, depth + 1) for key, item in value.items()}
    if not all(isinstance(key, str) for key in value):
        return {MARK: ["keys", made]}
    return {MARK: ["dict", made]} if len(made) == 1 and MARK in made else made


def _other(value: Any, call: Callable[[Any], Any] | None, depth: int) -> Any:
    match value:
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case decimal.Decimal() | uuid.UUID():
            return str(value)
        case enum.Enum():
            return plain(value.value, call, depth + 1)
        case type():
            return {MARK: ["type", value.__name__]}
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: plain(getattr(value, name), call, depth + 1) for name in names}
    if call is not None and callable(value):
        return call(value)
    return {MARK: ["object", type(value).__name__]}
