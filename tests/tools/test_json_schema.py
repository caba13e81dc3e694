import copy
from typing import Any

import pytest

from marvin_agent.errors import HookError, ToolError
from marvin_agent.tools.json_schema import tool_from_schema
from marvin_agent.tools.tool import Tool
from tools.fakes import FakeContext, text_of

# As design document 000 has it.
SEED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "enum": ["add", "search"]},
        "content": {"type": "string", "optional": True},
        "scope": {"type": "string", "enum": ["user", "project"], "optional": True},
        "filter": {
            "type": "object",
            "optional": True,
            "properties": {"optional": {"type": "boolean"}, "depth": {"type": "integer", "optional": True}},
        },
    },
}


async def echo(arguments: dict[str, Any], ctx: object) -> dict[str, Any]:
    return arguments


def make(schema: dict[str, Any]) -> Tool:
    return tool_from_schema("memory", "Remember.", schema, echo)


def test_optional_properties_are_understood_and_the_mark_is_gone() -> None:
    before = copy.deepcopy(SEED)
    parameters = make(SEED).parameters
    assert parameters["required"] == ["mode"]
    assert parameters["properties"]["content"] == {"type": "string"}
    assert parameters["properties"]["filter"] == {
        "type": "object",
        "properties": {"optional": {"type": "boolean"}, "depth": {"type": "integer"}},
        "required": ["optional"],
    }
    assert before == SEED


def test_what_is_marked_optional_is_not_required_even_if_listed() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {"optional": True}, "c": {}}, "required": ["a", "b"]}
    assert make(schema).parameters["required"] == ["a"]


def test_without_marks_nothing_is_required_that_is_not_listed() -> None:
    assert "required" not in make({"properties": {"a": {"type": "string"}}}).parameters


async def test_arguments_are_handed_on(ctx: FakeContext) -> None:
    result = await ctx.call(make(SEED), mode="add", content=None, filter={"optional": True})
    assert text_of(result) == '{"mode":"add","filter":{"optional":true}}'


def test_every_problem_is_named() -> None:
    schema = {**SEED, "additionalProperties": False}
    with pytest.raises(ToolError) as caught:
        make(schema).check({"mode": "ad", "scpoe": "user", "filter": {"optional": 1}})
    message = caught.value.message
    assert 'mode: "ad" is not one of "add" or "search"' in message
    assert "scpoe: there is no such argument; did you mean scope?" in message
    assert 'filter.optional: 1 is not of type "boolean"' in message
    assert "It takes: mode (required), content, scope, filter." in message


@pytest.mark.parametrize(
    "schema", [{"type": "string"}, {"properties": []}, {"properties": {"a": {"type": "strang"}}}, {"required": 5}]
)
def test_what_is_no_schema_of_an_object_is_an_error(schema: dict[str, Any]) -> None:
    with pytest.raises(HookError, match="memory"):
        make(schema)
