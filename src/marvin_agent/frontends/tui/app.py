"""The terminal app: a router between the engine, the editor, the conversation and the lines around them."""

import argparse
import asyncio
import signal
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from marvin_agent.agent import events as out
from marvin_agent.errors import MarvinError, NoModelError, UsageError
from marvin_agent.frontends.stdin import Asked
from marvin_agent.frontends.tui.background import BackgroundTold
from marvin_agent.frontends.tui.commands import CommandTable
from marvin_agent.frontends.tui.completion import Completion, Menu
from marvin_agent.frontends.tui.conversation.view import ConversationView
from marvin_agent.frontends.tui.draft import Draft
from marvin_agent.frontends.tui.farewell import farewell
from marvin_agent.frontends.tui.filelist import FileList
from marvin_agent.frontends.tui.footer import Footer
from marvin_agent.frontends.tui.guests import GuestApp
from marvin_agent.frontends.tui.header import Header, git_branch
from marvin_agent.frontends.tui.history import History
from marvin_agent.frontends.tui.keyactions import KeyActions
from marvin_agent.frontends.tui.keyboard import Keyboard
from marvin_agent.frontends.tui.keys import bindings, configured, shown
from marvin_agent.frontends.tui.news import News
from marvin_agent.frontends.tui.notifier import Notifier
from marvin_agent.frontends.tui.prompt import PromptEditor
from marvin_agent.frontends.tui.queueview import QueueView
from marvin_agent.frontends.tui.searchbar import SearchBar
from marvin_agent.frontends.tui.sending import Sender
from marvin_agent.frontends.tui.shortcuts import Shortcuts
from marvin_agent.frontends.tui.stage import AppStage
from marvin_agent.frontends.tui.state import State
from marvin_agent.frontends.tui.templates import templates_in, templates_of_project
from marvin_agent.frontends.tui.terminalkeys import teach_textual
from marvin_agent.frontends.tui.themes import Themes
from marvin_agent.later import Later
from marvin_agent.messages import AssistantMessage, HookMessage
from marvin_agent.places import Places

if TYPE_CHECKING:
    from marvin_agent.agent.engine import Engine
    from marvin_agent.config import Config
    from marvin_agent.frontends.tui import interface, modellist, owncommands
    from marvin_agent.frontends.tui.boot import Boot
    from marvin_agent.frontends.tui.conversation import changes
    from marvin_agent.frontends.tui.conversation.diffs import Changed
else:
    changes = Later("marvin_agent.frontends.tui.conversation.changes")
    interface = Later("marvin_agent.frontends.tui.interface")
    modellist = Later("marvin_agent.frontends.tui.modellist")
    owncommands = Later("marvin_agent.frontends.tui.owncommands")

CONVERSATION = Later("marvin_agent.frontends.tui.conversation.history")
ENGINE = Later("marvin_agent.frontends.tui.boot")
"""Both are loaded when the first picture is there: what an empty conversation does without, and the whole engine."""
REST = tuple(Later(f"marvin_agent.frontends.tui.{name}") for name in ("conversation.inline", "conversation.highlight"))
"""Loaded in the background once the engine runs, so that the first answer does not wait for it."""


class MarvinApp(GuestApp):
    """One run of the app. `live` runs it to its end; what is left to say then is `last_words` and `failure`."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "marvin"
    AUTO_FOCUS = "PromptEditor"
    CSS = """
    Screen { layout: vertical; }
    #widgets { height: auto; max-height: 12; padding: 0 1; overflow-y: auto; scrollbar-size-vertical: 1; }
    ToastRack { dock: top; align: right top; margin: 1 0; }
    Toast { width: auto; max-width: 80%; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]

    def __init__(self, options: argparse.Namespace, places: Places, asked: Asked) -> None:
        super().__init__()
        self.options = options
        self.places = places
        self.engine: Engine | None = None
        self.config: Config | None = None
        self.failure: MarvinError | None = None
        """Why the program could not do its work; raised once the terminal is as it was."""
        self.terminal_before: list[Any] | None = None
        """The terminal's settings before marvin changed them: for programs that get it meanwhile."""
        self.state = State()
        self.stage = AppStage(self)
        self.themes = Themes(self, f"{places.config_dir}/themes", self._notify)
        self.key_actions = KeyActions(self)
        self.shortcuts = Shortcuts(self)
        self.notifier = Notifier(self.write_terminal, lambda: not self.app_focus)
        self.commands = CommandTable(self, lambda: owncommands.OWN)
        self.sender = Sender(self, asked)
        self.keymap: Mapping[str, str] = {}
        self.conversation = ConversationView(renderer=self._draw)
        self.searchbar = SearchBar(self.conversation)
        self._menu = menu = Menu()
        self.prompt = PromptEditor(
            cwd=places.cwd,
            completion=Completion(menu, FileList(places.cwd), self.commands),
            history=History(places.config_dir),
            draft=Draft(places.config_dir, places.project_root),
        )
        self._header = Header(self.state, places.cwd)
        self._queue = QueueView()
        self._footer = Footer(self.state)
        self._news = News(self, self.conversation, self.state)
        self._boot: Boot | None = None
        self._keyboard = Keyboard(self)
        self._said_early: list[out.Notice] = []
        """What was said before a session is shown, which begins the conversation anew."""
        self.leaving = False

    def compose(self) -> ComposeResult:
        yield self._header
        yield self.conversation
        yield Vertical(id="widgets")
        yield self._queue
        yield self.searchbar
        yield self._menu
        yield self.prompt
        yield self._footer

    @cached_property
    def person(self) -> "interface.Person":
        return interface.Person(self.stage, self._soon, self.places.cwd)

    @cached_property
    def models(self) -> "modellist.ModelList":
        return modellist.ModelList(self.places)

    # Life.

    async def live(self) -> None:
        """Run until the user leaves."""
        teach_textual()
        try:
            await self.run_async()
        finally:
            if self.engine and not self.leaving:
                await self.engine.close("error")

    async def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, lambda: self.begin_leaving("signal"))
        self.state.branch = git_branch(self.places.project_root)
        self.repaint()
        self._keyboard.begin()
        self.call_after_refresh(self._first_picture)

    def _first_picture(self) -> None:
        """The editor is on the screen: what was typed goes into it, and shows before the engine is loaded."""
        self.call_after_refresh(lambda: self.run_worker(self._begin(), name="engine"))

    async def _begin(self) -> None:
        """Start the engine, and try again when the user has mended what was missing."""
        try:
            await asyncio.to_thread(CONVERSATION.load)
            module = await asyncio.to_thread(ENGINE.load)
            self._boot = boot = module.Boot(self.options, self.places, self.person, self._notify)
            self.config = config = await boot.look()
            self._use(config)
            engine = await boot.start()
        except NoModelError as error:
            self.sender.stuck = True
            self.state.begin("")
            self.repaint()
            self.tell(f"{error.show()}\n\nHere, /login stores a key and goes on.", "warning", "marvin")
            return
        except MarvinError as error:
            self.failure = error
            self.exit(return_code=error.exit_code)
            return
        self.engine = engine
        await self._run(engine)

    def _use(self, config: "Config") -> None:
        """Take over what the configuration says of the app."""
        self.keymap, problems = configured(config.keybindings)
        self.set_keymap(dict(self.keymap))
        self.state.skip_key = shown(self.keymap.get("skipHook", "f8"))
        self.state.end_key = shown(self.keymap.get("bottom", "ctrl+end"))
        self.themes.take(config.theme)
        self.notifier.on = config.notifications
        self._read_templates()
        for problem in problems:
            self._notify(problem)

    def _read_templates(self) -> None:
        self.commands.templates = templates_in(f"{self.places.config_dir}/commands")
        project = self._boot.project if self._boot else None
        if project and project.trusted:
            self.commands.templates |= templates_of_project(project.snapshot.files)

    async def _run(self, engine: "Engine") -> None:
        self.run_worker(self._news.read(engine.outlet.subscribe()), name="news")
        await engine.start()
        self.state.begin("")
        self._report_shortcuts()
        self.sender.begin(engine)
        self.repaint()
        for later in REST:
            await asyncio.to_thread(later.load)

    def _report_shortcuts(self) -> None:
        for problem in self.shortcuts.conflicts():
            self._notify(problem)

    async def reload(self) -> int:
        """Load hooks and Markdown commands again; how many hooks there are then. Raises MarvinError."""
        engine = self.running_engine()
        await engine.reload()
        self._report_shortcuts()
        self._read_templates()
        return sum(hook.scope != "builtin" for hook in engine.hooks.registry.hooks)

    async def judge_project(self) -> str:
        """Ask whether the project may act, and load its hooks or take them out. Raises MarvinError."""
        if not self.running_engine().is_idle:
            raise UsageError("the agent is working; wait for it or stop it first")
        assert self._boot
        said = await self._boot.judge()
        if said and self._boot.judged_anew:
            await self.reload()
        return said

    def begin_leaving(self, reason: str) -> None:
        """Leave without holding the keys up: a hook that takes its time can still be skipped."""
        self.run_worker(self.leave(reason), name="leave")

    async def leave(self, reason: str) -> None:
        """End the run, tell the hooks, close the files, and leave."""
        if self.leaving:
            return
        self.leaving = True
        self.person.leave()
        self.prompt.keep_draft()
        self.state.leave()
        self.repaint()
        if self.engine:
            await self.engine.close(reason)
        self.stage.give_title_back()
        self.exit(return_code=0 if reason == "quit" else 128 + signal.SIGTERM)

    def last_words(self) -> str:
        """What is left on the normal screen: the last answer, and how to go on."""
        return farewell(self.engine, self.conversation.last_answer) if self.engine else ""

    # What the user sends.

    @on(PromptEditor.Submitted)
    def _submitted(self, event: PromptEditor.Submitted) -> None:
        self.sender.take(event.prompt, event.delivery)

    def running_engine(self) -> "Engine":
        """The engine. UsageError while there is none."""
        if self.engine is None:
            raise UsageError("marvin is still starting; try again in a moment")
        return self.engine

    # Keys.

    async def on_event(self, event: events.Event) -> None:
        match event:
            case events.Key() | events.Paste() if not event.is_forwarded and not self._keyboard.lets_through(event):
                return
            case events.MouseDown() if not self._keyboard.lets_click():
                return
        await super().on_event(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # Dialogs have the keys for themselves, but leaving is always possible.
        return action != "key" or not self.screen.is_modal or parameters == ("leave",)

    async def action_quit(self) -> None:
        # Textual's own key for it, which would tell the hooks nothing.
        self.begin_leaving("quit")

    async def action_key(self, name: str) -> None:
        try:
            await self.key_actions.do(name)
        except MarvinError as error:
            self.tell(error.show(), "error", "marvin")

    @on(PromptEditor.HelpWanted)
    def _help_wanted(self) -> None:
        self.key_actions.show_keys()

    @on(PromptEditor.TakeBack)
    def _take_back(self) -> None:
        if self.engine:
            self.prompt.put_back(self.engine.inbox.empty())

    @on(PromptEditor.Problem)
    def _problem(self, event: PromptEditor.Problem) -> None:
        self.tell(event.text, "warning", "marvin")

    @on(ConversationView.Left)
    def _left_the_end(self, event: ConversationView.Left) -> None:
        self.state.more_below = not event.at_end
        self.repaint()

    @on(BackgroundTold)
    def _background_told(self, event: BackgroundTold) -> None:
        self.themes.hear(light=event.light)

    # What the engine's events do to the app.

    def repaint(self) -> None:
        if engine := self.engine:
            self.state.show_model(engine.model, engine.thinking)
            self.state.show_spent(engine.spent)
        if self.is_mounted(self._footer):
            self._header.paint()
            self._footer.paint()

    def show_queue(self) -> None:
        self.prompt.has_queue = bool(self.state.queue)
        self._queue.show(self.state.queue)

    def session_changed(self, event: out.SessionChanged) -> None:
        engine = self.running_engine()
        if event.reason != "startup":
            self.conversation.clear()
        stored = (getattr(entry, "message", None) for entry in engine.session.entries)
        answers = [message for message in stored if isinstance(message, AssistantMessage)]
        self.state.open(answers, None if event.reason == "startup" else engine.spent)
        messages = engine.session.messages()
        if messages:
            kept = (getattr(entry, "changed_by", None) or () for entry in engine.session.context())
            self.conversation.load(messages, tuple(kept))
            for message in messages:
                if isinstance(message, AssistantMessage):
                    self.state.show_context(message)
            for notice in self._said_early:
                self.conversation.notice(notice)
        self._said_early.clear()

    def _draw(self, message: HookMessage, opened: bool) -> object | None:
        """What the renderer of a hook makes of a hook's message; None when there is none."""
        found = self.engine.side.renderers.get(message.custom_type) if self.engine else None
        return found[0](message, opened, self.current_theme) if found else None

    def settled(self) -> None:
        self.state.branch = git_branch(self.places.project_root)
        if not self.leaving:
            self.notifier.done("marvin is done")

    def changes(self, event: str, hooks: tuple[str, ...], call: str = "") -> "Changed | None":
        return changes.changed(self.engine.tally.changes(event, hooks, call)) if self.engine else None

    def tell(self, message: str, level: out.Level, source: str) -> None:
        self.stage.tell(message, level, source)

    def is_of_hook(self, error: Exception) -> bool:
        hooks = self.engine.hooks if self.engine else None
        if hooks is None or hooks.culprit(error) is None:
            return False
        hooks.report(error, "widget")
        return True

    # For commands.

    def copy(self, text: str) -> None:
        """To the clipboard, through the terminal."""
        self.copy_to_clipboard(text)
        self.tell(f"Copied {len(text):,} characters.", "info", "marvin")

    async def store_key(self, provider: str, typed: str) -> str:
        """Keep a provider's key, and begin when that was what was missing."""
        said = self.models.store_key(provider, typed)
        if self.engine is None:
            self._said_early.clear()
            self.run_worker(self._begin(), name="engine")
        return said

    def write_terminal(self, text: str) -> None:
        if self._driver:
            self._driver.write(text)

    def _notify(self, text: str) -> None:
        self.say(out.Notice(level="warning", text=text))

    def say(self, notice: out.Notice) -> None:
        """Put a line into the conversation that stays there when a session from before is shown."""
        self.conversation.notice(notice)
        if self.engine is None:
            self._said_early.append(notice)

    def _soon(self, function: Any, *arguments: Any) -> None:
        loop = self._loop
        if loop and not loop.is_closed():
            loop.call_soon_threadsafe(lambda: self.call_later(function, *arguments))
