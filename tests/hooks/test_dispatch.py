"""Dispatch: the five rules, final gates, copies, failure policies, deadlines, containment."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
import pytest_asyncio

from marvin_agent.errors import HookError
from marvin_agent.hooks import events as h
from marvin_agent.hooks.clock import Limits
from marvin_agent.hooks.dispatch import Dispatcher
from marvin_agent.hooks.loop import HookLoop
from marvin_agent.hooks.outcome import Failure, Record
from marvin_agent.hooks.payload import Event
from marvin_agent.hooks.registry import Hook, Registry
from marvin_agent.hooks.running import Running
from marvin_agent.messages import Text


class Room:
    """A dispatcher with handlers and what it reported."""

    def __init__(self, limit: float = 5.0) -> None:
        self.failures: list[Failure] = []
        self.records: list[Record] = []
        self.waited_for: list[str] = []
        self.culprits: list[Hook | None] = []
        self.strays: list[tuple[BaseException, Hook | None]] = []
        self.registry = Registry()
        self.loop = HookLoop(lambda error, hook: self.strays.append((error, hook)))
        self.dispatcher = Dispatcher(self.registry, self.loop, Limits(limit, limit), self, lambda running: running)
        self._hooks: dict[str, Hook] = {}
        self.on_lost: Callable[[], None] = lambda: None

    def failed(self, failure: Failure) -> None:
        self.failures.append(failure)

    def recorded(self, record: Record, event: Event) -> None:
        self.records.append(record)

    def waiting(self, running: Running, place: str) -> None:
        self.waited_for.append(place)

    def waited(self) -> None:
        self.waited_for.append("")

    def lost(self, culprit: Hook | None, place: str) -> None:
        self.culprits.append(culprit)
        self.on_lost()

    def on(
        self,
        event: object,
        function: Callable[..., Any],
        hook: str = "library:a",
        *,
        required: bool = False,
        **options: Any,
    ) -> Callable[[], None]:
        if hook not in self._hooks:
            scope: Any = hook.partition(":")[0]
            self._hooks[hook] = Hook(hook, scope, __file__, required=required)
            self.registry.add_hook(self._hooks[hook])
        return self.registry.subscribe(self._hooks[hook], event, function, **options)

    async def send(self, event: Event, **options: Any) -> Any:
        return await self.dispatcher.dispatch(event, **options)


@pytest_asyncio.fixture
async def room() -> AsyncGenerator[Room, None]:
    made = Room()
    yield made
    made.loop.stop()


def before(**input_: Any) -> h.ToolExecuteBefore:
    return h.ToolExecuteBefore(tool_name="bash", tool_call_id="1", input=input_)


def after(text: str = "out") -> h.ToolExecuteAfter:
    return h.ToolExecuteAfter(
        tool_name="bash",
        tool_call_id="1",
        input={},
        content=[Text(text=text)],
        details={"a": 1},
        is_error=False,
        status="ok",
        duration_ms=1,
    )


async def test_an_event_that_nobody_hears_comes_back_as_it_was(room: Room) -> None:
    event = before(command="ls")
    outcome = await room.send(event)
    assert outcome.event is event
    assert not room.dispatcher.heard("tool.execute.before")


async def test_the_first_refusal_wins_and_later_handlers_are_not_asked(room: Room) -> None:
    asked: list[str] = []

    async def no(event: Any, ctx: Any) -> dict[str, Any]:
        asked.append("no")
        return {"block": True, "reason": "because"}

    async def late(event: Any, ctx: Any) -> None:
        asked.append("late")

    room.on("tool.execute.before", no)
    room.on("tool.execute.before", late, "library:b")
    outcome = await room.send(before())
    assert (outcome.refused.hook, outcome.refused.reason, outcome.refused.failed) == ("library:a", "because", False)
    assert asked == ["no"]


async def test_chained_changes_are_seen_by_the_next_handler_in_place_or_returned(room: Room) -> None:
    seen: list[dict[str, Any]] = []

    async def in_place(event: Any, ctx: Any) -> None:
        event.input["a"] = 1

    async def returned(event: Any, ctx: Any) -> dict[str, Any]:
        seen.append(dict(event.input))
        return {"input": {**event.input, "b": 2}}

    def plain(event: Any, ctx: Any) -> None:
        seen.append(dict(event.input))

    room.on("tool.execute.before", in_place)
    room.on("tool.execute.before", returned, "library:b")
    room.on("tool.execute.before", plain, "library:c")
    original = before(x=0)
    outcome = await room.send(original)
    assert seen == [{"x": 0, "a": 1}, {"x": 0, "a": 1, "b": 2}]
    assert outcome.event.input == {"x": 0, "a": 1, "b": 2}
    assert outcome.changed_by == ("library:a", "library:b")


async def test_an_earlier_redaction_survives_a_later_change_of_another_field(room: Room) -> None:
    async def redact(event: Any, ctx: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "REDACTED"}]}

    async def annotate(event: Any, ctx: Any) -> dict[str, Any]:
        return {"details": {"seen": True}, "isError": True}

    room.on("tool.execute.after", redact)
    room.on("tool_result", annotate, "library:b")
    outcome = await room.send(after("secret"))
    assert outcome.event.content == [Text(text="REDACTED")]
    assert outcome.event.details == {"seen": True}
    assert outcome.event.is_error is True


async def test_first_decides_and_ends_the_event(room: Room) -> None:
    async def nothing(event: Any, ctx: Any) -> dict[str, Any]:
        return {"continue_with": None} if False else {}

    async def go_on(event: Any, ctx: Any) -> dict[str, Any]:
        return {"continueWith": "check again"}

    async def late(event: Any, ctx: Any) -> dict[str, Any]:
        raise AssertionError("not asked")

    room.on("agent.before_end", nothing)
    room.on("session_stop", go_on, "library:b")
    room.on("agent.before_end", late, "library:c")
    outcome = await room.send(h.AgentBeforeEnd(messages=[], continuations=0))
    assert outcome.decided == {"continue_with": "check again"}
    assert outcome.decided_by == "library:b"
    assert room.failures == []


async def test_appended_values_of_all_handlers_are_kept_in_order(room: Room) -> None:
    for name in ("a", "b"):

        async def give(event: Any, ctx: Any, name: str = name) -> dict[str, Any]:
            return {"message": {"custom_type": name, "content": name}}

        room.on("agent.before_start", give, f"library:{name}")
    outcome = await room.send(h.AgentBeforeStart(prompt="", images=[], system_prompt="s"))
    assert [(hook, value.content[0].text) for hook, value in outcome.added["message"]] == [
        ("library:a", "a"),
        ("library:b", "b"),
    ]


@pytest.mark.parametrize("in_place", [True, False])
async def test_what_a_handler_appends_to_the_event_takes_nothing_away_that_others_gave(
    room: Room, in_place: bool
) -> None:
    for name in ("a", "b"):

        async def give(event: Any, ctx: Any, name: str = name) -> dict[str, Any] | None:
            if in_place:
                event.output.context = [name]
                return None
            return {"context": [name]}

        room.on("session.compacting", give, f"library:{name}")
    output = h.CompactingOutput(context=[], prompt=None, preserve_data=None)
    event = h.SessionCompacting(input=h.SessionOnly(session_id="1"), output=output, previous_preserve_data=None)
    outcome = await room.send(event)
    assert outcome.event.output.context == ["a", "b"]
    assert room.failures == []


async def test_the_strictest_decision_counts_whoever_gives_it(room: Room) -> None:
    for name, decision in (("a", "allow"), ("b", "deny"), ("c", "ask")):

        async def decide(event: Any, ctx: Any, decision: str = decision) -> dict[str, Any]:
            return {"decision": decision, "reason": decision}

        room.on("permission.ask", decide, f"library:{name}")
    outcome = await room.send(h.PermissionAsk(tool_name="bash", input={}, rule=None))
    assert outcome.decided == {"decision": "deny", "reason": "deny"}
    assert outcome.decided_by == "library:b"
    assert len(room.records) == 3


async def test_final_gates_run_last_see_what_will_run_and_can_only_refuse(room: Room) -> None:
    seen: list[Any] = []

    async def gate(event: Any, ctx: Any) -> None:
        seen.append(event.input)

    async def change(event: Any, ctx: Any) -> None:
        event.input["changed"] = True

    room.on("tool.execute.before", gate, "builtin:gate", final=True, priority=1000)
    room.on("tool.execute.before", change, "flag:late", priority=-1000)
    outcome = await room.send(before())
    assert seen == [{"changed": True}]
    assert not outcome.refused

    async def meddle(event: Any, ctx: Any) -> dict[str, Any]:
        return {"input": {}}

    room.on("tool.execute.before", meddle, "builtin:other", final=True)
    outcome = await room.send(before())
    assert outcome.refused and outcome.refused.failed
    assert "only refuse" in outcome.refused.reason


async def test_handlers_run_by_priority_then_scope_then_registration(room: Room) -> None:
    order: list[str] = []
    for name, scope, priority in (("1", "flag", 0), ("2", "global", 0), ("3", "flag", 5), ("4", "builtin", 0)):

        async def run(event: Any, ctx: Any, name: str = name) -> None:
            order.append(name)

        room.on("turn.start", run, f"{scope}:h{name}", priority=priority)
    await room.send(h.TurnStart(turn_index=0))
    assert order == ["3", "4", "2", "1"]


async def test_a_failing_handler_contributes_nothing(room: Room) -> None:
    async def half(event: Any, ctx: Any) -> None:
        event.output.system_prompt = "HALF"
        raise ValueError("boom")

    async def look(event: Any, ctx: Any) -> None:
        assert event.output.system_prompt == "whole"

    room.on("chat.system.transform", half)
    room.on("chat.system.transform", look, "library:b")
    event = h.ChatSystemTransform(
        input=h.SystemPromptInput(session_id="s", system_prompt="whole"),
        output=h.SystemPrompt(system_prompt="whole"),
        purpose="turn",
    )
    outcome = await room.send(event)
    assert outcome.event.output.system_prompt == "whole"
    (failure,) = room.failures
    assert failure.error == "ValueError: boom"
    assert failure.place.startswith("test_dispatch.py:")
    assert "raise ValueError" in failure.traceback


async def test_a_closed_event_refuses_when_its_handler_fails(room: Room) -> None:
    async def broken(event: Any, ctx: Any) -> None:
        raise KeyError("x")

    room.on("tool.execute.before", broken)
    outcome = await room.send(before())
    assert outcome.refused.failed
    assert "KeyError" in outcome.refused.reason


async def test_a_handler_may_raise_open_to_closed_but_never_lower(room: Room) -> None:
    async def broken(event: Any, ctx: Any) -> None:
        raise ValueError("cannot redact")

    room.on("tool.execute.after", broken, on_error="closed")
    outcome = await room.send(after("secret"))
    assert outcome.refused.reason == "ValueError: cannot redact"
    with pytest.raises(HookError, match="cannot lower"):
        room.on("tool.execute.before", broken, on_error="open")
    with pytest.raises(HookError, match="only observes"):
        room.on("turn.end", broken, on_error="closed")


@pytest.mark.parametrize(("tools", "meant"), [(("Bash",), r"\('bash',\)"), (("Edit|Write",), r"\('edit', 'write',\)")])
async def test_a_gate_for_a_tool_as_another_agent_calls_it_is_an_error_at_load(
    room: Room, tools: tuple[str, ...], meant: str
) -> None:
    with pytest.raises(HookError, match=f"give tools={meant}"):
        room.on("tool.execute.before", print, tools=tools)
    room.on("tool.execute.before", print, tools=("mcp__Files__*", "Agent", "bash"))


@pytest.mark.parametrize(
    ("result", "complaint"),
    [
        ({"blok": True}, "unknown key 'blok'"),
        ({"block": "yes"}, "expected True or False"),
        ("no", "expected ToolBeforeResult or a dict"),
        ({"input": [1]}, "expected a dict"),
        ({"input": {"a": object()}}, "not JSON"),
    ],
)
async def test_junk_results_are_reported_with_what_is_wrong(room: Room, result: Any, complaint: str) -> None:
    async def junk(event: Any, ctx: Any) -> Any:
        return result

    room.on("tool.execute.before", junk)
    await room.send(before())
    assert complaint in room.failures[0].error


async def test_what_an_observer_returns_is_ignored(room: Room) -> None:
    async def chatty(event: Any, ctx: Any) -> Any:
        return {"whatever": 1}

    room.on("turn.end", chatty)
    await room.send(h.TurnEnd(turn_index=0, message=None, tool_results=[], tokens=None, context_limit=None))
    assert room.failures == []


async def test_a_handler_that_yields_and_would_never_run_is_an_error(room: Room) -> None:
    def yields(event: Any, ctx: Any) -> Any:
        yield None

    async def yields_too(event: Any, ctx: Any) -> Any:
        yield None

    for function in (yields, yields_too):
        with pytest.raises(HookError, match=f"{function.__name__} yields"):
            room.on("turn.start", function)


async def test_unknown_events_are_an_error_with_the_nearest_name(room: Room) -> None:
    with pytest.raises(HookError, match=r"did you mean 'tool.execute.before'"):
        room.on("tool.execute.befor", print)


async def test_an_alias_a_class_and_the_session_group_subscribe(room: Room) -> None:
    heard: list[str] = []

    async def hear(event: Any, ctx: Any) -> None:
        heard.append(event.type)

    room.on("session", hear)
    room.on(h.TurnStart, hear)
    await room.send(h.SessionStart(reason="startup"))
    await room.send(h.SessionClear(previous_session_id="x"))
    await room.send(h.TurnStart(turn_index=0))
    assert heard == ["session.start", "session.clear", "turn.start"]


async def test_a_late_handler_is_cancelled_and_counts_as_failed() -> None:
    room = Room(limit=0.05)
    cancelled = threading.Event()

    async def late(event: Any, ctx: Any) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    room.on("turn.start", late)
    await room.send(h.TurnStart(turn_index=0))
    room.loop.stop()
    assert cancelled.is_set()
    assert room.failures[0].timed_out
    assert room.records[0].verdict == "timeout"


async def test_a_handler_that_swallows_its_cancellation_is_left_behind() -> None:
    room = Room(limit=0.05)
    release = asyncio.Event()

    async def stubborn(event: Any, ctx: Any) -> None:
        while not release.is_set():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    room.on("turn.start", stubborn)
    outcome = await room.send(h.TurnStart(turn_index=0))
    assert room.failures[0].timed_out
    assert outcome.refused is None
    room.loop.stop()


async def test_the_clock_stands_still_while_a_dialog_is_open() -> None:
    room = Room(limit=0.1)

    async def ask(event: Any, running: Running) -> None:
        with running.clock.standing():
            await asyncio.sleep(0.3)
        event.input["answered"] = True

    room.on("tool.execute.before", ask)
    outcome = await room.send(before())
    assert outcome.event.input == {"answered": True}
    room.loop.stop()


async def test_plain_handlers_run_in_a_thread_and_do_not_hold_the_loop(room: Room) -> None:
    threads: list[threading.Thread] = []

    def slow(event: Any, ctx: Any) -> None:
        threads.append(threading.current_thread())
        time.sleep(0.05)

    room.on("turn.start", slow)
    await asyncio.gather(*(room.send(h.TurnStart(turn_index=i)) for i in range(3)))
    assert all(thread is not threading.main_thread() for thread in threads)
    assert len({thread.ident for thread in threads}) == 3


@pytest.mark.parametrize("leave", [SystemExit, KeyboardInterrupt])
async def test_an_exit_in_a_handler_a_task_or_a_timer_ends_nothing(room: Room, leave: type[BaseException]) -> None:
    def bad() -> None:
        raise leave("out")

    async def stray() -> None:
        bad()

    async def handler(event: Any, ctx: Any) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(bad)
        handler.task = loop.create_task(stray())  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        bad()

    room.on("turn.start", handler)
    await room.send(h.TurnStart(turn_index=0))
    outcome = await room.send(h.TurnStart(turn_index=1))
    assert outcome.refused is None
    assert len(room.failures) == 2
    assert room.loop.thread.is_alive()
    assert any(isinstance(error, leave) for error, _ in room.strays)


async def test_an_exception_in_a_stray_task_names_its_hook(room: Room) -> None:
    async def stray() -> None:
        raise ValueError("nobody waits for me")

    async def handler(event: Any, ctx: Any) -> None:
        asyncio.get_running_loop().create_task(stray())
        await asyncio.sleep(0)

    room.on("turn.start", handler, "library:stray")
    await room.send(h.TurnStart(turn_index=0))
    for _ in range(100):
        import gc

        gc.collect()
        if room.strays:
            break
        await asyncio.sleep(0.01)
    error, hook = room.strays[0]
    assert str(error) == "nobody waits for me"
    assert hook and hook.id == "library:stray"


async def test_five_failures_in_a_row_switch_an_open_handler_off(room: Room) -> None:
    calls: list[int] = []

    async def broken(event: Any, ctx: Any) -> None:
        calls.append(1)
        raise ValueError("again")

    room.on("turn.start", broken)
    for index in range(8):
        await room.send(h.TurnStart(turn_index=index))
    assert len(calls) == 5
    assert "off for this session" in room.failures[-1].error


async def test_failures_that_are_not_in_a_row_switch_nothing_off(room: Room) -> None:
    calls: list[int] = []

    async def shaky(event: Any, ctx: Any) -> None:
        calls.append(event.turn_index)
        if event.turn_index % 5 != 4:
            raise ValueError("again")

    room.on("turn.start", shaky)
    for index in range(12):
        await room.send(h.TurnStart(turn_index=index))
    assert calls == list(range(12))


async def test_a_handler_of_a_required_hook_is_never_switched_off(room: Room) -> None:
    calls: list[int] = []

    async def broken(event: Any, ctx: Any) -> None:
        calls.append(1)
        raise ValueError("again")

    room.on("turn.start", broken, required=True)
    for index in range(8):
        await room.send(h.TurnStart(turn_index=index))
    assert len(calls) == 8


async def test_a_closed_handler_is_never_switched_off(room: Room) -> None:
    async def broken(event: Any, ctx: Any) -> None:
        raise ValueError("again")

    room.on("tool.execute.before", broken)
    for _ in range(8):
        outcome = await room.send(before())
        assert outcome.refused


async def test_drained_events_keep_their_order_and_are_finished_by_drain(room: Room) -> None:
    heard: list[int] = []

    async def hear(event: Any, ctx: Any) -> None:
        await asyncio.sleep(0)
        heard.append(event.status)

    room.on("chat.response", hear)
    for status in range(20):
        room.dispatcher.notify(h.ChatResponse(status=status, headers={}, request_id=None))
    assert await room.dispatcher.drain() == []
    assert heard == list(range(20))


async def test_drained_events_arrive_though_a_hook_cancels_every_task_that_it_finds(room: Room) -> None:
    heard: list[int] = []

    async def sweep(event: Any, ctx: Any) -> None:
        heard.append(event.status)
        for task in asyncio.all_tasks() if event.status == 1 else ():
            task.cancel()
        await asyncio.sleep(0)

    room.on("chat.response", sweep)
    for status in range(4):
        room.dispatcher.notify(h.ChatResponse(status=status, headers={}, request_id=None))
    while 1 not in heard:
        await asyncio.sleep(0.005)
    await room.dispatcher.drain()
    assert heard == [0, 1, 2, 3]


async def test_drain_names_who_is_still_busy(room: Room) -> None:
    async def hang(event: Any, ctx: Any) -> None:
        await asyncio.sleep(60)

    room.on("chat.response", hang, "library:slow", timeout=0)
    for status in range(2):
        room.dispatcher.notify(h.ChatResponse(status=status, headers={}, request_id=None))
    assert await room.dispatcher.drain(0.05) == ["library:slow"]


async def test_deltas_are_joined_for_a_slow_listener(room: Room) -> None:
    texts: list[str] = []
    gate = asyncio.Event()

    async def slow(event: Any, ctx: Any) -> None:
        await asyncio.sleep(0.01)
        texts.append(event.delta["text"])

    room.on("message.update", slow)
    for letter in "abcdefgh":
        room.dispatcher.notify(h.MessageUpdate(message=None, delta={"type": "text", "index": 0, "text": letter}))
    await room.dispatcher.drain()
    gate.set()
    assert "".join(texts) == "abcdefgh"
    assert len(texts) < 8


async def test_a_hook_does_not_hear_what_it_caused_itself(room: Room) -> None:
    heard: list[str] = []
    for name in ("a", "b"):

        async def hear(event: Any, ctx: Any, name: str = name) -> None:
            heard.append(name)

        room.on("tool.execute.before", hear, f"library:{name}")
    event = before()
    event.origin = "hook:library:a"
    await room.send(event)
    assert heard == ["b"]


async def test_a_hook_does_not_hear_the_message_that_it_sends_itself(room: Room) -> None:
    heard: list[str] = []
    for name in ("a", "b"):

        async def hear(event: Any, ctx: Any, name: str = name) -> None:
            heard.append(name)

        room.on("chat.message", hear, f"library:{name}")
    given = h.ChatMessageInput(session_id="1", text="hi", source="hook:library:a")
    await room.send(h.ChatMessage(input=given, output=h.ChatMessageOutput(parts=[Text(text="hi")])))
    assert heard == ["b"]


async def test_no_event_passes_while_the_hooks_are_loaded_again(room: Room) -> None:
    async def gate(event: Any, ctx: Any) -> dict[str, Any]:
        return {"block": True}

    loaded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    room.dispatcher.hold(loaded)
    assert room.dispatcher.heard("tool.execute.before")
    event = asyncio.ensure_future(room.send(before()))
    await asyncio.sleep(0)
    room.on("tool.execute.before", gate)
    loaded.set_result(None)
    assert (await event).refused


async def test_a_hook_that_is_taken_out_during_an_event_is_not_asked_any_more(room: Room) -> None:
    heard: list[str] = []

    async def take_out(event: Any, ctx: Any) -> None:
        room.registry.hooks[1].off = "it was reloaded"

    async def hear(event: Any, ctx: Any) -> None:
        heard.append("b")

    room.on("turn.start", take_out, "library:a")
    room.on("turn.start", hear, "library:b")
    await room.send(h.TurnStart(turn_index=0))
    assert heard == []


async def test_a_hook_that_has_routed_stays_closed_when_it_is_loaded_again(room: Room) -> None:
    async def route(event: Any, ctx: Any) -> None:
        raise ValueError("no token")

    room.dispatcher.pin("library:a", h.AuthGet)
    room.on("auth.get", route)
    output = h.AuthGetOutput(api_key=None, headers={}, base_url=None)
    given = h.AuthGetInput(session_id="1", provider="p", model_id="m")
    outcome = await room.send(h.AuthGet(input=given, output=output, purpose="turn"))
    assert outcome.refused.failed


async def test_a_filter_by_tool_takes_patterns(room: Room) -> None:
    heard: list[str] = []

    async def hear(event: Any, ctx: Any) -> None:
        heard.append(event.tool_name)

    room.on("tool.execute.before", hear, tools=("mcp__*", "write"))
    for name in ("bash", "write", "mcp__git__log"):
        await room.send(h.ToolExecuteBefore(tool_name=name, tool_call_id="1", input={}))
    assert heard == ["write", "mcp__git__log"]


async def test_unsubscribing_takes_effect_for_the_next_event(room: Room) -> None:
    heard: list[int] = []

    async def hear(event: Any, ctx: Any) -> None:
        heard.append(event.turn_index)

    leave = room.on("turn.start", hear)
    await room.send(h.TurnStart(turn_index=0))
    leave()
    await room.send(h.TurnStart(turn_index=1))
    assert heard == [0]
    assert not room.dispatcher.heard("turn.start")


async def test_cancelling_the_caller_cancels_the_handler(room: Room) -> None:
    cancelled = threading.Event()
    started = threading.Event()

    async def wait(event: Any, ctx: Any) -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    room.on("turn.start", wait)
    task = asyncio.ensure_future(room.send(h.TurnStart(turn_index=0)))
    while not started.is_set():
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(cancelled.wait, 2)


async def test_a_slow_handler_is_named_with_the_line_where_it_waits(room: Room) -> None:
    async def slow(event: Any, ctx: Any) -> None:
        await asyncio.sleep(1.3)

    def plain(event: Any, ctx: Any) -> None:
        time.sleep(1.3)

    room.on("turn.start", slow)
    await room.send(h.TurnStart(turn_index=0))
    line = slow.__code__.co_firstlineno + 1
    assert room.waited_for == [f"test_dispatch.py:{line}", ""]
    room.on("turn.end", plain)
    await room.send(h.TurnEnd(turn_index=0, message=None, tool_results=[], tokens=None, context_limit=None))
    line = plain.__code__.co_firstlineno + 1
    assert room.waited_for[2:] == [f"test_dispatch.py:{line}", ""]


async def test_a_handler_that_blocks_the_loop_is_found_and_the_loop_given_up() -> None:
    room = Room(limit=0.2)

    async def blocks(event: Any, ctx: Any) -> None:
        time.sleep(8)

    room.on("tool.execute.before", blocks, "project:blocker")
    outcome = await room.send(before())
    assert outcome.refused.failed
    assert room.culprits[0] and room.culprits[0].id == "project:blocker"
    assert room.failures[0].place == f"test_dispatch.py:{blocks.__code__.co_firstlineno + 1}"
    room.loop.abandon()


@pytest.mark.parametrize("returns", [True, False])
async def test_what_a_handler_gave_is_its_own_no_more(room: Room, returns: bool) -> None:
    kept: list[Any] = []

    async def keeps(event: Any, ctx: Any) -> Any:
        given = {"command": "true", "list": [1]} if returns else event.input
        given["command"] = "true"
        kept.append(given)
        return {"input": given} if returns else None

    room.on("tool.execute.before", keeps)
    outcome = await room.send(before(command="false", list=[]))
    kept[0]["command"] = "rm -rf /"
    kept[0]["list"].append(2)
    assert outcome.event.input == {"command": "true", "list": [1] if returns else []}
    assert outcome.changes[0].after == outcome.event.input


async def test_what_a_handler_does_after_its_loop_was_given_up_is_neither_told_nor_followed() -> None:
    room = Room(limit=0.2)
    go_on = threading.Event()
    asked: list[str] = []

    async def blocks(event: Any, ctx: Any) -> Any:
        go_on.wait()
        event.input["command"] = "late"
        return {"block": True}

    async def follows(event: Any, ctx: Any) -> None:
        asked.append("after it")

    room.on("tool.execute.before", blocks, "project:blocker")
    room.on("tool.execute.before", follows, "project:other")
    event = before(command="true")
    outcome = await room.send(event)
    assert outcome.refused.failed
    room.loop.abandon()
    go_on.set()
    room.loop.thread.join()
    assert (room.records, asked, event.input) == ([], [], {"command": "true"})


async def test_a_loop_that_several_wait_for_is_given_up_once() -> None:
    room = Room(limit=0.2)

    async def blocks(event: Any, ctx: Any) -> None:
        time.sleep(8)

    room.on("tool.execute.before", blocks, "project:blocker")
    loaded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    room.on_lost = lambda: room.dispatcher.hold(loaded)
    outcomes = await asyncio.gather(room.send(before()), room.send(before()))
    assert [outcome.refused.failed for outcome in outcomes] == [True, True]
    assert len(room.culprits) == 1
    loaded.set_result(None)
    room.loop.abandon()


async def test_the_user_can_skip_a_handler(room: Room) -> None:
    async def hang(event: Any, ctx: Any) -> None:
        await asyncio.sleep(60)

    room.on("turn.start", hang, timeout=0)
    task = asyncio.ensure_future(room.send(h.TurnStart(turn_index=0)))
    while not room.dispatcher.running():
        await asyncio.sleep(0.005)
    room.dispatcher.skip(room.dispatcher.running()[0])
    await task
    assert room.failures[0].error == "skipped by the user"
    assert room.records[0].verdict == "skipped"
