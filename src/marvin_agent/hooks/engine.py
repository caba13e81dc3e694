"""What hooks can reach of the engine: the seam between `marvin` and `ctx` on this side and the agent on the other.

Plain methods are called from the hook loop or a hook's thread and must return at once; what they start happens on the
engine's own loop. Coroutine methods are awaited on the hook loop.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

from marvin_agent.hooks.payload import Mode

asking: ContextVar[str] = ContextVar("asking", default="")
"""The hook that asks, while a dialog of the interface is called."""


class Interface(Protocol):
    """How a frontend talks to the person, if there is one. Coroutines are called on the engine's loop, in a context
    in which `asking` says who asks."""

    @property
    def has_person(self) -> bool: ...

    async def select(self, title: str, options: Sequence[str], timeout: float | None) -> str | None: ...

    async def confirm(self, title: str, message: str, timeout: float | None) -> bool: ...

    async def input(self, title: str, placeholder: str) -> str | None: ...

    async def editor(self, title: str, text: str) -> str | None: ...

    async def permission(self, question: Mapping[str, Any]) -> dict[str, Any]: ...

    async def custom(self, factory: Any) -> Any: ...

    async def suspended(self, command: str, arguments: Sequence[str]) -> int: ...

    def notify(self, message: str, level: str, source: str) -> None: ...

    def set_status(self, key: str, text: str | None) -> None: ...

    def set_widget(self, key: str, content: Any) -> None: ...

    def set_title(self, title: str) -> None: ...

    def set_editor_text(self, text: str) -> None: ...

    def get_editor_text(self) -> str: ...

    def forget(self, hook: str) -> None:
        """Take away what a hook shows: it is not there any more."""
        ...

    @property
    def theme(self) -> Any: ...


class ToolFacts(NamedTuple):
    """What `ctx.tool(name)` says of a tool."""

    name: str
    description: str
    acts: bool
    """False when it only looks."""
    owner: str
    """`builtin`, or the id of the hook that brought it."""


class Engine(Protocol):
    """The agent as hooks see it. `hook` is the id of the hook that asks."""

    @property
    def cwd(self) -> str: ...

    @property
    def config_dir(self) -> str: ...

    @property
    def project_root(self) -> str: ...

    @property
    def mode(self) -> Mode: ...

    @property
    def session_id(self) -> str: ...

    @property
    def session_path(self) -> str | None: ...

    @property
    def model(self) -> Any: ...

    @property
    def thinking_level(self) -> str: ...

    @property
    def active_tools(self) -> tuple[str, ...]: ...

    @property
    def interface(self) -> Interface: ...

    @property
    def sessions(self) -> Any:
        """The read-only view of the session and its siblings."""
        ...

    def tool_facts(self, name: str) -> ToolFacts | None: ...

    def resolve_path(self, path: str) -> str:
        """The absolute path that the file tools take a path for."""
        ...

    def is_idle(self) -> bool: ...

    def aborted(self) -> bool: ...

    def context_usage(self) -> Any: ...

    def token_usage(self) -> Any: ...

    def context_limit(self) -> int | None: ...

    def setting(self, hook: str) -> dict[str, Any]: ...

    def flag(self, name: str) -> Any: ...

    def post(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function on the engine's loop soon."""
        ...

    async def on_engine(self, function: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Run a coroutine function on the engine's loop and wait for it."""
        ...

    # They act, and return at once.

    def abort(self) -> None: ...

    def submit(self, text: str, attachments: Sequence[Any], deliver_as: str | None, hook: str) -> None: ...

    def submit_message(
        self, message: Mapping[str, Any], trigger_turn: bool, deliver_as: str | None, hook: str
    ) -> None: ...

    def append_entry(self, custom_type: str, data: Any) -> None: ...

    def set_model(self, ref: Any, hook: str) -> None: ...

    def set_thinking_level(self, level: str) -> None: ...

    def set_active_tools(self, names: Sequence[str]) -> None: ...

    def forget(self, hook: str) -> None:
        """Take back what a hook registered: it is unloaded."""
        ...

    def register_tool(self, tool: Any, replaces: str | None, hook: str) -> None: ...

    def register_command(self, name: str, description: str, handler: Any, complete: Any, hook: str) -> None: ...

    def register_flag(self, name: str, kind: type, default: Any, hook: str) -> None: ...

    def register_provider(self, name: str, settings: Mapping[str, Any], hook: str) -> None: ...

    def register_renderer(self, custom_type: str, renderer: Any, hook: str) -> None: ...

    def register_shortcut(self, key: str, handler: Any, hook: str) -> None: ...

    # Awaited on the hook loop.

    async def call_tool(self, name: str, arguments: Mapping[str, Any], hook: str) -> Any: ...

    async def complete(self, system_prompt: str, text: str, hook: str) -> Any: ...

    async def execute(
        self,
        command: str,
        args: Sequence[str],
        timeout: float | None,
        cwd: str | None,
        env: Mapping[str, str],
        hook: str,
    ) -> Any:
        """Run a program. Its environment has no keys of providers but those that `hooks.env` names for the hook."""
        ...

    async def change_session(self, action: str, hook: str, scheduled: bool, **arguments: Any) -> dict[str, Any]: ...

    async def wait_for_idle(self) -> None: ...

    async def ask_permission(self, question: Mapping[str, Any], hook: str) -> dict[str, Any]:
        """Ask the handlers of `permission.ask`, then the person."""
        ...

    async def ask(self, method: str, hook: str, *arguments: Any) -> Any:
        """A dialog of the interface, queued behind those that are open."""
        ...
