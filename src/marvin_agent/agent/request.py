"""The one place where a model is called: hooks change the request, failures are retried, the stream is shown."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import msgspec

from marvin_agent.agent.brought import Brought
from marvin_agent.agent.events import MessageGrew, MessageStarted, MessageWithdrawn, RetryEnded, RetryStarted
from marvin_agent.agent.outlet import Outlet
from marvin_agent.agent.points import Points
from marvin_agent.agent.retry import RetryPolicy
from marvin_agent.errors import ProviderError, Refused
from marvin_agent.hooks import events as h
from marvin_agent.hooks.forms import FormError, Lazy, to_plain
from marvin_agent.hooks.outcome import Outcome
from marvin_agent.hooks.payload import Event
from marvin_agent.llm.call import ModelCall
from marvin_agent.llm.thinking import clamp
from marvin_agent.llm.transport import Transport
from marvin_agent.llm.values import (
    THINKING_LEVELS,
    Credentials,
    Delta,
    Finished,
    Model,
    Request,
    Responded,
    StreamOptions,
    ThinkingLevel,
    ToolSpec,
)
from marvin_agent.messages import AssistantMessage, Message, StopReason, Usage

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_PLAIN = re.compile(r"[\x21-\x7e]+")
_GIVEN_UP = "interrupted before the next attempt"


class Models(Protocol):
    """Where models, keys and connections come from."""

    def find(self, text: str) -> Model: ...

    async def credentials(self, model: Model, given: Credentials) -> Credentials:
        """What hooks gave, with the stored key and headers added; raises AuthenticationError that says what to do."""
        ...

    def transport(self, model: Model) -> Transport: ...

    @property
    def brought(self) -> Brought:
        """The providers that hooks bring."""
        ...

    async def close(self) -> None: ...


class Ask(NamedTuple):
    """A model call as the engine wants it, before the hooks."""

    model: Model
    thinking: Any
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    purpose: h.Purpose = "turn"
    origin: str = "main"
    max_tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    visible: bool = True
    """Whether the answer is shown as it streams."""


class Caller:
    """Calls models for one engine."""

    def __init__(
        self,
        models: Models,
        points: Points,
        outlet: Outlet,
        policy: RetryPolicy,
        routed: Callable[[str, type[Event]], None],
        notice: Callable[[str], None],
        spent: Callable[[Usage | None], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._models = models
        self._points = points
        self._outlet = outlet
        self._policy = policy
        self._routed = routed
        self._sleep = sleep
        self._notice = notice
        self._spent = spent
        self._live: ModelCall | None = None

    def take_partial(self, stop_reason: StopReason, error: str | None = None) -> AssistantMessage | None:
        """What has come of the answer that was streaming; None when nothing was."""
        live, self._live = self._live, None
        return live.partial(stop_reason, error) if live else None

    async def call(self, ask: Ask) -> AssistantMessage:
        """A model call and its retries. Raises ProviderError when it failed for good, Refused when a hook says no."""
        call = await self._prepare(ask)
        attempt = 0
        while True:
            attempt += 1
            self._live = call
            try:
                message = await self._attempt(call, ask)
            except ProviderError as error:
                delay = self._policy.delay(attempt, error)
                if delay is None:
                    if attempt > 1:
                        await self._retried(attempt - 1, error, ask)
                    raise
                call = await self._wait(call, attempt, delay, error, ask)
            else:
                if attempt > 1:
                    await self._retried(attempt - 1, None, ask)
                self._live = None
                return message

    async def _attempt(self, call: ModelCall, ask: Ask) -> AssistantMessage:
        try:
            return await self._hear(call, ask)
        finally:
            # An attempt that failed or was given up is paid for too.
            self._spent(call.used)

    async def _hear(self, call: ModelCall, ask: Ask) -> AssistantMessage:
        outlet, points = self._outlet, self._points
        shown = ask.visible and outlet.wants_deltas
        updates = ask.visible and points.heard(h.MessageUpdate)
        async for event in call.events(deltas=shown or updates):
            match event:
                case Finished(message=message):
                    return message
                case Responded(status=status, headers=headers, request_id=request_id):
                    points.tell(
                        h.ChatResponse, origin=ask.origin, status=status, headers=dict(headers), request_id=request_id
                    )
                    if ask.visible:
                        self._started(call)
                case delta:
                    if shown:
                        outlet.emit(MessageGrew(delta=delta))
                    if updates:
                        self._tell_update(delta, call)
        raise AssertionError("a model call ends with Finished or an error")

    def _started(self, call: ModelCall) -> None:
        message = call.partial("stop")
        self._outlet.emit(MessageStarted(message=message))
        self._points.tell(h.MessageStart, message=message)

    def _tell_update(self, delta: Delta, call: ModelCall) -> None:
        # The message so far is made when a handler is about to see it, since deltas may be many.
        self._points.tell(h.MessageUpdate, message=Lazy(lambda: call.partial("stop")), delta=to_plain(delta))

    async def _wait(self, call: ModelCall, attempt: int, delay: float, error: ProviderError, ask: Ask) -> ModelCall:
        """Announce a retry and sleep; gives the call to try next, the same request again."""
        self._live = None  # nothing of it is kept, also when nobody waits for the next attempt
        if ask.visible:
            self._outlet.emit(MessageWithdrawn(reason=error.show()))
        most, ms = self._policy.max_attempts - 1, round(delay * 1000)
        self._outlet.emit(RetryStarted(attempt=attempt, max_attempts=most, delay_ms=ms, error=error.show()))
        await self._points.fire(
            h.RetryStart, origin=ask.origin, attempt=attempt, max_attempts=most, delay_ms=ms, error=error.show()
        )
        try:
            await self._sleep(delay)
        except asyncio.CancelledError:
            self._outlet.emit(RetryEnded(attempt=attempt, success=False, error=_GIVEN_UP))
            self._points.tell(h.RetryEnd, origin=ask.origin, attempt=attempt, success=False, error=_GIVEN_UP)
            raise
        again = ModelCall(call.request, call.credentials, call.transport)
        again.payload = call.payload
        return again

    async def _retried(self, attempt: int, error: ProviderError | None, ask: Ask) -> None:
        text = error.show() if error else None
        self._outlet.emit(RetryEnded(attempt=attempt, success=error is None, error=text))
        await self._points.fire(h.RetryEnd, origin=ask.origin, attempt=attempt, success=error is None, error=text)

    async def _prepare(self, ask: Ask) -> ModelCall:
        """Let the hooks see and change the request, in the order of the contract."""
        system = await self._system(ask)
        options = await self._options(ask)
        model = await self._resolve(ask)
        given = await self._auth(ask, model)
        messages = await self._messages(ask)
        level, notice = clamp(model, _level(options.reasoning))
        if notice:
            self._notice(notice)
        request = Request(
            model=model,
            system=system,
            messages=messages,
            tools=ask.tools,
            options=StreamOptions(
                temperature=options.temperature,
                max_tokens=options.max_tokens,
                reasoning=level,
                stop=tuple(options.stop),
                extra=options.extra,
            ),
            cache_key=self._points.session_id,
        )
        call = ModelCall(request, given, self._models.transport(model))
        outcome = await self._points.fire(
            h.ChatRequest,
            origin=ask.origin,
            payload=call.payload,
            provider=model.provider,
            api=model.api,
            purpose=ask.purpose,
        )
        if outcome:
            call.payload = _allowed(outcome).payload
        call.credentials = await self._models.credentials(model, given)
        return call

    async def _system(self, ask: Ask) -> str:
        outcome = await self._points.fire(
            h.ChatSystemTransform,
            origin=ask.origin,
            input=h.SystemPromptInput(session_id=self._points.session_id, system_prompt=ask.system),
            output=h.SystemPrompt(system_prompt=ask.system),
            purpose=ask.purpose,
        )
        return str(_allowed(outcome).output.system_prompt) if outcome else ask.system

    async def _options(self, ask: Ask) -> h.StreamParams:
        options = h.StreamParams(
            temperature=ask.temperature,
            max_tokens=ask.max_tokens,
            reasoning=ask.thinking,
            stop=list(ask.stop),
            extra={},
        )
        outcome = await self._points.fire(
            h.ChatParams,
            origin=ask.origin,
            check=_check_params,
            input=h.SessionOnly(session_id=self._points.session_id),
            output=h.ChatParamsOutput(stream_options=options),
            purpose=ask.purpose,
        )
        changed: h.StreamParams = _allowed(outcome).output.stream_options if outcome else options
        return changed

    async def _resolve(self, ask: Ask) -> Model:
        session = self._points.session_id
        outcome = await self._points.fire(
            h.ModelResolve,
            origin=ask.origin,
            check=self._check_model,
            input=h.ModelInput(session_id=session, model=ask.model),
            output=h.ModelOutput(model=ask.model),
            purpose=ask.purpose,
        )
        if outcome is None:
            return ask.model
        for change in outcome.changes:
            self._routed(change.hook, h.ModelResolve)
        return self._model(_allowed(outcome).output.model)

    def _model(self, given: Any) -> Model:
        if isinstance(given, Model):
            return given
        found = self._models.find(f"{given['provider']}/{given['id']}")
        rest = {key: value for key, value in given.items() if key not in ("provider", "id")}
        changed: Model = msgspec.convert({**msgspec.to_builtins(found), **rest}, Model)
        return changed

    def _check_model(self, event: Event) -> None:
        try:
            self._model(vars(event)["output"].model)
        except Exception as error:
            raise FormError(f"model: {error}") from error

    async def _auth(self, ask: Ask, model: Model) -> Credentials:
        session = self._points.session_id
        outcome = await self._points.fire(
            h.AuthGet,
            origin=ask.origin,
            check=_check_auth,
            input=h.AuthGetInput(session_id=session, provider=model.provider, model_id=model.id),
            output=h.AuthGetOutput(api_key=None, headers={}, base_url=None),
            purpose=ask.purpose,
        )
        if outcome is None:
            return Credentials()
        output = _allowed(outcome).output
        for change in outcome.changes:
            if change.field == "base_url":
                self._routed(change.hook, h.AuthGet)
        return Credentials(api_key=output.api_key, headers=output.headers, base_url=output.base_url)

    async def _messages(self, ask: Ask) -> tuple[Message, ...]:
        if not self._points.heard(h.ChatMessagesTransform):
            return ask.messages
        outcome = await self._points.fire(
            h.ChatMessagesTransform, origin=ask.origin, messages=list(ask.messages), purpose=ask.purpose
        )
        return tuple(_allowed(outcome).messages) if outcome else ask.messages


def _allowed(outcome: Outcome) -> Any:
    """The event as it came back; a closed handler that failed fails the call."""
    if outcome.refused:
        raise Refused(f"The model was not called: {outcome.refused}")
    return outcome.event


def _level(text: str) -> ThinkingLevel:
    return next((level for level in THINKING_LEVELS if level == text), "off")


def _check_params(event: Event) -> None:
    level = vars(event)["output"].stream_options.reasoning
    if level not in THINKING_LEVELS:
        raise FormError(f"reasoning is one of {', '.join(THINKING_LEVELS)}, not {level!r}")


def _check_auth(event: Event) -> None:
    output = vars(event)["output"]
    if output.base_url is not None and not _is_address(output.base_url):
        raise FormError(f"base_url {output.base_url!r} is not an http(s) address")
    for name, value in output.headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise FormError(f"the header {name!r} cannot be sent as it is")
    if output.api_key is not None and not _HEADER_VALUE.fullmatch(output.api_key):
        raise FormError("the api_key has characters that cannot be sent")


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and _PLAIN.fullmatch(text) is not None
        )
    except ValueError:
        return False
