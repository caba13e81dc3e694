"""The JSON Schema of a Python type, for what a tool's function can ask of a model."""

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

import msgspec

_PLAIN: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_LIMITS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
    "title": "title",
    "description": "description",
}


def type_schema(annotation: Any) -> dict[str, Any]:
    """The JSON Schema of a type. Raises TypeError, with the rest of a sentence, for one that JSON has no word for."""
    if annotation is Any:
        return {}
    if annotation in _PLAIN:
        return {"type": _PLAIN[annotation]}
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Required, NotRequired):
        return type_schema(args[0])
    if origin is Annotated:
        return _annotated_schema(args)
    if origin in (Union, types.UnionType):
        return {"anyOf": [{"type": "null"} if arg is type(None) else type_schema(arg) for arg in args]}
    if origin is Literal:
        return _enum_schema(args)
    if origin is list or annotation is list:
        return {"type": "array", **({"items": type_schema(args[0])} if args else {})}
    if (origin is dict and args[0] is str) or annotation is dict:
        return {"type": "object", **({"additionalProperties": type_schema(args[1])} if args else {})}
    if is_typeddict(annotation) or (isinstance(annotation, type) and issubclass(annotation, msgspec.Struct)):
        return _object_schema(annotation)
    raise TypeError(
        f"has the type {annotation!r}, which cannot be told to a model; use str, int, float, bool, Literal, "
        "list, dict, a TypedDict or a msgspec.Struct"
    )


def _annotated_schema(args: tuple[Any, ...]) -> dict[str, Any]:
    schema = type_schema(without_none(args[0]))
    lengths = {"string": "Length", "array": "Items", "object": "Properties"}
    for meta in args[1:]:
        if isinstance(meta, str):
            schema["description"] = meta
        if not isinstance(meta, msgspec.Meta):
            continue
        for attribute, key in _LIMITS.items():
            value = getattr(meta, attribute)
            if value is not None:
                schema[key] = value
        for attribute, key in (("min_length", "min"), ("max_length", "max")):
            value = getattr(meta, attribute)
            if value is not None:
                schema[key + lengths[schema["type"]]] = value
        if meta.extra_json_schema:
            schema.update(meta.extra_json_schema)
    return schema


def _enum_schema(values: tuple[Any, ...]) -> dict[str, Any]:
    kinds = {_PLAIN.get(type(value)) for value in values}
    kind = kinds.pop() if len(kinds) == 1 else None
    return {**({"type": kind} if kind else {}), "enum": list(values)}


def _object_schema(annotation: Any) -> dict[str, Any]:
    hints = get_type_hints(annotation, include_extras=True)
    if is_typeddict(annotation):
        fields = [(name, name, name in annotation.__required_keys__) for name in hints]
    else:
        fields = [(f.name, f.encode_name, f.required) for f in msgspec.structs.fields(annotation)]
    return {
        "type": "object",
        "properties": {key: type_schema(without_none(hints[name])) for name, key, _ in fields},
        "required": [key for _, key, required in fields if required],
        "additionalProperties": False,
    }


def options_of(annotation: Any) -> tuple[Any, ...]:
    """The alternatives of a union; the type itself when it is none."""
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def without_none(annotation: Any) -> Any:
    """The type without `None` among its alternatives."""
    options = options_of(annotation)
    left = tuple(option for option in options if option is not type(None))
    return left[0] if len(options) > 1 and len(left) == 1 else annotation
