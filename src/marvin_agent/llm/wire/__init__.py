"""The seam of the wire protocols, and the table that finds the one file which a model needs."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

from marvin_agent.errors import ConfigError, ProviderError
from marvin_agent.llm.builder import Builder
from marvin_agent.llm.values import Credentials, HttpRequest, Request, ServerSentEvent

_MODULES = {
    "anthropic-messages": "anthropic",
    "openai-completions": "completions",
    "openai-responses": "responses",
    "google-generative-ai": "gemini",
    "local": "local",
}


class Parser(Protocol):
    """Reads one answer."""

    def feed(self, event: ServerSentEvent) -> None:
        """Take one event, or the whole body of a server that did not stream. Raises ProviderError when it is one."""
        ...

    def finish(self) -> None:
        """The stream is over. Raises ProtocolError when nothing said that the message is."""
        ...


class Wire(Protocol):
    """One protocol: how a request becomes a body, and how the answer is read."""

    def payload(self, request: Request) -> dict[str, Any]:
        """The body, as hooks see it."""
        ...

    def http_request(self, request: Request, credentials: Credentials, payload: dict[str, Any]) -> HttpRequest: ...

    def parser(self, builder: Builder) -> Parser: ...

    def error(self, status: int, headers: Mapping[str, str], body: bytes, provider: str) -> ProviderError:
        """What an answer other than 200 means."""
        ...


def wire_for(api: str) -> Wire:
    """The wire of an API. Its module is loaded now: a run needs one of them, and never all."""
    try:
        name = _MODULES[api]
    except KeyError:
        known = ", ".join(sorted(_MODULES))
        raise ConfigError(f"there is no API `{api}`", hint=f"A model's `api` is one of: {known}.") from None
    wire: Wire = import_module(f"{__name__}.{name}").WIRE
    return wire
