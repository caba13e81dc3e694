"""What is counted of handlers, and taking hooks out and in again."""

from pathlib import Path
from typing import Any

import pytest

from marvin_agent.errors import HookError
from marvin_agent.hooks.outcome import Change, Failure, Record, Verdict
from marvin_agent.hooks.registry import Hook, Registry
from marvin_agent.hooks.tally import Figures, Tally
from marvin_agent.testing.harness import Harness


def record(verdict: Verdict, ms: float = 1.0, hook: str = "flag:a", **facts: Any) -> Record:
    given: dict[str, Any] = {"event": "turn.end", "handler": "f (a.py:1)", "changes": (), "error": None, "subject": ""}
    return Record(**{**given, **facts}, hook=hook, ms=ms, verdict=verdict, refused=verdict == "blocked")


def test_calls_are_counted_by_what_came_of_them_with_their_times_and_the_last_failure() -> None:
    tally = Tally()
    for at, verdict in enumerate(("ok", "changed", "blocked", "timeout", "skipped", "ok")):
        if verdict in ("timeout", "skipped"):
            tally.failed(Failure("flag:a", "turn.end", "a.py:2", f"it was {verdict}", "the traceback"))
        tally.add(record(verdict, ms=float(at)))
    tally.failed(Failure("flag:b", "turn.end", "b.py:2", "of another", ""))
    registry, hook = Registry(), Hook("flag:a", "flag", "a.py")
    registry.subscribe(hook, "turn.end", lambda event, ctx: None)
    (handler,) = hook.handlers
    seen = tally._figures["flag:a", "turn.end", "f (a.py:1)"]
    assert (seen.calls, seen.changed, seen.refused, seen.failed) == (6, 1, 1, 2)
    assert (seen.milliseconds(50), seen.milliseconds(95)) == (3.0, 5.0)
    assert seen.last_failure and seen.last_failure.error == "it was skipped"
    assert tally.failures["flag:b"].error == "of another"
    assert tally.figures(handler).calls == 0 and Figures().milliseconds(50) is None


def test_the_changes_of_a_call_are_those_of_its_latest_handlers_in_order() -> None:
    def changed(hook: str, before: str, after: str, call: str) -> Record:
        change = Change(hook, "content", before, after)
        return record("changed", hook=hook, event="tool.execute.after", changes=(change,), call=call)

    tally = Tally()
    tally.add(changed("flag:a", "one", "two", "1"))
    tally.add(changed("flag:b", "two", "three", "1"))
    tally.add(changed("flag:a", "other", "else", "2"))
    found = tally.changes("tool.execute.after", ("flag:a", "flag:b"), "1")
    assert [(change.before, change.after) for change in found] == [("one", "two"), ("two", "three")]
    assert tally.changes("tool.execute.after", ("flag:c",), "1") == ()


HOOK = """
def setup(marvin):
    @marvin.on("tool.execute.before")
    def gate(event, ctx):
        return {"block": True, "reason": "no"}

    @marvin.command("greet", "greets")
    async def greet(args, ctx):
        return "hello"
"""


async def test_a_hook_is_taken_out_with_all_that_it_brought_and_is_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "gate.py"
    path.write_text(HOOK)
    async with Harness(str(path)) as harness:
        engine, hook_id = harness.scripted.engine, harness.hook_id
        await engine.hooks.switch(hook_id, on=False)
        assert not engine.hooks.dispatcher.heard("tool.execute.before")
        assert "greet" not in engine.side.commands
        assert hook_id in engine.hooks.off
        with pytest.raises(HookError, match="is not loaded"):
            await engine.hooks.switch(hook_id, on=False)
        await engine.hooks.switch(hook_id, on=True)
        assert (await harness.emit("tool.execute.before", tool_name="read")).blocked
        assert "greet" in engine.side.commands
        assert not engine.hooks.off
