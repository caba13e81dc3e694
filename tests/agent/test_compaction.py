"""Where a conversation is cut when it is summed up."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.agent.compaction import estimate, plan_for
from marvin_agent.hooks.api import HookAPI
from marvin_agent.messages import (
    AssistantMessage,
    HookMessage,
    Image,
    Message,
    Text,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    raw,
    text_of,
    user,
)
from marvin_agent.session.entries import MessageEntry
from marvin_agent.session.store import Session
from marvin_agent.testing.engine import ScriptedEngine

WORD = "word " * 80
"""A hundred tokens, by the estimate."""


def calls(number: int) -> AssistantMessage:
    call = ToolCall(id=f"c{number}", name="bash", arguments=raw({"command": WORD}))
    return AssistantMessage(content=(call,), api="a", provider="p", model="m", stop_reason="toolUse")


def result(number: int) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=f"c{number}", tool_name="bash", content=(Text(text=WORD),), is_error=False)


def note() -> HookMessage:
    return HookMessage(custom_type="note", content=(Text(text=WORD),))


def session_of(*messages: Message) -> Session:
    session = Session.in_memory("/a")
    for message in messages:
        session.append_message(message)
    return session


@pytest.mark.parametrize("keep_tokens", range(0, 1_000, 50))
def test_what_is_kept_never_begins_with_the_result_of_a_call(keep_tokens: int) -> None:
    session = session_of(user(WORD), calls(1), result(1), calls(2), result(2), note(), calls(3), result(3), user(WORD))
    plan = plan_for(session, keep_tokens)
    kept = [entry.message for entry in session.entries if isinstance(entry, MessageEntry)][len(plan.messages) :]
    assert estimate(kept) <= keep_tokens
    if kept:
        assert isinstance(kept[0], UserMessage | AssistantMessage | HookMessage)
        first = next(entry for entry in session.entries if entry.id == plan.first_kept_entry_id)
        assert isinstance(first, MessageEntry)
        assert first.message is kept[0]
    else:
        assert plan.first_kept_entry_id is None


def test_as_much_is_kept_as_there_is_room_for() -> None:
    session = session_of(user(WORD), calls(1), result(1), user(WORD), user(WORD))
    assert [len(plan_for(session, tokens).messages) for tokens in (0, 100, 200, 300, 450)] == [5, 4, 3, 3, 1]


def test_a_summary_alone_is_not_summed_up_again() -> None:
    session = session_of(user("one"))
    session.append_compaction("summary", None, 10)
    assert plan_for(session, 0).messages == ()
    session.append_message(user(WORD))
    plan = plan_for(session, 0)
    assert len(plan.messages) == 2
    assert plan.previous is not None


def test_an_image_counts_as_a_thousand_tokens() -> None:
    assert estimate([UserMessage(content=(Image(data="aaaa", mime_type="image/png"),))]) == 1_000


async def test_what_is_said_while_the_summary_is_made_stays(tmp_path: Path) -> None:
    stored = asyncio.Event()
    here = asyncio.get_running_loop()

    def setup(marvin: HookAPI) -> None:
        @marvin.on("session.compacting")
        async def say(event: Any, ctx: Any) -> None:
            marvin.send_message({"custom_type": "note", "content": "meanwhile"})
            here.call_soon_threadsafe(stored.set)

    replies = [{"text": "answer"}, {"text": "the summary"}]
    async with ScriptedEngine(tmp_path, replies, hooks={"says": setup}) as e:
        await e.prompt("question")
        await e.engine.compact()
        assert stored.is_set()
        texts = [text_of(message.content) for message in e.engine.session.messages()]
    assert "the summary" in texts[0]
    assert texts[1:] == ["meanwhile"]
