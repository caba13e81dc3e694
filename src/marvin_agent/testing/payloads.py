"""Events for tests, made of what matters: every field that is left out gets a neutral value."""

from typing import Any

from marvin_agent.errors import HookError, UsageError
from marvin_agent.hooks import events
from marvin_agent.hooks.forms import FormError, accept
from marvin_agent.hooks.payload import Event, Payload, camel, fields_of
from marvin_agent.hooks.registry import event_names
from marvin_agent.hooks.spec import SPECS
from marvin_agent.llm.values import Model
from marvin_agent.messages import AssistantMessage, Text, UserMessage

_NEUTRAL: dict[str, Any] = {
    "str": "",
    "bool": False,
    "int": 0,
    "float": 0.0,
    "Any": None,
    "dict[str, Any]": {},
    "dict[str, str]": {},
    "Mode": "library",
    "Purpose": "turn",
    "CompactReason": "manual",
    "Message": UserMessage(content=(Text(text=""),)),
    "AssistantMessage": AssistantMessage(content=(), api="", provider="", model="", stop_reason="stop"),
    "Model": Model(provider="test", id="one", api="openai-completions", base_url="http://scripted.invalid/v1"),
}


def make_event(name: str, given: dict[str, Any], session_id: str = "") -> Event:
    """An event by its name or alias. Keys in snake_case or camelCase; nested payloads as dicts. Raises UsageError.

    `session_id` goes where the payload names a session and the caller did not.
    """
    known = one_event(name)
    try:
        made = _make(SPECS[known].event, given, session_id)
    except FormError as error:
        raise UsageError(f"the payload of {known}: {error}") from None
    assert isinstance(made, Event)
    return made


def one_event(name: str) -> str:
    """The event that a name or an alias stands for. Raises UsageError when there is none, or several."""
    try:
        (known, *more) = event_names(name)
    except HookError as error:
        near = "did you mean" in error.message
        raise UsageError(error.message, hint=None if near else f"There are {', '.join(SPECS)}.") from None
    if more:
        raise UsageError(f"{name} stands for several events: name one of {', '.join((known, *more))}")
    return known


def _make(cls: type[Payload], given: dict[str, Any], session_id: str) -> Payload:
    kinds = fields_of(cls)
    names = {**{camel(name): name for name in kinds}, **{name: name for name in kinds}}
    if unknown := [key for key in given if key not in names]:
        raise FormError(f"unknown key {unknown[0]!r}; known are {', '.join(sorted(kinds))}")
    plain = {"session_id": session_id, **{names[key]: value for key, value in given.items()}}
    return cls(**{name: _value(name, kind, plain, session_id) for name, kind in kinds.items()})


def _whole(value: Any) -> Any:
    """A value in which messages of a model, given as JSON, may leave out where they come from."""
    if isinstance(value, list | tuple):
        return [_whole(each) for each in value]
    if isinstance(value, dict) and value.get("role") == "assistant":
        return {"api": "", "provider": "", "model": "", "stopReason": "stop", **value}
    return value


def _value(name: str, kind: str, given: dict[str, Any], session_id: str) -> Any:
    nested = getattr(events, kind, None)
    if isinstance(nested, type) and issubclass(nested, Payload):
        value = given.get(name, {})
        return value if isinstance(value, nested) else _make(nested, value, session_id)
    if name in given:
        try:
            return accept(kind)(_whole(given[name]))
        except FormError as error:
            raise FormError(f"{name}: {error}") from None
    if kind.endswith(" | None"):
        return None
    if kind.startswith("list["):
        return []
    if kind.startswith("Literal["):
        return kind[8:].split(",")[0].strip(" \"']")
    neutral = _NEUTRAL[kind]
    return dict(neutral) if isinstance(neutral, dict) else neutral
