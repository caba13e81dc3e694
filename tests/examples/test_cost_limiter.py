from typing import Any

from examples.conftest import Example

DEAR = {"input": 1_000_000, "output": 0}  # one dollar, by the price of the harness's model


def tools(usage: dict[str, int]) -> dict[str, Any]:
    calls = [{"name": "bash", "arguments": {"command": "echo x >> ran"}} for _ in range(2)]
    return {"toolCalls": calls, "usage": usage}


def test_a_run_within_the_budget_goes_through(example: Example) -> None:
    hook = example("cost_limiter", replies=[tools({"input": 10, "output": 1}), {"text": "done"}])
    assert hook.prompt("go") == "done"
    assert (hook.work / "ran").read_text() == "x\nx\n"


def test_over_the_budget_tools_turns_and_prompts_stop(example: Example) -> None:
    hook = example("cost_limiter", replies=[tools(DEAR), {"text": "never"}], settings={"usd": 1.0})
    hook.prompt("go")
    assert not (hook.work / "ran").exists()
    assert len(hook.requests) == 1
    assert "Stopped: this session has cost $1.00 of $1.00" in hook.told[0]
    hook.prompt("again")
    assert len(hook.requests) == 1
    assert "Not sent" in hook.told[-1]


def test_the_budget_can_be_raised(example: Example) -> None:
    replies = [tools(DEAR), {"text": "thanks", "usage": {"input": 1, "output": 1}}]
    hook = example("cost_limiter", replies=replies, settings={"usd": 1})
    hook.prompt("go")
    hook.command("budget", "$2.50")
    assert hook.told[-1] == "This session has cost $1.00 of $2.50."
    assert hook.prompt("again") == "thanks"
    hook.command("budget", "lots")
    assert "not a number" in hook.told[-1]
