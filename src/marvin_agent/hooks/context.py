"""`ctx`: what a handler receives to look around, ask the person, run things and steer the session."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from marvin_agent.errors import HookError
from marvin_agent.hooks.engine import Engine, ToolFacts
from marvin_agent.hooks.faces import Face, awaited
from marvin_agent.hooks.payload import Mode
from marvin_agent.hooks.running import Running

LOOK_AGAIN = 0.05
"""Seconds between two looks at whether the run was aborted: the engine may be in another process."""


Gone = Callable[[], str | None]
"""Why the hook is not loaded any more; None while it is."""


def _not() -> None:
    return None


class _Part(Face):
    """Base of `ctx` and its parts: knows the engine and the call that it was made for."""

    def __init__(self, engine: Engine, running: Running | None, hook: str, gone: Gone = _not) -> None:
        self._engine = engine
        self._running = running
        self._hook = hook
        self._gone = gone

    def _alive(self) -> Engine:
        running = self._running
        if running and running.over:
            raise HookError(f"{self._hook}: this ctx is of a handler that has ended; keep no ctx beyond its handler")
        if why := self._gone():
            raise HookError(f"{self._hook} is not loaded any more ({why}); this ctx is stale")
        return self._engine


class Ui(_Part):
    """`ctx.ui`: the person, if one is there. Without one, dialogs give `None` or `False` and nothing waits."""

    async def _ask(self, method: str, *arguments: Any) -> Any:
        engine = self._alive()
        if self._running is None:
            return await engine.ask(method, self._hook, *arguments)
        with self._running.clock.standing():
            return await engine.ask(method, self._hook, *arguments)

    @awaited
    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:
        """Let the person choose; None when cancelled."""
        texts = [_text("each option", option) for option in options]
        chosen: str | None = await self._ask("select", _text("title", title), texts, timeout)
        return chosen

    @awaited
    async def confirm(self, title: str, message: str = "", timeout: float | None = None) -> bool:
        """Ask yes or no; False when cancelled."""
        return bool(await self._ask("confirm", _text("title", title), _text("message", message), timeout))

    @awaited
    async def input(self, title: str, placeholder: str = "") -> str | None:
        """Ask for a line; None when cancelled."""
        text: str | None = await self._ask("input", _text("title", title), _text("placeholder", placeholder))
        return text

    @awaited
    async def editor(self, title: str, text: str = "") -> str | None:
        """Ask for a longer text; None when cancelled."""
        written: str | None = await self._ask("editor", _text("title", title), _text("text", text))
        return written

    @awaited
    async def permission(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Ask whether a tool call may run: gives `{decision, reason, remember, by}`.

        The question is `{tool_name, input, preview, rule, why, patterns}`. Handlers of `permission.ask` come first;
        when one of them decides, `by` names it and no person is asked. `remember` is a list of patterns, or None.
        """
        engine = self._alive()
        if self._running is None:
            return await engine.ask_permission(question, self._hook)
        with self._running.clock.standing():
            return await engine.ask_permission(question, self._hook)

    @awaited
    async def custom(self, factory: Any) -> Any:
        """Show a widget of the hook's own; None where there is no full screen."""
        return await self._ask("custom", factory)

    def notify(self, message: str, level: str = "info") -> None:
        """Tell the person something: a toast, or a line on stderr."""
        if level not in ("info", "success", "warning", "error"):
            raise HookError(f"level is info, success, warning or error, not {level!r}")
        self._alive().interface.notify(str(message), level, self._hook)

    def set_status(self, key: str, text: str | None) -> None:
        """A text in the footer, under a key; None takes it away."""
        shown = None if text is None else _text("text", text)
        self._alive().interface.set_status(f"{self._hook}:{key}", shown)

    def set_widget(self, key: str, content: Any) -> None:
        """Lines, or a widget, above the editor, under a key; None takes them away."""
        if isinstance(content, str | list | tuple):
            content = [_text("each line", line) for line in ([content] if isinstance(content, str) else content)]
        self._alive().interface.set_widget(f"{self._hook}:{key}", content)

    def set_title(self, title: str) -> None:
        """The title of the terminal."""
        self._alive().interface.set_title(_text("title", title))

    def set_editor_text(self, text: str) -> None:
        """Put a text into the editor, in place of what is there."""
        self._alive().interface.set_editor_text(_text("text", text))

    def get_editor_text(self) -> str:
        """What is in the editor; empty where there is none."""
        return self._alive().interface.get_editor_text()

    @property
    def theme(self) -> Any:
        """The colours in use."""
        return self._alive().interface.theme


def _text(name: str, value: object) -> str:
    """A text as a hook must give it: what is wrong is told to the hook, not to the screen."""
    if not isinstance(value, str):
        raise HookError(f"{name} is a text, not {type(value).__name__}")
    return value


class SessionControl(_Part):
    """`ctx.session`: what can be done to the session. `waited_for`: a run may wait for whoever has it."""

    def __init__(self, engine: Engine, running: Running | None, hook: str, gone: Gone, *, waited_for: bool) -> None:
        super().__init__(engine, running, hook, gone)
        self._waited_for = waited_for

    def toast(self, title: str, message: str, variant: str = "info") -> None:
        """Tell the person something, with a title: info, success, warning or error."""
        self._alive().interface.notify(f"{title}: {message}" if message else title, variant, self._hook)

    def token_usage(self) -> Any:
        """The tokens of the latest turn; None before the first or when the provider says nothing."""
        return self._alive().token_usage()

    def context_limit(self) -> int | None:
        """How many tokens the model can take; None when unknown."""
        return self._alive().context_limit()

    @awaited
    async def complete(self, system_prompt: str, text: str) -> Any:
        """One model call through the same request events: gives `{text, stop_reason, usage}`."""
        return await self._alive().complete(system_prompt, text, self._hook)

    @awaited
    async def wait_for_idle(self) -> None:
        """Wait until nothing is going on. Raises inside a run: it would wait for itself."""
        if self._inside_a_run():
            raise HookError(
                "wait_for_idle inside a run would wait for itself; use it in a command or a background task"
            )
        await self._alive().wait_for_idle()

    @awaited
    async def summarize(self, instructions: str | None = None) -> dict[str, Any]:
        """Compact the conversation."""
        return await self._change("summarize", instructions=instructions)

    @awaited
    async def new_session(self, parent: str | None = None, setup: Any = None) -> dict[str, Any]:
        """Begin a new session. `setup(session)` may write into it: `append_message`, `append_entry`."""
        return await self._change("new_session", parent=parent, setup=setup)

    @awaited
    async def switch(self, path: str) -> dict[str, Any]:
        """Go on with another session, by its file."""
        return await self._change("switch", path=path)

    @awaited
    async def branch(self, entry_id: str) -> dict[str, Any]:
        """Go on from an earlier entry."""
        return await self._change("branch", entry_id=entry_id)

    @awaited
    async def navigate(self, entry_id: str, summarize: bool = False) -> dict[str, Any]:
        """Go to another place in the session's tree."""
        return await self._change("navigate", entry_id=entry_id, summarize=summarize)

    @awaited
    async def reload(self) -> dict[str, Any]:
        """Load the hooks again."""
        return await self._change("reload")

    def _inside_a_run(self) -> bool:
        return self._waited_for and not self._engine.is_idle()

    async def _change(self, action: str, **arguments: Any) -> dict[str, Any]:
        engine = self._alive()
        return await engine.change_session(action, self._hook, self._inside_a_run(), **arguments)


class Signal(_Part):
    """`ctx.signal`: set when the run is aborted."""

    def is_set(self) -> bool:
        """Whether the run is being aborted."""
        return self._engine.aborted()

    @awaited
    async def wait(self, timeout: float | None = None) -> bool:
        """Wait until the run is aborted, at most so many seconds; whether it was."""
        loop = asyncio.get_running_loop()
        until = None if timeout is None else loop.time() + timeout
        while not self._alive().aborted():
            if until is not None and loop.time() >= until:
                return False
            await asyncio.sleep(LOOK_AGAIN)
        return True

    def __bool__(self) -> bool:
        return self.is_set()


class Context(_Part):
    """What every handler, command and tool of a hook receives."""

    def __init__(self, engine: Engine, running: Running | None, hook: str, gone: Gone = _not) -> None:
        super().__init__(engine, running, hook, gone)
        self._waited_for = running is not None

    @property
    def ui(self) -> Ui:
        """The person, if one is there."""
        return Ui(self._engine, self._running, self._hook, self._gone)

    @property
    def session(self) -> SessionControl:
        """What can be done to the session."""
        return SessionControl(self._engine, self._running, self._hook, self._gone, waited_for=self._waited_for)

    @property
    def signal(self) -> Signal:
        """Set when the run is aborted."""
        return Signal(self._engine, self._running, self._hook, self._gone)

    @property
    def cwd(self) -> str:
        """Where tools work."""
        return self._engine.cwd

    @property
    def config_dir(self) -> str:
        """Where marvin's files are."""
        return self._engine.config_dir

    @property
    def project_root(self) -> str:
        """The directory with `.marvin` or `.git`, from the working directory upwards."""
        return self._engine.project_root

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self._engine.session_id

    @property
    def session_path(self) -> str | None:
        """The session's file; None with `--no-session`."""
        return self._engine.session_path

    @property
    def sessions(self) -> Any:
        """The session and its siblings, to look at."""
        return self._engine.sessions

    @property
    def model(self) -> Any:
        """The model in use: `provider`, `id`, `context_window`, ..."""
        return self._engine.model

    @property
    def mode(self) -> Mode:
        """`tui`, `print`, `json`, `rpc`, `acp` or `library`."""
        return self._engine.mode

    @property
    def has_ui(self) -> bool:
        """Whether `confirm` and `select` reach a person."""
        return self._engine.interface.has_person

    @property
    def aborted(self) -> bool:
        """Whether the run is being aborted."""
        return self._engine.aborted()

    @property
    def active_tools(self) -> tuple[str, ...]:
        """The names of the tools that the model may use."""
        return self._engine.active_tools

    def tool(self, name: str) -> ToolFacts | None:
        """What there is to know of a tool; None when there is none of that name."""
        return self._engine.tool_facts(name)

    def resolve(self, path: str) -> str:
        """The absolute path that the file tools take a path for."""
        return self._engine.resolve_path(path)

    def is_idle(self) -> bool:
        """Whether no run is under way."""
        return self._engine.is_idle()

    def context_usage(self) -> Any:
        """How full the context is: `{tokens, context_window, percent}`."""
        return self._engine.context_usage()

    def abort(self) -> None:
        """Interrupt the run."""
        self._alive().abort()

    def steer(self, text: str) -> None:
        """A user message for the next step of the run."""
        self._alive().submit(text, (), "steer", self._hook)

    def follow_up(self, text: str) -> None:
        """A user message for when the agent would stop."""
        self._alive().submit(text, (), "follow_up", self._hook)

    def send_user_message(self, text: str, deliver_as: str | None = None) -> None:
        """A user message, given at the next step (`steer`) or when the agent would stop (`follow_up`)."""
        self._alive().submit(text, (), deliver_as, self._hook)

    @awaited
    async def exec(
        self,
        command: str,
        args: Sequence[str] = (),
        timeout: float | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Any:
        """Run a program without a shell: gives `{stdout, stderr, code, killed}`. Raises when it cannot start."""
        return await self._alive().execute(command, args, timeout, cwd, env or {}, self._hook)

    @awaited
    async def exec_interactive(self, command: str, args: Sequence[str] = ()) -> int:
        """Give the terminal to a program until it ends; its exit code."""
        return int(await self.ui._ask("suspended", command, list(args)))  # noqa: SLF001

    @awaited
    async def call_tool(self, name: str, input: Mapping[str, Any]) -> Any:  # noqa: A002
        """Run a tool through the same gates as the model's calls."""
        return await self._alive().call_tool(name, input, self._hook)


class ToolCallContext(Context):
    """What a hook's tool receives beside its arguments."""

    def __init__(self, engine: Engine, hook: str, call: Any, old: Any, gone: Gone = _not) -> None:
        super().__init__(engine, None, hook, gone)
        self._waited_for = True
        self._call = call
        self._old = old

    @property
    def call_id(self) -> str:
        """The id of the tool call."""
        return str(self._call.call_id) if self._call else ""

    def update(self, text: str) -> None:
        """Show output as it comes."""
        if self._call:
            self._engine.post(self._call.update, str(text))

    @awaited
    async def call_replaced(self, input: Mapping[str, Any]) -> Any:  # noqa: A002
        """Call the tool that this one replaces."""
        if self._old is None:
            raise HookError("this tool replaces none")
        return await self._engine.on_engine(lambda: self._old(dict(input)))
