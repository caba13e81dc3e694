"""The engine: takes prompts, runs them one after the other, and tells its frontends everything through one channel."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

import msgspec

from marvin_agent.agent import events as out
from marvin_agent.agent.caps import Caps, check_cost
from marvin_agent.agent.compaction import Compacted, Compactor
from marvin_agent.agent.conversation import Conversation
from marvin_agent.agent.errands import Errands
from marvin_agent.agent.hookside import HookSide
from marvin_agent.agent.invoke import Invoker
from marvin_agent.agent.loop import Run, Setting, Summary
from marvin_agent.agent.outlet import Outlet
from marvin_agent.agent.points import Points
from marvin_agent.agent.prompt import system_prompt
from marvin_agent.agent.queue import Delivery, Inbox, Prompt
from marvin_agent.agent.request import Caller
from marvin_agent.agent.setup import Setup
from marvin_agent.agent.stopper import Stopper
from marvin_agent.agent.usage import add
from marvin_agent.agent.watcher import HookNews
from marvin_agent.errors import Aborted, HookError, Refused, SessionError
from marvin_agent.hooks import events as h
from marvin_agent.hooks.clock import Limits as HookLimits
from marvin_agent.hooks.drained import LIMIT
from marvin_agent.hooks.hosts.settings import HostSettings
from marvin_agent.hooks.payload import Mode
from marvin_agent.hooks.system import Choice, HookSystem
from marvin_agent.hooks.trace import Trace
from marvin_agent.llm.values import Model, ThinkingLevel, ToolSpec
from marvin_agent.messages import Message, Usage
from marvin_agent.session.last import last_thinking
from marvin_agent.session.layout import files_directory
from marvin_agent.session.store import Session
from marvin_agent.tools.files import SeenFiles

PATIENCE = 2.0
"""Seconds that each part of the end may take when somebody wants the program to end."""


class Engine:
    """One conversation at a time. Made on the loop that it runs on; `start` before the first prompt."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.loop = asyncio.get_running_loop()
        self.model: Model = setup.cycle[0]
        self.thinking: ThinkingLevel = setup.thinking_of(0)
        self.active: frozenset[str] | None = None
        """Names of the tools that the model may use; None is all."""
        self.outlet = Outlet()
        self.inbox = Inbox(self._queue_changed)
        self.caps = Caps()
        self.side = HookSide(self)
        news = HookNews(self.outlet, self.loop)
        self.tally = news.tally
        limits = HookLimits(setup.hook_timeout, setup.gate_timeout, person=setup.interface.has_person)
        self.hooks = HookSystem(
            self.side,
            news,
            limits,
            Choice(setup.required_hooks, setup.disabled_hooks),
            HostSettings(
                isolate=setup.hook_isolate,
                env=setup.hook_env,
                cache_dir=setup.cache_dir,
                secret_names=setup.secret_names,
                setup_timeout=setup.hook_timeout,
            ),
        )
        news.on_lost = self.hooks.lost_loop
        self.points = Points(self.hooks.dispatcher, self)
        news.points = self.points
        self._trace = Trace(setup.trace_file, self._decisions_dir, lambda text: self.side.post(self._notice, text))
        news.keep = self._trace.write
        self.caller = self.another_caller()
        self.invoker = Invoker(setup.tools, self.points, self.outlet, self)
        compactor = Compactor(self.another_caller(), self.points)
        self.conversation = Conversation(setup, self.points, self.outlet, compactor, lambda: self._run is not None)
        self.errands = Errands(self.outlet, self.side.change)
        self.spent: Usage | None = None
        """What all model calls of this engine have used, those of hooks and compactions and failed attempts too."""
        self.last: Summary | None = None
        """What came of the latest run."""
        self._run: Run | None = None
        self._between = Stopper()
        """Interrupts what is not part of a run: the events around it, a compaction."""
        self._work: asyncio.Task[None] | None = None
        self._prompts: list[Prompt] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self._noticed: set[str] = set()
        self._thinking_chosen = setup.thinking_chosen
        self._level_kept: tuple[str, str] | None = None
        """The session that knows its thinking level, and the level."""

    @property
    def session(self) -> Session:
        return self.conversation.session

    @property
    def session_id(self) -> str:
        return self.conversation.session.id

    @property
    def mode(self) -> Mode:
        return self.setup.mode

    @property
    def cwd(self) -> str:
        return self.setup.cwd

    @property
    def files(self) -> SeenFiles:
        return self.conversation.files

    @property
    def scratch(self) -> str:
        return self.conversation.scratch

    def _decisions_dir(self) -> str | None:
        """Where the decisions of hooks are kept; None when nothing is."""
        path = self.session.path
        return files_directory(path) if path and self.session.entries else None

    def is_active(self, tool: str) -> bool:
        return self.active is None or tool in self.active

    def another_caller(self) -> Caller:
        """Calls models beside the run: for compaction and hooks."""
        pin = self.hooks.dispatcher.pin
        return Caller(self.setup.models, self.points, self.outlet, self.setup.retry, pin, self._clamped, self._spend)

    def _spend(self, usage: Usage | None) -> None:
        self.spent = add(self.spent, usage)
        if run := self._run:
            run.summary.usage = add(run.summary.usage, usage)

    def check_cost(self) -> None:
        """Raise LimitReached when the run that is under way has cost what the user allows."""
        if self._run:
            check_cost(self.setup.limits, self._run.summary.usage)

    # Life.

    def begin_with(self, cycle: tuple[Model, ...]) -> None:
        """Take other models than those of the setup, before the start: what hooks have brought."""
        self.setup = msgspec.structs.replace(self.setup, cycle=cycle)
        self.model = cycle[0]

    async def start(self) -> None:
        """Everything is wired: tell the hooks, and say which session this is."""
        await self.points.fire(h.AppStart, cwd=self.setup.cwd, config_dir=self.setup.config_dir)
        await self.conversation.begin()

    async def close(self, reason: str = "quit") -> None:
        """Abort what runs, tell the hooks, close the files. The engine cannot be used afterwards."""
        self.abort()
        while not self.is_idle:
            try:
                async with asyncio.timeout(PATIENCE):
                    await self.wait_until_idle()
            except TimeoutError:
                self.abort()  # ends the wait for whatever tidies up, too
        await self.errands.finish()
        await self._drain(PATIENCE if reason == "signal" else LIMIT)
        await self.points.together(h.SessionShutdown, reason=reason)
        self.hooks.close()
        self._trace.close(self.session_id)
        self.session.close()
        await self.setup.models.close()
        await asyncio.sleep(0)  # what the hook loop posted last is heard
        self.outlet.close()

    # Prompts.

    def submit(self, prompt: Prompt, delivery: Delivery = "follow_up") -> None:
        """Start a run, or queue the prompt when one is under way."""
        if self.is_idle:
            self._begin(prompt)
        else:
            self.inbox.put(prompt, delivery)

    def abort(self) -> tuple[Prompt, ...]:
        """Interrupt what runs; gives back what waited in the queue."""
        if self._run:
            self._run.stopper.abort()
        self._between.abort()
        waiting = (*self._prompts, *self.inbox.empty())
        self._prompts.clear()
        for prompt in waiting:
            self._keep(prompt)  # it was said, if only nobody answers it now
        return tuple(prompt for prompt in waiting if not prompt.message)

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

    def _begin(self, *prompts: Prompt) -> None:
        self._prompts += prompts
        self._idle.clear()
        self._work = asyncio.ensure_future(self._work_off())

    async def _work_off(self) -> None:
        try:
            while True:
                ran = False
                while self._prompts or self.inbox:
                    prompt = self._prompts.pop(0) if self._prompts else self.inbox.next()
                    if self._keep(prompt) and self._allowed(prompt):
                        ran = True
                        await self._run_one(prompt)
                        await self.errands.do_scheduled()
                if not ran:
                    break
                await self.unless_aborted(self._drain())
                # When a handler sends something, it was not the end. What is refused is no reason to say it again.
                await self.unless_aborted(self.points.fire(h.AgentSettled))
            await self.errands.do_scheduled()
        finally:
            self._run = None
            self._idle.set()
            self.outlet.emit(out.AgentSettled())

    async def unless_aborted(self, coroutine: Coroutine[Any, Any, object]) -> None:
        """Do something beside the runs that `abort` ends."""
        try:
            await self._between.last(coroutine)
        except Aborted:
            return

    def _keep(self, prompt: Prompt) -> bool:
        """Store a hook's message, if the prompt is one; False when that failed, which is told."""
        if prompt.message:
            try:
                self.conversation.store_and_show(prompt.message, (prompt.hook or "",))
            except SessionError as error:
                self.outlet.emit(out.Notice(level="error", text=error.show()))
                return False
        return True

    def _allowed(self, prompt: Prompt) -> bool:
        """Whether this prompt may start a run: a person's always, a hook's until it has been too often."""
        if prompt.hook is None:
            self.caps.new_prompt()
            return True
        try:
            self.caps.hook_call(prompt.hook)
        except Refused as refused:
            self._notice(refused.message)
            return False
        return True

    async def _run_one(self, prompt: Prompt) -> None:
        self._run = run = Run(
            caller=self.caller,
            invoker=self.invoker,
            points=self.points,
            outlet=self.outlet,
            inbox=self.inbox,
            caps=self.caps,
            limits=self.setup.limits,
            setting=self._setting,
            store=self._store,
            fall_back=self._fall_back,
        )
        self.last = run.summary
        await (run.continue_without_prompt() if prompt.message else run.start(prompt))
        self._run = None

    def _store(self, message: Message, by: tuple[str, ...]) -> None:
        """Keep a message, and before it the thinking level, when somebody chose one and the session does not know."""
        known = (self.session.id, self.thinking)
        if self._thinking_chosen and known != self._level_kept:
            if last_thinking(self.session) != self.thinking:
                self.session.append_thinking_change(self.thinking)
            self._level_kept = known
        self.conversation.store(message, by)

    def _setting(self, system: str | None) -> Setting:
        tools = tuple(
            ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters)
            for tool in self.setup.tools
            if self.is_active(tool.name)
        )
        if system is None:
            system = system_prompt(
                cwd=self.setup.cwd,
                tools=tuple(tool.name for tool in tools),
                replacement=self.setup.system_prompt,
                appended=self.setup.append_system_prompt,
            )
        return Setting(self.model, self.thinking, system, tools, self.session.messages())

    async def _drain(self, limit: float = LIMIT) -> None:
        for hook in await self.points.drain(limit):
            self._notice(f"{hook} has been busy for {limit:g} seconds; going on without it")

    # The model and the session.

    async def set_model(self, model: Model, thinking: ThinkingLevel | None = None, *, source: str) -> None:
        """Go on with another model from the next turn on."""
        before, self.model = self.model, model
        await self.set_thinking(thinking or self.thinking)
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
            self._thinking_chosen = True
            self.session.append_thinking_change(level)
            await self.points.fire(h.ThinkingChange, level=level, previous_level=before)
            self._model_changed()

    async def compact(self, instructions: str | None = None, reason: h.CompactReason = "manual") -> Compacted:
        """Sum the conversation up. Raises Refused, Aborted or ProviderError; the session is then as it was."""
        return await self._between.last(self.conversation.compact(self.model, self.thinking, instructions, reason))

    async def reload(self) -> None:
        """Let the hooks go and load those that are there now. Raises SessionError while a run is under way."""
        if self._run:
            raise SessionError("The agent is working; wait for it or abort it before loading the hooks again.")
        if self.setup.sources is None:
            raise HookError("this engine was not told where its hooks are")
        sources = await self.setup.sources()
        await self._drain()
        await self.points.together(h.SessionShutdown, reason="reload")
        await self.hooks.reload(sources)
        self.hooks.require()
        await self.points.fire(h.SessionStart, reason="reload")

    async def _fall_back(self) -> bool:
        """Go on with the next model of the list, when the user asked for that and there is one."""
        refs = [model.ref for model in self.setup.cycle]
        at = refs.index(self.model.ref) + 1 if self.model.ref in refs else len(refs)
        if not self.setup.retry.fallback or at >= len(refs):
            return False
        self._notice(f"{self.model.ref} stays down; going on with {refs[at]}")
        await self.set_model(self.setup.cycle[at], self.setup.thinking_of(at), source="cycle")
        return True

    # News.

    def _model_changed(self) -> None:
        model = self.model
        self.outlet.emit(out.ModelChanged(provider=model.provider, model_id=model.id, thinking_level=self.thinking))

    def _queue_changed(self, inbox: Inbox) -> None:
        steering = tuple(prompt.shown for prompt in inbox.steering)
        self.outlet.emit(
            out.QueueChanged(steering=steering, follow_up=tuple(prompt.shown for prompt in inbox.follow_up))
        )

    def _notice(self, text: str) -> None:
        self.outlet.emit(out.Notice(level="warning", text=text))

    def _clamped(self, text: str) -> None:
        # Whoever left the level at its default did not ask for what the model lacks.
        if self._thinking_chosen and text not in self._noticed:
            self._noticed.add(text)
            self._notice(text)
