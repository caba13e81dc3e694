"""The pure values of a conversation: messages, their parts and what they cost. No storage, no I/O.

Their JSON form is the one that pi and the original marvin store: camelCase keys, `role` and `type` as tags.
Tool arguments and details stay JSON (`msgspec.Raw`) and are decoded anew for each reader, so that a message
is frozen all the way down.
"""

import time
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar, dataclass_transform

import msgspec
from msgspec import Raw

StopReason: TypeAlias = Literal["stop", "length", "toolUse", "refusal", "error", "aborted"]
ToolStatus: TypeAlias = Literal["ok", "error", "blocked", "invalid", "aborted", "skipped"]

EMPTY_OBJECT = Raw(b"{}")


if TYPE_CHECKING:
    # A type checker does not see that `frozen` and `kw_only` are inherited; this says it once.
    @dataclass_transform(frozen_default=True, kw_only_default=True)
    class Value:
        """A frozen value with a camelCase JSON form."""

        def __init_subclass__(cls, *, tag: str = "", tag_field: str = "type") -> None: ...

else:

    class _KeywordOnly(type(msgspec.Struct)):
        # msgspec hands `frozen` and `rename` down to subclasses, but not `kw_only`.
        def __new__(mcs, name, bases, namespace, **options):
            return super().__new__(mcs, name, bases, namespace, **{"kw_only": True, **options})

    class Value(msgspec.Struct, metaclass=_KeywordOnly, frozen=True, rename="camel"):
        """A frozen value with a camelCase JSON form."""


ValueT = TypeVar("ValueT", bound=Value)


def changed(value: ValueT, **fields: Any) -> ValueT:
    """A copy of a value with some fields changed."""
    copy: ValueT = msgspec.structs.replace(value, **fields)  # type: ignore[type-var]
    return copy


class Text(Value, tag_field="type", tag="text"):
    type: ClassVar[str] = "text"
    text: str
    text_signature: str | msgspec.UnsetType = msgspec.UNSET


class Image(Value, tag_field="type", tag="image"):
    type: ClassVar[str] = "image"
    data: str
    """The bytes, in base64."""
    mime_type: str


class Thinking(Value, tag_field="type", tag="thinking"):
    type: ClassVar[str] = "thinking"
    thinking: str
    thinking_signature: str | msgspec.UnsetType = msgspec.UNSET
    """What the provider wants back with it on the next turn: a signature, or the encrypted reasoning item."""
    redacted: bool | msgspec.UnsetType = msgspec.UNSET
    """True when the provider hid the text: only the signature carries anything."""


class ToolCall(Value, tag_field="type", tag="toolCall"):
    type: ClassVar[str] = "toolCall"
    id: str
    name: str
    arguments: Raw = EMPTY_OBJECT
    """The arguments as the model wrote them: a JSON object. `input` decodes them."""
    thought_signature: str | msgspec.UnsetType = msgspec.UNSET
    malformed: str | msgspec.UnsetType = msgspec.UNSET
    """The text of the arguments when it was not a JSON object; `arguments` is empty then."""

    @property
    def input(self) -> dict[str, Any]:
        """A fresh copy of the arguments."""
        decoded: dict[str, Any] = msgspec.json.decode(self.arguments)
        return decoded


UserPart: TypeAlias = Text | Image
AssistantPart: TypeAlias = Text | Thinking | ToolCall


class Cost(Value):
    """US dollars."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    total: float = 0.0


class Usage(Value):
    """Tokens of one model call. `output` includes reasoning; `total_tokens` is the sum of the four."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total_tokens: int = 0
    cost: Cost = Cost()


class UserMessage(Value, tag_field="role", tag="user"):
    role: ClassVar[str] = "user"
    content: tuple[UserPart, ...]
    timestamp: int = 0

    @property
    def text(self) -> str:
        """The text parts, a line between them."""
        return text_of(self.content)


class AssistantMessage(Value, tag_field="role", tag="assistant"):
    role: ClassVar[str] = "assistant"
    content: tuple[AssistantPart, ...]
    api: str
    provider: str
    model: str
    usage: Usage | None = None
    """None when the provider reported nothing."""
    stop_reason: StopReason
    error_message: str | msgspec.UnsetType = msgspec.UNSET
    request_id: str | msgspec.UnsetType = msgspec.UNSET
    timestamp: int = 0

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.content if isinstance(part, ToolCall))


class ToolResultMessage(Value, tag_field="role", tag="toolResult"):
    role: ClassVar[str] = "toolResult"
    tool_call_id: str
    tool_name: str
    content: tuple[UserPart, ...]
    details: Raw | msgspec.UnsetType = msgspec.UNSET
    """For people and hooks, never sent to the model."""
    input: Raw | msgspec.UnsetType = msgspec.UNSET
    """The arguments that ran, when a hook changed them: the model is shown these as its call."""
    is_error: bool
    status: ToolStatus | msgspec.UnsetType = msgspec.UNSET
    timestamp: int = 0

    @property
    def text(self) -> str:
        """The text parts, a line between them."""
        return text_of(self.content)

    @property
    def details_data(self) -> Any:
        """A fresh copy of the details; None when there are none."""
        return msgspec.json.decode(self.details) if self.details else None


class HookMessage(Value, tag_field="role", tag="hookMessage"):
    """What a hook put into the conversation; the model receives it as a user message."""

    role: ClassVar[str] = "hookMessage"
    custom_type: str
    content: tuple[UserPart, ...]
    display: bool = True
    details: Raw | msgspec.UnsetType = msgspec.UNSET
    timestamp: int = 0

    @property
    def text(self) -> str:
        """The text parts, a line between them."""
        return text_of(self.content)

    @property
    def details_data(self) -> Any:
        """A fresh copy of the details; None when there are none."""
        return msgspec.json.decode(self.details) if self.details else None


Message: TypeAlias = UserMessage | AssistantMessage | ToolResultMessage | HookMessage

_encoder = msgspec.json.Encoder()
_message_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


def encode(value: object) -> bytes:
    """JSON of a value, in one line."""
    return _encoder.encode(value)


def raw(value: object) -> Raw:
    """A value as JSON inside a message (arguments, details), with what JSON cannot hold cleaned away."""
    try:
        return Raw(_encoder.encode(value))
    except UnicodeEncodeError:
        return Raw(_encoder.encode(clean_value(value)))


def decode_message(data: bytes | str | Raw) -> Message:
    """A message from its JSON form."""
    message: Message = _message_decoder.decode(data)
    return message


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def clean(text: str) -> str:
    """The text without unpaired surrogates, which JSON in UTF-8 cannot hold."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # A pair that was split into two code units joins again; what stays alone becomes a replacement character.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_value(value: Any) -> Any:
    """A JSON-like value with every text in it cleaned."""
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean_value(key): clean_value(item) for key, item in value.items()}
        case list() | tuple():
            return [clean_value(item) for item in value]
        case _:
            return value


def user(text: str, images: tuple[Image, ...] = ()) -> UserMessage:
    """A user's message of one text and some images."""
    parts: tuple[UserPart, ...] = (Text(text=clean(text)), *images) if text or not images else images
    return UserMessage(content=parts, timestamp=now_ms())


def text_of(parts: tuple[UserPart, ...] | tuple[AssistantPart, ...]) -> str:
    """The text parts of a message, a line between them."""
    return "\n".join(part.text for part in parts if isinstance(part, Text))
