"""The engine as hooks see it: called from the hook loop and from hooks' threads, acting on the engine's own loop."""

import asyncio
import os
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from marvin_agent.agent import events as out
from marvin_agent.agent.attachments import parts_of
from marvin_agent.agent.commands import BUILTIN
from marvin_agent.agent.loop import hook_message
from marvin_agent.agent.queue import Prompt
from marvin_agent.agent.request import Ask
from marvin_agent.agent.usage import tokens
from marvin_agent.errors import HookError, Refused, SessionError
from marvin_agent.hooks.engine import Interface
from marvin_agent.hooks.payload import Mode
from marvin_agent.llm.values import THINKING_LEVELS, Model
from marvin_agent.messages import Usage, UserPart, text_of, user
from marvin_agent.processes import execute
from marvin_agent.session.read import SessionReader
from marvin_agent.tools.schema import tool_from_function
from marvin_agent.tools.tool import Tool

if TYPE_CHECKING:
    from marvin_agent.agent.engine import Engine

T = TypeVar("T")


class Executed(NamedTuple):
    """What `exec` gives."""

    stdout: str
    stderr: str
    code: int
    killed: bool


class ToolAnswer(NamedTuple):
    """What `call_tool` gives."""

    content: tuple[UserPart, ...]
    details: Any
    is_error: bool
    status: str

    @property
    def text(self) -> str:
        return text_of(self.content)


class Completion(NamedTuple):
    """What `complete` gives."""

    text: str
    stop_reason: str
    usage: Usage | None


class Command(NamedTuple):
    """A slash command of a hook."""

    name: str
    description: str
    handler: Any
    complete: Any
    hook: str


class HookSide:
    """Implements `hooks.engine.Engine` for one engine."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self.commands: dict[str, Command] = {}
        self._dialog = asyncio.Lock()
        self._replaced: dict[str, tuple[Tool, str]] = {}

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
        raise HookError(f"there is no flag {name!r}")

    # What acts, on the engine's loop, and returns at once.

    def abort(self) -> None:
        self._post(self._engine.abort)

    def submit(self, text: str, attachments: Sequence[Any], deliver_as: str | None, hook: str) -> None:
        if not isinstance(text, str):
            raise HookError(f"a message is a text, not {type(text).__name__}")
        written, images = parts_of(text, attachments, self.cwd)
        if not written and not images:
            raise HookError("a message needs a text or an attachment")
        prompt = Prompt(written, images, f"hook:{hook}")
        self._post(self._engine.submit, prompt, "steer" if deliver_as == "steer" else "follow_up")

    def submit_message(self, message: Mapping[str, Any], trigger_turn: bool, deliver_as: str | None, hook: str) -> None:
        made = hook_message(dict(message))
        self._post(self._store_message, made, trigger_turn, hook)

    def _store_message(self, message: Any, trigger_turn: bool, hook: str) -> None:
        self._engine.conversation.store_and_show(message, (hook,))
        if trigger_turn:
            self._engine.wake()

    def append_entry(self, custom_type: str, data: Any) -> None:
        if self._engine.session.path is None:
            raise SessionError("append_entry: this run keeps no session (--no-session), so nothing can be stored")
        self._post(self._engine.session.append_custom, custom_type, data)

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
        self.commands = {name: command for name, command in self.commands.items() if command.hook != hook}
        for tool in [
            tool.name for tool in self._engine.setup.tools if self._engine.setup.tools.owner(tool.name) == hook
        ]:
            self._engine.setup.tools.remove(tool)
            if replaced := self._replaced.pop(tool, None):
                self._engine.setup.tools.add(replaced[0], owner=replaced[1])

    def register_tool(self, tool: Any, replaces: str | None, hook: str) -> None:
        if "function" not in tool:
            raise HookError("tools given as a JSON Schema are not taken yet; register a typed function")
        made = tool_from_function(tool["function"], name=tool.get("name"))
        owner = self._engine.setup.tools.owner(made.name)
        if old := self._engine.setup.tools.add(made, owner=hook, replaces=replaces):
            self._replaced[made.name] = (old, owner or "builtin")

    def register_command(self, name: str, description: str, handler: Any, complete: Any, hook: str) -> None:
        if name in BUILTIN:
            raise HookError(f"the command /{name} is marvin's own")
        if other := self.commands.get(name):
            raise HookError(f"the command /{name} is taken by {other.hook}")
        self.commands[name] = Command(name, description, handler, complete, hook)

    def register_flag(self, name: str, kind: type, default: Any, hook: str) -> None:
        raise HookError("register_flag does not work yet")

    def register_provider(self, name: str, settings: Mapping[str, Any], hook: str) -> None:
        raise HookError("register_provider does not work yet")

    def register_renderer(self, custom_type: str, renderer: Any, hook: str) -> None:
        if not callable(renderer):
            raise HookError(f"the renderer of {custom_type!r} is not a function")

    def register_shortcut(self, key: str, handler: Any, hook: str) -> None:
        if not callable(handler):
            raise HookError(f"the handler of {key!r} is not a function")

    # What is awaited on the hook loop.

    async def call_tool(self, name: str, arguments: Mapping[str, Any], hook: str) -> ToolAnswer:
        call_id = f"hook_{uuid.uuid4().hex[:12]}"
        invoker = self._engine.invoker
        result = await self._there(lambda: invoker.single(name, dict(arguments), call_id, f"hook:{hook}"))
        return ToolAnswer(result.content, result.details, result.status != "ok", result.status or "error")

    async def complete(self, system_prompt: str, text: str, hook: str) -> Completion:
        engine = self._engine
        engine.caps.hook_call(hook)
        ask = Ask(
            model=engine.model,
            thinking=engine.thinking,
            system=system_prompt,
            messages=(user(text),),
            purpose="complete",
            origin=f"hook:{hook}",
            visible=False,
        )
        message = await self._there(lambda: engine.another_caller().call(ask))
        return Completion(message.text, message.stop_reason, message.usage)

    async def execute(
        self, command: str, arguments: Sequence[str], timeout: float | None, cwd: str | None, env: Mapping[str, str]
    ) -> Executed:
        secret = self._engine.setup.secret_names
        child_env = {name: value for name, value in os.environ.items() if name not in secret} | dict(env)
        done = await execute([command, *arguments], cwd=cwd or self.cwd, env=child_env, timeout=timeout)
        return Executed(
            done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"), done.code, done.killed
        )

    async def change_session(self, action: str, hook: str, scheduled: bool, **arguments: Any) -> dict[str, Any]:
        if scheduled:
            self._post(self._engine.errands.schedule, action, hook, arguments)
            return {"scheduled": True}
        return await self._there(lambda: self.change(action, hook, arguments))

    async def change(self, action: str, hook: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Change the session, now and on the engine's loop."""
        engine = self._engine
        try:
            match action:
                case "summarize":
                    await engine.compact(arguments["instructions"])
                case "new_session":
                    await engine.conversation.new(arguments["parent"], arguments["setup"])
                case "switch":
                    await engine.conversation.resume(arguments["path"])
                case _:
                    raise HookError(f"{action} does not work yet")
        except Refused as refused:
            engine.outlet.emit(out.Notice(level="warning", text=refused.message))
            return {"cancelled": True, "session_id": engine.session.id}
        return {"cancelled": False, "session_id": engine.session.id}

    async def wait_for_idle(self) -> None:
        await self._there(self._engine.wait_until_idle)

    async def ask(self, method: str, *arguments: Any) -> Any:
        return await self._there(lambda: self._ask(method, arguments))

    async def _ask(self, method: str, arguments: tuple[Any, ...]) -> Any:
        async with self._dialog:
            return await getattr(self.interface, method)(*arguments)

    async def _there(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine function on the engine's loop and wait for it, from whatever loop this is."""
        home = self._engine.loop
        if asyncio.get_running_loop() is home:
            return await function()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(function(), home))

    def _post(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._engine.loop.call_soon_threadsafe(self._engine.errands.call, function, *arguments)

    def _start(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._engine.loop.call_soon_threadsafe(self._engine.errands.begin, coroutine)


def _ref_text(ref: Any) -> str:
    if isinstance(ref, str):
        return ref
    if isinstance(ref, Mapping) and "provider" in ref and "id" in ref:
        return f"{ref['provider']}/{ref['id']}"
    raise HookError(f"a model is given as text or as {{provider, id}}, not {type(ref).__name__}")
