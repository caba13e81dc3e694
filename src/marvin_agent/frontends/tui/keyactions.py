"""What each key of the table does."""

import time
from typing import TYPE_CHECKING

from marvin_agent.frontends.tui.keys import help_lines
from marvin_agent.later import Later
from marvin_agent.llm.thinking import clamp, supported

if TYPE_CHECKING:
    from marvin_agent.frontends.tui import externaleditor
    from marvin_agent.frontends.tui.app import MarvinApp
    from marvin_agent.frontends.tui.dialogs import text as dialogs
else:
    externaleditor = Later("marvin_agent.frontends.tui.externaleditor")
    dialogs = Later("marvin_agent.frontends.tui.dialogs.text")

TWICE = 2.0
"""Seconds in which a second Ctrl+C leaves."""


class KeyActions:
    """Run by the app, in its context."""

    def __init__(self, app: "MarvinApp") -> None:
        self._app = app
        self._pressed = float("-inf")

    async def do(self, name: str) -> None:
        """The action of a key."""
        app = self._app
        match name:
            case "interrupt":
                self.interrupt()
            case "leave":
                self._clear_or_leave()
            case "cycleModel":
                await self._cycle_model()
            case "cycleThinking":
                await self._cycle_thinking()
            case "openTool":
                app.conversation.toggle_last_tool()
            case "showThinking":
                app.conversation.toggle_thinking()
            case "editor":
                externaleditor.write_in_editor(app)
            case "skipHook":
                self._skip_hook()
            case "search":
                app.searchbar.open()
            case "pageUp":
                app.conversation.action_page(-1)
            case "pageDown":
                app.conversation.action_page(1)
            case "top":
                app.conversation.action_top()
            case "bottom":
                app.conversation.action_bottom()
            case _:
                self.show_keys()

    def interrupt(self) -> None:
        """Stop what runs; what waited in the queue goes back to the editor."""
        engine = self._app.engine
        if engine is None:
            return
        if waited := tuple(prompt for prompt in engine.abort() if not prompt.source.startswith("hook:")):
            self._app.prompt.put_back(waited)

    def _clear_or_leave(self) -> None:
        app = self._app
        if app.leaving:
            app.exit(return_code=0)
            return
        asked = app.screen.is_modal
        if asked:
            selected = getattr(app.focused, "selected_text", "")
        else:
            selected = app.conversation.selected_text or app.prompt.selected_text
        if selected:
            app.copy(selected)
            app.conversation.action_unmark()
            return
        now = time.monotonic()
        if now - self._pressed < TWICE:
            app.begin_leaving("quit")
            return
        self._pressed = now
        if not app.prompt.is_empty and not asked:
            app.prompt.clear_text()
        app.notify("Ctrl+C again leaves.", timeout=TWICE, markup=False)

    async def _cycle_model(self) -> None:
        engine = self._app.engine
        if engine is None:
            return
        models = engine.setup.cycle
        if len(models) < 2:
            self._app.tell("There is one model in the list; --model a,b or /model gives others.", "info", "marvin")
            return
        refs = [model.ref for model in models]
        at = (refs.index(engine.model.ref) + 1) % len(refs) if engine.model.ref in refs else 0
        await engine.set_model(models[at], engine.setup.thinking_of(at), source="cycle")

    async def _cycle_thinking(self) -> None:
        engine = self._app.engine
        if engine is None:
            return
        levels = supported(engine.model)
        if len(levels) < 2:
            self._app.tell(f"{engine.model.ref} has no thinking levels.", "info", "marvin")
            return
        at = levels.index(clamp(engine.model, engine.thinking)[0]) + 1
        await engine.set_thinking(levels[at % len(levels)])

    def _skip_hook(self) -> None:
        engine, waits = self._app.engine, self._app.state.waiting
        if engine is None or waits is None:
            return
        dispatcher = engine.hooks.dispatcher
        for running in dispatcher.running():
            if running.hook.id == waits.hook and running.handler.spec.name == waits.event:
                dispatcher.skip(running)

    def show_keys(self) -> None:
        """All keys, those of hooks among them."""
        app = self._app
        app.push_screen(dialogs.ShowDialog("Keys", help_lines(app.keymap, app.shortcuts())))
