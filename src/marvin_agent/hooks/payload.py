"""The base of events and results: plain attributes, made from keywords, cheap to define, standard library alone."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, dataclass_transform

Mode = Literal["tui", "print", "json", "rpc", "acp", "library"]
LEFT_OUT: Any = None
"""Stands where a result says nothing; only what was given is in its `vars`."""


@dataclass_transform(kw_only_default=True)
class Payload:
    """Named attributes. What is left out takes the class's default, or is not there."""

    required: ClassVar[tuple[str, ...]] = ()
    """What may not be left out, where a hook gives one of these."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({inside})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]  # handlers may change what they were given


class Event(Payload):
    """Something that happens. Every event has these three; `type` is its name."""

    type: ClassVar[str]

    session_id: str = ""
    origin: str = "main"
    """Who caused it: `main`, `subagent:<name>`, `user` or `hook:<id>`."""
    mode: Mode = "library"


class Result(Payload):
    """What a handler may return; every field may be left out: its default says so to type checkers."""


def fields_of(cls: type[Payload]) -> dict[str, str]:
    """The fields of a payload class with their types as written, the base's last."""
    found: dict[str, str] = {}
    for base in cls.__mro__:
        for name, kind in vars(base).get("__annotations__", {}).items():
            if not kind.startswith("ClassVar"):
                found.setdefault(name, kind)
    return found


def camel(name: str) -> str:
    """`tool_call_id` as JSON writes it: `toolCallId`."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
