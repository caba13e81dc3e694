"""One model call: a request in, stream events out."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping

import msgspec

from marvin_agent.errors import NetworkError, ProtocolError, ProviderError, SilenceError
from marvin_agent.llm import failure
from marvin_agent.llm.builder import Builder
from marvin_agent.llm.secrecy import mask, secret_values
from marvin_agent.llm.sse import EventStream
from marvin_agent.llm.transport import Response, Transport
from marvin_agent.llm.values import Credentials, Finished, Request, Responded, ServerSentEvent, StreamEvent
from marvin_agent.llm.wire import wire_for
from marvin_agent.messages import AssistantMessage, StopReason, Usage, clean_value

_ERROR_BODY_LIMIT = 64 * 1024
_AFTER_THE_FINISH = 10.0
"""Seconds that usage may come later than the reason why the message is whole."""
_AFTER_THE_END = 0.5
"""Seconds in which a server should hang up that said that nothing more comes."""
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
                async for events in _server_events(response, self._builder):
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
        try:
            async for chunk in response.chunks():
                body += chunk
                if len(body) >= _ERROR_BODY_LIMIT:
                    break
        except (NetworkError, SilenceError):
            pass  # the status says more than how its explanation broke off
        return self._wire.error(
            response.status, response.headers, bytes(body[:_ERROR_BODY_LIMIT]), self.request.model.provider
        )

    def _told(self, error: ProviderError) -> ProviderError:
        """The error with what only the call knows, and without the keys if the server quoted them."""
        error.provider = error.provider or self.request.model.provider
        error.request_id = error.request_id or self._builder.request_id
        headers = {**self.request.model.headers, **self.credentials.headers}
        error.message = mask(error.message, self.credentials.api_key, *secret_values(headers))
        error.args = (error.message,)
        return error


def request_id(headers: Mapping[str, str]) -> str | None:
    """The provider's name for this call."""
    return next((headers[name] for name in _REQUEST_ID_HEADERS if headers.get(name)), None)


async def _server_events(response: Response, builder: Builder) -> AsyncGenerator[list[ServerSentEvent], None]:
    """The events of each piece that arrives. A body that is plain JSON, from a server that does not stream, is one."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/html":
        raise ProtocolError(
            "the server answered with a web page", hint="Check the model's base URL: many end in `/v1`."
        )
    if kind == "application/json":
        body = b"".join([chunk async for chunk in response.chunks()])
        stream = EventStream()
        # Some call a stream of events so, too.
        events = [] if body.lstrip()[:1] in (b"{", b"[") else [*stream.feed(body), *stream.end()]
        yield events or _no_event(body)
        return
    stream = EventStream()
    seen = bytearray()
    """The beginning of a body in which there was no event so far."""
    any_event = False
    async for chunk in _until_the_end(response, builder):
        if not any_event and len(seen) < _ERROR_BODY_LIMIT:
            seen += chunk
        if events := stream.feed(chunk):
            any_event = True
            yield events
    last = stream.end()
    yield last if last or any_event else _no_event(bytes(seen))


async def _until_the_end(response: Response, builder: Builder) -> AsyncGenerator[bytes, None]:
    """The pieces of a body. Once the message is whole, nobody waits long for a server to hang up, or minds how."""
    chunks = response.chunks()
    while True:
        patience = None if not builder.ended else _AFTER_THE_END if builder.over else _AFTER_THE_FINISH
        try:
            yield await _next(chunks, patience)
        except (StopAsyncIteration, TimeoutError):
            return
        except ProviderError:
            if not builder.ended:
                raise
            return


async def _next(chunks: AsyncIterator[bytes], patience: float | None) -> bytes:
    if patience is None:
        return await anext(chunks)
    async with asyncio.timeout(patience):
        return await anext(chunks)


def _no_event(body: bytes) -> list[ServerSentEvent]:
    """What a body without events is that was called a stream of them: JSON, mostly an error, or something else."""
    text = body.decode("utf-8", "replace").strip()
    if text[:1] in ("{", "["):
        return [ServerSentEvent(event="message", data=text)]
    if text and not text.startswith((":", "event:", "id:", "retry:")):
        raise ProtocolError(f"the server sent no event but: {failure.plain(text)[:200]}")
    return []


def _sendable(payload: dict[str, object]) -> dict[str, object]:
    """The payload, cleaned when JSON cannot hold it as it is."""
    try:
        msgspec.json.encode(payload)
    except UnicodeEncodeError:
        cleaned: dict[str, object] = clean_value(payload)
        return cleaned
    return payload
