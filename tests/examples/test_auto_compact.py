from typing import Any

from examples.conftest import Example
from marvin_agent.agent import events as out

FULL = {"input": 85_000, "output": 500}  # the harness's model has a context of 100,000


def turn(usage: dict[str, int] | None) -> dict[str, Any]:
    return {"toolCalls": [{"name": "bash", "arguments": {"command": "true"}}], "usage": usage}


def compactions(hook: Any) -> list[str]:
    return [event.summary for event in hook.scripted.of(out.CompactionEnded)]


def test_a_full_context_is_summed_up_once_at_the_end_of_the_run(example: Example) -> None:
    replies = [turn(FULL), turn(FULL), {"text": "done", "usage": FULL}, {"text": "the summary"}]
    hook = example("auto_compact", replies=replies, settings={"instructions": "keep the names"})
    hook.prompt("go")
    assert compactions(hook) == ["the summary"]
    assert "The context is 86% full." in hook.told[0]
    assert "keep the names" in str(hook.requests[-1])


def test_a_context_that_is_not_full_is_left_alone(example: Example) -> None:
    hook = example("auto_compact", replies=[{"text": "done", "usage": {"input": 70_000, "output": 10}}])
    hook.prompt("go")
    assert compactions(hook) == []


def test_a_provider_that_reports_nothing_is_no_failure(example: Example) -> None:
    hook = example("auto_compact", replies=[{"text": "done", "usage": None}])
    assert hook.prompt("go") == "done"
    assert compactions(hook) == []
    assert hook.scripted.of(out.HookFailed) == []
