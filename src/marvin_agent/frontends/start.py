"""From options to an engine: configuration, session, models, tools, hooks."""

import argparse
import importlib
import os
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from marvin_agent.agent.caps import Limits
from marvin_agent.agent.default_model import LOCAL
from marvin_agent.agent.engine import Engine
from marvin_agent.agent.providers import Providers, Wrap
from marvin_agent.agent.retry import RetryPolicy
from marvin_agent.agent.setup import Setup
from marvin_agent.config import Config, load
from marvin_agent.errors import ConfigError, UsageError
from marvin_agent.frontends.hook_log import log_hooks
from marvin_agent.frontends.hook_sources import Project, gather, only_required
from marvin_agent.frontends.model_choice import ModelChoice
from marvin_agent.frontends.session_choice import open_session, sessions_dir
from marvin_agent.hooks.engine import Interface
from marvin_agent.hooks.payload import Mode
from marvin_agent.hooks.sources import Source
from marvin_agent.llm.auth.keys import provider_key_names
from marvin_agent.llm.auth.store import AuthFile
from marvin_agent.llm.values import Price
from marvin_agent.nearest import nearest, nearest_names
from marvin_agent.permission_rules import parse_rule
from marvin_agent.places import Places
from marvin_agent.policies import instructions, model_notice, permissions
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
    log_hooks(interface, os.environ)
    project = project or Project(places, trust_now=options.trust_project, notify=notify)
    config = load(places, trusted=project.vouched, judged=project.judged, overrides=overrides(options))
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
    secret_names = provider_key_names() | providers.custom.variables(os.environ)
    login = LoginEnvironment()
    session, resumed = await open_session(options, config, places, notify)

    def chosen(found: Project) -> list[Source]:
        sources = gather(config, places, found, options.hook, notify)
        return only_required(sources, config.hooks.required) if options.no_hooks else sources

    found = chosen(project)
    choice = ModelChoice(options, config, providers, session if resumed else None)
    # Hooks may bring what is named and not there.
    cycle = choice.at_hand() if found else choice.find()
    setup = Setup(
        mode=mode,
        cwd=places.cwd,
        config_dir=places.config_dir,
        cache_dir=places.cache_dir,
        project_root=places.project_root,
        sessions_dir=sessions_dir(config, places),
        session=session,
        resumed=resumed,
        models=providers,
        cycle=cycle or (LOCAL,),
        thinking=choice.thinking,
        thinking_chosen=config.origin("thinking") != "default" or choice.thinking != config.thinking_levels,
        tools=_tools(config, login, secret_names),
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
        secret_names=secret_names,
        trace_file=os.path.join(places.cwd, options.trace_hooks) if options.trace_hooks else None,
        keep_recent_tokens=config.compaction.keep_recent_tokens,
    )

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
    await engine.hooks.load_sources(found)
    engine.hooks.require()
    if cycle is None:
        for problem in engine.hooks.problems:
            notify(f"{problem.hook} did not load: {problem.error}")
        engine.begin_with(choice.find())
    if options.max_cost is not None:
        for model in engine.setup.cycle:
            if model.cost == Price():
                notify(f"nothing is known of the price of {model.ref}: --max-cost does not limit what it costs")
    if choice.lost:
        notify(f"the session's model {choice.lost} is not there any more")
    _check_tools(setup.tools, config, places.project_config_file, notify)
    _check_rules(setup.tools, config, notify)
    _set_flags(engine, options.flag)
    return engine


def _tools(config: Config, login: LoginEnvironment, secret_names: frozenset[str]) -> Registry:
    scrub = secret_names if config.bash.scrub_env else frozenset()
    only = None if config.tools is None else frozenset(config.tools)
    return Registry(builtin_tools(login, scrub=scrub), only=only)


def _check_tools(tools: Registry, config: Config, project_file: str, notify: Notify) -> None:
    """Report names in `tools` that nobody brings, now that the hooks are loaded."""
    if not (unknown := tools.unknown()):
        return
    origin = config.origin("tools")
    text = f"{origin}: there is no tool {unknown[0]!r}"
    if origin.startswith(f"{project_file}:"):
        # It may be one of the project's hooks, which need trust.
        notify(text)
        return
    kind = UsageError if origin.startswith("--") else ConfigError
    near = nearest_names(unknown[0], tools.all_names())
    raise kind(
        text, hint=f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(tools.all_names())}."
    )


def _check_rules(tools: Registry, config: Config, notify: Notify) -> None:
    """Tell of rules about a tool that is not there and sounds like one that is: they allow, ask and deny nothing."""
    names = tools.all_names()
    for kind in ("deny", "ask", "allow"):
        for text in getattr(config.permissions, kind):
            tool = parse_rule(text).tool
            if not tool.isidentifier() or tool in names:
                continue
            near = nearest(tool, names)
            # The name of another server's or project's tool may well hold one of ours.
            if near and abs(len(near) - len(tool)) <= 1:
                origin = config.origin(f"permissions.{kind}")
                notify(f"{origin}: {text} is about no tool that there is; did you mean {near}?")


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
        path = os.path.join(places.cwd, options.record)
        over: Wrap = record.Recorder(path, cwd=places.cwd, keys=_known_secrets(places)).over
        return over
    return None


def _known_secrets(places: Places) -> list[str]:
    """What the environment and the stored keys hold: a command that prints it must not bring it into a recording."""
    named = importlib.import_module("marvin_agent.masking").names_a_secret
    stored = AuthFile(places.auth_file)
    keys = [stored.get(provider) or "" for provider in stored.providers()]
    return [*keys, *(value for name, value in os.environ.items() if named(name))]
