"""All of the hooks of one program: loading them, and the dispatcher that reaches them."""

import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from marvin_agent.errors import HookError, RequiredHookError
from marvin_agent.hooks.api import Bus, HookAPI
from marvin_agent.hooks.context import Context
from marvin_agent.hooks.dispatch import Dispatcher, Limits, Watcher, describe
from marvin_agent.hooks.engine import Engine
from marvin_agent.hooks.faces import Blocking
from marvin_agent.hooks.load import read_module, run_setup, setup_of, stem
from marvin_agent.hooks.loop import HookLoop, owner
from marvin_agent.hooks.outcome import Failure
from marvin_agent.hooks.registry import Hook, Registry, Scope
from marvin_agent.hooks.running import Running

Setup = Callable[[HookAPI], Any]


class HookSystem:
    """Made once per program, before the engine starts."""

    def __init__(self, engine: Engine, watcher: Watcher, limits: Limits) -> None:
        self._engine = engine
        self._watcher = watcher
        self._limits = limits
        self.registry = Registry()
        self.loop = HookLoop(self._stray)
        self.bus = Bus(self.loop)
        self.dispatcher = Dispatcher(self.registry, self.loop, limits, watcher, self._context)
        self.problems: list[Failure] = []
        """Hooks that did not load."""
        self._loaded: set[str] = set()

    async def load_files(self, paths: Iterable[str], scope: Scope, required: Sequence[str] = ()) -> None:
        """Load hook files in order. A file that was reached before is not loaded again."""
        for path in paths:
            real = os.path.realpath(path)
            if real not in self._loaded:
                self._loaded.add(real)
                await self._load(self._new_hook(scope, stem(path), path, required), None)

    async def load_setup(self, setup: Setup, name: str, scope: Scope = "builtin") -> None:
        """Load a hook that is part of this program."""
        code = getattr(setup, "__code__", None)
        path = code.co_filename if code else name
        await self._load(self._new_hook(scope, name, path, ()), setup)

    def _new_hook(self, scope: Scope, name: str, path: str, required: Sequence[str]) -> Hook:
        taken = {hook.id for hook in self.registry.hooks}
        made = f"{scope}:{name}"
        number = 2
        while made in taken:
            made = f"{scope}:{name}-{number}"
            number += 1
        return Hook(made, scope, path, required=made in required)

    async def _load(self, hook: Hook, setup: Setup | None) -> None:
        self.registry.add_hook(hook)
        api = HookAPI(hook, self.registry, self._engine, self.loop, self.bus)
        try:
            await self.loop.call(lambda: self._run_setup(hook, api, setup))
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, GeneratorExit)) or not isinstance(error, Exception | SystemExit):
                raise
            self._not_loaded(hook, error)

    async def _run_setup(self, hook: Hook, api: HookAPI, setup: Setup | None) -> None:
        token = owner.set(hook)
        try:
            function = setup or setup_of(read_module(hook.path, hook.id), hook.path)
            await run_setup(function, api, hook)
        finally:
            owner.reset(token)

    def _not_loaded(self, hook: Hook, error: BaseException) -> None:
        hook.off = "it did not load"
        self.registry.remove_hook(hook)
        text = "".join(traceback.format_exception(error))
        failure = Failure(hook.id, "setup", _line_in(error, hook.path), describe_load(error), text)
        self.problems.append(failure)
        if hook.required:
            raise RequiredHookError(f"the required hook {hook.id} did not load: {failure.error}") from error
        self._watcher.failed(failure)

    def _context(self, running: Running) -> object:
        context = Context(self._engine, running, running.hook.id)
        return context if running.handler.is_async else Blocking(context, self.loop.loop)

    def _stray(self, error: BaseException, hook: Hook | None) -> None:
        hook = hook or self._blame(error)
        self._watcher.failed(
            Failure(
                hook=hook.id if hook else "unknown hook",
                event="background",
                place=_line_in(error, hook.path) if hook else "",
                error=describe(error),
                traceback="".join(traceback.format_exception(error)),
            )
        )

    def _blame(self, error: BaseException) -> Hook | None:
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        return next((hook for hook in self.registry.hooks if hook.path in files), None)

    def close(self) -> None:
        self.loop.stop()


def describe_load(error: BaseException) -> str:
    if isinstance(error, HookError):
        return error.message
    if isinstance(error, SyntaxError):
        return f"SyntaxError in line {error.lineno}: {error.msg}"
    return describe(error)


def _line_in(error: BaseException, path: str) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{os.path.basename(error.filename)}:{error.lineno}"
    found = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == path:
            found = f"{os.path.basename(path)}:{frame.lineno}"
    return found
