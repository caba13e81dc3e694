"""What a hook gives to marvin, as JSON: with marks where JSON has no word, so that marvin judges what was meant.

A mark is an object with the one key `$marvin` and a list of its kind and its value: `object` (a value without a JSON
form, by the name of its type), `number` (not finite), `keys` (an object whose keys are not all texts), `dict` (an
object that looks like a mark), `call` (a function, by the number under which it can be called).
"""

import base64
import enum
import math
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
        case enum.Enum():
            return plain(value.value, call, depth + 1)
        case type():
            return {MARK: ["type", value.__name__]}
    # By name: a value of such a type was made by who has loaded its module; here that would be time at every start.
    match type(value).__module__:
        case "datetime" if hasattr(value, "isoformat"):
            return value.isoformat().replace("+00:00", "Z")
        case "decimal" | "_decimal" | "uuid":
            return str(value)
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name), call, depth + 1) for name in value.__dataclass_fields__}
    if call is not None and callable(value):
        return call(value)
    return {MARK: ["object", type(value).__name__]}
