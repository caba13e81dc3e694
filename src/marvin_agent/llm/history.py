"""A conversation made fit for one model: what another provider wrote, an abort cut off or a hook put in is mended.

What holds afterwards, for every wire:

- Only user, assistant and tool result messages, none of them empty, the first one a user message.
- Every tool call has one result, right after its message and in call order. A call without a result gets one that
  says so; a result without a call becomes a user message, since it may be the only trace of what was done.
- Ids and names of tools are such as the target takes, and no id stands twice.
- Thinking of another model is text, or gone when it was hidden; signatures stay only with the model that made them.
- Of a message that an error or an abort cut off, the text stays, and the calls that have a result. At the end of the
  history it goes, because a provider would take it for the beginning of the next answer.

What becomes of a message depends on the messages before it and on its own results, so the beginning of a conversation
stays the same from call to call and the provider's prompt cache finds it again.
"""

import re
from collections.abc import Sequence
from typing import TypeAlias

import msgspec
from msgspec import UNSET

from marvin_agent.llm.lenient import load_json
from marvin_agent.llm.values import Model
from marvin_agent.messages import (
    AssistantMessage,
    AssistantPart,
    HookMessage,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    UserPart,
    changed,
    clean,
    clean_value,
    raw,
)

NO_RESULT = "No result was recorded: interrupted"
CUT_OFF = (
    "Not run: the message reached the limit of its length before it was whole. Call the tool again, with less at once."
)
EMPTY_RESULT = "(no output)"
EMPTY_MESSAGE = "(empty message)"
BEGINNING = "(the conversation goes on)"

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SHORT_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")
_ITEM_ID = re.compile(r"fc_[a-zA-Z0-9_-]{1,61}")
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")

Results: TypeAlias = dict[int, list[int | None]]
"""For an assistant message's index, where the result of each of its calls is; None when there is none."""


def prepare(messages: Sequence[Message], model: Model) -> tuple[Message, ...]:
    """The history as this model can take it. Changes nothing in place; what needs no change stays the same object."""
    return tuple(_History(messages, model).prepared())


class _History:
    __slots__ = ("calls", "ids", "messages", "model", "out", "results")

    def __init__(self, messages: Sequence[Message], model: Model) -> None:
        self.messages = messages
        self.model = model
        self.results = _results(messages)
        self.ids = _Ids(model)
        self.out: list[Message] = []

    def prepared(self) -> list[Message]:
        after_call = {place for places in self.results.values() for place in places}
        for index, message in enumerate(self.messages):
            match message:
                case AssistantMessage():
                    self.assistant(index, message)
                case ToolResultMessage():
                    if index not in after_call:
                        self.orphan(message)
                case _:
                    self.user(message)
        while self.out and isinstance(last := self.out[-1], AssistantMessage) and _cut_off(last):
            self.out.pop()
        return self.out

    def user(self, message: UserMessage | HookMessage) -> None:
        content = _user_parts(message.content, self.model)
        if not content:
            if self.out and not isinstance(self.out[-1], AssistantMessage):
                return
            content = (Text(text=EMPTY_MESSAGE),)
        if content is message.content and isinstance(message, UserMessage):
            self.out.append(message)
        else:
            self.out.append(UserMessage(content=content, timestamp=message.timestamp))

    def orphan(self, message: ToolResultMessage) -> None:
        said = Text(text=f"[A result of the tool {message.tool_name}, whose call is no longer in this conversation]")
        content = (said, *_user_parts(message.content, self.model))
        self.out.append(UserMessage(content=content, timestamp=message.timestamp))

    def assistant(self, index: int, message: AssistantMessage) -> None:
        unfinished = _cut_off(message)
        found = self.results.get(index, [])
        message = self.as_executed(message, found)
        content = _assistant_parts(message, self.model, self.ids, found, unfinished=unfinished)
        if not content:
            return
        if not self.out:
            self.out.append(UserMessage(content=(Text(text=BEGINNING),), timestamp=message.timestamp))
        self.out.append(message if content is message.content else changed(message, content=content))
        if found:
            kept = [place for place in found if place is not None] if unfinished else found
            calls = [part for part in content if isinstance(part, ToolCall)]
            for call, place in zip(calls, kept, strict=True):
                self.out.append(self.result(call, place, message))

    def as_executed(self, message: AssistantMessage, found: Sequence[int | None]) -> AssistantMessage:
        """The message with the arguments that ran, where a hook had changed them."""
        ran = [self.messages[place] if place is not None else None for place in found]
        if not any(isinstance(result, ToolResultMessage) and result.input is not UNSET for result in ran):
            return message
        results = iter(ran)
        parts: list[AssistantPart] = []
        for part in message.content:
            if isinstance(part, ToolCall):
                result = next(results)
                if isinstance(result, ToolResultMessage) and result.input is not UNSET:
                    parts.append(changed(part, arguments=result.input))
                    continue
            parts.append(part)
        return changed(message, content=tuple(parts))

    def result(self, call: ToolCall, place: int | None, asked: AssistantMessage) -> ToolResultMessage:
        message = None if place is None else self.messages[place]
        if not isinstance(message, ToolResultMessage):
            return ToolResultMessage(
                tool_call_id=call.id,
                tool_name=call.name,
                content=(Text(text=CUT_OFF if asked.stop_reason == "length" else NO_RESULT),),
                is_error=True,
                timestamp=asked.timestamp,
            )
        content = _user_parts(message.content, self.model) or (Text(text=EMPTY_RESULT),)
        if content is message.content and message.tool_call_id == call.id and message.tool_name == call.name:
            return message
        return changed(message, content=content, tool_call_id=call.id, tool_name=call.name)


def _cut_off(message: AssistantMessage) -> bool:
    return message.stop_reason in ("error", "aborted")


def _results(messages: Sequence[Message]) -> Results:
    """A result belongs to the nearest call before it that has its id and no result yet: servers use ids again."""
    results: Results = {}
    waiting: dict[str, list[tuple[int, int]]] = {}
    for index, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            places: list[int | None] = []
            for part in message.content:
                if isinstance(part, ToolCall):
                    waiting.setdefault(part.id, []).append((index, len(places)))
                    places.append(None)
            if places:
                results[index] = places
        elif isinstance(message, ToolResultMessage) and (calls := waiting.get(message.tool_call_id)):
            newest = calls[-1][0]
            first = next(place for place, call in enumerate(calls) if call[0] == newest) if len(calls) > 1 else 0
            asked, position = calls.pop(first)
            results[asked][position] = index
    return results


# The parts of a message


def _user_parts(parts: tuple[UserPart, ...], model: Model) -> tuple[UserPart, ...]:
    prepared = tuple([new for part in parts if (new := _user_part(part, model)) is not None])
    return parts if prepared == parts else prepared


def _user_part(part: UserPart, model: Model) -> UserPart | None:
    if isinstance(part, Text):
        return _text(part)
    if model.images:
        return part
    return Text(text=f"[An image ({part.mime_type}) stands here; this model cannot see images]")


def _text(part: Text) -> Text | None:
    text = part.text
    if not text or text.isspace():
        return None
    cleaned = clean(text)
    return part if cleaned is text else changed(part, text=cleaned)


def _assistant_parts(
    message: AssistantMessage, model: Model, ids: "_Ids", found: list[int | None], *, unfinished: bool
) -> tuple[AssistantPart, ...]:
    own = message.model == model.id and message.provider == model.provider and message.api == model.api
    acted = not unfinished or any(place is not None for place in found)
    prepared: list[AssistantPart] = []
    places = iter(found)
    for part in message.content:
        new: AssistantPart | None = None
        match part:
            case Text():
                new = _said(part, model, own=own and not unfinished)
            case Thinking():
                new = _thought(part, model, own=own, unfinished=unfinished, acted=acted)
            case ToolCall():
                if next(places) is not None or not unfinished:
                    new = ids.call(part, message, own=own, unfinished=unfinished)
        if new is not None:
            prepared.append(new)
    # Thinking that nothing follows is refused by those who sign it, and of no use to the others. In chat completions it
    # has no place among the other parts.
    placed = model.api != "openai-completions" or all(isinstance(part, Thinking) for part in prepared)
    while placed and prepared and isinstance(prepared[-1], Thinking):
        prepared.pop()
    content = tuple(prepared)
    return message.content if content == message.content else content


def _said(part: Text, model: Model, *, own: bool) -> Text | None:
    if part.text_signature is UNSET:
        return _text(part)
    if not own:
        return _text(Text(text=part.text))
    # Gemini signs an empty text, and wants it back. Elsewhere the thinking before it would be followed by nothing.
    return part if not part.text and model.api == "google-generative-ai" else _text(part)


def _thought(part: Thinking, model: Model, *, own: bool, unfinished: bool, acted: bool) -> Thinking | Text | None:
    hidden = not part.thinking or part.thinking.isspace() or part.redacted is True
    if unfinished and not (acted and part.thinking_signature):
        return None
    if own and part.thinking_signature:
        return _cleaned_thinking(part)
    if hidden:
        return None
    if own and model.api != "anthropic-messages":
        return _cleaned_thinking(part)
    return Text(text=f"<thinking>\n{clean(part.thinking)}\n</thinking>")


def _cleaned_thinking(part: Thinking) -> Thinking:
    cleaned = clean(part.thinking)
    return part if cleaned is part.thinking else changed(part, thinking=cleaned)


# The ids, names and arguments of tool calls


class _Ids:
    """Gives each call of a history an id that the target takes and that no call before it has."""

    __slots__ = ("count", "form", "model", "used")

    def __init__(self, model: Model) -> None:
        self.model = model
        if model.compat.get("requiresMistralToolIds", model.provider == "mistral"):
            self.form = _MISTRAL_ID
        else:
            self.form = _SHORT_ID if model.api == "openai-completions" else _NAME
        self.used: set[str] = set()
        self.count = 0

    def call(self, call: ToolCall, message: AssistantMessage, *, own: bool, unfinished: bool) -> ToolCall:
        self.count += 1
        name = call.name if _NAME.fullmatch(call.name) else _NOT_IN_A_NAME.sub("_", call.name)[:64] or "unknown"
        new_id = self.id(call.id, message, own=own and not unfinished)
        arguments = _arguments(call.arguments)
        signature = call.thought_signature if own else UNSET
        if (
            new_id is call.id
            and name is call.name
            and arguments is call.arguments
            and signature is call.thought_signature
        ):
            return call
        return changed(call, id=new_id, name=name, arguments=arguments, thought_signature=signature)

    def id(self, old: str, message: AssistantMessage, *, own: bool) -> str:
        if self.model.api == "openai-responses" and "|" in old:
            return self.pair(old, own=own)
        # A server of chat completions takes back what it gave, whatever its form (Kimi's are `functions.bash:0`).
        at_home = self.model.api == "openai-completions" == message.api and message.provider == self.model.provider
        free = at_home and self.form is not _MISTRAL_ID
        if old not in self.used and (self.form.fullmatch(old) or (free and old)):
            self.used.add(old)
            return old
        return self.fresh(old.partition("|")[0])

    def pair(self, old: str, *, own: bool) -> str:
        """`call id|item id`: the item's goes back only to the model that made it, together with its reasoning."""
        call_id, _, item_id = old.partition("|")
        if not own or not _ITEM_ID.fullmatch(item_id):
            return self.fresh(call_id)
        if call_id not in self.used and self.form.fullmatch(call_id):
            self.used.add(call_id)
            return old
        return f"{self.fresh(call_id)}|{item_id}"

    def fresh(self, old: str) -> str:
        """A valid id as like the old one as can be: the same for the same conversation, so that caches find it."""
        new = _NOT_IN_A_NAME.sub("_", old)
        stem = new[:24] or "call"
        number = self.count
        while new in self.used or not self.form.fullmatch(new):
            new = f"call{number:05d}" if self.form is _MISTRAL_ID else f"{stem}_{number}"
            number += 1
        self.used.add(new)
        return new


def _arguments(arguments: msgspec.Raw) -> msgspec.Raw:
    """JSON can spell an unpaired surrogate, which providers refuse."""
    if not _SURROGATE_ESCAPE.search(arguments):
        return arguments
    try:
        msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return raw(clean_value(load_json(bytes(arguments))))
    return arguments
