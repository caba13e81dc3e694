"""A session as a Markdown page: all that was said, nothing that could break out of its place, no keys."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from marvin_agent.messages import AssistantMessage, Text, ToolCall, ToolResultMessage, raw, user
from marvin_agent.session.entries import CompactionEntry
from marvin_agent.session.export import markdown
from marvin_agent.session.store import Session


@pytest.fixture
def session(tmp_path):
    made = Session.create(str(tmp_path), "/a")
    yield made
    made.close()


def answer(*parts):
    return AssistantMessage(content=parts, api="a", provider="p", model="m", stop_reason="stop")


def test_everybody_is_heard_in_order(session):
    session.append_message(user("Why?"), changed_by=("project:polite",))
    call = ToolCall(id="c", name="bash", arguments=raw({"command": "ls"}))
    session.append_message(answer(Text(text="I **look**."), call))
    result = ToolResultMessage(tool_call_id="c", tool_name="bash", content=(Text(text="a.py"),), is_error=False)
    session.append_message(result)
    page = markdown("A talk", session.branch())
    order = ["# A talk", "> Why?", "changed by project:polite", "I **look**.", "ls", "a.py"]
    assert [text for text in re.findall("|".join(map(re.escape, order)), page) if text] != []
    places = [page.index(text) for text in order]
    assert places == sorted(places)


def test_keys_and_escape_sequences_do_not_leave(session):
    session.append_message(user("OPENAI_API_KEY=sk-abcdefghijklmnop \x1b[31mred"))
    page = markdown("x", session.branch())
    assert "abcdefghijklmnop" not in page
    assert "\x1b" not in page


def test_a_summary_takes_the_place_of_what_it_sums_up(session):
    session.append_message(user("old"))
    session.append_compaction(summary="They talked.", first_kept_entry_id=session.leaf_id, tokens_before=10)
    assert isinstance(session.branch()[-1], CompactionEntry)
    assert "They talked." in markdown("x", session.branch())


@given(st.text(st.sampled_from("`ab\n <>#&"), max_size=60))
def test_what_a_tool_printed_stays_in_its_fence(text):
    result = ToolResultMessage(tool_call_id="c", tool_name="bash", content=(Text(text=text),), is_error=False)
    page = markdown("x", [_entry(result)])
    fences = [token.content for token in MarkdownIt("commonmark").parse(page) if token.type == "fence"]
    assert fences == [f"{text}\n"]


def _entry(message):
    from marvin_agent.session.entries import MessageEntry

    return MessageEntry(id="1", parent_id=None, timestamp="2026-01-01T00:00:00Z", message=message)
