"""One assistant message while it streams: wires push pieces in, `drain` gives what is new, `message` the whole."""

import os
from collections.abc import Hashable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw

from marvin_agent.llm.lenient import load_json
from marvin_agent.llm.values import Delta, Price, Request, TextDelta, ThinkingDelta, ToolCallDelta
from marvin_agent.messages import (
    EMPTY_OBJECT,
    AssistantMessage,
    AssistantPart,
    Cost,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
    clean,
    now_ms,
    raw,
)

_MILLION = 1_000_000


class _Part:
    """One growing part. `pieces` is all that came, `fresh` what nobody drained yet."""

    __slots__ = ("fresh", "id", "index", "kind", "name", "pieces", "redacted", "signature")

    def __init__(self, kind: Literal["text", "thinking", "tool"], index: int) -> None:
        self.kind = kind
        self.index = index
        self.pieces: list[str] = []
        self.fresh: list[str] = []
        self.id = ""
        self.name = ""
        self.signature: str | None = None
        self.redacted = False

    @property
    def whole(self) -> str:
        """All the text. The pieces become one, so that a second look costs nothing."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return clean(self.pieces[0]) if self.pieces else ""


class Builder:
    """Collects one assistant message.

    A wire names each part by a key of its own; the first piece with a new key begins a part, and parts keep the order
    in which they began. The wire sets `ended` when the message is whole, and `over` when nothing follows it either.
    """

    def __init__(self, request: Request) -> None:
        self._model = request.model
        self._parts: list[_Part] = []
        self._texts: dict[Hashable, _Part] = {}
        self._thoughts: dict[Hashable, _Part] = {}
        self._tools: dict[Hashable, _Part] = {}
        self._last: _Part | None = None
        self._held: list[Delta] = []
        self._tokens: dict[str, int] | None = None
        self._stop_reason: StopReason | None = None
        self._started = now_ms()
        self.ended = False
        self.over = False
        self.request_id: str | None = None

    # What wires call.

    def text(self, key: Hashable, text: str) -> None:
        if text:
            part = self._texts.get(key) or self._begin(self._texts, key, "text")
            if part is not self._last:
                self._turn_to(part)
            part.pieces.append(text)
            part.fresh.append(text)

    def thinking(self, key: Hashable, text: str) -> None:
        if text:
            part = self._thoughts.get(key) or self._begin(self._thoughts, key, "thinking")
            if part is not self._last:
                self._turn_to(part)
            part.pieces.append(text)
            part.fresh.append(text)

    def text_signature(self, key: Hashable, signature: str) -> None:
        """What the provider wants back with this text, which may be empty. Later calls replace earlier ones."""
        part = self._texts.get(key) or self._begin(self._texts, key, "text")
        part.signature = signature

    def thinking_signature(self, key: Hashable, signature: str, redacted: bool = False) -> None:
        """What the provider wants back with this thinking. Later calls replace earlier ones."""
        part = self._thoughts.get(key) or self._begin(self._thoughts, key, "thinking")
        part.signature = signature
        part.redacted = redacted

    def tool(
        self,
        key: Hashable,
        *,
        id: str | None = None,  # noqa: A002 - the provider's word
        name: str | None = None,
        arguments: str = "",
        thought_signature: str | None = None,
    ) -> None:
        """Begin a tool call or add to it. A name that is repeated is ignored, one that comes in pieces is joined."""
        part = self._tools.get(key)
        begins = part is None
        if part is None:
            part = self._begin(self._tools, key, "tool")
        if part is not self._last or begins:
            self._turn_to(part)
        if id and not part.id:
            part.id = id
        if name and name != part.name and not (part.name and part.pieces):
            part.name += name
        if thought_signature:
            part.signature = thought_signature
        if arguments:
            part.pieces.append(arguments)
            part.fresh.append(arguments)

    def usage(
        self,
        *,
        input: int | None = None,  # noqa: A002 - the name in Usage
        output: int | None = None,
        cache_read: int | None = None,
        cache_write: int | None = None,
    ) -> None:
        """Tokens as reported so far; None leaves an earlier report in place. `input` is without what the cache gave."""
        tokens = self._tokens = self._tokens or {}
        reported = {"input": input, "output": output, "cache_read": cache_read, "cache_write": cache_write}
        tokens.update({name: max(count, 0) for name, count in reported.items() if count is not None})

    def stop(self, reason: StopReason) -> None:
        self._stop_reason = reason

    def tool_arguments(self, key: Hashable) -> str:
        """The arguments of a call so far."""
        part = self._tools.get(key)
        return part.whole if part else ""

    # What the caller of a model reads.

    def drain(self) -> list[Delta]:
        """What was added since the last drain, neighbouring pieces of one part joined."""
        if self._last is not None:
            self._close(self._last)
            self._last = None
        deltas, self._held = self._held, []
        return deltas

    @property
    def used(self) -> Usage | None:
        """Tokens as reported so far, with their cost; None when nothing was reported."""
        return None if self._tokens is None else _usage(self._tokens, self._model.cost)

    def message(self, stop_reason: StopReason | None = None, error_message: str | None = None) -> AssistantMessage:
        """The message as it is now. Before the end it leaves out tool calls whose arguments are not whole, so that it
        can be stored and sent again."""
        parts = tuple(built for part in self._parts if (built := self._built(part)) is not None)
        return AssistantMessage(
            content=parts,
            api=self._model.api,
            provider=self._model.provider,
            model=self._model.id,
            usage=self.used,
            stop_reason=stop_reason or self._reason(parts),
            error_message=UNSET if error_message is None else clean(error_message),
            request_id=UNSET if self.request_id is None else clean(self.request_id),
            timestamp=self._started,
        )

    def _begin(self, parts: dict[Hashable, _Part], key: Hashable, kind: Literal["text", "thinking", "tool"]) -> _Part:
        part = parts[key] = _Part(kind, len(self._parts))
        self._parts.append(part)
        return part

    def _turn_to(self, part: _Part) -> None:
        if self._last is not None:
            self._close(self._last)
        self._last = part

    def _close(self, part: _Part) -> None:
        """Make one delta of the part's fresh pieces."""
        text = "".join(part.fresh)
        part.fresh = []
        if text and "\ud800" <= text[-1] <= "\udbff":
            # Half a character: the other half is in the next piece.
            text, half = text[:-1], text[-1]
            part.fresh.append(half)
        text = clean(text)
        match part.kind:
            case "text" if text:
                self._held.append(TextDelta(index=part.index, text=text))
            case "thinking" if text:
                self._held.append(ThinkingDelta(index=part.index, text=text))
            case "tool":
                part.id = clean(part.id) or _new_id()
                part.name = clean(part.name)
                self._held.append(ToolCallDelta(index=part.index, id=part.id, name=part.name, text=text))
            case _:
                pass

    def _reason(self, parts: tuple[AssistantPart, ...]) -> StopReason:
        if self._stop_reason in (None, "stop") and any(isinstance(part, ToolCall) for part in parts):
            return "toolUse"  # many servers say `stop` after tool calls
        return self._stop_reason or "stop"

    def _built(self, part: _Part) -> AssistantPart | None:
        match part.kind:
            case "text":
                signature = UNSET if part.signature is None else clean(part.signature)
                return Text(text=part.whole, text_signature=signature)
            case "thinking":
                signature = UNSET if part.signature is None else clean(part.signature)
                return Thinking(
                    thinking=part.whole, thinking_signature=signature, redacted=True if part.redacted else UNSET
                )
            case "tool":
                return self._built_call(part)

    def _built_call(self, part: _Part) -> ToolCall | None:
        arguments, malformed = _arguments(part.whole)
        if not self.ended and (malformed is not None or not part.pieces):
            return None
        part.id = clean(part.id) or _new_id()
        return ToolCall(
            id=part.id,
            name=clean(part.name),
            arguments=arguments,
            thought_signature=UNSET if part.signature is None else clean(part.signature),
            malformed=UNSET if malformed is None else malformed,
        )


def _new_id() -> str:
    return f"call_{os.urandom(12).hex()}"


def _arguments(text: str) -> tuple[Raw, str | None]:
    """The arguments as a JSON object, and their text if they are none."""
    stripped = text.strip()
    if not stripped:
        return EMPTY_OBJECT, None
    try:
        value: Any = load_json(stripped)
    except ValueError:
        return EMPTY_OBJECT, clean(text)
    if not isinstance(value, dict):
        return EMPTY_OBJECT, clean(text)
    try:
        return Raw(msgspec.json.format(stripped.encode(), indent=-1)), None
    except ValueError:
        return raw(value), None


def _usage(tokens: dict[str, int], price: Price) -> Usage:
    fresh, output = tokens.get("input", 0), tokens.get("output", 0)
    read, written = tokens.get("cache_read", 0), tokens.get("cache_write", 0)
    costs = (
        fresh * price.input / _MILLION,
        output * price.output / _MILLION,
        read * price.cache_read / _MILLION,
        written * price.cache_write / _MILLION,
    )
    return Usage(
        input=fresh,
        output=output,
        cache_read=read,
        cache_write=written,
        total_tokens=fresh + output + read + written,
        cost=Cost(input=costs[0], output=costs[1], cache_read=costs[2], cache_write=costs[3], total=sum(costs)),
    )
