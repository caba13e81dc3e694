"""Reading the marks in what a hook's process sent: values for which JSON has no word (see `child/plain.py`)."""

from collections.abc import Callable
from typing import Any

MARK = "$marvin"
_TYPES: dict[str, type] = {kind.__name__: kind for kind in (bool, str, int, float, list, dict)}


def unmarked(value: Any, call: Callable[[Any], Any] | None = None) -> Any:
    """The value that was meant. What has no JSON form becomes an object of a type of that name."""
    match value:
        case {"$marvin": [str(kind), inner]} if len(value) == 1:
            return _meant(kind, inner, call)
        case dict():
            return {key: unmarked(item, call) for key, item in value.items()}
        case list():
            return [unmarked(item, call) for item in value]
        case _:
            return value


def _meant(kind: str, inner: Any, call: Callable[[Any], Any] | None) -> Any:
    match kind:
        case "number":
            return float(inner)
        case "dict":
            return {key: unmarked(item, call) for key, item in inner.items()}
        case "keys":
            return {_Key(key): unmarked(item, call) for key, item in inner.items()}
        case "type":
            return _TYPES.get(inner) or type(str(inner), (), {})
        case "call" if call is not None:
            return call(inner)
        case _:
            return type(str(inner), (), {})()


class _Key:
    """A key that was no text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text
