"""Makes a tool of a description that has its own JSON Schema, as tools of hooks and other servers do."""

import copy
from collections.abc import Awaitable, Callable
from typing import Any

import jsonschema_rs

from marvin_agent.errors import HookError
from marvin_agent.tools.arguments import InvalidArguments, unknown_argument
from marvin_agent.tools.schema import PathOf, as_result
from marvin_agent.tools.tool import Tool, ToolContext, ToolResult

Execute = Callable[[dict[str, Any], ToolContext], Awaitable[Any]]


def tool_from_schema(
    name: str,
    description: str,
    schema: dict[str, Any],
    execute: Execute,
    *,
    acts: bool = True,
    path_of: PathOf | None = None,
) -> Tool:
    """A tool whose arguments are validated against a JSON Schema of an object.

    A property with `optional: true` is not required and all others then are, unless `required` says so itself.
    `execute` may give back what the functions of `tool_from_function` may. Raises HookError for a schema that is none.
    """
    parameters = normalised(name, schema)
    try:
        validator = jsonschema_rs.validator_for(parameters)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise HookError(f"The schema of the tool '{name}' is not a JSON Schema: {_first_line(error)}") from error

    async def run(arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        return as_result(await execute(arguments, ctx))

    return Tool(
        name=name,
        description=description,
        parameters=parameters,
        execute=run,
        check=_Check(name, parameters, validator),
        acts=acts,
        path_of=path_of,
    )


def normalised(tool: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as providers take it: of an object, with `required` instead of `optional`."""
    if schema.get("type", "object") != "object":
        raise HookError(f"The schema of the tool '{tool}' must be of an object, not of type {schema['type']!r}.")
    plain = copy.deepcopy(schema)
    plain["type"] = "object"
    plain.setdefault("properties", {})
    if not isinstance(plain["properties"], dict):
        raise HookError(f"The schema of the tool '{tool}': its properties must be an object.")
    _settle_optional(plain)
    return plain


def _settle_optional(schema: dict[str, Any]) -> None:
    properties = schema.get("properties")
    if isinstance(properties, dict):
        marks = {
            name: prop.pop("optional")
            for name, prop in properties.items()
            if isinstance(prop, dict) and "optional" in prop
        }
        if marks and "required" not in schema:
            schema["required"] = [name for name in properties if not marks.get(name)]
        elif marks:
            schema["required"] = [name for name in schema["required"] if not marks.get(name)]
        for prop in properties.values():
            if isinstance(prop, dict):
                _settle_optional(prop)
    items = schema.get("items")
    if isinstance(items, dict):
        _settle_optional(items)


class _Check:
    __slots__ = ("_name", "_parameters", "_validator")

    def __init__(self, name: str, parameters: dict[str, Any], validator: Any) -> None:
        self._name = name
        self._parameters = parameters
        self._validator = validator

    def __call__(self, arguments: dict[str, Any]) -> dict[str, Any]:
        properties, required = self._parameters["properties"], self._parameters.get("required", ())
        # None for an argument that may be left out is how some models leave it out.
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None or name in required or name not in properties
        }
        problems = []
        for error in self._validator.iter_errors(given):
            place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
            problems.append(f"{place.removeprefix('.')}: {error.message}" if place else error.message)
        if problems and self._parameters.get("additionalProperties") is False:
            problems += [unknown_argument(name, properties) for name in given if name not in properties]
        if problems:
            raise InvalidArguments(self._name, problems, properties, required)
        return given


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
