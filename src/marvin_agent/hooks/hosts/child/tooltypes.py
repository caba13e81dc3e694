"""The signature of a tool's function as JSON, so that marvin can make the same tool of it in its own process."""

import inspect
import types
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from marvin_agent.errors import HookError

_PLAIN = (str, int, float, bool)
_META = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length", "title", "description")


def function_form(function: Any) -> dict[str, Any]:
    """A tool's function with its parameters and its docstring."""
    if not inspect.isfunction(function) and not inspect.ismethod(function):
        raise HookError(f"A tool must be a function, not {function!r}.")
    where = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}: {function.__qualname__}"
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError, SyntaxError) as error:
        raise HookError(f"{where}: an annotation cannot be read: {error}.") from error
    parameters = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise HookError(
                f"{where}: a tool's parameters are given by name: no *args, no **kwargs, none before a '/'."
            )
        form: dict[str, Any] = {"name": name}
        if name != "ctx":
            try:
                form["type"] = type_form(hints[name]) if name in hints else None
            except TypeError as error:
                raise HookError(f"{where}: the parameter '{name}' {error}.") from error
            if parameter.default is not parameter.empty:
                form["default"] = parameter.default
        parameters.append(form)
    return {"tool": function, "doc": function.__doc__, "name": function.__name__, "parameters": parameters}


def type_form(annotation: Any) -> Any:
    """A type as JSON. Raises TypeError, with the rest of a sentence, for one that cannot cross."""
    if annotation is Any:
        return "Any"
    if annotation is None or annotation is type(None):
        return "None"
    if annotation in _PLAIN:
        return annotation.__name__
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Required, NotRequired):
        return type_form(args[0])
    if origin is Annotated:
        return ["Annotated", type_form(args[0]), [_note(note) for note in args[1:]]]
    if origin in (Union, types.UnionType):
        return ["Union", *(type_form(arg) for arg in args)]
    if origin is Literal:
        return ["Literal", *args]
    if origin is list or annotation is list:
        return ["list", *(type_form(arg) for arg in args)]
    if (origin is dict and args[0] is str) or annotation is dict:
        return ["dict", *(type_form(arg) for arg in args[1:])]
    if is_typeddict(annotation):
        hints = get_type_hints(annotation, include_extras=True)
        return [
            "TypedDict",
            annotation.__name__,
            {name: type_form(hint) for name, hint in hints.items()},
            sorted(annotation.__required_keys__),
        ]
    raise TypeError(
        f"has the type {annotation!r}, which cannot be told to a model; use str, int, float, bool, Literal, "
        "list, dict or a TypedDict"
    )


def _note(note: Any) -> Any:
    if isinstance(note, str):
        return note
    return {name: value for name in _META if (value := getattr(note, name, None)) is not None}
