"""`marvin`: what a hook's `setup` receives. Plain calls, safe from any thread."""

import asyncio
import inspect
import logging
import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar, overload

from marvin_agent.errors import HookError
from marvin_agent.hooks.bus import Bus
from marvin_agent.hooks.engine import Engine
from marvin_agent.hooks.faces import Answer
from marvin_agent.hooks.loop import HookLoop
from marvin_agent.hooks.payload import Event
from marvin_agent.hooks.registry import Hook, OnError, Registry

E = TypeVar("E", bound=Event)
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


class HookAPI:
    """The hook's way into marvin. Raises once its hook is unloaded."""

    def __init__(self, hook: Hook, registry: Registry, engine: Engine, loop: HookLoop, bus: Bus) -> None:
        self._hook = hook
        self._registry = registry
        self._engine_behind = engine
        self._loop = loop
        self._bus = bus
        self.log = logging.getLogger(f"marvin.hooks.{hook.id}")

    @property
    def id(self) -> str:
        """`scope:stem`, the hook's name in configuration, traces and messages."""
        return self._hook.id

    @property
    def settings(self) -> dict[str, Any]:
        """`hooks.settings["<id>"]` of config.json."""
        return self._engine.setting(self.id)

    @property
    def events(self) -> Bus:
        """A bus between hooks: `emit(channel, data)`, `on(channel, handler)`."""
        self._check_loaded()
        return self._bus

    @property
    def _engine(self) -> Engine:
        self._check_loaded()
        return self._engine_behind

    def _check_loaded(self) -> None:
        if self._hook.off:
            raise HookError(f"{self.id} is not loaded any more ({self._hook.off}); this marvin object is stale")

    @overload
    def on(
        self,
        event: type[E],
        handler: None = None,
        *,
        priority: int = 0,
        timeout: float | None = None,
        on_error: OnError | None = None,
        tools: Sequence[str] | None = None,
        final: bool = False,
        purposes: Sequence[str] | None = None,
    ) -> Callable[[Callable[[E, Any], R]], Callable[[E, Any], R]]: ...

    @overload
    def on(
        self,
        event: str,
        handler: None = None,
        *,
        priority: int = 0,
        timeout: float | None = None,
        on_error: OnError | None = None,
        tools: Sequence[str] | None = None,
        final: bool = False,
        purposes: Sequence[str] | None = None,
    ) -> Callable[[F], F]: ...

    @overload
    def on(
        self,
        event: type[Event] | str,
        handler: Callable[..., Any],
        *,
        priority: int = 0,
        timeout: float | None = None,
        on_error: OnError | None = None,
        tools: Sequence[str] | None = None,
        final: bool = False,
        purposes: Sequence[str] | None = None,
    ) -> Callable[[], None]: ...

    def on(
        self,
        event: Any,
        handler: Callable[..., Any] | None = None,
        *,
        priority: int = 0,
        timeout: float | None = None,
        on_error: OnError | None = None,
        tools: Sequence[str] | None = None,
        final: bool = False,
        purposes: Sequence[str] | None = None,
    ) -> Any:
        """Listen to an event, as a decorator or as a call that gives back the function to stop listening."""

        def subscribe(function: Callable[..., Any]) -> Callable[[], None]:
            self._check_loaded()
            return self._registry.subscribe(
                self._hook,
                event,
                function,
                priority=priority,
                timeout=timeout,
                on_error=on_error,
                tools=_names(tools),
                final=final,
                purposes=_names(purposes),
            )

        if handler is not None:
            return subscribe(handler)

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            subscribe(function)
            return function

        return decorate

    def send(self, text: str, attachments: Sequence[Any] | None = None) -> None:
        """A user message: starts a run when the agent is idle, else it follows up."""
        given = attachments or ()
        # A lone path or mapping is told to be no list; as a tuple it would fall apart.
        self._engine.submit(text, given if isinstance(given, str | bytes | Mapping) else tuple(given), None, self.id)

    def send_user_message(self, text: str, deliver_as: str | None = None) -> None:
        """A user message, given to the agent at the next step (`steer`) or when it would stop (`follow_up`)."""
        if deliver_as not in (None, "steer", "follow_up"):
            raise HookError(f"deliver_as is 'steer' or 'follow_up', not {deliver_as!r}")
        self._engine.submit(text, (), deliver_as, self.id)

    def steer(self, text: str) -> None:
        """A user message for the next step of a run."""
        self.send_user_message(text, "steer")

    def follow_up(self, text: str) -> None:
        """A user message for when the agent would stop."""
        self.send_user_message(text, "follow_up")

    def is_idle(self) -> bool:
        """Whether no run is under way."""
        return self._engine.is_idle()

    def send_message(
        self, message: Mapping[str, Any], trigger_turn: bool = False, deliver_as: str | None = None
    ) -> None:
        """Put a message of the hook's own into the conversation; the model gets it as a user message."""
        self._engine.submit_message(message, trigger_turn, deliver_as, self.id)

    def append_entry(self, custom_type: str, data: Any = None) -> None:
        """Store data with the session, not for the model. Raises with --no-session."""
        self._engine.append_entry(custom_type, data)

    def register_message_renderer(self, custom_type: str, renderer: Any) -> None:
        """How messages of a type look: `renderer(message, expanded, theme)`. The first for a type wins."""
        self._engine.register_renderer(custom_type, renderer, self.id)

    def command(self, name: str, description: str = "", complete: Any = None) -> Callable[[F], F]:
        """A slash command; the decorated function gets `(args, ctx)`."""

        def decorate(function: F) -> F:
            self.register_command(name, description=description, handler=function, complete=complete)
            return function

        return decorate

    def register_command(self, name: str, *, handler: Any, description: str = "", complete: Any = None) -> None:
        """A slash command; `handler(args, ctx)`, and `complete(prefix)` gives a list of texts."""
        self._engine.register_command(name, description, handler, complete, self.id)

    @overload
    def tool(self, function: F) -> F: ...

    @overload
    def tool(self, *, name: str | None = None, replaces: str | None = None, acts: bool = True) -> Callable[[F], F]: ...

    def tool(
        self, function: Any = None, *, name: str | None = None, replaces: str | None = None, acts: bool = True
    ) -> Any:
        """Turn a typed function into a tool: annotations and docstring are its schema.

        `acts=False` says that it only looks: then nobody is asked before it runs.
        """

        def decorate(made: Any) -> Any:
            self._engine.register_tool({"function": made, "name": name, "acts": acts}, replaces, self.id)
            return made

        return decorate(function) if function is not None else decorate

    def register_tool(self, tool: Mapping[str, Any], *, replaces: str | None = None) -> None:
        """A tool given as name, description, schema and `execute(args, ctx)`."""
        self._engine.register_tool(tool, replaces, self.id)

    def register_shortcut(self, key: str, handler: Any) -> None:
        """A key of the full screen; `handler(ctx)`."""
        self._engine.register_shortcut(key, handler, self.id)

    def register_flag(self, name: str, type: type = bool, default: Any = None) -> None:  # noqa: A002
        """An option of the command line, `--name`: of type bool, str, int or float."""
        self._engine.register_flag(name, type, default, self.id)

    def flag(self, name: str) -> Any:
        """The value of a flag that this hook registered."""
        return self._engine.flag(name)

    def register_provider(self, name: str, **settings: Any) -> None:
        """A provider: `base_url`, `api` (openai-completions unless given), `api_key`, `headers`, `models`."""
        self._engine.register_provider(name, settings, self.id)

    def set_model(self, model: Any) -> None:
        """Go on with another model from the next turn on: `provider/id`, or `{provider, id}`."""
        self._engine.set_model(model, self.id)

    @property
    def thinking_level(self) -> str:
        """off, minimal, low, medium, high or xhigh. Can be set."""
        return self._engine.thinking_level

    @thinking_level.setter
    def thinking_level(self, level: str) -> None:
        self._engine.set_thinking_level(level)

    @property
    def active_tools(self) -> tuple[str, ...]:
        """The names of the tools that the model has. Can be set."""
        return self._engine.active_tools

    @active_tools.setter
    def active_tools(self, names: Sequence[str]) -> None:
        self._engine.set_active_tools(tuple(names))

    def background(self, work: Coroutine[Any, Any, Any] | Answer[Any]) -> None:
        """Run a coroutine on the hook loop until it ends or the hook is unloaded."""
        coroutine = work.coroutine if isinstance(work, Answer) else work
        if not inspect.iscoroutine(coroutine):
            raise HookError(f"background takes a coroutine, as an async function gives one, not {coroutine!r}")
        try:
            self._check_loaded()
        except HookError:
            coroutine.close()
            raise
        self._loop.post(self._loop.start, coroutine, self._hook)

    def every(self, seconds: float, function: Callable[[], Any]) -> None:
        """Call a function again and again; an error in it is reported and the next turn comes all the same."""
        if not (0 < seconds < math.inf and callable(function)):
            raise HookError(f"every takes seconds, more than 0, and a function, not {seconds!r} and {function!r}")
        self.background(self._repeat(seconds, function))

    async def _repeat(self, seconds: float, function: Callable[[], Any]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                answer = function()
                if inspect.isawaitable(answer):
                    await answer
            except Exception as error:
                self._loop.complain(error, self._hook)

    def exec(
        self,
        command: str,
        args: Sequence[str] = (),
        timeout: float | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Any:
        """Run a program without a shell, as `ctx.exec`: awaited, but in a plain function in a thread waited for."""
        answer = Answer(self._engine.execute(command, args, timeout, cwd, env or {}, self.id), "marvin.exec")
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run_coroutine_threadsafe(answer.coroutine, self._loop.loop).result()
        return answer


def _names(given: Sequence[str] | None) -> tuple[str, ...] | None:
    # A text is a sequence too, of letters: a gate for the tools b, a, s and h would never be asked.
    return (given,) if isinstance(given, str) else tuple(given) if given is not None else None
