"""What an engine is made of: decided once, by the frontend that starts it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from marvin_agent.agent.caps import Limits
from marvin_agent.agent.request import Models
from marvin_agent.agent.retry import RetryPolicy
from marvin_agent.hooks.engine import Interface
from marvin_agent.hooks.payload import Mode
from marvin_agent.hooks.sources import Source
from marvin_agent.llm.values import Model, ThinkingLevel
from marvin_agent.session.store import Session
from marvin_agent.tools.registry import Registry


class Setup(msgspec.Struct, kw_only=True, frozen=True):
    """All that an engine needs from outside."""

    mode: Mode
    cwd: str
    config_dir: str
    cache_dir: str
    """Where the environments of hooks with dependencies are kept."""
    project_root: str
    sessions_dir: str
    session: Session
    resumed: bool = False
    models: Models
    cycle: tuple[Model, ...]
    """The models of the list; the first is used, the others can be changed to or fallen back on."""
    thinking: tuple[ThinkingLevel, ...] = ("off",)
    """A level for each model of the list; the last goes for the rest."""
    thinking_chosen: bool = False
    """Whether somebody chose the level: then it is kept with the session, and a model that lacks it is worth a word."""
    tools: Registry
    interface: Interface
    retry: RetryPolicy = RetryPolicy()
    limits: Limits = Limits()
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    hook_timeout: float = 30.0
    gate_timeout: float = 600.0
    required_hooks: tuple[str, ...] = ()
    disabled_hooks: tuple[str, ...] = ()
    hook_settings: Mapping[str, Any] = {}
    hook_isolate: tuple[str, ...] = ()
    """Ids of Python hooks that run in a process of their own."""
    hook_env: Mapping[str, tuple[str, ...]] = {}
    """For each hook, by id, the environment variables that its process may see."""
    secret_names: frozenset[str] = frozenset()
    """Environment variables that hold providers' keys."""
    keep_recent_tokens: int = 20_000
    trace_file: str | None = None
    sources: Callable[[], Awaitable[Sequence[Source]]] | None = None
    """Where the hooks are now, for loading them again."""

    def thinking_of(self, index: int) -> ThinkingLevel:
        return self.thinking[min(index, len(self.thinking) - 1)]
