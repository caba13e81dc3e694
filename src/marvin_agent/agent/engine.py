"""The engine: takes prompts, runs them one after the other, and tells its frontends everything through one channel."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any

from marvin_agent.agent import events as out
from marvin_agent.agent.caps import Caps
from marvin_agent.agent.compaction import Compacted, Compactor, estimate
from marvin_agent.agent.hookside import HookSide
from marvin_agent.agent.invoke import Invoker
from marvin_agent.agent.loop import Run, Setting, Summary
from marvin_agent.agent.outlet import Outlet
from marvin_agent.agent.points import Points
from marvin_agent.agent.prompt import system_prompt
from marvin_agent.agent.queue import Delivery, Inbox, Prompt
from marvin_agent.agent.request import Caller
from marvin_agent.agent.setup import Setup
from marvin_agent.agent.watcher import HookNews
from marvin_agent.errors import HookError, MarvinError, Refused, SessionError
from marvin_agent.hooks import events as h
from marvin_agent.hooks.dispatch import Limits as HookLimits
from marvin_agent.hooks.outcome import Failure
from marvin_agent.hooks.payload import Mode
from marvin_agent.hooks.system import HookSystem
from marvin_agent.llm.values import Model, ThinkingLevel, ToolSpec
from marvin_agent.messages import AssistantMessage, Message, Usage
from marvin_agent.session.store import Session
from marvin_agent.tools.files import SeenFiles
from marvin_agent.tools.tool import Tool


class Engine:
    """One conversation at a time. Made on the loop that it runs on; `start` before the first prompt."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.session: Session = setup.session
        self.model: Model = setup.cycle[0]
        self.thinking: ThinkingLevel = setup.thinking_of(0)
        self.active: frozenset[str] | None = None
        """Names of the tools that the model may use; None is all."""
        self.outlet = Outlet()
        self.inbox = Inbox(self._queue_changed)
        self.caps = Caps()
        self.files = SeenFiles()
        self.loop = asyncio.get_running_loop()
        self.side = HookSide(self)
        self._news = HookNews(self.outlet, self.loop)
        limits = HookLimits(setup.hook_timeout, setup.gate_timeout, person=setup.interface.has_person)
        self.hooks = HookSystem(self.side, self._news, limits)
        self.points = Points(self.hooks.dispatcher, self)
        self._news.tell = self._tell_failure
        self.caller = Caller(setup.models, self.points, self.outlet, setup.retry, self.hooks.dispatcher.pin)
        self.caller.notices = lambda text: self.outlet.emit(out.Notice(level="warning", text=text))
        self.invoker = Invoker(setup.tools, self.points, self.outlet, self)
        self.compactor = Compactor(self.caller, self.points)
        self.last: Summary | None = None
        """What came of the latest run."""
        self._run: Run | None = None
        self._work: asyncio.Task[None] | None = None
        self._prompts: list[Prompt | None] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self._kept: set[asyncio.Task[None]] = set()
        self._scheduled: list[tuple[str, str, dict[str, Any]]] = []

    @property
    def session_id(self) -> str:
        return self.session.id

    @property
    def mode(self) -> Mode:
        return self.setup.mode

    # What the invoker asks of its home.

    @property
    def cwd(self) -> str:
        return self.setup.cwd

    @property
    def scratch(self) -> Path:
        """Where large outputs go: beside the session, for its owner alone."""
        base = self.session.path
        path = Path(f"{base.removesuffix('.jsonl')}.files" if base else f"{self.setup.config_dir}/scratch")
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def is_active(self, name: str) -> bool:
        return self.active is None or name in self.active

    # Life.

    async def start(self) -> None:
        """Everything is wired: tell the hooks, and say which session this is."""
        await self.points.fire(h.AppStart, cwd=self.setup.cwd, config_dir=self.setup.config_dir)
        if self.setup.resumed:
            await self.points.fire(h.SessionResume, session_path=self.session.path)
        else:
            await self.points.fire(h.SessionStart, reason="startup")
        self._announce("resume" if self.setup.resumed else "startup")

    async def close(self, reason: str = "quit") -> None:
        """Abort what runs, tell the hooks, close the files. The engine cannot be used afterwards."""
        self.abort()
        await self.wait_until_idle()
        for hook in await self.points.drain():
            self.outlet.emit(out.Notice(level="warning", text=f"{hook} did not finish; it is left behind"))
        await self.points.together(h.SessionShutdown, reason=reason)
        self.hooks.close()
        self.session.close()
        await self.setup.models.close()
        await asyncio.sleep(0)  # what the hook loop posted last is heard
        self.outlet.close()

    # Prompts.

    def submit(self, prompt: Prompt, delivery: Delivery = "follow_up") -> None:
        """Start a run, or queue the prompt when one is under way."""
        if self._work is None and self._idle.is_set():
            self._prompts.append(prompt)
            self._begin()
        else:
            self.inbox.put(prompt, delivery)

    def wake(self) -> None:
        """Start a run on the conversation as it is, unless one is under way."""
        if self._work is None and self._idle.is_set():
            self._prompts.append(None)
            self._begin()

    def abort(self) -> tuple[Prompt, ...]:
        """Interrupt what runs; gives back what waited in the queue."""
        if self._run:
            self._run.stopper.abort()
        return self.inbox.empty()

    @property
    def aborting(self) -> bool:
        return bool(self._run and self._run.stopper.aborted)

    @property
    def is_idle(self) -> bool:
        return self._idle.is_set()

    async def wait_until_idle(self) -> None:
        await self._idle.wait()

    async def run(self, prompt: Prompt) -> AsyncGenerator[out.EngineEvent, None]:
        """Submit a prompt and give every event until all is settled."""
        reader = self.outlet.subscribe()
        try:
            self.submit(prompt)
            async for event in reader.events():
                yield event
                if isinstance(event, out.AgentSettled):
                    return
        finally:
            self.outlet.leave(reader)

    def _begin(self) -> None:
        self._idle.clear()
        self._work = asyncio.ensure_future(self._work_off())

    async def _work_off(self) -> None:
        try:
            while self._prompts or self.inbox:
                prompt = self._prompts.pop(0) if self._prompts else self._next_in_queue()
                if not (prompt and prompt.source.startswith("hook:")):
                    self.caps.new_prompt()
                elif not self._allowed(prompt.source):
                    continue
                await self._run_one(prompt)
                await self._change_as_scheduled()
            for hook in await self.points.drain():
                self.outlet.emit(out.Notice(level="warning", text=f"{hook} is busy since ten seconds; going on"))
            await self.points.fire(h.AgentSettled)
        finally:
            self._run = None
            self._work = None
            self._idle.set()
            self.outlet.emit(out.AgentSettled())
        if self.inbox:
            # A handler of agent.settled sent something.
            self._begin()

    async def _change_as_scheduled(self) -> None:
        while self._scheduled:
            await self._guarded(self.change(*self._scheduled.pop(0)))

    def _next_in_queue(self) -> Prompt:
        return (self.inbox.steering or self.inbox.follow_up).popleft()

    def _allowed(self, source: str) -> bool:
        try:
            self.caps.hook_call(source.removeprefix("hook:"))
        except Refused as refused:
            self.outlet.emit(out.Notice(level="warning", text=refused.message))
            return False
        return True

    async def _run_one(self, prompt: Prompt | None) -> None:
        self._run = run = Run(
            caller=self.caller,
            invoker=self.invoker,
            points=self.points,
            outlet=self.outlet,
            inbox=self.inbox,
            caps=self.caps,
            limits=self.setup.limits,
            setting=self._setting,
            store=self.store,
        )
        self.last = run.summary
        await (run.start(prompt) if prompt else run.continue_without_prompt())
        self._run = None

    def _setting(self, system: str | None) -> Setting:
        tools = tuple(_spec(tool) for tool in self.setup.tools if self.is_active(tool.name))
        if system is None:
            names = tuple(tool.name for tool in tools)
            system = system_prompt(
                cwd=self.setup.cwd,
                tools=names,
                instructions=self.setup.instructions,
                replacement=self.setup.system_prompt,
                appended=self.setup.append_system_prompt,
            )
        return Setting(self.model, self.thinking, system, tools, self.session.messages())

    def store(self, message: Message, by: tuple[str, ...] = ()) -> None:
        """Keep a message in the session, on disk before anything else happens."""
        self.session.append_message(message, changed_by=by)

    def show(self, message: Message, by: tuple[str, ...]) -> None:
        """Tell the frontends of a message that came from outside a run."""
        self.outlet.emit(out.MessageStarted(message=message))
        self.outlet.emit(out.MessageEnded(message=message, changed_by=by))

    def side_caller(self) -> Caller:
        """Calls models beside the run: what hooks ask for."""
        return Caller(self.setup.models, self.points, self.outlet, self.setup.retry, self.hooks.dispatcher.pin)

    def child_environment(self) -> dict[str, str]:
        """The environment of what hooks start: without the keys of providers."""
        return {name: value for name, value in os.environ.items() if name not in self.setup.secret_names}

    # What hooks ask for.

    def guarded(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function for a hook; what goes wrong is told."""
        try:
            function(*arguments)
        except MarvinError as error:
            self.outlet.emit(out.Notice(level="error", text=error.show()))

    def keep(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine for a hook beside everything else."""
        task = asyncio.ensure_future(self._guarded(coroutine))
        self._kept.add(task)
        task.add_done_callback(self._kept.discard)

    async def _guarded(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        try:
            await coroutine
        except MarvinError as error:
            self.outlet.emit(out.Notice(level="error", text=error.show()))

    def schedule(self, action: str, hook: str, arguments: dict[str, Any]) -> None:
        """Change the session at the end of the run."""
        self._scheduled.append((action, hook, arguments))

    async def change(self, action: str, hook: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Change the session for a hook, now."""
        try:
            match action:
                case "summarize":
                    await self.compact(arguments["instructions"])
                case "new_session":
                    await self.new_session(arguments["parent"])
                    if write := arguments["setup"]:
                        write(self.session)
                case "switch":
                    await self.resume(arguments["path"])
                case _:
                    raise HookError(f"{action} does not work yet")
        except Refused as refused:
            self.outlet.emit(out.Notice(level="warning", text=refused.message))
            return {"cancelled": True, "session_id": self.session.id}
        return {"cancelled": False, "session_id": self.session.id}

    # The model.

    async def set_model(self, model: Model, thinking: ThinkingLevel | None = None, *, source: str) -> None:
        """Go on with another model from the next turn on."""
        before, self.model = self.model, model
        level = thinking or self.thinking
        await self.set_thinking(level)
        self.session.append_model_change(model.provider, model.id)
        await self.points.fire(
            h.ModelChange,
            previous_provider=before.provider,
            previous_model_id=before.id,
            new_provider=model.provider,
            new_model_id=model.id,
            thinking_level=self.thinking,
            source=source,
        )
        self._model_changed()

    async def set_thinking(self, level: ThinkingLevel) -> None:
        before, self.thinking = self.thinking, level
        if before != level:
            self.session.append_thinking_change(level)
            await self.points.fire(h.ThinkingChange, level=level, previous_level=before)
            self._model_changed()

    def _model_changed(self) -> None:
        self.outlet.emit(
            out.ModelChanged(provider=self.model.provider, model_id=self.model.id, thinking_level=self.thinking)
        )

    # The session.

    async def compact(self, instructions: str | None = None, *, reason: h.CompactReason = "manual") -> Compacted:
        """Sum the conversation up. Raises Refused or ProviderError; the session is then as it was."""
        self.outlet.emit(out.CompactionStarted(reason=reason))
        try:
            done = await self.compactor.compact(
                self.session,
                self.model,
                self.thinking,
                instructions=instructions,
                reason=reason,
                keep_tokens=self.setup.keep_recent_tokens if reason != "manual" else 0,
                tokens_before=self.context_tokens(),
            )
        except MarvinError as error:
            self.outlet.emit(out.CompactionEnded(summary=None, error=error.show()))
            raise
        self.outlet.emit(out.CompactionEnded(summary=done.summary, from_hook=done.from_hook))
        return done

    async def clear(self) -> None:
        """Go on in a new, empty session; the old file stays. Raises Refused when a hook says no."""
        outcome = await self.points.fire(h.SessionBeforeClear)
        if outcome and outcome.refused:
            raise Refused(f"Clear cancelled by {outcome.refused}")
        previous = self._replace_session(self._empty_session(None))
        await self.points.fire(h.SessionClear, previous_session_id=previous.id)
        self._announce("clear")

    async def new_session(self, parent: str | None = None) -> None:
        """Begin another session. Raises Refused when a hook says no."""
        await self._may_switch("new", None)
        previous = self._replace_session(self._empty_session(parent))
        await self.points.fire(h.SessionSwitch, reason="new", previous_session=previous.path)
        await self.points.fire(h.SessionStart, reason="new")
        self._announce("new")

    async def resume(self, path: str) -> None:
        """Go on with another session. Raises Refused or SessionError."""
        await self._may_switch("resume", path)
        previous = self._replace_session(Session.open(path))
        await self.points.fire(h.SessionSwitch, reason="resume", previous_session=previous.path)
        await self.points.fire(h.SessionResume, session_path=self.session.path)
        self._announce("resume")

    async def _may_switch(self, reason: str, target: str | None) -> None:
        outcome = await self.points.fire(h.SessionBeforeSwitch, reason=reason, target_session=target)
        if outcome and outcome.refused:
            raise Refused(f"Switch cancelled by {outcome.refused}")

    def _empty_session(self, parent: str | None) -> Session:
        if self.session.path is None:
            return Session.in_memory(self.setup.cwd)
        return Session.create(self.setup.sessions_dir, self.setup.cwd, parent=parent)

    def _replace_session(self, session: Session) -> Session:
        if self._run is not None:
            raise SessionError("The agent is working; wait for it or abort it before changing the session.")
        previous, self.session = self.session, session
        self.files = SeenFiles()
        previous.close()
        return previous

    def _announce(self, reason: Any) -> None:
        for warning in self.session.warnings:
            self.outlet.emit(out.Notice(level="warning", text=warning))
        self.outlet.emit(out.SessionChanged(reason=reason, session_id=self.session.id, session_path=self.session.path))

    # Numbers.

    def last_usage(self) -> Usage | None:
        """Usage of the latest answer on this branch."""
        for message in reversed(self.session.messages()):
            if isinstance(message, AssistantMessage) and message.usage:
                return message.usage
        return None

    def context_tokens(self) -> int:
        """Tokens in the context: what the provider counted last, or an estimate."""
        usage = self.last_usage()
        return usage.total_tokens if usage else estimate(self.session.messages())

    # News.

    def _queue_changed(self, inbox: Inbox) -> None:
        self.outlet.emit(
            out.QueueChanged(
                steering=tuple(prompt.text for prompt in inbox.steering),
                follow_up=tuple(prompt.text for prompt in inbox.follow_up),
            )
        )

    def _tell_failure(self, failure: Failure) -> None:
        self.points.tell(
            h.HookErrorEvent,
            hook=failure.hook,
            event=failure.event,
            error=failure.error,
            traceback=failure.traceback,
        )


def _spec(tool: Tool) -> ToolSpec:
    return ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters)
