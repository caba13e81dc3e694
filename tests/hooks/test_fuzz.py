"""Whatever a hook gives, raises or does to its event: the run ends well, and the session can be opened again."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from marvin_agent.agent import events as out
from marvin_agent.agent.queue import Prompt
from marvin_agent.errors import MarvinError, Refused, SessionError
from marvin_agent.hooks.api import HookAPI
from marvin_agent.hooks.payload import fields_of
from marvin_agent.hooks.spec import ROWS, Spec
from marvin_agent.messages import Image, Text, UserMessage
from marvin_agent.session.store import Session
from marvin_agent.testing.engine import ScriptedEngine

REPLIES = [
    {"text": "I do.", "toolCalls": [{"name": "bash", "arguments": {"command": "echo a"}}, {"name": "nonsense"}]},
    {"text": "Done.", "repeat": True},
]
EXAMPLES = int(os.environ.get("MARVIN_FUZZ", "6"))
"""For each event; the same six in every run unless more are asked for."""
CHANGING = [row for row in ROWS if row.result and row.waits_for is None]


class Odd:
    """An object that is no value at all."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    __hash__ = None  # type: ignore[assignment]


class OddText(str):
    def __str__(self) -> str:
        raise RuntimeError("read")


class Unspeakable(Exception):
    """An error that cannot be told."""

    def __str__(self) -> str:
        raise RuntimeError("told")


class Leave(BaseException):
    """No Exception, and no exit that anybody knows."""


def cyclic() -> list[Any]:
    made: list[Any] = [1]
    made.append({"again": made})
    return made


def deep(levels: int) -> Any:
    made: Any = "bottom"
    for level in range(levels):
        made = [made] if level % 2 else {"in": made}
    return made


def endless() -> Any:
    while True:
        yield Text(text="more")


TEXT = st.text(st.characters(), max_size=20)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**80), 2**80),
    st.floats(),
    TEXT,
    st.sampled_from(["x" * 300_000, "\ud800", "a\r\nb: c", "\x00", "http://", "https://[::1", ""]),
    st.binary(max_size=8),
    st.builds(Odd),
    st.builds(OddText, TEXT),
    st.builds(cyclic),
    st.builds(endless),
    st.sampled_from([90, 120, 480, 990, 5000]).map(deep),
    st.just({1: 2}),
    st.sampled_from([Text(text=5), Text(text="\udfff"), Image(data=b"x", mime_type=None), UserMessage(content=7)]),  # type: ignore[arg-type]
    st.just([{"type": "text", "text": "fine"}]),
    st.just([{"role": "user", "content": [{"type": "text", "text": "fine"}]}]),
    st.just({"provider": "test", "id": "one", "base_url": 7}),
    st.just({"provider": "nobody", "id": "none"}),
    st.just({"custom_type": "t", "content": "fine", "details": {"n": float("nan")}}),
    st.just({"summary": "mine"}),
    st.just({"summary": "mine", "first_kept_entry_id": "none", "tokens_before": -1}),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3), st.tuples(inner), st.sets(TEXT)
    ),
    max_leaves=6,
)
ERRORS: list[BaseException] = [
    *(ValueError("\ud800"), ValueError(cyclic()), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), StopIteration()),
    *(StopAsyncIteration(), Leave(), Unspeakable(), RecursionError(), MemoryError(), MarvinError("mine")),
]


class Attack:
    """What the hook does in its handler."""

    def __init__(self, how: str, value: Any, path: tuple[int, ...]) -> None:
        self.how = how
        self.value = value
        self.path = path

    def __repr__(self) -> str:
        try:
            shown = repr(self.value)[:300]
        except RecursionError:
            shown = "too deep to show"
        return f"{self.how} {self.path} {type(self.value).__name__} {shown}"

    def __call__(self, event: Any) -> Any:
        match self.how:
            case "return":
                return self.value
            case "raise":
                raise self.value
            case "clear":
                event.__dict__.clear()
            case "replace":
                event.__dict__ = {"session_id": self.value, "input": self.value, "output": self.value}
            case "set":
                target, name = self._target(event)
                vars(target)[name] = self.value
            case "delete":
                target, name = self._target(event)
                del vars(target)[name]
        return None

    def _target(self, event: Any) -> tuple[Any, str]:
        """A field of the event, or of what is inside it."""
        target = event
        for step in self.path:
            names = sorted(vars(target))
            name = names[step % len(names)]
            if not hasattr(vars(target)[name], "__dict__"):
                return target, name
            target = vars(target)[name]
        names = sorted(vars(target))
        return target, names[self.path[-1] % len(names)]


def attacks(row: Spec) -> st.SearchStrategy[Attack]:
    fields = fields_of(row.result) if row.result else {}
    result = st.fixed_dictionaries({}, optional=dict.fromkeys(fields, VALUES))
    path = st.lists(st.integers(0, 9), min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Attack, st.just("return"), st.one_of(result, result, VALUES), path),
        st.builds(Attack, st.just("raise"), st.sampled_from(ERRORS), path),
        st.builds(Attack, st.sampled_from(["set", "set", "delete", "clear", "replace"]), VALUES, path),
    )


async def attacked(row: Spec, attack: Attack, *, later: bool) -> None:
    """A run and a compaction under attack; then the session is opened again and goes on without the hook."""
    paths: set[str] = set()
    with tempfile.TemporaryDirectory() as directory:

        def attacker(marvin: HookAPI) -> None:
            if later:

                @marvin.on(row.name)
                async def strike(event: Any, ctx: Any) -> Any:
                    return attack(event)

            else:
                marvin.on(row.name, lambda event, ctx: attack(event))

        def bystander(marvin: HookAPI) -> None:
            @marvin.on(row.name, priority=-1)
            async def look(event: Any, ctx: Any) -> None:
                vars(event)

        hooks = {"attacker": attacker, "bystander": bystander}
        async with ScriptedEngine(Path(directory), REPLIES, hooks=hooks, hook_timeout=2.0) as e:
            for text in ("one", "two"):
                e.engine.submit(Prompt(text))
                await e.engine.wait_until_idle()
                assert e.engine.last
                error = e.engine.last.error
                assert error is None or error.kind != "internal", error
            for change in (e.engine.compact, e.engine.conversation.clear, e.engine.conversation.new):
                paths.add(e.engine.session.path or "")
                try:
                    await change()
                except (Refused, SessionError):
                    continue
            assert len(e.of(out.AgentEnded)) == 2
        for path in paths:
            if Path(path).exists():
                reopen(path)


def reopen(path: str) -> None:
    session = Session.open(path)
    assert session.warnings == []
    session.messages()
    session.close()


@pytest.mark.parametrize("row", CHANGING, ids=lambda row: row.name)
@settings(
    max_examples=EXAMPLES,
    derandomize=EXAMPLES == 6,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
async def test_no_hook_breaks_the_run_or_the_session(row: Spec, data: st.DataObject) -> None:
    attack = data.draw(attacks(row))
    await attacked(row, attack, later=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ["chat.message", "tool.execute.after"])
@pytest.mark.parametrize(
    "part",
    [Text(text=5), Text(text="\udfff"), Image(data=b"x", mime_type=None), deep(990), cyclic(), Odd()],  # type: ignore[arg-type]
    ids=["no text", "a surrogate", "no image", "deep", "cyclic", "odd"],
)
async def test_a_value_of_ours_that_a_hook_made_badly_is_not_stored(name: str, part: Any) -> None:
    row = next(row for row in CHANGING if row.name == name)
    field = "parts" if name == "chat.message" else "content"
    await attacked(row, Attack("return", {field: [part]}, (0,)), later=True)
