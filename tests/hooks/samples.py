"""Sample values for every type that the event table knows, and sample events made of them."""

from typing import Any

from marvin_agent.hooks import events as h
from marvin_agent.hooks.forms import _PAYLOADS, accept
from marvin_agent.hooks.payload import Event, Payload, fields_of
from marvin_agent.hooks.spec import Field, Spec
from marvin_agent.llm.values import Model
from marvin_agent.messages import AssistantMessage, Image, Text, ToolResultMessage, UserMessage, encode


def _model(name: str) -> Model:
    return Model(provider="p", id=name, api="openai-completions", base_url="http://127.0.0.1:1")


def _answer(text: str) -> AssistantMessage:
    return AssistantMessage(content=(Text(text=text),), api="a", provider="p", model="m", stop_reason="stop")


def _pair(kind: str) -> tuple[Any, Any]:
    """Two different values of a type."""
    match kind:
        case "str":
            return "one", "two"
        case "bool":
            return True, False
        case "int" | "float":
            return 1, 2
        case "Any" | "dict[str, Any]":
            return {"one": 1}, {"two": [2, None]}
        case "dict[str, str]":
            return {"x-one": "1"}, {"x-two": "2"}
        case "UserPart":
            return Text(text="one"), Text(text="two")
        case "Image":
            return Image(data="AA==", mime_type="image/png"), Image(data="AQ==", mime_type="image/png")
        case "Message":
            return UserMessage(content=(Text(text="one"),)), _answer("two")
        case "AssistantMessage":
            return _answer("one"), _answer("two")
        case "ToolResultMessage":
            one, two = (
                ToolResultMessage(tool_call_id=i, tool_name="t", content=(Text(text=i),), is_error=False) for i in "12"
            )
            return one, two
        case "Model":
            return _model("one"), _model("two")
        case "Content":
            return [Text(text="one")], [Text(text="two")]
        case "Mode":
            return "print", "json"
        case "Purpose":
            return "turn", "complete"
        case "CompactReason":
            return "manual", "threshold"
    if kind.endswith(" | None"):
        return _pair(kind.removesuffix(" | None"))
    if kind.startswith("list["):
        one, two = _pair(kind[5:-1])
        return [one], [two]
    if kind.startswith("Literal["):
        words = [word.strip().strip("\"'") for word in kind[8:-1].split(",")]
        return words[0], words[-1]
    return _payload(_PAYLOADS[kind], 0), _payload(_PAYLOADS[kind], 1)


def _payload(cls: type[Payload], which: int) -> Payload:
    return cls(**{name: _pair(kind)[which] for name, kind in fields_of(cls).items()})


def value(kind: str, which: int = 0) -> Any:
    """One of two sample values of a type."""
    return _pair(kind)[which]


def json_form(kind: str, which: int = 0) -> Any:
    """The same as a hook in another language would give it."""
    import msgspec

    from marvin_agent.hooks.forms import to_plain

    plain = to_plain(value(kind, which))
    assert accept(kind)(plain) is not None
    return msgspec.json.decode(encode(plain))


def event(spec: Spec) -> Event:
    """An event of a row, with every field of its payload; what hooks may change starts out as something else."""
    made = _payload(spec.event, 0)
    assert isinstance(made, Event)
    if isinstance(made, h.SessionBeforeCompact):
        made.output = h.BeforeCompactOutput(cancel=False, prompt=None, context=[])
    if isinstance(made, h.SessionCompacting):
        made.output = h.CompactingOutput(context=[], prompt=None, preserve_data=None)
    if isinstance(made, h.AuthGet):
        made.output = h.AuthGetOutput(api_key=None, headers={}, base_url=None)
    return made


def other(field: Field, now: Any) -> Any:
    """A value of a field that differs from what stands on the event."""
    return next(value(field.kind, which) for which in (1, 0) if value(field.kind, which) != now)
