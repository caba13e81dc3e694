"""One hook that writes down all it hears, in every mode: the same events in the order of the contract."""

import asyncio
import re
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from recorder import Recorder

from marvin_agent.agent import events as out
from marvin_agent.agent.commands import command_in, run_command
from marvin_agent.agent.retry import RetryPolicy
from marvin_agent.errors import HookError
from marvin_agent.hooks import forms
from marvin_agent.hooks.payload import fields_of
from marvin_agent.hooks.spec import ROWS, SPECS, Spec
from marvin_agent.llm.values import Model
from marvin_agent.session.store import Session
from marvin_agent.testing.engine import MODEL, ScriptedEngine
from marvin_agent.tools.login import LoginEnvironment
from marvin_agent.tools.registry import builtin_tools
from program import Marvin
from tui.pilot import driven

TWO = Model(provider="test", id="two", api=MODEL.api, base_url=MODEL.base_url, reasoning=True)
DRAINED = {row.name for row in ROWS if row.drained} | {"hook.error"}
"""Told without holding the run up: in order among themselves."""
REQUEST = [
    "chat.system.transform",
    "chat.params",
    "model.resolve",
    "auth.get",
    "chat.messages.transform",
    "chat.request",
]
START = ["app.start", "session.start"]
AGAIN = ["app.start", "session.resume"]
END = ["session.shutdown"]


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"name": name, "arguments": arguments}


class Step(NamedTuple):
    """One start of the program: what is said, what the model answers, and the events that hold the run up, in order."""

    said: str
    replies: list[dict[str, Any]]
    expected: list[str]
    resumed: bool = False
    auto: bool = True
    code: int = 0
    facts: tuple[tuple[str, str, Any], ...] = ()
    """Event, field of its payload and value, each to be found."""


def turn(*middle: str) -> list[str]:
    return ["turn.start", *REQUEST, *middle, "turn.end"]


def run(*turns: list[str], more: Iterable[str] = ()) -> list[str]:
    """A prompt from its message to the end."""
    begin = ["chat.message", "agent.before_start", "agent.start"]
    return [*begin, *(name for one in turns for name in one), *more, "agent.before_end", "agent.end", "agent.settled"]


TOOLS = [
    call("bash", command="echo fine"),
    call("read", path="none.txt"),
    call("bash", command="echo forbidden"),
    call("nonsense"),
]
GATES = ["tool.execute.before"] * 3
AFTER = ["tool.execute.after"] * 4

SCENARIOS: dict[str, list[Step]] = {
    "tools": [
        Step(
            "do it",
            [{"text": "I do.", "thinking": "Hm.", "toolCalls": TOOLS}, {"text": "Done."}],
            [*START, *run(turn(*GATES, *AFTER), turn()), *END],
            facts=(
                ("session.start", "reason", "startup"),
                ("chat.message", "input.source", "user"),
                ("tool.execute.after", "status", "ok"),
                ("tool.execute.after", "status", "error"),
                ("tool.execute.after", "status", "blocked"),
                ("tool.execute.after", "status", "invalid"),
                ("turn.end", "turnIndex", 1),
                ("agent.end", "stopReason", "stop"),
                ("session.shutdown", "reason", "quit"),
            ),
        )
    ],
    "a slow tool": [
        Step(
            "do it",
            [{"toolCalls": [call("bash", command="echo a; sleep 0.2; echo b")]}, {"text": "Done."}],
            [*START, *run(turn("tool.execute.before", "tool.execute.after"), turn()), *END],
        )
    ],
    "a call that is asked about": [
        Step(
            "do it",
            [{"toolCalls": [call("bash", command="touch made")]}, {"text": "Done."}],
            [*START, *run(turn("tool.execute.before", "permission.ask", "tool.execute.after"), turn()), *END],
            auto=False,
            facts=(("tool.execute.after", "status", "blocked"), ("permission.ask", "toolName", "bash")),
        )
    ],
    "a retry": [
        Step(
            "do it",
            [{"fault": {"status": 503}}, {"text": "Done."}],
            [*START, *run(turn("retry.start", "retry.end")), *END],
            facts=(("retry.start", "attempt", 1), ("retry.end", "success", True)),
        )
    ],
    "a failure": [
        Step(
            "do it",
            [{"fault": {"status": 401, "message": "no"}}],
            [
                *START,
                *["chat.message", "agent.before_start", "agent.start", "turn.start"],
                *REQUEST,
                *["agent.end", "agent.settled"],
                *END,
            ],
            code=1,
            facts=(("agent.end", "stopReason", "error"),),
        )
    ],
    "steering and a follow-up from a hook": [
        Step(
            "steer me",
            [{"text": "One."}, {"text": "Two."}, {"text": "Three."}],
            [*START, *run(turn(), ["chat.message"], turn(), ["chat.message"], turn()), *END],
            facts=(("agent.end", "stopReason", "stop"),),
        )
    ],
    "a continuation": [
        Step(
            "continue me",
            [{"text": "One."}, {"text": "Two."}],
            [*START, *run(turn(), ["agent.before_end"], turn()), *END],
        )
    ],
    "a failing handler": [
        Step(
            "fail a hook",
            [{"text": "One."}],
            [*START, *run(turn()), *END],
            facts=(("hook.error", "event", "agent.before_end"), ("hook.error", "error", "ValueError: as asked")),
        )
    ],
    "sessions": [
        Step("hello", [{"text": "Hi."}], [*START, *run(turn()), *END]),
        Step("hello again", [{"text": "Hi."}], [*START, *run(turn()), *END]),
        Step("more", [{"text": "Yes."}], [*AGAIN, *run(turn()), *END], resumed=True),
        Step(
            "/compact mind the gap",
            [{"text": "A summary."}],
            [*AGAIN, "session.before_compact", "session.compacting", *REQUEST, *END],
            resumed=True,
            facts=(
                ("session.before_compact", "customInstructions", "mind the gap"),
                ("session.compact", "summary", "A summary."),
                ("session.compact", "fromHook", False),
                ("chat.request", "purpose", "compaction"),
            ),
        ),
        Step("/clear", [], [*AGAIN, "session.before_clear", "session.clear", *END], resumed=True),
        Step(
            "/new",
            [],
            [*AGAIN, "session.before_switch", "session.switch", "session.start", *END],
            resumed=True,
            facts=(("session.start", "reason", "new"), ("session.before_switch", "reason", "new")),
        ),
        Step(
            "/start-anew",
            [],
            [*AGAIN, "session.before_switch", "session.switch", "session.start", *END],
            resumed=True,
        ),
        Step(
            "/go-to {other}",
            [],
            [*AGAIN, "session.before_switch", "session.switch", "session.resume", *END],
            resumed=True,
            facts=(("session.switch", "reason", "resume"),),
        ),
    ],
    "model and thinking": [
        Step(
            "/take {provider}/two",
            [],
            [*START, "model.change", "thinking.change", *END],
            facts=(("model.change", "source", "hook"), ("thinking.change", "level", "high")),
        )
    ],
}
MODES = ["text", "json", "stream-json", "library", "tui"]


class Stage:
    """Plays a scenario in one mode."""

    def __init__(self, directory: Path, mode: str) -> None:
        directory.mkdir()
        self.mode = mode
        self.recorder = Recorder(directory / "recorder")
        self.marvin = Marvin(directory)
        self.sessions: list[str] = []
        self._directory = directory

    async def play(self, step: Step) -> list[dict[str, Any]]:
        """The events of one step."""
        other = self.sessions[0] if self.sessions else ""
        provider = "test" if self.mode == "library" else "demo"
        said = step.said.format(other=other, provider=provider)
        if self.mode == "library":
            await self._in_this_process(step, said)
        elif self.mode == "tui":
            await self._in_the_app(step, said)
        else:
            await asyncio.to_thread(self._installed, step, said)
        return self.recorder.events()

    def _words(self, step: Step) -> list[str]:
        """What the command line says, with everything that it needs there."""
        self.marvin.configure(retry={"baseDelayMs": 1, "maxDelayMs": 2}, model="demo/one")
        self.marvin.script(*step.replies, models=("one", "two"), reasoning=True)
        hooks = [word for path in self.recorder.paths for word in ("--hook", path)]
        return ["--auto"] * step.auto + ["-c"] * step.resumed + hooks

    async def _in_the_app(self, step: Step, said: str) -> None:
        wanted = [name for name in step.expected if name not in END]
        async with driven(self.marvin, *self._words(step)) as app:
            app.app.prompt.text = said
            await app.press("enter")
            if not step.auto:
                await app.until(lambda: getattr(app.app.screen, "listens", False), "the question")
                await app.press("n")
            await app.until(lambda: self.recorder.count(DRAINED) >= len(wanted), f"{wanted}")
        self.sessions = [str(path) for path in self.marvin.sessions]

    def _installed(self, step: Step, said: str) -> None:
        shape = ["-p"] if self.mode == "text" else ["-p", "--output", self.mode]
        done = self.marvin.run(*shape, *self._words(step), said)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.code == step.code, done
        self.sessions = [str(path) for path in self.marvin.sessions]

    async def _in_this_process(self, step: Step, said: str) -> None:
        session = Session.open(self.sessions[-1]) if step.resumed else None
        async with ScriptedEngine(
            self._directory,
            step.replies,
            hook_files=self.recorder.paths,
            models=(MODEL, TWO),
            auto=step.auto,
            session=session,
            retry=RetryPolicy(base_delay=0.001, max_delay=0.002),
        ) as e:
            assert e.engine.hooks.problems == []
            if command := command_in(said, e.engine):
                await run_command(e.engine, command)
            else:
                await e.prompt(said)
            path = e.engine.session.path
        if path and Path(path).exists() and path not in self.sessions:
            self.sessions.append(path)


def without_repeats(names: Iterable[Any]) -> list[Any]:
    """Pieces of a stream come in as many events as a slow listener lets them."""
    found: list[Any] = []
    for name in names:
        if not (found and found[-1] == name and name[0].endswith(".update")):
            found.append(name)
    return found


def salient(event: dict[str, Any]) -> tuple[Any, ...]:
    """What must be the same in every mode."""
    payload = event["payload"]
    message = payload.get("message") or {}
    origin = re.sub(r"hook:\w+:", "hook:", payload["origin"])
    keys = "reason turnIndex purpose toolName status isError source level success attempt summary prompt stopReason"
    if event["event"].endswith(".update"):
        return (event["event"], origin)
    return (
        event["event"],
        origin,
        *(payload.get(key) for key in keys.split()),
        payload.get("input") if "toolName" in payload else (payload.get("input") or {}).get("source"),
        message.get("role"),
        (payload.get("messages") and len(payload["messages"])),
    )


def lookup(payload: dict[str, Any], path: str) -> Any:
    for key in path.split("."):
        payload = payload[key]
    return payload


Heard = dict[str, dict[str, list[list[dict[str, Any]]]]]


@pytest.fixture(scope="module")
def heard() -> Heard:
    """What was heard so far: scenario, mode, step."""
    return {}


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_the_events_of_a_scenario_are_the_contracts_and_the_same_in_every_mode(
    tmp_path: Path, scenario: str, heard: Heard
) -> None:
    steps = SCENARIOS[scenario]
    played = heard.setdefault(scenario, {})
    for mode in MODES:
        stage = Stage(tmp_path / mode, mode)
        played[mode] = [await stage.play(step) for step in steps]
    for number, step in enumerate(steps):
        for mode in MODES:
            events = played[mode][number]
            awaited = [event["event"] for event in events if event["event"] not in DRAINED]
            assert awaited == step.expected, mode
            for name, path, value in step.facts:
                found = [lookup(event["payload"], path) for event in events if event["event"] == name]
                assert value in found, (mode, name, path, found)
        for drained in (False, True):
            said = {
                mode: without_repeats(
                    salient(event) for event in played[mode][number] if (event["event"] in DRAINED) is drained
                )
                for mode in MODES
            }
            for mode in MODES[1:]:
                assert said[mode] == said["text"], mode


@pytest.mark.parametrize("mode", MODES)
async def test_every_row_that_does_not_wait_is_fired_with_the_payload_of_the_table(
    mode: str, heard: Heard, tmp_path: Path
) -> None:
    await _all(mode, heard, tmp_path)
    events = [event for scenario in heard.values() for step in scenario[mode] for event in step]
    fired = {event["event"] for event in events}
    assert fired == {row.name for row in ROWS if row.waits_for is None} - BY_HAND
    wanted = {"text": "print", "json": "json", "stream-json": "json", "library": "library", "tui": "tui"}[mode]
    for event in events:
        row = SPECS[event["event"]]
        assert event["fields"] == sorted(fields_of(row.event)), row.name
        checked = vars(forms.payload(row.event, event["payload"]))
        assert checked["mode"] == wanted
        assert checked["session_id"]


BY_HAND = {"user.bash"}
"""What only a person types: tests/agent/test_userbash.py and the tests of the app."""


async def _all(mode: str, heard: Heard, tmp_path: Path) -> None:
    for number, (name, steps) in enumerate(SCENARIOS.items()):
        if mode not in heard.setdefault(name, {}):
            stage = Stage(tmp_path / str(number), mode)
            heard[name][mode] = [await stage.play(step) for step in steps]


# What is not built yet, and how one would notice that it is: then its row has to lose `waits_for`, and the event a
# scenario above.

SRC = Path(forms.__file__).parent.parent


def sources() -> Iterable[str]:
    """The code that may fire events."""
    return (path.read_text() for path in SRC.rglob("*.py") if "hooks" not in path.relative_to(SRC).parts)


async def _cannot(change: str, **arguments: Any) -> bool:
    with pytest.raises(HookError, match="does not work yet"):
        await _change(change, arguments)
    return True


async def _change(change: str, arguments: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        async with ScriptedEngine(Path(directory)) as e:
            await e.engine.side.change(change, "library:x", arguments)


async def _never_compacts_by_itself() -> bool:
    small = Model(provider="test", id="one", api=MODEL.api, base_url=MODEL.base_url, context_window=1000)
    replies = [{"text": "full", "usage": {"input": 990, "output": 5}}, {"text": "still"}]
    with tempfile.TemporaryDirectory() as directory:
        async with ScriptedEngine(Path(directory), replies, models=(small,)) as e:
            await e.prompt("hi")
            await e.prompt("more")
            return not e.of(out.CompactionStarted)


async def _no_tool(name: str) -> bool:
    return not any(name in tool.name for tool in builtin_tools(LoginEnvironment()))


async def _no_source_says(text: str) -> bool:
    return not any(re.search(text, source) for source in sources())


MISSING: dict[str, Callable[[], Awaitable[bool]]] = {
    "branching": lambda: _cannot("branch", entry_id="x"),
    "tree": lambda: _cannot("navigate", entry_id="x", summarize=False),
    "automatic compaction": _never_compacts_by_itself,
    "streamed rules": lambda: _no_source_says("(?i)ttsr"),
    "todo": lambda: _no_tool("todo"),
    "subagents": lambda: _no_source_says("subagent:"),
}


@pytest.mark.parametrize("feature", sorted({row.waits_for for row in ROWS if row.waits_for}))
async def test_a_row_waits_only_for_a_feature_that_is_not_there(feature: str) -> None:
    assert await MISSING[feature]()


@pytest.mark.parametrize("row", [row for row in ROWS if row.waits_for], ids=lambda row: row.name)
async def test_a_row_that_waits_is_fired_nowhere(row: Spec) -> None:
    assert await _no_source_says(rf"\b{row.event.__name__}\b")
