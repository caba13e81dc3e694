"""Makes a tool of a typed function: its annotations are the schema, its docstring is the description.

    async def read(ctx: ToolContext, path: str, offset: Annotated[int, Meta(ge=1)] | None = None) -> ToolResult:
        '''Read a file.

        Args:
            path: The file.
            offset: The first line to read.
        '''

A parameter named `ctx` receives the context. Names are camelCase in JSON.
"""

import asyncio
import types
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, get_type_hints

import msgspec

from marvin_agent.errors import HookError, ToolError
from marvin_agent.messages import Image, Text, UserPart, clean
from marvin_agent.tools.arguments import InvalidArguments, WrongValue, convert, unknown_argument
from marvin_agent.tools.tool import Tool, ToolContext, ToolResult
from marvin_agent.tools.typeschema import type_schema, without_none

Check: TypeAlias = Callable[[dict[str, Any]], list[str]]
PathOf: TypeAlias = Callable[[dict[str, Any]], str | None]
Run: TypeAlias = Callable[[Callable[..., Any], dict[str, Any], str], Awaitable[Any]]

# Of `inspect`, which is slow to load; these values are fixed.
_CO_VARARGS, _CO_VARKEYWORDS, _CO_COROUTINE = 0x04, 0x08, 0x80
_REQUIRED = object()


def tool_from_function(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    acts: bool = True,
    path_of: PathOf | None = None,
    also_check: Check | None = None,
    run: Run | None = None,
) -> Tool:
    """A tool whose arguments are the function's parameters.

    The function may be async or plain (then it runs in a thread), and give back a ToolResult, a text, a part or a
    list of parts, or anything that JSON can hold. `also_check` names problems that types cannot tell, one text each.
    `run` calls the function with its arguments, elsewhere than here.
    Raises HookError, with file and line, for a function that cannot be a tool.
    """
    signature = Signature(function)
    tool_name = name or function.__name__
    checked = _Checked(tool_name, signature, also_check)
    return Tool(
        name=tool_name,
        description=description or signature.description or tool_name,
        parameters=signature.schema(),
        execute=_Execution(tool_name, function, signature, checked, run),
        check=checked,
        acts=acts,
        path_of=path_of,
    )


class Parameter:
    """One argument of a tool."""

    __slots__ = ("default", "description", "json_name", "name", "type")

    def __init__(self, name: str, annotation: Any, default: object, description: str) -> None:
        self.name = name
        self.json_name = camel(name)
        self.type = annotation
        self.default = default
        self.description = description

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED

    def schema(self) -> dict[str, Any]:
        # None is how an argument is left out, not a value that a model should choose.
        schema = type_schema(without_none(self.type))
        if self.description:
            schema["description"] = self.description
        if not self.required and self.default is not None:
            schema["default"] = msgspec.to_builtins(self.default)
        return schema


class Signature:
    """The parameters of a function, and what its docstring says of them."""

    __slots__ = ("_where", "description", "parameters", "wants_context")

    def __init__(self, function: Callable[..., Any]) -> None:
        code = getattr(function, "__code__", None)
        if not isinstance(code, types.CodeType):
            raise HookError(f"A tool must be a function, not {function!r}.")
        self._where = f"{code.co_filename}:{code.co_firstlineno}: {function.__qualname__}"
        self.description, described = parse_docstring(function.__doc__ or "")
        names = self._names(function, code)
        hints = self._hints(function)
        defaults = _defaults(function, code)
        self.wants_context = "ctx" in names
        self.parameters: dict[str, Parameter] = {}
        """By their names in JSON."""
        for name in names:
            text = described.pop(name, "")
            if name == "ctx":
                continue
            if name not in hints:
                raise self._wrong(f"the parameter '{name}' needs a type annotation")
            parameter = Parameter(name, hints[name], defaults.get(name, _REQUIRED), text)
            self.parameters[parameter.json_name] = parameter
        if described:
            raise self._wrong(f"the docstring describes {', '.join(described)}, which is no parameter")

    def _names(self, function: Callable[..., Any], code: types.CodeType) -> tuple[str, ...]:
        if code.co_flags & (_CO_VARARGS | _CO_VARKEYWORDS):
            raise self._wrong("a tool's parameters each need a name: no *args, no **kwargs")
        if code.co_posonlyargcount:
            raise self._wrong("a tool's parameters are given by name: none before a '/'")
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        return names[1:] if isinstance(function, types.MethodType) else names

    def _hints(self, function: Callable[..., Any]) -> dict[str, Any]:
        try:
            return get_type_hints(function, include_extras=True)
        except (NameError, TypeError, SyntaxError) as error:
            raise self._wrong(f"an annotation cannot be read: {error}") from error

    def _wrong(self, problem: str) -> HookError:
        return HookError(f"{self._where}: {problem}.")

    def schema(self) -> dict[str, Any]:
        properties = {}
        for parameter in self.parameters.values():
            try:
                properties[parameter.json_name] = parameter.schema()
            except TypeError as error:
                raise self._wrong(f"the parameter '{parameter.name}' {error}") from error
        required = self.required()
        return {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def required(self) -> list[str]:
        return [parameter.json_name for parameter in self.parameters.values() if parameter.required]


def _defaults(function: Callable[..., Any], code: types.CodeType) -> dict[str, object]:
    positional = code.co_varnames[: code.co_argcount]
    values: tuple[object, ...] = getattr(function, "__defaults__", None) or ()
    found = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
    found.update(getattr(function, "__kwdefaults__", None) or {})
    return found


class _Checked:
    """Validates the arguments of one tool; all problems are told at once."""

    __slots__ = ("_also", "_signature", "_tool")

    def __init__(self, tool: str, signature: Signature, also: Check | None) -> None:
        self._tool = tool
        self._signature = signature
        self._also = also

    def __call__(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {name: msgspec.to_builtins(value) for name, value in self.convert(arguments).items()}

    def convert(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with the types that the function wants, by their names in JSON."""
        parameters = self._signature.parameters
        problems: list[str] = []
        converted: dict[str, Any] = {}
        given = set()
        for name, value in arguments.items():
            parameter = parameters.get(name) or parameters.get(camel(name))
            if parameter is None:
                problems.append(unknown_argument(name, parameters))
                continue
            given.add(parameter.json_name)
            if value is None and not parameter.required:
                continue
            try:
                converted[parameter.json_name] = convert(value, parameter.type)
            except WrongValue as wrong:
                problems += [f"{parameter.json_name}{problem}" for problem in wrong.problems]
        problems += [f"{name}: is required" for name in self._signature.required() if name not in given]
        if not problems and self._also is not None:
            problems = self._also(converted)
        if problems:
            raise InvalidArguments(self._tool, problems, parameters, self._signature.required())
        return converted


class _Execution:
    """Calls the function with its arguments and makes a result of what it gives back."""

    __slots__ = ("_checked", "_function", "_is_async", "_name", "_run", "_signature")

    def __init__(
        self, name: str, function: Callable[..., Any], signature: Signature, checked: _Checked, run: Run | None
    ) -> None:
        self._name = name
        self._run = run
        self._function = function
        self._signature = signature
        self._checked = checked
        self._is_async = bool(function.__code__.co_flags & _CO_COROUTINE)

    async def __call__(self, arguments: dict[str, Any], ctx: ToolContext) -> ToolResult:
        parameters = self._signature.parameters
        values = {parameters[name].name: value for name, value in self._checked.convert(arguments).items()}
        if self._signature.wants_context:
            values["ctx"] = ctx
        if self._run is not None:
            return as_result(await self._run(self._function, values, self._name))
        if self._is_async:
            return as_result(await self._function(**values))
        return as_result(await asyncio.to_thread(self._function, **values))


def as_result(value: object) -> ToolResult:
    """What a tool's function gave back, as a result."""
    match value:
        case ToolResult():
            return value
        case None:
            return ToolResult(content=())
        case str():
            return ToolResult(content=(Text(text=clean(value)),))
        case Text() | Image():
            return ToolResult(content=(value,))
        case list() | tuple() if value and all(isinstance(part, Text | Image) for part in value):
            parts: tuple[UserPart, ...] = tuple(value)
            return ToolResult(content=parts)
        case _:
            try:
                text = msgspec.json.encode(value).decode()
            except (TypeError, ValueError) as error:
                raise ToolError(f"The tool gave back something that JSON cannot hold: {error}") from error
            return ToolResult(content=(Text(text=text),))


def camel(name: str) -> str:
    """A Python name as JSON has it."""
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def parse_docstring(text: str) -> tuple[str, dict[str, str]]:
    """A docstring as a description, and what its `Args:` section says of each parameter."""
    description: list[str] = []
    section: list[tuple[int, str]] = []
    margin: int | None = None
    for line in text.strip().split("\n"):
        words = line.strip()
        indent = len(line) - len(line.lstrip())
        if margin is not None and words and indent <= margin:
            margin = None
        if words == "Args:":
            margin = indent
        elif margin is None:
            description.append(words)
        elif words:
            section.append((indent, words))
    return _reflowed(description), _described(section)


def _described(section: list[tuple[int, str]]) -> dict[str, str]:
    """Of `name: text` or `name (type): text`; what is indented more goes on."""
    parameters: dict[str, str] = {}
    outermost = min((indent for indent, _ in section), default=0)
    name = ""
    for indent, words in section:
        if indent > outermost:
            parameters[name] += f" {words}"
            continue
        head, _, rest = words.partition(":")
        name = head.partition("(")[0].strip()
        parameters[name] = rest.strip()
    return parameters


def _reflowed(lines: list[str]) -> str:
    """Lines that were broken to fit a source file, joined again; paragraphs and lists stay."""
    text = ""
    for line in lines:
        if not line:
            text = text.rstrip("\n") + "\n\n"
        elif line.startswith(("- ", "* ")):
            text = (text if text.endswith("\n") else text + "\n") + line
        else:
            text += line if not text or text.endswith("\n") else f" {line}"
    return text.strip()
