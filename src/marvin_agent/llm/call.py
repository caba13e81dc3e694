"""One model call: a request in, stream events out."""

from collections.abc import AsyncGenerator, Mapping

import msgspec

from marvin_agent.errors import ProtocolError, ProviderError
from marvin_agent.llm.builder import Builder
from marvin_agent.llm.secrecy import mask
from marvin_agent.llm.sse import EventStream
from marvin_agent.llm.transport import Response, Transport
from marvin_agent.llm.values import Credentials, Finished, Request, Responded, ServerSentEvent, StreamEvent
from marvin_agent.llm.wire import wire_for
from marvin_agent.messages import AssistantMessage, StopReason, Usage, clean_value

_ERROR_BODY_LIMIT = 64 * 1024
_REQUEST_ID_HEADERS = ("request-id", "x-request-id", "x-amzn-requestid", "cf-ray")


class ModelCall:
    """One attempt. `payload` is the wire's body and may be replaced before `events` begins."""

    def __init__(self, request: Request, credentials: Credentials, transport: Transport) -> None:
        self.request = request
        self.credentials = credentials
        """May be replaced before `events` begins."""
        self.transport = transport
        self._wire = wire_for(request.model.api)
        self._builder = Builder(request)
        self.payload = _sendable(self._wire.payload(request))

    async def events(self, *, deltas: bool = True) -> AsyncGenerator[StreamEvent, None]:
        """One Responded, then deltas as they come (if wanted), then one Finished. Raises ProviderError. Closing it, or
        cancelling the task, drops the connection."""
        try:
            request = self._wire.http_request(self.request, self.credentials, _sendable(self.payload))
            async with self.transport.send(request) as response:
                self._builder.request_id = request_id(response.headers)
                if not 200 <= response.status < 300:
                    raise await self._refusal(response)
                yield Responded(status=response.status, headers=response.headers, request_id=self._builder.request_id)
                parser = self._wire.parser(self._builder)
                async for events in _server_events(response):
                    for event in events:
                        parser.feed(event)
                    if deltas:
                        for delta in self._builder.drain():
                            yield delta
                parser.finish()
        except ProviderError as error:
            raise self._told(error) from None
        for delta in self._builder.drain() if deltas else ():
            yield delta
        yield Finished(message=self._builder.message())

    def partial(self, stop_reason: StopReason, error_message: str | None = None) -> AssistantMessage:
        """What came so far, as a message that can be kept: for calls that were aborted or failed."""
        return self._builder.message(stop_reason, error_message)

    @property
    def used(self) -> Usage | None:
        """What the provider reported so far; it is paid for also when the call fails."""
        return self._builder.used

    async def _refusal(self, response: Response) -> ProviderError:
        body = bytearray()
        async for chunk in response.chunks():
            body += chunk
            if len(body) >= _ERROR_BODY_LIMIT:
                break
        return self._wire.error(
            response.status, response.headers, bytes(body[:_ERROR_BODY_LIMIT]), self.request.model.provider
        )

    def _told(self, error: ProviderError) -> ProviderError:
        """The error with what only the call knows, and without the key if the server quoted it."""
        error.provider = error.provider or self.request.model.provider
        error.request_id = error.request_id or self._builder.request_id
        error.message = mask(error.message, self.credentials.api_key)
        error.args = (error.message,)
        return error


def request_id(headers: Mapping[str, str]) -> str | None:
    """The provider's name for this call."""
    return next((headers[name] for name in _REQUEST_ID_HEADERS if headers.get(name)), None)


async def _server_events(response: Response) -> AsyncGenerator[list[ServerSentEvent], None]:
    """The events of each piece that arrives. A body that is plain JSON, from a server that does not stream, is one."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/html":
        raise ProtocolError(
            "the server answered with a web page", hint="Check the model's base URL: many end in `/v1`."
        )
    if kind == "application/json":
        body = b"".join([chunk async for chunk in response.chunks()])
        if body.lstrip()[:5] != b"data:":
            yield [ServerSentEvent(event="message", data=body.decode("utf-8", "replace"))]
            return
        stream = EventStream()
        yield [*stream.feed(body), *stream.end()]
        return
    stream = EventStream()
    async for chunk in response.chunks():
        if events := stream.feed(chunk):
            yield events
    yield stream.end()


def _sendable(payload: dict[str, object]) -> dict[str, object]:
    """The payload, cleaned when JSON cannot hold it as it is."""
    try:
        msgspec.json.encode(payload)
    except UnicodeEncodeError:
        cleaned: dict[str, object] = clean_value(payload)
        return cleaned
    return payload
