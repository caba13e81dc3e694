import json
import threading
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest
from msgspec import Meta

from marvin_agent.errors import HookError, ToolError
from marvin_agent.messages import Image, Text
from marvin_agent.tools.login import LoginEnvironment
from marvin_agent.tools.registry import builtin_tools
from marvin_agent.tools.schema import tool_from_function
from marvin_agent.tools.tool import ToolContext, ToolResult
from tools.fakes import FakeContext, text_of

PINNED = Path(__file__).with_name("schemas.json")


def test_what_models_see_of_the_builtin_tools_changes_on_purpose_only() -> None:
    """To change it on purpose, write what this test finds into schemas.json."""
    found = {
        tool.name: {"description": tool.description, "parameters": tool.parameters, "acts": tool.acts}
        for tool in builtin_tools(LoginEnvironment())
    }
    assert found == json.loads(PINNED.read_text())
    assert list(found) == list(json.loads(PINNED.read_text()))


class Point(msgspec.Struct, rename="camel"):
    x_axis: int
    y_axis: float = 0.0


class Pair(TypedDict, total=False):
    left: typing.Required[str]
    right: str | None


async def everything(
    ctx: ToolContext,
    some_path: str,
    count: Annotated[int, Meta(ge=1, le=9, description="How many.")] = 2,
    *,
    ratio: float | None = None,
    flag: bool = False,
    mode: Literal["fast", "slow"] = "fast",
    names: Annotated[list[str], Meta(min_length=1)] | None = None,
    table: dict[str, int] | None = None,
    point: Point | None = None,
    pairs: list[Pair] | None = None,
    either: int | str | None = None,
    anything: Any = None,
) -> dict[str, Any]:
    """Do all of it.

    Twice, if need be,
    or more often:
    - once
    - again

    Args:
        some_path: Where
            to go.
        mode (str): How fast.

    Returns:
        What it was given.
    """
    return {"path": some_path, "count": count, "point": point, "pairs": pairs, "cwd": str(ctx.cwd)}


def test_annotations_and_docstring_are_the_schema() -> None:
    tool = tool_from_function(everything)
    assert tool.name == "everything"
    assert (
        tool.description
        == "Do all of it.\n\nTwice, if need be, or more often:\n- once\n- again\n\nReturns: What it was given."
    )
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "somePath": {"type": "string", "description": "Where to go."},
            "count": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many.", "default": 2},
            "ratio": {"type": "number"},
            "flag": {"type": "boolean", "default": False},
            "mode": {"type": "string", "enum": ["fast", "slow"], "description": "How fast.", "default": "fast"},
            "names": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "table": {"type": "object", "additionalProperties": {"type": "integer"}},
            "point": {
                "type": "object",
                "properties": {"xAxis": {"type": "integer"}, "yAxis": {"type": "number"}},
                "required": ["xAxis"],
                "additionalProperties": False,
            },
            "pairs": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"left": {"type": "string"}, "right": {"type": "string"}},
                    "required": ["left"],
                    "additionalProperties": False,
                },
            },
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
            "anything": {},
        },
        "required": ["somePath"],
        "additionalProperties": False,
    }


async def test_the_function_gets_its_types_and_its_own_names(ctx: FakeContext) -> None:
    tool = tool_from_function(everything)
    checked = tool.check({"somePath": "here", "point": {"xAxis": "4"}, "pairs": '[{"left": "a"}]', "ratio": None})
    assert checked == {"somePath": "here", "point": {"xAxis": 4, "yAxis": 0.0}, "pairs": [{"left": "a"}]}
    result = await tool.execute(checked, ctx)
    assert json.loads(text_of(result)) == {
        "path": "here",
        "count": 2,
        "point": {"xAxis": 4, "yAxis": 0.0},
        "pairs": [{"left": "a"}],
        "cwd": str(ctx.cwd),
    }


def test_every_problem_is_named_with_what_to_do() -> None:
    tool = tool_from_function(everything)
    arguments = {"count": 20, "mode": "medium", "pairs": [{}, {"left": 1}], "point": {"xAxis": "four"}, "somepaht": 1}
    with pytest.raises(ToolError) as caught:
        tool.check(arguments)
    assert caught.value.message.split("\n") == [
        "Invalid arguments for everything; nothing was done:",
        "- count: expected int <= 9",
        "- mode: 'medium' is not one of 'fast', 'slow'",
        "- pairs[0]: object missing required field left",
        "- pairs[1].left: expected str, got int",
        "- point.xAxis: expected int, got str",
        "- somepaht: there is no such argument; did you mean somePath?",
        "- somePath: is required",
        "It takes: somePath (required), count, ratio, flag, mode, names, table, point, pairs, either, anything. "
        "Correct them and call again.",
    ]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"somePath": "a", "count": "5"}, {"somePath": "a", "count": 5}),
        ({"some_path": "a"}, {"somePath": "a"}),
        ({"somePath": "a", "flag": "true"}, {"somePath": "a", "flag": True}),
        ({"somePath": "a", "ratio": 1}, {"somePath": "a", "ratio": 1.0}),
        ({"somePath": "a", "count": None, "mode": None}, {"somePath": "a"}),
        ({"somePath": "[1]"}, {"somePath": "[1]"}),
        ({"somePath": "a", "names": '["x"]'}, {"somePath": "a", "names": ["x"]}),
        ({"somePath": "a", "pairs": ['{"left": "x"}']}, {"somePath": "a", "pairs": [{"left": "x"}]}),
        ({"somePath": "a", "count": 3.0}, {"somePath": "a", "count": 3}),
        ({"somePath": "a", "either": "5"}, {"somePath": "a", "either": "5"}),
    ],
)
def test_what_models_write_loosely_is_understood(given: dict[str, Any], meant: dict[str, Any]) -> None:
    checked = tool_from_function(everything).check(given)
    assert checked == meant
    assert tool_from_function(everything).check(checked) == meant


async def test_a_plain_function_without_context_runs_in_a_thread(ctx: FakeContext) -> None:
    def where(name: str) -> str:
        return f"{name} {threading.current_thread() is threading.main_thread()}"

    assert text_of(await ctx.call(tool_from_function(where, name="other"), name="in main:")) == "in main: False"
    assert tool_from_function(where, name="other").description == "other"


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ("half \ud83d", (Text(text="half \ufffd"),)),
        (None, ()),
        (Text(text="a"), (Text(text="a"),)),
        ([Text(text="a"), Image(data="", mime_type="image/png")],) * 2,
        ([1, 2], (Text(text="[1,2]"),)),
        ([], (Text(text="[]"),)),
        (7, (Text(text="7"),)),
        (ToolResult(content=(), is_error=True), ()),
    ],
)
async def test_what_a_function_gives_back_becomes_a_result(ctx: FakeContext, given: Any, content: Any) -> None:
    def give() -> Any:
        return given

    result = await ctx.call(tool_from_function(give))
    assert result.content == tuple(content)
    assert result.is_error == isinstance(given, ToolResult)


async def test_what_json_cannot_hold_is_an_error(ctx: FakeContext) -> None:
    def give() -> Any:
        return object()

    with pytest.raises(ToolError, match="JSON cannot hold"):
        await ctx.call(tool_from_function(give))


async def test_a_method_can_be_a_tool(ctx: FakeContext) -> None:
    class Store:
        async def count(self, word: str) -> int:
            return len(word)

    assert text_of(await ctx.call(tool_from_function(Store().count), word="four")) == "4"


def bad_untyped(path) -> None: ...  # type: ignore[no-untyped-def]
def bad_type(path: Path) -> None: ...
def bad_nested(paths: list[set[int]]) -> None: ...
def bad_args(*paths: str) -> None: ...
def bad_kwargs(**paths: str) -> None: ...
def bad_positional(path: str, /) -> None: ...
def bad_name(path: "Nonsense") -> None: ...  # type: ignore[name-defined]  # noqa: F821


def bad_docstring(path: str) -> None:
    """Text.

    Args:
        file: It is called otherwise.
    """


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (bad_untyped, "the parameter 'path' needs a type annotation"),
        (bad_type, "the parameter 'path' has the type .*Path.*, which cannot be told to a model"),
        (bad_nested, "the parameter 'paths' has the type set"),
        (bad_args, "need a name"),
        (bad_kwargs, "need a name"),
        (bad_positional, "given by name"),
        (bad_name, "cannot be read: name 'Nonsense'"),
        (bad_docstring, "describes file, which is no parameter"),
        (len, "must be a function"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_an_error_with_its_place(
    function: Callable[..., Any], message: str
) -> None:
    with pytest.raises(HookError, match=message) as caught:
        tool_from_function(function)
    assert function is len or "test_schema.py:" in caught.value.message
