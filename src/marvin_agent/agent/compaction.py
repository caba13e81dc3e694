"""Compaction: the model, or a hook, sums the conversation up; the original entries stay in the file."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from marvin_agent.agent.points import Points
from marvin_agent.agent.request import Ask, Caller
from marvin_agent.errors import Refused
from marvin_agent.hooks import events as h
from marvin_agent.llm.values import Model, ThinkingLevel
from marvin_agent.messages import (
    AssistantMessage,
    HookMessage,
    Message,
    Text,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
    text_of,
)
from marvin_agent.session.entries import CompactionEntry, Entry, MessageEntry
from marvin_agent.session.store import Session

INSTRUCTIONS = """\
Sum up the conversation below so that another agent can go on with the work and needs nothing else. Keep every fact \
that matters: names, paths, commands, numbers, decisions and their reasons. Write these sections, leaving out what is \
empty:

## Goal
## Constraints and wishes of the user
## Done
## In progress
## Next steps
## Facts to remember"""

SYSTEM = "You sum up conversations between a user and a coding agent. You answer with the summary alone."
RESULT_LIMIT = 2_000
"""Characters of a tool's result that the summary is made from."""
SUMMARY_TOKENS = 8_192


class Compacted(NamedTuple):
    summary: str
    entry_id: str
    from_hook: bool
    usage: Usage | None = None
    """What the model used for it."""


class Plan(NamedTuple):
    """What will be summed up and what stays."""

    messages: tuple[Message, ...]
    first_kept_entry_id: str | None
    previous: CompactionEntry | None
    size: int = 0
    """How many entries the context had: what comes meanwhile stays."""


class Compactor:
    """Compacts the sessions of one engine."""

    def __init__(self, caller: Caller, points: Points) -> None:
        self._caller = caller
        self._points = points

    async def compact(
        self,
        session: Session,
        model: Model,
        thinking: ThinkingLevel,
        *,
        instructions: str | None,
        reason: h.CompactReason,
        keep_tokens: int,
        tokens_before: int,
        origin: str = "main",
    ) -> Compacted:
        """Compact the current branch. Raises Refused when a hook says no or there is nothing to compact."""
        plan = plan_for(session, keep_tokens)
        if not plan.messages:
            raise Refused("There is nothing to compact yet.")
        before = await self._points.fire(
            h.SessionBeforeCompact,
            origin=origin,
            messages=list(plan.messages),
            custom_instructions=instructions,
            model=h.ModelRef(provider=model.provider, id=model.id),
            reason=reason,
            first_kept_entry_id=plan.first_kept_entry_id,
            tokens_before=tokens_before,
            input=h.SessionOnly(session_id=session.id),
            output=h.BeforeCompactOutput(cancel=False, prompt=None, context=[]),
        )
        if before and before.refused:
            raise Refused(f"Compaction cancelled by {before.refused}")
        given = before.decided if before else {}
        if own := given.get("compaction"):
            return await self._store(session, plan, vars(own), tokens_before, reason, from_hook=True)
        if summary := given.get("summary"):
            return await self._store(session, plan, {"summary": summary}, tokens_before, reason, from_hook=True)
        prompt, context, preserve = await self._extras(session, plan, before, origin)
        answer = await self._caller.call(
            Ask(
                model=model,
                thinking=thinking,
                system=SYSTEM,
                messages=(UserMessage(content=(Text(text=_question(plan, prompt, context, instructions)),)),),
                purpose="compaction",
                origin=origin,
                # Thinking counts as output with most providers: it must not leave the summary without room.
                max_tokens=None if model.reasoning else min(SUMMARY_TOKENS, model.max_tokens),
                visible=False,
            )
        )
        if answer.stop_reason != "stop" or not answer.text.strip():
            # Half a summary, or the words of a refusal, in place of the conversation would be worse than a long one.
            raise Refused(f"The model gave no summary (it ended with {answer.stop_reason}); nothing was compacted.")
        own = {"summary": answer.text, "preserve_data": preserve}
        done = await self._store(session, plan, own, tokens_before, reason, from_hook=False)
        return done._replace(usage=answer.usage)

    async def _extras(
        self, session: Session, plan: Plan, before: Any, origin: str
    ) -> tuple[str | None, list[str], Any]:
        """What hooks add to the question: a prompt in place of ours, context, and data to keep."""
        prompt = before.event.output.prompt if before else None
        context: list[str] = before.event.output.context if before else []
        kept = plan.previous.preserve_data if plan.previous else UNSET
        outcome = await self._points.fire(
            h.SessionCompacting,
            origin=origin,
            input=h.SessionOnly(session_id=session.id),
            output=h.CompactingOutput(context=list(context), prompt=prompt, preserve_data=None),
            previous_preserve_data=None if kept is UNSET else msgspec.json.decode(kept),
        )
        if outcome is None:
            return prompt, context, None
        if outcome.refused:
            raise Refused(f"Compaction cancelled by {outcome.refused}")
        output = outcome.event.output
        return output.prompt, output.context, output.preserve_data

    async def _store(
        self,
        session: Session,
        plan: Plan,
        own: dict[str, Any],
        tokens_before: int,
        reason: h.CompactReason,
        *,
        from_hook: bool,
    ) -> Compacted:
        later = session.context()[plan.size :]
        first = own.get("first_kept_entry_id") or plan.first_kept_entry_id or (later[0].id if later else None)
        extra: dict[str, Any] = {}
        if (details := own.get("details")) is not None:
            extra["details"] = details
        if (preserve := own.get("preserve_data")) is not None:
            extra["preserve_data"] = preserve
        entry = session.append_compaction(
            str(own["summary"]), first, int(own.get("tokens_before") or tokens_before), from_hook=from_hook, **extra
        )
        self._points.tell(
            h.SessionCompact,
            summary=entry.summary,
            from_hook=from_hook,
            reason=reason,
            tokens_before=tokens_before,
            tokens_after=estimate(session.messages()),
            entry_id=entry.id,
        )
        return Compacted(entry.summary, entry.id, from_hook)


def plan_for(session: Session, keep_tokens: int) -> Plan:
    """Cut so that about `keep_tokens` stay, at a user's message or an answer, never between a call and its result."""
    entries = session.context()
    branch = session.branch()
    previous = next((entry for entry in reversed(branch) if isinstance(entry, CompactionEntry)), None)
    cut = len(entries)
    kept = 0
    for index in range(len(entries) - 1, 0, -1):
        kept += estimate(_messages_of(entries[index : index + 1])) or 1  # a word is something, too
        if kept > keep_tokens:
            break
        if _may_begin(entries[index]):
            cut = index
    summed = entries[:cut]
    if all(isinstance(entry, CompactionEntry) for entry in summed):
        return Plan((), None, previous)
    first = entries[cut].id if cut < len(entries) else None
    count = len(summed)
    return Plan(session.messages()[:count], first, previous, len(entries))


def _may_begin(entry: Entry) -> bool:
    return isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage | AssistantMessage | HookMessage)


def _messages_of(entries: Sequence[Entry]) -> tuple[Message, ...]:
    return tuple(entry.message for entry in entries if isinstance(entry, MessageEntry))


def estimate(messages: Sequence[Message]) -> int:
    """Tokens of messages, roughly: four characters each, a thousand for an image."""
    size = 0
    for message in messages:
        for part in message.content:
            match part:
                case Text(text=text):
                    size += len(text)
                case ToolCall(arguments=arguments):
                    size += len(bytes(arguments))
                case _:
                    size += 4_000 if part.__class__.__name__ == "Image" else 200
    return size // 4


def _question(plan: Plan, prompt: str | None, context: list[str], instructions: str | None) -> str:
    sections = [prompt or INSTRUCTIONS]
    if instructions:
        sections.append(f"The user adds: {instructions}")
    sections += [f"Keep in mind:\n{text}" for text in context]
    sections.append("<conversation>\n" + "\n\n".join(_told(message) for message in plan.messages) + "\n</conversation>")
    return "\n\n".join(sections)


def _told(message: Message) -> str:
    match message:
        case UserMessage():
            return f"User: {text_of(message.content)}"
        case HookMessage():
            return f"Note ({message.custom_type}): {text_of(message.content)}"
        case ToolResultMessage():
            text = text_of(message.content)
            return f"Result of {message.tool_name}: {text[:RESULT_LIMIT]}{' [...]' if len(text) > RESULT_LIMIT else ''}"
        case AssistantMessage():
            calls = [
                f"[calls {call.name} {bytes(call.arguments).decode()[:RESULT_LIMIT]}]" for call in message.tool_calls
            ]
            return "\n".join([f"Agent: {message.text}".rstrip(), *calls])
