"""The loop: turns, tools, queues, aborts, errors, limits."""

import asyncio
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from marvin_agent.agent import events as out
from marvin_agent.agent.caps import Limits
from marvin_agent.agent.queue import Prompt
from marvin_agent.agent.retry import RetryPolicy
from marvin_agent.errors import ContentRefusedError, Refused
from marvin_agent.hooks.api import HookAPI
from marvin_agent.llm.values import Model
from marvin_agent.messages import AssistantMessage, ToolResultMessage, UserMessage, text_of
from marvin_agent.session.store import Session
from marvin_agent.testing.engine import MODEL, ScriptedEngine


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"name": name, "arguments": arguments}


async def test_a_prompt_is_answered_and_both_are_stored(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, [{"text": "Hello."}]) as e:
        summary = await e.prompt("hi")
        assert summary.answer and summary.answer.text == "Hello."
        assert [m.__class__ for m in e.engine.session.messages()] == [UserMessage, AssistantMessage]
        assert e.engine.session.path
        stored = Path(e.engine.session.path).read_text().splitlines()
    assert len(stored) == 3
    assert '"text":"hi"' in stored[1]


async def test_tools_run_in_parallel_and_results_are_in_call_order(tmp_path: Path) -> None:
    slow = call("bash", command="while [ ! -e go ]; do sleep 0.01; done; echo slow")
    quick = call("bash", command="touch go; echo quick")
    async with ScriptedEngine(tmp_path, [{"toolCalls": [slow, quick]}, {"text": "ok"}]) as e:
        await e.prompt("go")
        results = [m for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]
    assert [text_of(m.content).strip() for m in results] == ["slow", "quick"]


async def test_one_failing_tool_does_not_stop_the_others(tmp_path: Path) -> None:
    calls = [call("read", path="none.txt"), call("nope"), call("read"), call("bash", command="echo fine")]
    async with ScriptedEngine(tmp_path, [{"toolCalls": calls}, {"text": "ok"}]) as e:
        await e.prompt("go")
        results = [m for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]
    assert [m.status for m in results] == ["error", "invalid", "invalid", "ok"]
    assert "none.txt" in text_of(results[0].content)
    assert "no tool" in text_of(results[1].content)
    assert "path" in text_of(results[2].content)


async def test_arguments_that_are_no_json_come_back_to_the_model_with_the_reason(tmp_path: Path) -> None:
    bad = {"name": "bash", "rawArguments": '{"command": "echo'}
    async with ScriptedEngine(tmp_path, [{"toolCalls": [bad]}, {"text": "ok"}]) as e:
        await e.prompt("go")
        (result,) = [m for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]
    assert result.status == "invalid"
    assert "not a JSON object" in text_of(result.content)


async def test_calls_that_write_one_file_run_one_after_the_other_in_call_order(tmp_path: Path) -> None:
    calls = [call("write", path="a.txt", content="one\n"), call("edit", path="./a.txt", oldText="one", newText="two")]
    async with ScriptedEngine(tmp_path, [{"toolCalls": calls}, {"text": "ok"}]) as e:
        await e.prompt("go")
        assert (e.work / "a.txt").read_text() == "two\n"


async def test_a_path_that_no_file_can_have_is_told_to_the_model(tmp_path: Path) -> None:
    calls = [call("write", path="a\0b", content=""), call("read", path="a\0b"), call("bash", command="echo fine")]
    async with ScriptedEngine(tmp_path, [{"toolCalls": calls}, {"text": "ok"}]) as e:
        summary = await e.prompt("go")
        results = [m for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]
    assert summary.answer and summary.answer.text == "ok"
    assert [m.status for m in results] == ["error", "error", "ok"]
    assert "NUL" in text_of(results[0].content)


async def test_a_file_is_read_as_the_calls_before_it_left_it(tmp_path: Path) -> None:
    calls = [
        call("write", path="a.txt", content="one\n"),
        call("edit", path="a.txt", oldText="one", newText="two"),
        call("read", path="./a.txt"),
        call("write", path="a.txt", content="three\n"),
        call("read", path="a.txt"),
    ]
    async with ScriptedEngine(tmp_path, [{"toolCalls": calls}, {"text": "ok"}]) as e:
        await e.prompt("go")
        results = [m for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]
    assert [text_of(m.content) for m in results if m.tool_name == "read"] == ["two\n", "three\n"]


async def test_a_tool_call_of_an_unfinished_message_does_not_run(tmp_path: Path) -> None:
    cut = {"toolCalls": [call("bash", command="touch ran")], "stopReason": "length"}
    async with ScriptedEngine(tmp_path, [cut]) as e:
        summary = await e.prompt("go")
        assert summary.stop_reason == "length"
        assert summary.error and "nothing was run" in summary.error.message
        assert not (e.work / "ran").exists()


async def test_the_model_is_told_that_the_calls_of_an_unfinished_message_did_not_run(tmp_path: Path) -> None:
    cut = {"toolCalls": [call("bash", command="touch ran")], "stopReason": "length"}
    async with ScriptedEngine(tmp_path, [cut, {"text": "I see.", "match": "go on"}]) as e:
        await e.prompt("go")
        summary = await e.prompt("go on")
        assert summary.error is None
        (result,) = [message for message in e.bodies[-1]["messages"] if message["role"] == "tool"]
    assert result["content"].startswith("Not run: the message reached the limit of its length")


async def test_a_refusal_fails_the_run_unless_a_hook_lets_it_go_on(tmp_path: Path) -> None:
    refused = {"text": "I will not.", "stopReason": "refusal"}
    async with ScriptedEngine(tmp_path, [refused]) as e:
        summary = await e.prompt("hi")
    assert isinstance(summary.error, ContentRefusedError)
    assert (summary.stop_reason, summary.error.exit_code) == ("refusal", 1)

    def again(marvin: HookAPI) -> None:
        @marvin.on("agent.before_end")
        async def once(event: Any, ctx: Any) -> Any:
            return {"continue_with": "Please."} if event.continuations == 0 else None

    async with ScriptedEngine(tmp_path, [refused, {"text": "Well, then."}], hooks={"again": again}) as e:
        summary = await e.prompt("hi")
    assert summary.error is None
    assert summary.answer and summary.answer.text == "Well, then."


@pytest.mark.parametrize(
    ("reply", "told"),
    [({"text": "half", "stopReason": "length"}, "cut off"), ({"text": " \n"}, "without a word"), ({"text": "a"}, None)],
)
async def test_an_answer_that_is_not_whole_or_nothing_is_worth_a_word(
    tmp_path: Path, reply: dict[str, Any], told: str | None
) -> None:
    async with ScriptedEngine(tmp_path, [reply]) as e:
        summary = await e.prompt("hi")
        notices = [notice.text for notice in e.of(out.Notice)]
    assert summary.error is None
    assert len(notices) == (told is not None)
    assert all(told and told in notice for notice in notices)


async def test_steering_is_taken_up_after_the_tools_and_answered(tmp_path: Path) -> None:
    replies = [{"toolCalls": [call("bash", command="echo a")]}, {"text": "steered"}]
    async with ScriptedEngine(tmp_path, replies) as e:
        e.engine.submit(Prompt("go"))
        e.engine.submit(Prompt("rather this"), "steer")
        await e.engine.wait_until_idle()
        roles = [m.__class__.__name__ for m in e.engine.session.messages()]
        last_request = e.bodies[-1]["messages"][-1]
    assert roles == ["UserMessage", "AssistantMessage", "ToolResultMessage", "UserMessage", "AssistantMessage"]
    assert last_request["role"] == "user"
    assert "rather this" in str(last_request["content"])


async def test_follow_ups_are_answered_one_at_a_time_when_the_agent_would_stop(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, [{"text": "1"}, {"text": "2"}, {"text": "3"}]) as e:
        e.engine.submit(Prompt("a"))
        e.engine.submit(Prompt("b"))
        e.engine.submit(Prompt("c"))
        await e.engine.wait_until_idle()
        texts = [text_of(m.content) for m in e.engine.session.messages()]
        assert len(e.of(out.AgentEnded)) == 1
    assert texts == ["a", "1", "b", "2", "c", "3"]


async def test_an_abort_kills_the_tool_keeps_the_session_valid_and_gives_the_queue_back(tmp_path: Path) -> None:
    sleepers = [call("bash", command="echo $$ > pid; sleep 60"), call("bash", command="sleep 60")]
    async with ScriptedEngine(tmp_path, [{"toolCalls": sleepers}, {"text": "again"}]) as e:
        e.engine.submit(Prompt("go"))
        e.engine.submit(Prompt("later"))
        while not (e.work / "pid").exists() or not (e.work / "pid").read_text().strip():
            await asyncio.sleep(0.01)
        pid = int((e.work / "pid").read_text())
        waiting = e.engine.abort()
        await e.engine.wait_until_idle()
        assert [prompt.text for prompt in waiting] == ["later"]
        assert not Path(f"/proc/{pid}").exists()
        results = [m for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]
        assert [m.status for m in results] == ["aborted", "aborted"]
        (end,) = e.of(out.AgentEnded)
        assert (end.stop_reason, end.exit_code) == ("aborted", 130)
        summary = await e.prompt("go on")
        assert summary.answer and summary.answer.text == "again"


async def test_what_a_command_had_printed_before_an_abort_is_kept(tmp_path: Path) -> None:
    sleeper = call("bash", command="echo so far; touch said; sleep 60")
    async with ScriptedEngine(tmp_path, [{"toolCalls": [sleeper]}]) as e:
        e.engine.submit(Prompt("go"))
        while not (e.work / "said").exists():
            await asyncio.sleep(0.01)
        e.engine.abort()
        await e.engine.wait_until_idle()
        (result,) = [m for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]
        assert result.status == "aborted"
        assert re.fullmatch(
            r"so far\nInterrupted after [\d.]+ m?s: the command and all that it started were ended\.",
            text_of(result.content),
        )


async def test_an_abort_right_after_a_prompt_gives_it_back(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, [{"text": "later"}]) as e:
        e.engine.submit(Prompt("one"))
        e.engine.submit(Prompt("two"))
        assert [prompt.text for prompt in e.engine.abort()] == ["one", "two"]
        await e.engine.wait_until_idle()
        assert e.engine.session.messages() == ()
        assert (await e.prompt("three")).answer


async def test_an_abort_while_the_model_answers_keeps_what_there_is_and_marks_it(tmp_path: Path) -> None:
    replies = [
        {"text": "one two three", "chunk": ["one ", "two ", "three"], "fault": {"kind": "silence", "afterChunks": 2}}
    ]
    async with ScriptedEngine(tmp_path, [*replies, {"text": "on"}]) as e:
        e.engine.submit(Prompt("go"))
        while not e.of(out.MessageGrew):
            await asyncio.sleep(0.01)
        e.engine.abort()
        await e.engine.wait_until_idle()
        partial = e.engine.session.messages()[-1]
        assert isinstance(partial, AssistantMessage)
        assert partial.stop_reason == "aborted"
        assert partial.text.startswith("one")
        summary = await e.prompt("go on")
        assert summary.answer and summary.answer.text == "on"


async def test_a_passing_failure_is_retried_visibly_and_its_partial_text_withdrawn(tmp_path: Path) -> None:
    replies = [
        {"fault": {"status": 529, "message": "overloaded"}},
        {"text": "half an answer", "fault": {"kind": "cut", "afterChunks": 1}},
        {"text": "whole"},
    ]
    async with ScriptedEngine(tmp_path, replies) as e:
        summary = await e.prompt("go")
        assert summary.answer and summary.answer.text == "whole"
        assert [event.attempt for event in e.of(out.RetryStarted)] == [1, 2]
        assert [event.success for event in e.of(out.RetryEnded)] == [True]
        assert e.of(out.MessageWithdrawn)
        stored = [m for m in e.engine.session.messages() if isinstance(m, AssistantMessage)]
    assert [m.text for m in stored] == ["whole"]


async def test_an_abort_before_the_next_attempt_ends_the_retry_and_keeps_nothing_withdrawn(tmp_path: Path) -> None:
    replies = [{"text": "half an answer", "fault": {"kind": "cut", "afterChunks": 1}}, {"text": "on"}]
    async with ScriptedEngine(tmp_path, replies, retry=RetryPolicy(base_delay=3600)) as e:
        e.engine.submit(Prompt("go"))
        while not e.of(out.RetryStarted):
            await asyncio.sleep(0.01)
        e.engine.abort()
        await e.engine.wait_until_idle()
        assert [(event.attempt, event.success) for event in e.of(out.RetryEnded)] == [(1, False)]
        assert [m.role for m in e.engine.session.messages()] == ["user"]
        summary = await e.prompt("go on")
        assert summary.answer and summary.answer.text == "on"


async def test_what_failed_attempts_cost_is_counted(tmp_path: Path) -> None:
    used = {"input": 10, "output": 2}
    replies = [{"text": "a b", "usage": used, "fault": "noEnd"}, {"text": "right", "usage": used}]
    model = msgspec.structs.replace(MODEL, api="anthropic-messages")
    async with ScriptedEngine(tmp_path, replies, models=[model]) as e:
        summary = await e.prompt("hi")
        assert summary.answer and summary.answer.usage and summary.answer.usage.total_tokens == 12
        assert summary.usage and summary.usage.input == 20
        assert e.engine.spent == summary.usage


async def test_a_failure_that_stays_ends_the_run_with_the_error(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, [{"fault": {"status": 401, "message": "bad key"}}]) as e:
        summary = await e.prompt("go")
        assert summary.stop_reason == "error"
        assert summary.error and summary.error.kind == "authentication"
        (end,) = e.of(out.AgentEnded)
        assert "bad key" in (end.error or "")
        assert end.exit_code == 1
        assert len(e.bodies) == 1


async def test_retries_end_after_the_attempts_that_the_policy_allows(tmp_path: Path) -> None:
    replies = [{"fault": {"status": 503}, "repeat": True}]
    retry = RetryPolicy(max_attempts=3, base_delay=0.001)
    async with ScriptedEngine(tmp_path, replies, retry=retry) as e:
        summary = await e.prompt("go")
        assert summary.error and summary.error.kind == "overloaded"
        assert len(e.bodies) == 3


async def test_the_next_model_of_the_list_takes_over_when_that_was_asked_for(tmp_path: Path) -> None:
    other = Model(provider="test", id="two", api="openai-completions", base_url="http://scripted.invalid/v1")
    replies = [{"fault": {"status": 503}}, {"text": "from two"}]
    retry = RetryPolicy(max_attempts=1, fallback=True)
    async with ScriptedEngine(tmp_path, replies, models=(MODEL, other), retry=retry) as e:
        summary = await e.prompt("go")
        assert summary.answer and summary.answer.text == "from two"
        assert [body["model"] for body in e.bodies] == ["one", "two"]
        assert e.engine.model.id == "two"


async def test_the_turn_cap_ends_the_run(tmp_path: Path) -> None:
    replies = [{"toolCalls": [call("bash", command="true")], "repeat": True}]
    async with ScriptedEngine(tmp_path, replies, limits=Limits(max_turns=3)) as e:
        summary = await e.prompt("go")
        assert summary.turns == 3
        assert summary.error and summary.error.kind == "limit"


async def test_the_cost_cap_ends_the_run(tmp_path: Path) -> None:
    replies = [{"toolCalls": [call("bash", command="true")], "usage": {"input": 500_000, "output": 0}, "repeat": True}]
    async with ScriptedEngine(tmp_path, replies, limits=Limits(max_cost=1.0)) as e:
        summary = await e.prompt("go")
        assert summary.turns == 2
        assert summary.usage and summary.usage.cost.total == pytest.approx(1.0)


async def test_a_resumed_session_goes_on_with_its_messages(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, [{"text": "first"}]) as e:
        await e.prompt("one")
        path = e.engine.session.path
    assert path
    async with ScriptedEngine(tmp_path, [{"text": "second"}], session=Session.open(path)) as e:
        await e.prompt("two")
        sent = [str(m["content"]) for m in e.bodies[0]["messages"] if m["role"] != "system"]
        assert e.engine.session.path == path
    assert ["one" in sent[0], "first" in sent[1], "two" in sent[2]] == [True, True, True]


async def test_a_compaction_puts_a_summary_in_place_of_what_was(tmp_path: Path) -> None:
    replies = [{"text": "answer one"}, {"text": "## Goal\nsummed up"}, {"text": "answer two"}]
    async with ScriptedEngine(tmp_path, replies) as e:
        await e.prompt("question one")
        done = await e.engine.compact("mind the tests")
        assert done.summary == "## Goal\nsummed up"
        question = str(e.bodies[1]["messages"][-1]["content"])
        assert "question one" in question
        assert "mind the tests" in question
        await e.prompt("question two")
        sent = str(e.bodies[2]["messages"])
        assert "summed up" in sent
        assert "question one" not in sent
        assert e.engine.session.path
        assert "question one" in Path(e.engine.session.path).read_text()


@pytest.mark.parametrize("stop", ["length", "refusal"])
async def test_a_summary_that_is_not_whole_does_not_replace_the_conversation(tmp_path: Path, stop: str) -> None:
    replies = [{"text": "answer one"}, {"text": "I cannot", "stopReason": stop}, {"text": "answer two"}]
    async with ScriptedEngine(tmp_path, replies) as e:
        await e.prompt("question one")
        with pytest.raises(Refused, match=f"ended with {stop}"):
            await e.engine.compact()
        await e.prompt("question two")
        assert "question one" in str(e.bodies[2]["messages"])


async def test_clear_goes_on_in_a_new_file_and_keeps_the_old_one(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, [{"text": "a"}, {"text": "b"}]) as e:
        await e.prompt("one")
        old = e.engine.session.path
        await e.engine.conversation.clear()
        await e.prompt("two")
        new = e.engine.session.path
        assert len(e.engine.session.messages()) == 2
    assert old and new and old != new
    assert Path(old).exists() and Path(new).exists()


async def test_nothing_in_an_event_says_unset(tmp_path: Path) -> None:
    async with ScriptedEngine(tmp_path, [{"text": "a"}]) as e:
        await e.prompt("one")
        ended = e.of(out.MessageEnded)
    assert all(event.changed_by is UNSET for event in ended)


async def test_when_a_result_cannot_be_stored_the_tools_that_still_run_end_with_the_run(tmp_path: Path) -> None:
    session = Session.create(str(tmp_path / "sessions"), str(tmp_path))
    remove = call("bash", command=f"while [ ! -s pid ]; do sleep 0.01; done; rm '{session.path}'")
    sleeper = call("bash", command="echo $$ > pid; sleep 60")
    async with ScriptedEngine(tmp_path, [{"toolCalls": [remove, sleeper]}], session=session) as e:
        summary = await e.prompt("go")
        assert summary.error and summary.error.kind == "session"
        assert not Path(f"/proc/{int((e.work / 'pid').read_text())}").exists()


async def test_a_message_of_a_hook_that_cannot_be_stored_is_an_error_that_the_user_sees(tmp_path: Path) -> None:
    apis: list[HookAPI] = []
    async with ScriptedEngine(tmp_path, [{"text": "a"}, {"text": "b"}], hooks={"talks": apis.append}) as e:
        await e.prompt("one")
        assert e.engine.session.path
        Path(e.engine.session.path).unlink()
        apis[0].send_message({"custom_type": "note", "content": "look"}, trigger_turn=True)
        while not e.of(out.Notice):
            await asyncio.sleep(0.01)
        await e.engine.wait_until_idle()
        (notice,) = e.of(out.Notice)
        assert notice.level == "error"
        assert "was removed while it was in use" in notice.text
        assert len(e.bodies) == 1


@pytest.mark.parametrize(("lines", "told"), [(3, ""), (2_000, "could not be written to a file: File exists")])
async def test_what_a_closed_hook_saw_whole_is_cut_also_where_no_file_can_be_made(
    tmp_path: Path, lines: int, told: str
) -> None:
    def setup(marvin: HookAPI) -> None:
        marvin.on("tool.execute.after", lambda event, ctx: None, on_error="closed")

    replies = [{"toolCalls": [call("bash", command=f"seq {lines}")]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hooks={"sees": setup}) as e:
        assert e.engine.session.path
        files = Path(e.engine.session.path.removesuffix(".jsonl") + ".files")
        files.parent.mkdir(parents=True, mode=0o700)
        files.write_text("in the way")
        summary = await e.prompt("go")
        assert summary.error is None
        (result,) = [m for m in e.engine.session.messages() if isinstance(m, ToolResultMessage)]
        assert told in text_of(result.content)
