"""`/hooks`, and the blocks that open to what a hook changed."""

import itertools
import time
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.agent.queue import Prompt
from marvin_agent.frontends.tui.dialogs.hooks import HooksDialog
from marvin_agent.hooks.outcome import Change, Failure, Record, Verdict
from marvin_agent.hooks.tally import Tally
from tui import screen
from tui.pilot import a_marvin, driven
from tui.test_app import hook, listening

GUARD = """
def setup(marvin):
    @marvin.on("tool.execute.before", tools=("bash",))
    def amend(event, ctx):
        if "refuse" in event.input["command"]:
            return {"block": True, "reason": "no [refusing] here"}
        event.input["command"] += " # amended"

    @marvin.on("tool.execute.after")
    def cut(event, ctx):
        return {"content": [{"type": "text", "text": "cut out"}]}

    @marvin.on("chat.system.transform")
    def brief(event, ctx):
        event.output.system_prompt += "\\nBe brief."

    @marvin.on("chat.message")
    def polite(event, ctx):
        event.output.parts = [{"type": "text", "text": event.output.parts[0].text + ", please"}]

    @marvin.on("turn.end")
    def fails(event, ctx):
        raise ValueError("it [fails]")

    marvin.command("greet", "greets")(lambda args, ctx: ctx.ui.set_status("s", "greeted"))
"""
CALLS: list[dict[str, Any]] = [
    {"toolCalls": [{"name": "bash", "arguments": {"command": "echo one"}}]},
    {"text": "Done."},
]


def told(event: str, handler: str, verdict: Verdict, ms: float, **facts: Any) -> Record:
    given: dict[str, Any] = {"changes": (), "error": None, "subject": "", "refused": verdict == "blocked"}
    return Record(event, "flag:asking", f"{handler} (asking.py:{facts.pop('line')})", ms, verdict, **{**given, **facts})


def a_tally() -> Tally:
    clock = itertools.count(1_700_000_000)
    tally = Tally(lambda: float(next(clock)))
    bash = 'bash "echo one"'
    change = Change("flag:asking", "input", {"command": "echo one"}, {"command": "echo one # amended"})
    tally.add(told("tool.execute.before", "amend", "changed", 0.52, line=3, subject=bash, changes=(change,)))
    tally.add(told("tool.execute.before", "amend", "blocked", 1.5, line=3, subject='bash "x"', error="no [refusing]"))
    tally.failed(Failure("flag:asking", "turn.end", "asking.py:23", "ValueError: it [fails]", "Traceback\n  line 23"))
    tally.add(told("turn.end", "fails", "failed", 30_000.25, line=21, error="ValueError: it [fails]"))
    return tally


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_hooks_and_their_handlers_are_shown_with_their_numbers(
    tmp_path: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    async with driven(marvin, "--hook", hook(tmp_path, GUARD), size=(width, 24)) as one:
        await one.until_shown("F1 keys")
        engine = one.app.running_engine()
        one.app.push_screen(HooksDialog(engine.hooks, a_tally(), one.app.person))
        await one.until_shown("calls, the newest last")
        await one.until_shown("✗ turn.end")
        assert screen.matches_snapshot(one.app, __file__, f"hooks_{width}")
        if width == 80:
            await one.press("end", "enter")
            await one.until_shown("The last error")
            assert screen.matches_snapshot(one.app, __file__, "hooks_handler")


async def test_the_view_of_hooks_follows_what_happens_and_switches_them(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."}, {"text": "Hi again.", "repeat": True})
    async with driven(marvin, "--hook", hook(tmp_path, GUARD)) as one:
        await one.until_shown("Enter sends")
        await one.type("/greet")
        await one.press("enter", "enter")
        await one.until_shown(" greeted")
        await one.type("/hooks")
        await one.press("enter")
        await one.until_shown("none yet")
        one.app.running_engine().submit(Prompt("hello"))
        await one.until_shown("chat.message flag:asking changed")
        await one.until(lambda: one.app.running_engine().is_idle, "the end of the run")
        await one.press("end", "space")
        await listening(one, "It guards tool.execute.before")
        await one.press("n")
        await one.until(lambda: "It guards" not in one.text, "the end of the question")
        assert "flag:asking" not in one.app.running_engine().hooks.off
        await one.press("space")
        await listening(one, "It guards tool.execute.before")
        await one.press("y")
        await one.until_shown("flag:asking  off: switched off for this session")
        assert "greeted" not in one.app.state.statuses.values()
        await one.press("escape")
        await one.type("again")
        await one.press("enter")
        await one.until_shown("Hi again.")
        assert "again, please" not in one.text
        await one.type("/reload")
        await one.press("enter")
        await one.until_shown("Loaded again")
        await one.type("/hooks")
        await one.press("enter")
        await one.until_shown("flag:asking  off: switched off for this session")
        await one.press("end", "space")
        await one.until_shown("chat.message polite")


async def test_a_hook_that_is_off_because_it_blocked_says_where(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    marvin.configure(hooks={"timeoutMs": 300})
    source = """
import time

def setup(marvin):
    @marvin.on("turn.start")
    async def blocks(event, ctx):
        time.sleep(30)
"""
    async with driven(marvin, "--hook", hook(tmp_path, source), "hello") as one:
        await one.until_shown("Hi.")
        await one.type("/hooks")
        await one.press("enter")
        await one.until_shown("flag:asking  off: it blocked the hook loop")
        await one.press("end", "enter")
        await one.until_shown("turn.start at asking.py:7: blocks the hook loop")


async def test_a_required_hook_stays_on_and_says_why(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, {"text": "Hi."})
    marvin.configure(hooks={"required": ["flag:asking"]})
    source = "def setup(marvin):\n    marvin.on('turn.end', lambda event, ctx: None)\n"
    async with driven(marvin, "--hook", hook(tmp_path, source)) as one:
        await one.until_shown("Enter sends")
        await one.type("/hooks")
        await one.press("enter")
        await one.until_shown("flag:asking  required")
        await one.press("end", "space")
        await one.until_shown("flag:asking is in hooks.required and stays on")


async def test_what_a_hook_changed_opens_to_the_difference(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, *CALLS)
    async with driven(marvin, "--auto", "--hook", hook(tmp_path, GUARD), "hello", size=(80, 50)) as one:
        await one.until_shown("Done.")
        await one.until(lambda: not one.app.state.busy, "the end")
        one.app.clear_notifications()
        for entry in one.app.conversation.transcript.entries:
            if entry.opens:
                one.app.conversation.toggle(entry)
        await one.until_shown("result changed by flag:asking:")
        assert "1 - hello\n" in one.text and "1 + hello, please" in one.text
        assert "+ Be brief." in one.text
        assert "- echo one\n" in one.text and "+ echo one # amended" in one.text
        assert "- one\n" in one.text and "+ cut out" in one.text


async def test_a_resumed_session_still_says_which_hook_changed_what(tmp_path: Path) -> None:
    marvin = a_marvin(tmp_path, *CALLS)
    async with driven(marvin, "--auto", "--hook", hook(tmp_path, GUARD), "hello") as one:
        await one.until_shown("Done.")
    async with driven(marvin, "--auto", "-c") as one:
        await one.until_shown("Done.")
        assert "changed by flag:asking" in one.text
        await one.press("ctrl+o")
        await one.until_shown("+ echo one # amended")
        assert "[changed by flag:asking]" in one.text
