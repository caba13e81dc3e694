"""What a model call is made of: the model, the request, the credentials, and the events that come back."""

from typing import Any, Literal, TypeAlias

import msgspec

from marvin_agent.messages import AssistantMessage, Message, Value

Api: TypeAlias = Literal[
    "anthropic-messages", "openai-responses", "openai-completions", "google-generative-ai", "local"
]
ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = ("off", "minimal", "low", "medium", "high", "xhigh")


class Price(Value):
    """US dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


class Model(Value):
    """A model and how to reach it. `compat` holds the peculiarities of its server, by the names of models.json."""

    provider: str
    id: str
    api: Api
    base_url: str
    """Where the wire's own path is added, so: without `/v1` for anthropic-messages (`/v1/messages`), with `/v1` for
    openai-completions (`/chat/completions`) and openai-responses (`/responses`), with `/v1beta` for
    google-generative-ai (`/models/ID:streamGenerateContent?alt=sse`). No slash at the end."""
    name: str = ""
    reasoning: bool = False
    input: tuple[str, ...] = ("text",)
    cost: Price = Price()
    context_window: int = 128_000
    max_tokens: int = 8_192
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}

    @property
    def ref(self) -> str:
        """`provider/id`, the name that finds this model again."""
        return f"{self.provider}/{self.id}"

    @property
    def images(self) -> bool:
        return "image" in self.input


class ToolSpec(Value):
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON Schema of an object."""


class StreamOptions(Value):
    """How to sample. What is None is left to the provider."""

    temperature: float | None = None
    max_tokens: int | None = None
    reasoning: ThinkingLevel = "off"
    stop: tuple[str, ...] = ()
    extra: dict[str, Any] = {}
    """Merged into the wire body as it is."""


class Request(Value):
    """One model call, before it is turned into a wire's body."""

    model: Model
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: StreamOptions = StreamOptions()
    cache_key: str | None = None
    """Calls that share a beginning share this: a provider's prompt cache finds it again."""


class Credentials(Value):
    """What opens the door for one call; empty fields leave the model's own in place."""

    api_key: str | None = None
    headers: dict[str, str] = {}
    base_url: str | None = None


class HttpRequest(Value):
    """A POST, ready to send."""

    url: str
    headers: dict[str, str]
    body: bytes


class ServerSentEvent(Value):
    event: str
    data: str


# What a stream yields, in order: one Responded, many deltas, one Finished. Errors are raised.


class Responded(Value, tag="responded"):
    """The server answered; its body is about to stream."""

    status: int
    headers: dict[str, str]
    request_id: str | None = None


class TextDelta(Value, tag="text"):
    index: int
    """Which part of the message grows."""
    text: str


class ThinkingDelta(Value, tag="thinking"):
    index: int
    text: str


class ToolCallDelta(Value, tag="toolCall"):
    index: int
    id: str
    name: str
    text: str
    """More of the arguments' JSON; empty when the call begins."""


class Finished(Value, tag="finished"):
    message: AssistantMessage


Delta: TypeAlias = TextDelta | ThinkingDelta | ToolCallDelta
StreamEvent: TypeAlias = Responded | TextDelta | ThinkingDelta | ToolCallDelta | Finished

decode_json = msgspec.json.decode
