"""An engine whose model follows a script: real loop, real tools, real hooks, no network. For tests."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from marvin_agent.agent import events as out
from marvin_agent.agent.brought import Brought
from marvin_agent.agent.caps import Limits
from marvin_agent.agent.engine import Engine
from marvin_agent.agent.loop import Summary
from marvin_agent.agent.nobody import Nobody
from marvin_agent.agent.queue import Prompt
from marvin_agent.agent.retry import RetryPolicy
from marvin_agent.agent.setup import Setup
from marvin_agent.errors import AuthenticationError, ModelNotFoundError
from marvin_agent.hooks.api import HookAPI
from marvin_agent.hooks.engine import Interface
from marvin_agent.hooks.payload import Mode
from marvin_agent.llm.offline.dialects.dialect import Dialect
from marvin_agent.llm.offline.dialects.gemini import Gemini
from marvin_agent.llm.offline.dialects.messages import Messages
from marvin_agent.llm.offline.dialects.responses import Responses
from marvin_agent.llm.offline.script import Script
from marvin_agent.llm.offline.scripted import ScriptedTransport
from marvin_agent.llm.transport import Transport
from marvin_agent.llm.values import Credentials, HttpRequest, Model, Price
from marvin_agent.policies import permissions
from marvin_agent.session.store import Session
from marvin_agent.tools.login import LoginEnvironment
from marvin_agent.tools.registry import Registry, builtin_tools
from marvin_agent.tools.tool import Tool

MODEL = Model(
    provider="test",
    id="one",
    api="openai-completions",
    base_url="http://scripted.invalid/v1",
    reasoning=True,
    input=("text", "image"),
    cost=Price(input=1.0, output=2.0),
    context_window=100_000,
)


_DIALECTS: dict[str, Callable[[], Dialect]] = {
    "anthropic-messages": Messages,
    "openai-responses": Responses,
    "google-generative-ai": Gemini,
}


class RecordedTransport:
    """Passes requests on to a transport and keeps them."""

    def __init__(self, inner: Transport, requests: list[HttpRequest]) -> None:
        self._inner = inner
        self.requests = requests

    def send(self, request: HttpRequest) -> Any:
        self.requests.append(request)
        return self._inner.send(request)

    async def close(self) -> None:
        await self._inner.close()


class ScriptedModels:
    """Implements `agent.request.Models`: every model answers from one script."""

    def __init__(self, replies: Sequence[dict[str, Any]], models: Sequence[Model], *, key: bool = True) -> None:
        script, requests = Script.of(*replies), list[HttpRequest]()
        self.recorded = RecordedTransport(ScriptedTransport(script, idle_timeout=5.0), requests)
        self._others = {
            api: RecordedTransport(ScriptedTransport(script, dialect=dialect(), idle_timeout=5.0), requests)
            for api, dialect in _DIALECTS.items()
        }
        self._models = {model.ref: model for model in models}
        self._key = key
        self.brought = Brought()

    def find(self, text: str) -> Model:
        if model := self._models.get(text) or self.brought.get(text):
            return model
        raise ModelNotFoundError(f"No model is called {text!r}.")

    async def credentials(self, model: Model, given: Credentials) -> Credentials:
        if given.api_key or self._key:
            return given
        raise AuthenticationError("there is no API key", provider=model.provider)

    def transport(self, model: Model) -> Transport:
        return self._others.get(model.api, self.recorded)

    async def close(self) -> None:
        await self.recorded.close()


class ScriptedEngine:
    """An engine, the events it emitted and the requests that its model got. Use as an async context manager.

    `hooks` are setup functions, by name. `auto` lets tools act.
    """

    def __init__(
        self,
        directory: Path,
        replies: Iterable[dict[str, Any]] = (),
        *,
        hooks: dict[str, Callable[[HookAPI], Any]] | None = None,
        hook_files: Sequence[str] = (),
        tools: Iterable[Tool] | None = None,
        models: Sequence[Model] = (MODEL,),
        auto: bool = True,
        key: bool = True,
        mode: Mode = "library",
        session: Session | None = None,
        interface: Interface | None = None,
        work: Path | None = None,
        cache_dir: str | None = None,
        limits: Limits = Limits(),  # noqa: B008
        retry: RetryPolicy | None = None,
        hook_timeout: float = 5.0,
        settings: dict[str, Any] | None = None,
        required: tuple[str, ...] = (),
        disabled: tuple[str, ...] = (),
        isolate: tuple[str, ...] = (),
        hook_env: dict[str, tuple[str, ...]] | None = None,
        secret_names: frozenset[str] = frozenset(),
    ) -> None:
        self.directory = directory
        self.models = ScriptedModels(tuple(replies), models, key=key)
        self.events: list[out.EngineEvent] = []
        self.notes: list[tuple[str, str, str]] = []
        """What hooks told the user: text, level, source."""
        self._hooks = hooks or {}
        self._hook_files = hook_files
        self._auto = auto
        self.work = work or directory / "work"
        """The working directory of the engine."""
        self.work.mkdir(exist_ok=True)
        chosen = tools if tools is not None else builtin_tools(LoginEnvironment())
        sessions = str(directory / "sessions")
        self._setup = Setup(
            mode=mode,
            cwd=str(self.work),
            config_dir=str(directory / "config"),
            cache_dir=cache_dir or str(directory / "config" / "cache"),
            project_root=str(self.work),
            sessions_dir=sessions,
            session=session or Session.create(sessions, str(self.work)),
            resumed=session is not None,
            models=self.models,
            cycle=tuple(models),
            tools=Registry(chosen),
            interface=interface or Nobody(lambda text, level, source: self.notes.append((text, level, source))),
            retry=retry or RetryPolicy(base_delay=0.001, max_delay=0.002),
            limits=limits,
            hook_timeout=hook_timeout,
            gate_timeout=hook_timeout,
            hook_settings=settings or {},
            required_hooks=required,
            disabled_hooks=disabled,
            hook_isolate=isolate,
            hook_env=hook_env or {},
            secret_names=secret_names,
        )
        self.engine: Engine

    def make(self) -> Engine:
        """Make the engine, without hooks and before its start."""
        self.engine = engine = Engine(self._setup)
        emit = engine.outlet.emit

        def keep(event: out.EngineEvent) -> None:
            self.events.append(event)
            emit(event)

        engine.outlet.emit = keep  # type: ignore[method-assign]
        engine.outlet.subscribe()  # somebody who wants the deltas
        return engine

    async def __aenter__(self) -> "ScriptedEngine":
        engine = self.make()
        if not self._auto or "builtin:permissions" in self._setup.hook_settings:
            await engine.hooks.load_setup(permissions.setup, "permissions")
        for name, setup in self._hooks.items():
            await engine.hooks.load_setup(setup, name, "library")
        await engine.hooks.load_files(self._hook_files, "flag")
        await engine.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.engine.close()

    async def prompt(self, text: str, **more: Any) -> Summary:
        """Submit a prompt and wait until all is settled."""
        self.engine.submit(Prompt(text, **more))
        await self.engine.wait_until_idle()
        assert self.engine.last
        return self.engine.last

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the model calls, in order."""
        return [msgspec.json.decode(request.body) for request in self.models.recorded.requests]

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of a kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]
