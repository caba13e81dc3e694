"""From options to an engine: configuration, session, models, tools, hooks."""

import argparse
import importlib
import os
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from marvin_agent.agent.caps import Limits
from marvin_agent.agent.engine import Engine
from marvin_agent.agent.providers import Providers, Wrap
from marvin_agent.agent.retry import RetryPolicy
from marvin_agent.agent.setup import Setup
from marvin_agent.config import Config, load
from marvin_agent.errors import ConfigError, UsageError
from marvin_agent.frontends.hook_sources import Project, gather, only_required
from marvin_agent.frontends.session_choice import open_session, sessions_dir
from marvin_agent.hooks.engine import Interface
from marvin_agent.hooks.payload import Mode
from marvin_agent.hooks.sources import Source
from marvin_agent.llm.auth.keys import provider_key_names
from marvin_agent.llm.values import THINKING_LEVELS, Model, Price, ThinkingLevel
from marvin_agent.places import Places
from marvin_agent.policies import instructions, model_notice, permissions
from marvin_agent.session.last import last_model, last_thinking
from marvin_agent.session.store import Session
from marvin_agent.tools.login import LoginEnvironment
from marvin_agent.tools.registry import Registry, builtin_tools

Notify = Callable[[str], None]


def overrides(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What the command line sets, as the configuration takes it."""
    found: dict[str, dict[str, Any]] = {}
    if options.model is not None:
        found["--model"] = {"model": options.model}
    if options.provider is not None:
        found["--provider"] = {"provider": options.provider}
    if options.thinking:
        found["--thinking"] = {"thinking": options.thinking}
    if options.auto:
        found["--auto"] = {"permissions": {"mode": "auto"}}
    if options.permission_mode:
        found["--permission-mode"] = {"permissions": {"mode": options.permission_mode}}
    if options.tools is not None:
        found["--tools"] = {"tools": [name.strip() for name in options.tools.split(",") if name.strip()]}
    if options.no_tools:
        found["--no-tools"] = {"tools": []}
    return found


async def start_engine(
    options: argparse.Namespace,
    places: Places,
    *,
    mode: Mode,
    interface: Interface,
    notify: Notify,
    project: Project | None = None,
    look_again: Callable[[], Awaitable[Project]] | None = None,
) -> Engine:
    """Everything up to the first prompt. Raises MarvinError; what is worth a word goes to `notify`.

    `project`: what a person was asked about already, so that what runs is what he looked at; `look_again` asks anew,
    when the hooks are loaded again.
    """
    project = project or Project(places, trust_now=options.trust_project, notify=notify)
    config = load(places, trusted=project.trusted, overrides=overrides(options))
    for notice in config.notices:
        notify(notice)
    providers = Providers(
        places,
        os.environ,
        connect_timeout=config.http.connect_timeout_ms / 1000,
        idle_timeout=config.http.idle_timeout_ms / 1000,
        wrap=_wrap(options, places),
        offline=bool(options.replay),
        notify=notify,
    )
    login = LoginEnvironment()
    session, resumed = await open_session(options, config, places, notify)
    cycle, thinking = _setting(options, config, providers, session if resumed else None, notify)
    if options.max_cost is not None:
        for model in cycle:
            if model.cost == Price():
                notify(f"nothing is known of the price of {model.ref}: --max-cost does not limit what it costs")
    setup = Setup(
        mode=mode,
        cwd=places.cwd,
        config_dir=places.config_dir,
        project_root=places.project_root,
        sessions_dir=sessions_dir(config, places),
        session=session,
        resumed=resumed,
        models=providers,
        cycle=cycle,
        thinking=thinking,
        thinking_chosen=config.origin("thinking") != "default" or thinking != config.thinking_levels,
        tools=_tools(config, login),
        interface=interface,
        retry=RetryPolicy(
            max_attempts=config.retry.max_attempts,
            base_delay=config.retry.base_delay_ms / 1000,
            max_delay=config.retry.max_delay_ms / 1000,
            fallback=options.fallback,
        ),
        limits=Limits(max_turns=options.max_turns, max_cost=options.max_cost),
        system_prompt=options.system_prompt if options.system_prompt is not None else config.system_prompt,
        append_system_prompt=options.append_system_prompt,
        hook_timeout=config.hooks.timeout_ms / 1000,
        gate_timeout=config.hooks.gate_timeout_ms / 1000,
        required_hooks=config.hooks.required,
        disabled_hooks=config.hooks.disabled,
        hook_isolate=config.hooks.isolate,
        hook_env=config.hooks.env,
        hook_settings={
            **config.hooks.settings,
            "builtin:permissions": {
                name: getattr(config.permissions, name) for name in config.permissions.__struct_fields__
            },
        },
        secret_names=provider_key_names(),
        trace_file=os.path.join(places.cwd, options.trace_hooks) if options.trace_hooks else None,
        keep_recent_tokens=config.compaction.keep_recent_tokens,
    )

    def chosen(found: Project) -> list[Source]:
        sources = gather(config, places, found, options.hook, notify)
        return only_required(sources, config.hooks.required) if options.no_hooks else sources

    async def sources() -> list[Source]:
        return chosen(
            await look_again() if look_again else Project(places, trust_now=options.trust_project, notify=notify)
        )

    engine = Engine(msgspec.structs.replace(setup, sources=sources))
    for policy in (permissions, instructions, model_notice):
        await engine.hooks.load_setup(policy.setup, policy.__name__.rpartition(".")[2])
    if engine.hooks.problems:
        # Without its policies marvin must not act.
        raise ConfigError(
            "\n".join(f"{problem.hook} did not load: {problem.error}" for problem in engine.hooks.problems)
        )
    await engine.hooks.load_sources(chosen(project))
    engine.hooks.require()
    _set_flags(engine, options.flag)
    return engine


def _setting(
    options: argparse.Namespace, config: Config, providers: Providers, resumed: Session | None, notify: Notify
) -> tuple[tuple[Model, ...], tuple[ThinkingLevel, ...]]:
    """The models and their thinking levels. A session goes on with its own, unless the command line names others."""
    levels = config.thinking_levels
    if resumed and options.thinking is None:
        left = last_thinking(resumed)
        levels = tuple(level for level in THINKING_LEVELS if level == left) or levels
    keep = resumed if options.model is None and options.provider is None else None
    if keep and (model := _restored(keep, providers, notify)):
        others = _configured(config, providers) if config.models else ()
        return (model, *(other for other in others if other.ref != model.ref)), levels
    return _configured(config, providers), levels


def _configured(config: Config, providers: Providers) -> tuple[Model, ...]:
    if config.models:
        return tuple(providers.find(name, config.provider) for name in config.models)
    return (providers.default(config.provider),)


def _restored(session: Session, providers: Providers, notify: Notify) -> Model | None:
    """The model that a session was left with; None when it has none, or one that is not there any more."""
    last = last_model(session)
    if last is None:
        return None
    provider, identifier = last
    catalog = providers.catalog
    if catalog.provider_name(provider) == provider:
        for model in catalog.models(provider):
            if model.id == identifier:
                return model
    notify(f"the session's model {provider}/{identifier} is not there any more")
    return None


def _tools(config: Config, login: LoginEnvironment) -> Registry:
    scrub = provider_key_names() if config.bash.scrub_env else frozenset()
    tools = builtin_tools(login, scrub=scrub)
    if config.tools is None:
        return Registry(tools)
    names = {tool.name for tool in tools}
    if unknown := [name for name in config.tools if name not in names]:
        raise UsageError(f"there is no tool {unknown[0]!r}", hint=f"There are {', '.join(sorted(names))}.")
    return Registry(tool for tool in tools if tool.name in config.tools)


def _set_flags(engine: Engine, given: list[str]) -> None:
    """Hand the hooks' flags over; one that no hook knows is an error, like any unknown option."""
    pairs = (text.partition("=") for text in given)
    if unknown := engine.side.set_flags({name: value if equals else True for name, equals, value in pairs}):
        raise UsageError(f"no hook has a flag {unknown[0]!r}, or it takes another kind of value")


def _wrap(options: argparse.Namespace, places: Places) -> Wrap | None:
    if options.replay:
        replay = importlib.import_module("marvin_agent.llm.offline.replay")
        path = os.path.join(places.cwd, options.replay)
        made = replay.ReplayTransport(path, cwd=places.cwd, strict=not options.replay_loose)
        return lambda transport: made
    if options.record:
        record = importlib.import_module("marvin_agent.llm.offline.record")
        over: Wrap = record.Recorder(os.path.join(places.cwd, options.record), cwd=places.cwd).over
        return over
    return None
