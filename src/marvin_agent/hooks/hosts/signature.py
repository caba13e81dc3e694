"""A function of this process that looks like a tool's function in another one, and calls that."""

import keyword
import operator
from collections.abc import Awaitable, Callable
from functools import reduce
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec

from marvin_agent.errors import HookError

_SIMPLE: dict[str, Any] = {"Any": Any, "None": None, "str": str, "int": int, "float": float, "bool": bool}

Call = Callable[[dict[str, Any], Any], Awaitable[Any]]
"""Gets the arguments by name and the tool's context."""


def function_like(form: dict[str, Any], call: Call) -> Callable[..., Any]:
    """The function: its parameters, types, defaults, docstring and place are those of the other."""
    names = [parameter["name"] for parameter in form["parameters"]]
    for name in (form["name"], *names):
        if not isinstance(name, str) or not name.isidentifier() or (keyword.iskeyword(name) and name != form["name"]):
            raise HookError(f"{name!r} cannot be the name of a parameter")
    room: dict[str, Any] = {}
    arguments = ", ".join(f"{name!r}: {name}" for name in names if name != "ctx")
    context = "ctx" if "ctx" in names else "None"
    head = f"*, {', '.join(names)}" if names else ""
    # Only a function's own code tells its parameters; every name in it was looked at.
    code = f"async def function({head}):\n    return await _call({{{arguments}}}, {context})"
    exec(compile(code, form["tool"].file, "exec"), {"_call": call}, room)  # noqa: S102
    function: Any = room["function"]
    function.__name__ = function.__qualname__ = form["name"]
    function.__doc__ = form["doc"]
    function.__code__ = function.__code__.replace(co_firstlineno=max(form["tool"].line, 1))
    parameters = [parameter for parameter in form["parameters"] if parameter["name"] != "ctx"]
    function.__annotations__ = {p["name"]: _type(p["type"]) for p in parameters if p.get("type") is not None}
    function.__kwdefaults__ = {p["name"]: p["default"] for p in parameters if "default" in p}
    return function  # type: ignore[no-any-return]


def _type(form: Any) -> Any:
    match form:
        case str():
            return _SIMPLE[form]
        case ["list"]:
            return list
        case ["list", inner]:
            return list[_type(inner)]  # type: ignore[misc]  # made when it runs
        case ["dict"]:
            return dict
        case ["dict", inner]:
            return dict[str, _type(inner)]  # type: ignore[misc]
        case ["Literal", *values]:
            return Literal.__getitem__(tuple(values))
        case ["Union", *options]:
            return reduce(operator.or_, (_type(option) for option in options))
        case ["Annotated", inner, notes]:
            return Annotated.__class_getitem__((_type(inner), *map(_note, notes)))  # type: ignore[attr-defined]
        case ["TypedDict", name, fields, required]:
            kinds = {key: _type(kind) if key in required else NotRequired[_type(kind)] for key, kind in fields.items()}
            return TypedDict(name, kinds)  # type: ignore[operator]
        case _:
            raise HookError(f"a type that is not known came from the hook's process: {form!r}")


def _note(note: Any) -> Any:
    return note if isinstance(note, str) else msgspec.Meta(**note)
