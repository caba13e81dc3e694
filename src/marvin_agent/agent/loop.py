"""The loop of one run: a prompt goes in, the model and its tools take turns, until the agent stops."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, NamedTuple

from msgspec import UNSET

from marvin_agent.agent import events as out
from marvin_agent.agent.caps import Caps, Limits, check_limits
from marvin_agent.agent.ending import failure_of, notice_of
from marvin_agent.agent.invoke import Invoker, Result
from marvin_agent.agent.outlet import Outlet
from marvin_agent.agent.points import Points
from marvin_agent.agent.queue import Inbox, Prompt
from marvin_agent.agent.request import Ask, Caller
from marvin_agent.agent.stopper import Stopper
from marvin_agent.agent.usage import tokens
from marvin_agent.errors import Aborted, InternalError, MarvinError, ProviderError, Refused
from marvin_agent.hooks import events as h
from marvin_agent.hooks.forms import accept
from marvin_agent.hooks.outcome import Outcome
from marvin_agent.llm.values import Model, ThinkingLevel, ToolSpec
from marvin_agent.messages import (
    AssistantMessage,
    HookMessage,
    Image,
    Message,
    StopReason,
    Text,
    ToolResultMessage,
    Usage,
    UserMessage,
    UserPart,
    clean,
    now_ms,
    raw,
    text_of,
)


class Setting(NamedTuple):
    """What a run works with; asked anew for each turn, so that a change of model or tools takes effect at once."""

    model: Model
    thinking: ThinkingLevel
    system: str
    tools: tuple[ToolSpec, ...]
    context: tuple[Message, ...]


class Summary:
    """What came of a run."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.usage: Usage | None = None
        """Of all model calls since the run began; the engine adds them up."""
        self.turns = 0
        self.tool_calls = 0
        self.stop_reason = "stop"
        self.error: MarvinError | None = None
        self.answer: AssistantMessage | None = None


class Run:
    """One run. Made by the engine, used once."""

    def __init__(
        self,
        *,
        caller: Caller,
        invoker: Invoker,
        points: Points,
        outlet: Outlet,
        inbox: Inbox,
        caps: Caps,
        limits: Limits,
        setting: Callable[[str | None], Setting],
        store: Callable[[Message, tuple[str, ...]], None],
        fall_back: Callable[[], Awaitable[bool]],
    ) -> None:
        self._caller = caller
        self._invoker = invoker
        self._points = points
        self._outlet = outlet
        self._inbox = inbox
        self._caps = caps
        self._limits = limits
        self._setting = setting
        self._store_entry = store
        self._fall_back = fall_back
        self._system: str | None = None
        self.stopper = Stopper()
        self.summary = Summary()

    async def start(self, prompt: Prompt) -> Summary:
        """Do the run. Failures end in the summary, not as exceptions."""
        return await self._guarded(self._begin(prompt))

    async def continue_without_prompt(self) -> Summary:
        """A run on what the conversation already ends with: a hook's message."""
        return await self._guarded(self._begin_without_prompt())

    async def _guarded(self, course: Coroutine[Any, Any, None]) -> Summary:
        try:
            await course
            if self.summary.answer:
                self.summary.error = failure_of(self.summary.answer)
        except Aborted:
            await self._aborted()
        except MarvinError as error:
            self._failed(error)
        except Exception as error:
            # A fault of ours must not end without a word and with exit code 0.
            self._failed(InternalError(error))
        await self._end()
        return self.summary

    # The beginning: what the prompt becomes.

    async def _begin(self, prompt: Prompt) -> None:
        taken = await self.stopper.step(self._hear(prompt))
        if taken is None:
            return
        message, by = taken
        text = text_of(message.content)
        await self._prepare(message.content, text)
        self._store(message, by)
        await self._go_on(text)

    async def _begin_without_prompt(self) -> None:
        # What hooks add to the system prompt belongs to this run as to any other.
        await self._prepare((), "")
        await self._go_on("")

    async def _prepare(self, content: tuple[UserPart, ...], text: str) -> None:
        for hook, extra in await self.stopper.step(self._before_start(content, text)):
            self._store(extra, (hook,))

    async def _go_on(self, text: str) -> None:
        await self.stopper.step(self._fire(h.AgentStart))
        self._outlet.emit(out.AgentStarted(prompt=text))
        await self._turns()

    async def _hear(self, prompt: Prompt) -> tuple[UserMessage, tuple[str, ...]] | None:
        """The message that a prompt becomes, with the hooks that changed it; None when a hook handled it."""
        parts: tuple[UserPart, ...] = (Text(text=clean(prompt.text)), *prompt.images)
        if not prompt.text and prompt.images:
            parts = prompt.images
        outcome = await self._points.fire(
            h.ChatMessage,
            input=h.ChatMessageInput(session_id=self._points.session_id, text=prompt.text, source=prompt.source),
            output=h.ChatMessageOutput(parts=list(parts)),
        )
        if outcome and outcome.refused:
            raise Refused(f"The message was not sent: {outcome.refused}")
        given = tuple(outcome.event.output.parts) if outcome else parts
        message = UserMessage(content=given or parts, timestamp=now_ms())
        by = outcome.changed_by if outcome else ()
        if outcome and outcome.decided.get("handled"):
            self._store(message, tuple(dict.fromkeys((*by, outcome.decided_by or ""))))
            return None
        self._mind_images(message)
        return message, by

    def _mind_images(self, message: UserMessage) -> None:
        if not any(isinstance(part, Image) for part in message.content):
            return
        model = self._setting(None).model
        if not model.images:
            text = f"{model.ref} cannot see images: it is told that there is one"
            self._outlet.emit(out.Notice(level="warning", text=text))

    async def _before_start(self, content: tuple[UserPart, ...], text: str) -> list[tuple[str, HookMessage]]:
        self._system = None
        system = self._setting(None).system
        outcome = await self._points.fire(
            h.AgentBeforeStart,
            prompt=text,
            images=[part for part in content if isinstance(part, Image)],
            system_prompt=system,
        )
        if outcome is None:
            return []
        if outcome.refused:
            raise Refused(f"The run did not start: {outcome.refused}")
        if outcome.event.system_prompt != system:
            self._system = outcome.event.system_prompt
        return [(hook, hook_message(vars(given))) for hook, given in outcome.added.get("message", ())]

    # The turns.

    async def _turns(self) -> None:
        while True:
            check_limits(self._limits, self.summary.turns, self.summary.usage)
            more = await self._turn(self.summary.turns)
            steered = await self._take_up(self._inbox.take_steering())
            if more or steered:
                self._caps.continuations = 0 if more else self._caps.continuations
                continue
            if await self._take_up(self._inbox.take_follow_up()):
                continue
            if not await self._continued():
                return

    async def _turn(self, index: int) -> bool:
        """One model call and its tools; True when the model waits for their results."""
        await self.stopper.step(self._fire(h.TurnStart, turn_index=index))
        self._outlet.emit(out.TurnStarted(turn_index=index))
        message = await self.stopper.step(self._call())
        self.summary.turns += 1
        self.summary.answer = message
        self._store(message, (), began=True)
        if notice := notice_of(message):
            self._outlet.emit(out.Notice(level="warning", text=notice))
        results = await self._tools(message)
        await self._told(
            h.TurnEnd,
            turn_index=index,
            message=message,
            tool_results=list(results),
            tokens=tokens(message.usage),
            context_limit=self._setting(self._system).model.context_window,
        )
        self._outlet.emit(out.TurnEnded(turn_index=index, message=message, tool_results=results))
        self.summary.stop_reason = message.stop_reason
        if self.stopper.aborted:
            raise Aborted
        return bool(results)

    async def _call(self) -> AssistantMessage:
        """The model's answer; of the next model of the list, if that was asked for and this one stays down."""
        while True:
            setting = self._setting(self._system)
            ask = Ask(
                model=setting.model,
                thinking=setting.thinking,
                system=setting.system,
                messages=setting.context,
                tools=setting.tools,
            )
            try:
                return await self._caller.call(ask)
            except ProviderError as error:
                if not error.retryable or not await self._fall_back():
                    raise
                if partial := self._caller.take_partial("error", error.show()):
                    self._outlet.emit(out.MessageWithdrawn(reason=partial.error_message or error.show()))

    async def _tools(self, message: AssistantMessage) -> tuple[ToolResultMessage, ...]:
        calls = message.tool_calls
        if not calls or message.stop_reason != "toolUse":
            return ()
        kept: list[ToolResultMessage] = []

        def store(result: Result) -> None:
            kept.append(result.message())
            self._store(kept[-1], result.changed_by)

        batch = self._invoker.batch(calls, store)
        self.summary.tool_calls += len(calls)
        try:
            await self.stopper.step(batch.run())
        except Aborted:
            try:
                await self.stopper.last(batch.abort())
            except Aborted:
                batch.leave()
        except BaseException:
            # No result can be stored any more: what still runs must not act behind the back of a run that has ended.
            await batch.stop()
            raise
        return tuple(kept)

    async def _take_up(self, prompts: tuple[Prompt, ...]) -> bool:
        """Put what was said meanwhile into the conversation; True when the model has to hear it."""
        heard = False
        for prompt in prompts:
            if prompt.message:
                self._store(prompt.message, (prompt.hook or "",))
                heard = self._may_speak(prompt) or heard
            elif self._may_speak(prompt) and (taken := await self.stopper.step(self._hear(prompt))):
                self._store(*taken)
                heard = True
        return heard

    def _may_speak(self, prompt: Prompt) -> bool:
        """Whether the model is asked once more for this: for a person always, for a hook until it was too often."""
        if prompt.hook is None:
            self._caps.new_prompt()
            return True
        try:
            self._caps.hook_call(prompt.hook)
        except Refused as refused:
            self._outlet.emit(out.Notice(level="warning", text=refused.message))
            return False
        return True

    async def _continued(self) -> bool:
        """Whether a hook lets the agent go on."""
        outcome = await self.stopper.step(
            self._fire(
                h.AgentBeforeEnd,
                messages=list(self.summary.messages),
                continuations=self._caps.continuations,
            )
        )
        if outcome is None or "continue_with" not in outcome.decided:
            return False
        hook = outcome.decided_by or "a hook"
        try:
            self._caps.continuation(hook)
        except Refused as refused:
            self._outlet.emit(out.Notice(level="warning", text=refused.message))
            return False
        text = str(outcome.decided["continue_with"])
        self._store(UserMessage(content=(Text(text=clean(text)),), timestamp=now_ms()), (hook,))
        return True

    # The end.

    async def _aborted(self) -> None:
        self.summary.stop_reason = "aborted"
        self.summary.error = Aborted()
        self._keep_partial("aborted", None)

    def _failed(self, error: MarvinError) -> None:
        self.summary.stop_reason = "error"
        self.summary.error = error
        self._keep_partial("error", error.show())

    def _keep_partial(self, stop_reason: StopReason, text: str | None) -> None:
        partial = self._caller.take_partial(stop_reason, text)
        if partial and partial.content:
            try:
                self._store(partial, (), began=True)
            except MarvinError as error:
                self.summary.error = self.summary.error or error

    async def _end(self) -> None:
        summary, error = self.summary, self.summary.error
        limit = self._setting(None).model.context_window
        text = error.show() if error and not isinstance(error, Aborted) else None
        await self._told(
            h.AgentEnd,
            messages=list(summary.messages),
            total_tokens=tokens(summary.usage),
            context_limit=limit,
            stop_reason=summary.stop_reason,
            error=text,
        )
        self._outlet.emit(
            out.AgentEnded(
                stop_reason=summary.stop_reason,
                error=text,
                error_kind=error.kind if error else None,
                exit_code=error.exit_code if error else 0,
                turns=summary.turns,
                tool_calls=summary.tool_calls,
                usage=summary.usage,
            )
        )

    def _store(self, message: Message, by: tuple[str, ...], *, began: bool = False) -> None:
        """Keep a message and show it, one and the same."""
        self._store_entry(message, by)
        self.summary.messages.append(message)
        if isinstance(message, ToolResultMessage):
            # Frontends know it by its tool events.
            self._points.tell(h.MessageStart, message=message)
            self._points.tell(h.MessageEnd, message=message)
            return
        if not began:
            self._outlet.emit(out.MessageStarted(message=message))
            self._points.tell(h.MessageStart, message=message)
        self._outlet.emit(out.MessageEnded(message=message, changed_by=by or UNSET))
        self._points.tell(h.MessageEnd, message=message)

    async def _told(self, event: type[Any], **payload: Any) -> None:
        """Tell the hooks of an end, also after an abort; another one ends the wait for them."""
        try:
            await self.stopper.last(self._fire(event, **payload))
        except Aborted:
            return

    async def _fire(self, event: type[Any], **payload: Any) -> Outcome | None:
        return await self._points.fire(event, **payload)


def hook_message(given: Mapping[str, Any]) -> HookMessage:
    """A hook's message from the dict that hooks give, keys in either case. Raises FormError."""
    message = vars(accept("CustomMessage")(dict(given)))
    details = message.get("details")
    return HookMessage(
        custom_type=message.get("custom_type", "hook"),
        content=tuple(message.get("content", ())),
        display=message.get("display", True),
        details=raw(details) if details is not None else UNSET,
        timestamp=now_ms(),
    )
