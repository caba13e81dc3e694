"""What the embedded model may write: a JSON Schema that holds it to an answer or to one tool call."""

from typing import Any

from marvin_agent.llm.values import ToolSpec

_TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}


def reply_schema(tools: tuple[ToolSpec, ...]) -> dict[str, Any]:
    """`{"answer": text}`, or `{"tool": name, "arguments": {...}}` for one of the tools."""
    return {"anyOf": [_object({"answer": {"type": "string"}}), *(_call(tool) for tool in tools)]}


def _call(tool: ToolSpec) -> dict[str, Any]:
    arguments = simplified(tool.parameters)
    return _object({"tool": {"const": tool.name}, "arguments": arguments})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def simplified(schema: Any) -> dict[str, Any]:
    """The shape of a schema. Limits, patterns and descriptions go: a grammar of them is large, or cannot be had."""
    if not isinstance(schema, dict):
        return {}
    kept = _kept(schema)
    for choice in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(choice), list):
            # A value that may be left out need not be null as well.
            some = [branch for branch in branches if not (isinstance(branch, dict) and branch.get("type") == "null")]
            if len(some) > 1:
                return {"anyOf": [simplified(branch) for branch in some]}
            return simplified(some[0]) if some else {}
    if kept.get("type") == "array":
        return {**kept, "items": simplified(schema.get("items"))}
    if kept.get("type") == "object":
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return kept
        required = [name for name in schema.get("required", ()) if name in properties]
        # Required ones first: the model writes them while it still knows what for.
        names = [*required, *(name for name in properties if name not in required)]
        return {
            **kept,
            "properties": {name: simplified(properties[name]) for name in names},
            "required": required,
            "additionalProperties": False,
        }
    return kept


def _kept(schema: dict[str, Any]) -> dict[str, Any]:
    """What makes a grammar. A schema that nobody else checks may say what there is no grammar for: that is left out."""
    kept = {"const": schema["const"]} if "const" in schema else {}
    kind, choices = schema.get("type"), schema.get("enum")
    kinds = kind if isinstance(kind, list) else [kind]
    if kinds and all(isinstance(one, str) and one in _TYPES for one in kinds):
        kept["type"] = kind
    if isinstance(choices, list) and choices:
        kept["enum"] = choices
    return kept
