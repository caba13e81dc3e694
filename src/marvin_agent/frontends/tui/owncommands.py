"""The commands that only the app has."""

import os
from typing import TYPE_CHECKING

from marvin_agent.agent.queue import Prompt
from marvin_agent.errors import UsageError
from marvin_agent.frontends.session_choice import line
from marvin_agent.frontends.tui.commands import AppCommand
from marvin_agent.frontends.tui.completion import Item
from marvin_agent.frontends.tui.dialogs.hooks import HooksDialog
from marvin_agent.frontends.tui.dialogs.line import LineDialog
from marvin_agent.frontends.tui.dialogs.permissions import PermissionsDialog
from marvin_agent.frontends.tui.dialogs.select import SelectDialog
from marvin_agent.frontends.tui.dialogs.text import ShowDialog
from marvin_agent.frontends.tui.externaleditor import write_in_editor
from marvin_agent.frontends.tui.footer import money, short
from marvin_agent.frontends.tui.themes import SHORT, register_themes
from marvin_agent.llm.thinking import clamp, supported
from marvin_agent.nearest import nearest
from marvin_agent.places import expand_path
from marvin_agent.policies.permissions.remembered import Remembered
from marvin_agent.session.export import markdown, save
from marvin_agent.session.index import find_session, list_sessions
from marvin_agent.text import one_line

if TYPE_CHECKING:
    from marvin_agent.frontends.tui.app import MarvinApp

FRAME = 10
"""Columns of a dialog beside what can be chosen."""


async def _help(app: "MarvinApp", _: str) -> str:
    facts = [(item.text, one_line(item.about, 160)) for item in app.commands.listing()]
    app.push_screen(ShowDialog("Commands (F1 shows the keys)", facts))
    return ""


async def _tools(app: "MarvinApp", _: str) -> str:
    engine = app.running_engine()
    rows = []
    for tool in engine.setup.tools:
        state = "" if engine.is_active(tool.name) else "  (off)"
        owner = engine.setup.tools.owner(tool.name)
        by = f"  (of {owner})" if owner and owner != "builtin" else ""
        about = one_line(tool.description.split("\n")[0], 120)
        rows.append((tool.name, f"{about}{state}{by}"))
    app.push_screen(ShowDialog("Tools", rows or "The model has no tools."))
    return ""


async def _model(app: "MarvinApp", text: str) -> str:
    engine = app.running_engine()
    if text:
        await engine.set_model(engine.setup.models.find(text), source="command")
        return f"The model is {engine.model.ref} now."
    refs = _refs(app)
    if engine.model.ref not in refs:
        refs.insert(0, engine.model.ref)
    chosen = await app.person.ask(SelectDialog("Which model?", refs, chosen=refs.index(engine.model.ref)))
    if chosen is None:
        return ""
    await engine.set_model(engine.setup.models.find(refs[chosen]), source="command")
    return f"The model is {engine.model.ref} now."


async def _thinking(app: "MarvinApp", text: str) -> str:
    engine = app.running_engine()
    levels = supported(engine.model)
    if not text:
        at = levels.index(clamp(engine.model, engine.thinking)[0])
        chosen = await app.person.ask(SelectDialog(f"How hard does {engine.model.ref} think?", levels, chosen=at))
        if chosen is None:
            return ""
        text = levels[chosen]
    if text not in levels:
        raise UsageError(f"{engine.model.ref} has the thinking levels {', '.join(levels)}, not {text!r}")
    await engine.set_thinking(text)
    return f"Thinking is {text} now."


async def _theme(app: "MarvinApp", text: str) -> str:
    register_themes(app, f"{app.places.config_dir}/themes")  # one may have been written since the start
    if not text:
        names = sorted(app.available_themes)
        chosen = await app.person.ask(SelectDialog("Which theme?", names, chosen=names.index(app.theme)))
        if chosen is None:
            return ""
        text = names[chosen]
    if text not in (names := _theme_names(app)):
        meant = nearest(text, names)
        raise UsageError(f"there is no theme {text!r}", hint=f"Did you mean {meant}?" if meant else "/theme shows all.")
    app.themes.take(text)
    return f'The theme is {app.theme} now. "theme": "{text}" in config.json keeps it.'


async def _status(app: "MarvinApp", _: str) -> str:
    engine = app.running_engine()
    state = app.state
    rows = (
        ("session", engine.session.id + (f"  {engine.session.name}" if engine.session.name else "")),
        ("file", engine.session.path or "none: nothing is kept (--no-session)"),
        ("directory", engine.cwd),
        ("project", engine.setup.project_root),
        ("model", f"{engine.model.ref}, thinking {engine.thinking}"),
        ("context", f"{short(state.context_tokens)} of {short(engine.model.context_window)} tokens"),
        ("permissions", app.config.permissions.mode if app.config else ""),
        ("hooks", f"{len(engine.hooks.registry.hooks)} loaded, {len(engine.hooks.problems)} did not load"),
        ("configuration", app.places.config_file),
    )
    app.push_screen(ShowDialog("Status", rows))
    return ""


async def _cost(app: "MarvinApp", _: str) -> str:
    app.repaint()
    state = app.state
    cost = money(state.cost) if state.cost else "nothing that is known"
    return f"This session has used {state.tokens:,} tokens and cost {cost}."


async def _sessions(app: "MarvinApp", _: str) -> str:
    engine = app.running_engine()
    found = [info for info in list_sessions(engine.setup.sessions_dir, engine.cwd) if info.id != engine.session.id]
    if not found:
        return "There is no other session here."
    lines = [line(info, max(app.size.width - FRAME, 40)) for info in found]
    chosen = await app.person.ask(SelectDialog("Go on with which session?", lines))
    if chosen is not None:
        await engine.conversation.resume(found[chosen].path)
    return ""


async def _resume(app: "MarvinApp", text: str) -> str:
    if not text:
        return await _sessions(app, "")
    engine = app.running_engine()
    await engine.conversation.resume(find_session(engine.setup.sessions_dir, text).path)
    return ""


async def _name(app: "MarvinApp", text: str) -> str:
    engine = app.running_engine()
    if not text:
        return f"The session is called {engine.session.name}." if engine.session.name else "The session has no name."
    engine.session.append_info(text)
    return f"The session is called {one_line(text, 100)} now."


async def _copy(app: "MarvinApp", text: str) -> str:
    conversation = app.conversation
    if not text:
        if not conversation.last_answer:
            raise UsageError("there is no answer to copy yet")
        app.copy(conversation.last_answer)
        return ""
    blocks = conversation.code_blocks
    if not blocks:
        raise UsageError("there is no code to copy")
    number = text.removeprefix("code").strip() or str(len(blocks))
    if not number.isdecimal() or not 1 <= int(number) <= len(blocks):
        raise UsageError(f"/copy code N, N being 1 to {len(blocks)}; /copy alone copies the last answer")
    app.copy(blocks[int(number) - 1])
    return ""


async def _export(app: "MarvinApp", text: str) -> str:
    engine = app.running_engine()
    session = engine.session
    path = expand_path(text, engine.cwd) if text else unused(f"{engine.cwd}/marvin-{session.id[:8]}", ".md")
    page = markdown(session.name or f"Session {session.id}", session.branch())
    try:
        save(path, page)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", hint="/export FILE names another.") from None
    return f"The conversation is in {path} now."


def unused(beginning: str, ending: str) -> str:
    """A path that no file has, with a number in it if need be."""
    tails = (ending, *(f"-{number}{ending}" for number in range(2, 1000)))
    return beginning + next((tail for tail in tails if not os.path.lexists(beginning + tail)), ending)


async def _editor(app: "MarvinApp", _: str) -> str:
    write_in_editor(app)
    return ""


async def _search(app: "MarvinApp", _: str) -> str:
    app.searchbar.open()
    return ""


async def _steer(app: "MarvinApp", text: str) -> str:
    app.sender.submit(Prompt(text), "steer")
    return ""


async def _follow_up(app: "MarvinApp", text: str) -> str:
    app.sender.submit(Prompt(text), "follow_up")
    return ""


async def _permissions(app: "MarvinApp", _: str) -> str:
    app.running_engine()
    if app.config:
        remembered = Remembered(app.places.config_dir)
        app.push_screen(PermissionsDialog(app.config.permissions, remembered, app.places.project_root))
    return ""


async def _trust(app: "MarvinApp", _: str) -> str:
    return await app.judge_project()


async def _hooks(app: "MarvinApp", _: str) -> str:
    engine = app.running_engine()
    app.push_screen(HooksDialog(engine.hooks, engine.tally, app.person))
    return ""


async def _reload(app: "MarvinApp", _: str) -> str:
    return f"Loaded again: {await app.reload()} hooks."


async def _login(app: "MarvinApp", provider: str) -> str:
    if not provider:
        names = app.models.providers()
        chosen = await app.person.ask(SelectDialog("The key of which provider?", names))
        if chosen is None:
            return ""
        provider = names[chosen]
    key = await app.person.ask(LineDialog(f"API key of {one_line(provider, 60)} (not shown)", secret=True))
    if key is None:
        return ""
    return await app.store_key(provider, key)


async def _quit(app: "MarvinApp", _: str) -> str:
    await app.leave("quit")
    return ""


def _refs(app: "MarvinApp") -> list[str]:
    """The models to choose from, those of hooks first."""
    brought = [model.ref for model in app.engine.setup.models.brought.models] if app.engine else []
    return [*brought, *(ref for ref in app.models.refs() if ref not in brought)]


def _models(app: "MarvinApp") -> list[Item]:
    return [Item(ref) for ref in _refs(app)]


def _levels(app: "MarvinApp") -> list[Item]:
    return [Item(level) for level in supported(app.engine.model)] if app.engine else []


def _themes(app: "MarvinApp") -> list[Item]:
    return [Item(name) for name in _theme_names(app)]


def _theme_names(app: "MarvinApp") -> list[str]:
    return sorted({*app.available_themes, *SHORT, "auto"})


def _session_ids(app: "MarvinApp") -> list[Item]:
    if app.engine is None:
        return []
    found = list_sessions(app.engine.setup.sessions_dir, app.engine.cwd)
    return [Item(info.id, one_line(info.name or info.first_text, 80)) for info in found]


OWN: dict[str, AppCommand] = {
    "help": AppCommand("all commands", _help),
    "tools": AppCommand("what the model can use", _tools),
    "model": AppCommand("another model", _model, "[model]", _models),
    "thinking": AppCommand("how hard the model thinks", _thinking, "[level]", _levels),
    "theme": AppCommand("other colours", _theme, "[name]", _themes),
    "status": AppCommand("session, model, files, hooks", _status),
    "cost": AppCommand("what this session has used", _cost),
    "hooks": AppCommand("what every hook does; on and off", _hooks),
    "permissions": AppCommand("what may run without asking, and what is remembered", _permissions),
    "trust": AppCommand("look at what this project brings, and trust it or not", _trust),
    "reload": AppCommand("load hooks and commands again", _reload),
    "sessions": AppCommand("go on with another session", _sessions),
    "resume": AppCommand("go on with the session of an id", _resume, "[id]", _session_ids),
    "name": AppCommand("give the session a name", _name, "[name]"),
    "copy": AppCommand("copy the last answer, or a code block", _copy, "[code N]"),
    "export": AppCommand("write the conversation to a Markdown file", _export, "[file]"),
    "editor": AppCommand("write in the external editor", _editor),
    "search": AppCommand("search in the conversation", _search),
    "login": AppCommand("store a provider's key", _login, "[provider]"),
    "steer": AppCommand("say something to the agent while it works", _steer, "<text>"),
    "followup": AppCommand("say something when the agent is done", _follow_up, "<text>"),
    "quit": AppCommand("leave", _quit),
}
