"""The engine as hooks see it: called from the hook loop and from hooks' threads, acting on the engine's own loop."""

import asyncio
import re
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from marvin_agent.agent import events as out
from marvin_agent.agent.answers import Completion, Executed, ToolAnswer
from marvin_agent.agent.attachments import parts_of
from marvin_agent.agent.hookexec import run_for_hook
from marvin_agent.agent.hooktools import Command, HookTools
from marvin_agent.agent.loop import hook_message
from marvin_agent.agent.newsession import custom_entry, written_by
from marvin_agent.agent.queue import Prompt
from marvin_agent.agent.request import Ask
from marvin_agent.agent.usage import tokens
from marvin_agent.errors import HookError, Refused, SessionError
from marvin_agent.hooks import events as h
from marvin_agent.hooks.engine import Interface, ToolFacts, asking
from marvin_agent.hooks.payload import Mode
from marvin_agent.hooks.registry import Hook
from marvin_agent.llm.values import THINKING_LEVELS, Model
from marvin_agent.messages import HookMessage, user
from marvin_agent.session.read import SessionReader
from marvin_agent.tools.files import resolve

if TYPE_CHECKING:
    from marvin_agent.agent.engine import Engine

T = TypeVar("T")
_FLAG = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*")
NESTED_CALLS = 8
"""How deep hooks may call tools from within calls of one another."""
_depth: ContextVar[int] = ContextVar("marvin_nested_calls", default=0)


class Flag(NamedTuple):
    """A flag of a hook."""

    kind: type
    value: Any
    hook: str


class HookSide:
    """Implements `hooks.engine.Engine` for one engine."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self.tools = HookTools(engine.setup.tools, self, lambda: engine.hooks.dispatcher, self._hook)
        self.renderers: dict[str, tuple[Any, str]] = {}
        """Renderers of hook messages by type, with the hook that brought each."""
        self.shortcuts: dict[str, tuple[Any, str]] = {}
        self._flags: dict[str, Flag] = {}
        self._dialog = asyncio.Lock()

    @property
    def commands(self) -> dict[str, Command]:
        """The hooks' slash commands by name."""
        return self.tools.commands

    def _hook(self, hook_id: str) -> Hook | None:
        return next((hook for hook in self._engine.hooks.registry.hooks if hook.id == hook_id), None)

    # What can be read from any thread.

    @property
    def cwd(self) -> str:
        return self._engine.setup.cwd

    @property
    def config_dir(self) -> str:
        return self._engine.setup.config_dir

    @property
    def project_root(self) -> str:
        return self._engine.setup.project_root

    @property
    def mode(self) -> Mode:
        return self._engine.setup.mode

    @property
    def session_id(self) -> str:
        return self._engine.session.id

    @property
    def session_path(self) -> str | None:
        return self._engine.session.path

    @property
    def model(self) -> Any:
        return self._engine.model

    @property
    def thinking_level(self) -> str:
        return self._engine.thinking

    @property
    def active_tools(self) -> tuple[str, ...]:
        engine = self._engine
        return tuple(tool.name for tool in engine.setup.tools if engine.is_active(tool.name))

    @property
    def interface(self) -> Interface:
        return self._engine.setup.interface

    @property
    def sessions(self) -> SessionReader:
        # A reader, never the session itself: hooks write through `append_entry` and `send_message` alone.
        return SessionReader(lambda: self._engine.session, self._engine.setup.sessions_dir)

    def tool_facts(self, name: str) -> ToolFacts | None:
        tools = self._engine.setup.tools
        if name not in tools:
            return None
        tool = tools.get(name)
        return ToolFacts(tool.name, tool.description, tool.acts, tools.owner(name) or "builtin")

    def resolve_path(self, path: str) -> str:
        return resolve(path, self.cwd)

    def is_idle(self) -> bool:
        return self._engine.is_idle

    def aborted(self) -> bool:
        return self._engine.aborting

    def context_usage(self) -> dict[str, Any]:
        limit = self._engine.model.context_window
        used = self._engine.conversation.context_tokens()
        return {"tokens": used, "context_window": limit, "percent": 100 * used / limit if limit else None}

    def token_usage(self) -> Any:
        return tokens(self._engine.conversation.last_usage())

    def context_limit(self) -> int | None:
        return self._engine.model.context_window

    def setting(self, hook: str) -> dict[str, Any]:
        return dict(self._engine.setup.hook_settings.get(hook, {}))

    def flag(self, name: str) -> Any:
        if name not in self._flags:
            raise HookError(f"there is no flag {name!r}; register_flag makes one")
        return self._flags[name].value

    # What acts, on the engine's loop, and returns at once.

    def abort(self) -> None:
        self.post(self._engine.abort)

    def submit(self, text: str, attachments: Sequence[Any], deliver_as: str | None, hook: str) -> None:
        if not isinstance(text, str):
            raise HookError(f"a message is a text, not {type(text).__name__}")
        written, images = parts_of(text, attachments, self.cwd)
        if not written and not images:
            raise HookError("a message needs a text or an attachment")
        prompt = Prompt(written, images, f"hook:{hook}")
        self.post(self._engine.submit, prompt, "steer" if deliver_as == "steer" else "follow_up")

    def submit_message(self, message: Mapping[str, Any], trigger_turn: bool, deliver_as: str | None, hook: str) -> None:
        if deliver_as not in (None, "steer", "follow_up"):
            raise HookError(f"deliver_as is 'steer' or 'follow_up', not {deliver_as!r}")
        if not isinstance(message, Mapping):
            raise HookError(f"a message is {{custom_type, content, display, details}}, not {type(message).__name__}")
        made = hook_message(message)
        self.post(self._take_message, made, trigger_turn, deliver_as, hook)

    def _take_message(self, message: HookMessage, trigger_turn: bool, deliver_as: str | None, hook: str) -> None:
        engine = self._engine
        if trigger_turn or (deliver_as and not engine.is_idle):
            prompt = Prompt("", source=f"hook:{hook}", message=message)
            engine.submit(prompt, "follow_up" if deliver_as == "follow_up" else "steer")
        else:
            engine.conversation.store_and_show(message, (hook,))

    def append_entry(self, custom_type: str, data: Any) -> None:
        if self._engine.session.path is None:
            raise SessionError("append_entry: this run keeps no session (--no-session), so nothing can be stored")
        self.post(self._append_entry, *custom_entry(custom_type, data))

    def _append_entry(self, custom_type: str, data: Any) -> None:
        self._engine.session.append_custom(custom_type, data)

    def set_model(self, ref: Any, hook: str) -> None:
        model = ref if isinstance(ref, Model) else self._engine.setup.models.find(_ref_text(ref))
        self._start(self._engine.set_model(model, source="hook"))

    def set_thinking_level(self, level: str) -> None:
        if level not in THINKING_LEVELS:
            raise HookError(f"a thinking level is one of {', '.join(THINKING_LEVELS)}, not {level!r}")
        self._start(self._engine.set_thinking(level))

    def set_active_tools(self, names: Sequence[str]) -> None:
        known = {tool.name for tool in self._engine.setup.tools}
        if unknown := [name for name in names if name not in known]:
            raise HookError(f"there is no tool {unknown[0]!r}; there are {', '.join(sorted(known))}")
        self._engine.active = frozenset(names)

    def forget(self, hook: str) -> None:
        self.tools.forget(hook)
        self.interface.forget(hook)
        self._engine.setup.models.brought.forget(hook)
        self._flags = {name: flag for name, flag in self._flags.items() if flag.hook != hook}
        self.renderers = {kind: pair for kind, pair in self.renderers.items() if pair[1] != hook}
        self.shortcuts = {key: pair for key, pair in self.shortcuts.items() if pair[1] != hook}

    def register_tool(self, tool: Any, replaces: str | None, hook: str) -> None:
        self.tools.add_tool(tool, replaces, hook)

    def register_command(self, name: str, description: str, handler: Any, complete: Any, hook: str) -> None:
        if not callable(handler) or not (complete is None or callable(complete)):
            raise HookError(f"the handler and the completion of /{name} are functions")
        self.tools.add_command(Command(name, description, handler, complete, hook))

    def register_flag(self, name: str, kind: type, default: Any, hook: str) -> None:
        if not _FLAG.fullmatch(str(name)):
            raise HookError(f"{name!r} is no name for a flag: letters, digits and -")
        if kind not in (bool, str, int, float):
            raise HookError(f"a flag is of type bool, str, int or float, not {kind!r}")
        if other := self._flags.get(name):
            raise HookError(f"the flag --{name} is taken by {other.hook}")
        self._flags[name] = Flag(kind, default if default is not None or kind is not bool else False, hook)

    def register_provider(self, name: str, settings: Mapping[str, Any], hook: str) -> None:
        self._engine.setup.models.brought.register(name, settings, hook)

    def register_renderer(self, custom_type: str, renderer: Any, hook: str) -> None:
        if not callable(renderer):
            raise HookError(f"the renderer of {custom_type!r} is not a function")
        if other := self.renderers.get(custom_type):
            self._lost(hook, f"messages of type {custom_type!r} are rendered by {other[1]} already")
            return
        self.renderers[custom_type] = (renderer, hook)

    def register_shortcut(self, key: str, handler: Any, hook: str) -> None:
        if not str(key).strip():
            raise HookError(f"a key is a text such as 'ctrl+k', not {key!r}")
        if not callable(handler):
            raise HookError(f"the handler of {key!r} is not a function")
        if other := self.shortcuts.get(key):
            self._lost(hook, f"the key {key!r} is taken by {other[1]}; its shortcut does not work")
            return
        self.shortcuts[key] = (handler, hook)

    def _lost(self, hook: str, what: str) -> None:
        # The first one has it. What else the hook does, a gate perhaps, must not be lost with it.
        self.post(self._engine.outlet.emit, out.Notice(level="warning", text=what, source=hook))

    def set_flags(self, given: Mapping[str, str | bool]) -> list[str]:
        """Take the values of hooks' flags from the command line; gives back those that no hook can take."""
        refused = []
        for name, value in given.items():
            flag = self._flags.get(name)
            taken = _flag_value(flag.kind, value) if flag else None
            if flag is None or taken is None:
                refused.append(name)
            else:
                self._flags[name] = flag._replace(value=taken)
        return refused

    # What is awaited on the hook loop.

    async def call_tool(self, name: str, arguments: Mapping[str, Any], hook: str) -> ToolAnswer:
        call_id = f"hook_{uuid.uuid4().hex[:12]}"
        invoker, depth = self._engine.invoker, _depth.get()
        if depth >= NESTED_CALLS:
            raise HookError(f"call_tool: hooks answer one another's calls with calls, {depth} deep, and would for ever")
        outer = _depth.set(depth + 1)
        try:
            result = await self.on_engine(lambda: invoker.single(name, dict(arguments), call_id, f"hook:{hook}"))
        finally:
            _depth.reset(outer)
        return ToolAnswer(result.content, result.details, result.status != "ok", result.status or "error")

    async def complete(self, system_prompt: str, text: str, hook: str) -> Completion:
        engine = self._engine
        engine.caps.hook_call(hook)
        engine.check_cost()
        ask = Ask(
            model=engine.model,
            thinking=engine.thinking,
            system=system_prompt,
            messages=(user(text),),
            purpose="complete",
            origin=f"hook:{hook}",
            visible=False,
        )
        message = await self.on_engine(lambda: engine.another_caller().call(ask))
        return Completion(message.text, message.stop_reason, message.usage)

    async def execute(
        self,
        command: str,
        args: Sequence[str],
        timeout: float | None,
        cwd: str | None,
        env: Mapping[str, str],
        hook: str,
    ) -> Executed:
        return await run_for_hook(self._engine.setup, hook, [command, *args], timeout, cwd or self.cwd, env)

    async def change_session(self, action: str, hook: str, scheduled: bool, **arguments: Any) -> dict[str, Any]:
        if scheduled:
            self.post(self._engine.errands.schedule, action, hook, arguments)
            return {"scheduled": True}
        return await self.on_engine(lambda: self._change_when_idle(action, hook, arguments))

    async def _change_when_idle(self, action: str, hook: str, arguments: dict[str, Any]) -> dict[str, Any]:
        # A command may come while a run is under way: it is not torn away from its session.
        await self._engine.wait_until_idle()
        return await self.change(action, hook, arguments)

    async def change(self, action: str, hook: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Change the session, now and on the engine's loop."""
        engine = self._engine
        try:
            match action:
                case "summarize":
                    await engine.compact(arguments["instructions"])
                case "new_session":
                    setup = arguments["setup"]
                    prepare = (lambda: written_by(setup, self._hook(hook), engine)) if setup else None
                    await engine.conversation.new(arguments["parent"], prepare)
                case "reload":
                    await engine.reload()
                case "switch":
                    await engine.conversation.resume(arguments["path"])
                case _:
                    raise HookError(f"{action} does not work yet")
        except Refused as refused:
            engine.outlet.emit(out.Notice(level="warning", text=refused.message))
            return {"cancelled": True, "session_id": engine.session.id}
        return {"cancelled": False, "session_id": engine.session.id}

    async def wait_for_idle(self) -> None:
        await self.on_engine(self._engine.wait_until_idle)

    async def ask_permission(self, question: Mapping[str, Any], hook: str) -> dict[str, Any]:
        return await self.on_engine(lambda: self._ask_permission(dict(question), hook))

    async def _ask_permission(self, question: dict[str, Any], hook: str) -> dict[str, Any]:
        outcome = await self._engine.points.fire(
            h.PermissionAsk,
            origin=f"hook:{hook}",
            tool_name=str(question.get("tool_name", "")),
            input=dict(question.get("input") or {}),
            rule=question.get("rule"),
        )
        if outcome and outcome.refused:
            refusal = outcome.refused
            reason = f"failed, so the call was refused: {refusal.reason}" if refusal.failed else refusal.reason
            return {"decision": "deny", "reason": reason, "remember": None, "by": refusal.hook}
        if outcome and outcome.decided.get("decision") in ("allow", "deny"):
            return {**outcome.decided, "remember": None, "by": outcome.decided_by}
        answer = await self._ask("permission", hook, (question,))
        return {"reason": "", "remember": None, **(answer or {"decision": "deny"}), "by": None}

    async def ask(self, method: str, hook: str, *arguments: Any) -> Any:
        return await self.on_engine(lambda: self._ask(method, hook, arguments))

    async def _ask(self, method: str, hook: str, arguments: tuple[Any, ...]) -> Any:
        async with self._dialog:
            asking.set(hook)
            return await getattr(self.interface, method)(*arguments)

    async def on_engine(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine function on the engine's loop and wait for it, from whatever loop this is."""
        home = self._engine.loop
        if asyncio.get_running_loop() is home:
            return await function()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(function(), home))

    def post(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._engine.loop.call_soon_threadsafe(self._engine.errands.call, function, *arguments)

    def _start(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._engine.loop.call_soon_threadsafe(self._engine.errands.begin, coroutine)


def _ref_text(ref: Any) -> str:
    if isinstance(ref, str):
        return ref
    if isinstance(ref, Mapping) and "provider" in ref and "id" in ref:
        return f"{ref['provider']}/{ref['id']}"
    raise HookError(f"a model is given as text or as {{provider, id}}, not {type(ref).__name__}")


def _flag_value(kind: type, given: str | bool) -> Any:
    """A flag's value as its type; None when it has none of that type."""
    if kind is bool:
        return {True: True, "true": True, "yes": True, "false": False, "no": False}.get(given)
    try:
        return None if given is True else kind(given)
    except ValueError:
        return None
