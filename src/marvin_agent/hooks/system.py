"""All of the hooks of one program: loading them, reaching them, loading them again."""

import asyncio
import importlib
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from marvin_agent.errors import HookError, RequiredHookError
from marvin_agent.hooks.account import describe
from marvin_agent.hooks.api import HookAPI
from marvin_agent.hooks.attendance import LoopLost
from marvin_agent.hooks.bus import Bus
from marvin_agent.hooks.clock import Limits
from marvin_agent.hooks.context import Context
from marvin_agent.hooks.dispatch import Dispatcher, Watcher
from marvin_agent.hooks.engine import Engine
from marvin_agent.hooks.hosts.settings import HostSettings
from marvin_agent.hooks.load import describe_load, line_in
from marvin_agent.hooks.loop import HookLoop, owner
from marvin_agent.hooks.modules import forget, run_setup, run_source, setup_of
from marvin_agent.hooks.outcome import Failure
from marvin_agent.hooks.raised import traceback_of
from marvin_agent.hooks.registry import Hook, Registry, Scope
from marvin_agent.hooks.running import Running
from marvin_agent.hooks.sources import Source, each_once, free_id
from marvin_agent.hooks.threads import ThreadErrors

if TYPE_CHECKING:
    from marvin_agent.hooks.hosts.python import HostedHook

Setup = Callable[[HookAPI], Any]
SWITCHED_OFF = "switched off for this session"


class Item(NamedTuple):
    """A hook to load: a source, or a setup function that is part of this program."""

    source: Source
    setup: Setup | None = None
    name: str = ""


class Choice(NamedTuple):
    """What the configuration says of hooks by id."""

    required: Sequence[str] = ()
    disabled: Sequence[str] = ()


class HookSystem:
    """Made once per program, before the engine starts."""

    def __init__(
        self,
        engine: Engine,
        watcher: Watcher,
        limits: Limits,
        choice: Choice | None = None,
        hosts: HostSettings | None = None,
    ) -> None:
        self._engine = engine
        self._watcher = watcher
        self._hosts = hosts or HostSettings()
        self._hosted: dict[str, HostedHook] = {}
        self._choice = choice or Choice()
        self.registry = Registry()
        self.api: type[HookAPI] = HookAPI
        """What `setup` receives; a check takes one that goes on after a mistake."""
        self.loop = HookLoop(self._stray)
        self._threads = ThreadErrors(self._raised_in_thread)
        self.bus = Bus(self.loop)
        self.dispatcher = Dispatcher(self.registry, self.loop, limits, watcher, self._context)
        self.problems: list[Failure] = []
        """Hooks that did not load."""
        self.off: dict[str, str] = {}
        """Hooks that were there and are not asked any more, by id, with why."""
        self._items: list[tuple[Item, str]] = []
        self._modules: dict[str, str] = {}
        self._ids: set[str] = set()
        self._reloading: asyncio.Future[None] | None = None

    # Loading.

    async def load_setup(self, setup: Setup, name: str, scope: Scope = "builtin") -> None:
        """Load a hook that is part of this program."""
        code = getattr(setup, "__code__", None)
        source = Source(code.co_filename if code else name, scope)
        await self._load(Item(source, setup, name), self._new_id(scope, name))

    async def load_files(self, paths: Iterable[str], scope: Scope) -> None:
        """Load hook files, in order."""
        await self.load_sources([Source(path, scope) for path in paths])

    async def load_sources(self, sources: Iterable[Source]) -> None:
        """Load hooks in order, each file once: what is named more explicitly counts."""
        for source in each_once(sources):
            await self._load(Item(source), self._new_id(source.scope, source.stem))

    def require(self) -> None:
        """Raise RequiredHookError unless every required hook is there."""
        there = {hook.id for hook in self.registry.hooks}
        for name in self._choice.required:
            if name not in there:
                failed = next((problem for problem in self.problems if problem.hook == name), None)
                why = f"did not load: {failed.error}" if failed else "is not there, or not trusted"
                raise RequiredHookError(
                    f"the required hook {name} {why}",
                    hint="Mend or trust it (`marvin hooks list` shows the hooks), or take it out of hooks.required.",
                )

    def _new_id(self, scope: Scope, name: str) -> str:
        made = free_id(scope, name, self._ids)
        self._ids.add(made)
        return made

    async def _load(self, item: Item, hook_id: str) -> None:
        if hook_id in self._choice.disabled:
            return
        self._items.append((item, hook_id))
        if hook_id not in self.off:
            await self._load_now(item, hook_id)

    async def _load_now(self, item: Item, hook_id: str) -> None:
        source = item.source
        hook = Hook(hook_id, source.scope, source.path, required=hook_id in self._choice.required)
        self.registry.add_hook(hook)
        try:
            if item.setup is None and (host := self._host_for(hook, source)):
                # Installing what it needs is not its setup: no deadline.
                await self.loop.call(host.prepare)
                await self.dispatcher.set_up(host.start, hook)
            else:
                api = self.api(hook, self.registry, self._engine, self.loop, self.bus)
                await self.dispatcher.set_up(lambda: self._run_setup(hook, api, item), hook)
        except LoopLost:
            await self._settled()  # the others are loaded again on the new loop, and this one with them
        except Exception as error:
            await self._settled()
            await self._not_loaded(hook, error)

    def _host_for(self, hook: Hook, source: Source) -> "HostedHook | None":
        """The process of a hook that gets one of its own."""
        data = source.read(source.path)
        if not self._hosts.may_host(hook.id, data):
            return None
        # Most runs have no such hook and load nothing of this.
        script = importlib.import_module("marvin_agent.hooks.hosts.script")
        block = script.read_block(data or b"", source.path)
        if block is None and hook.id not in self._hosts.isolate:
            return None
        made: HostedHook = importlib.import_module("marvin_agent.hooks.hosts.python").HostedHook(
            hook,
            source,
            block or script.Block(),
            registry=self.registry,
            engine=self._engine,
            loop=self.loop,
            bus=self.bus,
            settings=self._hosts,
            failed=self._watcher.failed,
        )
        self._hosted[hook.id] = made
        return made

    async def _run_setup(self, hook: Hook, api: HookAPI, item: Item) -> None:
        token = owner.set(hook)
        try:
            function = item.setup
            if function is None:
                module = run_source(item.source)
                self._modules[hook.id] = module.__name__
                function = setup_of(module, hook.path)
            await run_setup(function, api)
        finally:
            owner.reset(token)

    async def _not_loaded(self, hook: Hook, error: BaseException) -> None:
        await self._unload(hook, "it did not load")
        failure = Failure(hook.id, "setup", line_in(error, hook.path), describe_load(error), traceback_of(error))
        self.problems.append(failure)
        self._watcher.failed(failure)
        if pins := self.registry.pins_of(hook.id):
            # It chose where prompts go: while it is not there, they go nowhere.
            stub = Hook(hook.id, hook.scope, hook.path)
            self.registry.add_hook(stub)
            for event in pins:
                self._refuse(stub, event, f"it did not load ({failure.error}) and cannot be asked")

    def _refuse(self, hook: Hook, event: str, why: str, **filters: Any) -> None:
        """A handler in place of one that cannot be asked any more."""

        async def refuse(event: object, ctx: object) -> None:
            raise HookError(why)

        self.registry.subscribe(hook, event, refuse, on_error="closed", **filters)

    async def _unload(self, hook: Hook, why: str) -> None:
        hook.off = why
        if hook in self.registry.hooks:
            self.registry.remove_hook(hook)
        self._engine.forget(hook.id)
        self.bus.forget(hook)
        if name := self._modules.pop(hook.id, None):
            forget(name)
        host = self._hosted.pop(hook.id, None)
        try:
            if host:
                await self.dispatcher.attended(host.end, "its end")
            await self.dispatcher.attended(lambda: self.loop.cancel_tasks_of(hook), "its end")
        except HookError:
            await self._settled()

    # On and off.

    async def switch(self, hook_id: str, *, on: bool) -> None:
        """Take a hook out for this session, with all that it registered and started, or load it again.

        Raises HookError when it is required, or was not there.
        """
        if on:
            item = next((item for item, name in self._items if name == hook_id), None)
            if item is None or hook_id not in self.off:
                raise HookError(f"{hook_id} cannot be switched on; /reload loads what is there")
            del self.off[hook_id]
            self.problems = [problem for problem in self.problems if problem.hook != hook_id]
            await self._load_now(item, hook_id)
            self.registry.order([name for _, name in self._items])
            return
        hook = next((hook for hook in self.registry.hooks if hook.id == hook_id), None)
        if hook is None:
            raise HookError(f"{hook_id} is not loaded")
        if hook.required:
            raise HookError(f"{hook_id} is in hooks.required and stays on")
        self.off[hook_id] = SWITCHED_OFF
        await self._unload(hook, SWITCHED_OFF)

    # Loading again.

    async def reload(self, sources: Iterable[Source]) -> None:
        """Take every hook that is not builtin out, cancel what it started, and load what is there now."""
        while leaving := [hook for hook in self.registry.hooks if hook.scope not in ("builtin", "library")]:
            await self._unload(leaving[0], "it was reloaded")
        self._items = [(item, name) for item, name in self._items if item.source.scope in ("builtin", "library")]
        self._ids = {name for _, name in self._items}
        self.off = {name: why for name, why in self.off.items() if why == SWITCHED_OFF}
        self.problems.clear()
        await self.load_sources(sources)

    def lost_loop(self, culprit: Hook | None) -> None:
        """The loop is blocked for good: go on with a new one. Events wait until the hooks are loaded on it."""
        self._reloading = asyncio.ensure_future(self._replace_loop(culprit))
        self.dispatcher.hold(self._reloading)

    async def _settled(self) -> None:
        """Wait until the hooks are loaded on the new loop, if one was lost."""
        if self._reloading:
            await asyncio.wait({self._reloading})

    async def _replace_loop(self, culprit: Hook | None) -> None:
        lost, items = self.loop, self._items
        for hook in list(self.registry.hooks):
            self.registry.remove_hook(hook)
            self._engine.forget(hook.id)
            if hook is not culprit:
                hook.off = "its loop was lost"
        for host in self._hosted.values():
            host.close()
        self._hosted.clear()
        lost.abandon()
        self.loop = HookLoop(self._stray)
        self.bus = Bus(self.loop)
        self.dispatcher.move_to(self.loop)
        self._items = []
        for item, hook_id in items:
            if culprit is None or hook_id != culprit.id:
                await self._load(item, hook_id)
        if culprit:
            self._leave_stubs(culprit)

    def _leave_stubs(self, culprit: Hook) -> None:
        """What the culprit could refuse stays refused: it cannot be asked any more."""
        closed = [handler for handler in culprit.handlers if handler.closed]
        if not closed:
            culprit.off = self.off[culprit.id] = "it blocked the hook loop; /reload brings it back"
            return
        self.registry.add_hook(culprit)
        culprit.handlers = []
        why = "it blocked the hook loop and cannot be asked; /reload brings it back"
        for handler in closed:
            self._refuse(culprit, handler.spec.name, why, tools=handler.tools, purposes=handler.purposes)

    # News.

    def _context(self, running: Running) -> Context:
        return Context(self._engine, running, running.hook.id)

    def _stray(self, error: BaseException, hook: Hook | None) -> None:
        self._report(error, "background", hook or self.culprit(error))

    def report(self, error: BaseException, event: str, key: str = "") -> None:
        """Tell of an error in what a hook brought to the screen; `key` is what it is kept under, the id first."""
        owners = [hook for hook in self.registry.hooks if key.startswith(f"{hook.id}:")]
        self._report(error, event, max(owners, key=lambda hook: len(hook.id), default=None) or self.culprit(error))

    def _report(self, error: BaseException, event: str, hook: Hook | None) -> None:
        self._watcher.failed(
            Failure(
                hook=hook.id if hook else "unknown hook",
                event=event,
                place=line_in(error, hook.path) if hook else "",
                error=describe(error),
                traceback="".join(traceback.format_exception(error)),
            )
        )

    def _raised_in_thread(self, error: BaseException) -> bool:
        hook = self.culprit(error)
        if hook:
            self._stray(error, hook)
        return hook is not None

    def culprit(self, error: BaseException) -> Hook | None:
        """The hook whose file is in an error's traceback."""
        files = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
        return next((hook for hook in self.registry.hooks if any(hook.holds(file) for file in files)), None)

    def close(self) -> None:
        """End the hook loop and the hooks' processes, and take the hooks' modules out."""
        for host in self._hosted.values():
            self.loop.post(host.hang_up)
        self.loop.stop()
        self._threads.close()
        for host in self._hosted.values():
            host.close()
        for name in self._modules.values():
            forget(name)
