"""Light stand-ins for the engine's values, over their JSON form: the same attributes, the standard library alone.

A hook in a process of its own gets these where a hook in marvin's process gets messages, parts, models and usage.
They are frozen; what is inside tool arguments and details is copied for each reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar, NamedTuple

from marvin_agent.hooks import events, results
from marvin_agent.hooks.payload import Payload, camel, fields_of

_MISSING = object()
Read = Callable[[Any], Any]


def copied(value: Any) -> Any:
    """A copy of plain JSON."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def _attribute(name: str) -> Any:
    return property(lambda stand: stand._read(name))  # noqa: SLF001  # of the class that it is made for


class Stand:
    """A frozen value over its JSON form. Attributes that are declared have a type; others are read as they are."""

    __slots__ = ("_json",)
    _json: dict[str, Any]
    _tag: ClassVar[tuple[str, str] | None] = None
    _kinds: ClassVar[dict[str, str]] = {}
    _defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, tag: str = "") -> None:
        if tag:
            key, _, value = tag.partition("=")
            cls._tag = (key, value)
            setattr(cls, key, value)
        own = vars(cls).get("__annotations__", {})
        cls._kinds = {**cls._kinds, **own}
        cls._defaults = {**cls._defaults, **{name: getattr(cls, name) for name in own if name in vars(cls)}}
        for name in own:
            setattr(cls, name, _attribute(name))

    def __init__(self, **values: Any) -> None:
        json = {self._tag[0]: self._tag[1]} if self._tag else {}
        for name, value in values.items():
            if name not in self._kinds:
                raise TypeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(self._kinds)}")
            json[camel(name)] = as_json(value)
        object.__setattr__(self, "_json", json)

    @classmethod
    def over(cls, json: dict[str, Any]) -> Stand:
        """The stand-in for a JSON form, which is not copied."""
        made = cls.__new__(cls)
        object.__setattr__(made, "_json", json)
        return made

    def _read(self, name: str) -> Any:
        value = self._json.get(camel(name), _MISSING)
        return self._defaults.get(name) if value is _MISSING else read(self._kinds[name])(value)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            for key in (camel(name), name):
                if key in self._json:
                    return copied(self._json[key])
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; give another one in its place")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stand) and self._json == other._json

    def __hash__(self) -> int:
        return hash(repr(self._json))

    def __repr__(self) -> str:
        names = [name for name in self._kinds if camel(name) in self._json]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


def json_of(value: Stand) -> dict[str, Any]:
    """The JSON form of a stand-in, shared with it."""
    return value._json  # noqa: SLF001  # the stand-ins' own module


def changed(value: Stand, **fields: Any) -> Stand:
    """A copy of a value with some fields changed."""
    json = json_of(type(value)(**fields))
    return value.over({**json_of(value), **json})


def as_json(value: Any) -> Any:
    """A stand-in, or a sequence of them, as JSON; all else as it is."""
    if isinstance(value, Stand):
        return json_of(value)
    return [as_json(item) for item in value] if isinstance(value, list | tuple) else value


# Messages and their parts.


class Text(Stand, tag="type=text"):
    text: str
    text_signature: str | None


class Image(Stand, tag="type=image"):
    data: str
    mime_type: str


class Thinking(Stand, tag="type=thinking"):
    thinking: str
    thinking_signature: str | None
    redacted: bool | None


class ToolCall(Stand, tag="type=toolCall"):
    id: str
    name: str
    arguments: dict[str, Any]
    thought_signature: str | None
    malformed: str | None

    @property
    def input(self) -> dict[str, Any]:
        """A fresh copy of the arguments."""
        return copied(self._json.get("arguments", {}))  # type: ignore[no-any-return]


class Cost(Stand):
    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    total: float = 0.0


class Usage(Stand):
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total_tokens: int = 0
    cost: Cost


def text_of(parts: tuple[Any, ...]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))


class Written(Stand):
    """What messages of users, tools and hooks have in common."""

    content: tuple[UserPart, ...]
    timestamp: int = 0

    @property
    def text(self) -> str:
        """The text parts, a line between them."""
        return text_of(self.content)


class Detailed(Written):
    details: Any

    @property
    def details_data(self) -> Any:
        """A fresh copy of the details; None when there are none."""
        return self.details


class UserMessage(Written, tag="role=user"): ...


class AssistantMessage(Stand, tag="role=assistant"):
    content: tuple[AssistantPart, ...]
    api: str
    provider: str
    model: str
    usage: Usage | None
    stop_reason: str
    error_message: str | None
    request_id: str | None
    timestamp: int = 0

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.content if isinstance(part, ToolCall))


class ToolResultMessage(Detailed, tag="role=toolResult"):
    tool_call_id: str
    tool_name: str
    input: Any
    """The arguments that ran, when a hook changed them."""
    is_error: bool
    status: str | None


class HookMessage(Detailed, tag="role=hookMessage"):
    custom_type: str
    display: bool = True


class Price(Stand):
    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


class Model(Stand):
    provider: str
    id: str
    api: str
    base_url: str
    name: str = ""
    reasoning: bool = False
    input: tuple[str, ...] = ("text",)
    cost: Price
    context_window: int = 128_000
    max_tokens: int = 8_192
    headers: dict[str, str]
    compat: dict[str, Any]

    @property
    def ref(self) -> str:
        """`provider/id`."""
        return f"{self.provider}/{self.id}"

    @property
    def images(self) -> bool:
        return "image" in self.input


UserPart = Text | Image
AssistantPart = Text | Thinking | ToolCall
Message = UserMessage | AssistantMessage | ToolResultMessage | HookMessage


# What `ctx` gives.


class Entry(Stand):
    """An entry of a session."""

    id: str
    parent_id: str | None
    timestamp: str
    message: Message | None

    @property
    def type(self) -> str:
        return str(self._json.get("type") or self._json.get("kind") or "unreadable")

    @property
    def value(self) -> Any:
        """A fresh copy of what a hook stored with `append_entry`."""
        return copied(self._json.get("data"))


class Header(Stand):
    parent: str | None


class SessionInfo(Stand): ...


class CompactionState(Stand): ...


class ToolResult(Stand):
    """What a tool that was replaced gave."""

    content: tuple[UserPart, ...]
    details: dict[str, Any]
    is_error: bool = False


class ToolAnswer(NamedTuple):
    """What `call_tool` gives."""

    content: tuple[Any, ...]
    details: Any
    input: Any
    """The arguments that ran, when a hook changed them."""
    is_error: bool
    status: str

    @property
    def text(self) -> str:
        return text_of(self.content)


class Executed(NamedTuple):
    """What `exec` gives."""

    stdout: str
    stderr: str
    code: int
    killed: bool


class Completion(NamedTuple):
    """What `complete` gives."""

    text: str
    stop_reason: str
    usage: Usage | None


# Reading.

MESSAGES = ("UserMessage", "AssistantMessage", "ToolResultMessage", "HookMessage")
PUBLIC = ("Text", "Image", "Thinking", "ToolCall", "Cost", "Usage", *MESSAGES, "Model", "changed")
"""What `marvin_agent.hooks` offers under these names."""
_STANDS: dict[str, type[Stand]] = {
    name: cls for name, cls in list(globals().items()) if isinstance(cls, type) and issubclass(cls, Stand)
}
_TAGS: dict[tuple[str, str], type[Stand]] = {cls._tag: cls for cls in _STANDS.values() if cls._tag}
_TUPLES: dict[str, Any] = {"ToolAnswer": ToolAnswer, "Executed": Executed, "Completion": Completion}
_TUPLE_KINDS = {"content": "tuple[UserPart, ...]", "usage": "Usage | None"}
_PAYLOADS: dict[str, type[Payload]] = {
    cls.__name__: cls
    for module in (events, results)
    for cls in vars(module).values()
    if isinstance(cls, type) and issubclass(cls, Payload)
}
_TAGGED = ("UserPart", "AssistantPart", "Message", *MESSAGES, "Text", "Image", "Thinking", "ToolCall")


@cache
def read(kind: str) -> Read:
    """The function that makes of JSON what the type written `kind` says; JSON of another form stays as it is."""
    if kind.endswith(" | None"):
        inner = read(kind.removesuffix(" | None"))
        return lambda value: None if value is None else inner(value)
    if kind.startswith("list["):
        each = read(kind[5:-1])
        return lambda value: [each(item) for item in value] if isinstance(value, list) else value
    if kind.startswith("tuple["):
        each = read(kind[6:-1].removesuffix(", ..."))
        return lambda value: tuple(each(item) for item in value) if isinstance(value, list) else value
    if kind in _TAGGED:
        return tagged
    if kind in _STANDS:
        cls = _STANDS[kind]
        return lambda value: cls.over(value) if isinstance(value, dict) else value
    if kind in _TUPLES:
        return lambda value: _named_tuple(_TUPLES[kind], value)
    if kind in _PAYLOADS:
        return lambda value: payload(_PAYLOADS[kind], value)
    return copied


def tagged(value: Any) -> Any:
    """A part or a message, by its tag."""
    if not isinstance(value, dict):
        return value
    for key in ("role", "type"):
        if cls := _TAGS.get((key, value.get(key, ""))):
            return cls.over(value)
    return Stand.over(value)


def payload(cls: type[Payload], value: Any) -> Any:
    """An event or a part of one from its JSON form."""
    if not isinstance(value, dict):
        return value
    return cls(**dict(_fields(cls, value)))


def _fields(cls: type[Payload], value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, kind in fields_of(cls).items():
        key = camel(name)
        if key in value:
            yield name, read(kind)(value[key])


def _named_tuple(cls: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return cls(**{name: read(_TUPLE_KINDS.get(name, "Any"))(value.get(name)) for name in cls._fields})
