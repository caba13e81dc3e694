"""JSON from servers and models, read strictly first and then as leniently as it has to be: half characters, NaN."""

import importlib
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def load_json(text: str | bytes) -> Any:
    """The JSON value; raises ValueError. Lone surrogates come through as they are, NaN and infinities as None."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        pass
    except RecursionError:
        raise ValueError("nested too deeply") from None
    try:
        return _lenient_json().loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def decode(decoder: msgspec.json.Decoder[T], text: str | bytes) -> T:
    """Decode with a typed decoder. Raises ValueError when it is no JSON, or not of that shape."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # A character outside the basic plane that a server cut in two is legal JSON, which msgspec does not read.
        return msgspec.convert(load_json(text), decoder.type)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _no_number(_: str) -> None:
    return None


def _lenient_json() -> Any:
    # What is strictly right, which is nearly all, never needs it.
    return importlib.import_module("json")
