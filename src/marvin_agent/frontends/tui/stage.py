"""What dialogs and hooks do to the app's screen: implements `interface.Stage`."""

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from marvin_agent.agent import events as out
from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.later import Later
from marvin_agent.text import one_line, printable

if TYPE_CHECKING:
    from marvin_agent.frontends.tui import handover
    from marvin_agent.frontends.tui.app import MarvinApp
    from marvin_agent.hooks import account
    from marvin_agent.llm.auth import keys
else:
    account = Later("marvin_agent.hooks.account")
    handover = Later("marvin_agent.frontends.tui.handover")
    keys = Later("marvin_agent.llm.auth.keys")

SEVERITY = {"warning": "warning", "error": "error"}
TOAST_SECONDS = 6.0
TOASTS = 4
TOAST_LINES = 5
TOAST_WIDTH = 160
WIDGET_LINES = 10
"""Lines of a hook's widget that are shown."""


class Toast(NamedTuple):
    """What a toast says, for the conversation; None when it stands there already."""

    since: float
    notice: out.Notice | None


class AppStage:
    """Lives on the app's loop; whoever calls from elsewhere goes through `Person`."""

    def __init__(self, app: "MarvinApp") -> None:
        self._app = app
        self._widgets: dict[str, Widget] = {}
        self._titled = False
        self._told: dict[str, Toast] = {}
        """The toasts that are seen."""

    def show_dialog(self, dialog: Dialog[Any], done: Callable[[Any], None]) -> None:
        self._app.notifier.waiting("marvin asks something")
        self._clear_toasts()
        self._app.push_screen(dialog, done)

    def drop_dialog(self, dialog: Dialog[Any]) -> None:
        if self._app.screen is dialog:
            dialog.dismiss(None)
        else:
            dialog.dropped = True

    def tell(self, message: str, level: out.Level, source: str) -> None:
        problem = level in ("warning", "error")
        lines = printable(message).split("\n")
        text = "\n".join(one_line(line, TOAST_WIDTH) for line in lines[:TOAST_LINES])
        if problem or len(lines) > TOAST_LINES or max(map(len, lines)) > TOAST_WIDTH:
            # A toast goes away, and holds little; what went wrong, and what is long, stays to be read.
            self._app.say(out.Notice(level=level, text=message, source=source))
            if source == "marvin":
                return
        now = time.monotonic()
        self._told = {text: toast for text, toast in self._told.items() if toast.since > now - TOAST_SECONDS}
        if text in self._told:
            return  # it still stands there
        notice = None if problem else out.Notice(level=level, text=message, source=source)
        if len(self._told) >= TOASTS or (isinstance(self._app.screen, Dialog) and source != "marvin"):
            # There is no room for more, or it would lie over what is asked: it goes where nothing is lost.
            if notice:
                self._app.say(notice)
            return
        self._told[text] = Toast(now, notice)
        title = "" if source == "marvin" else one_line(source, 60)
        severity: Any = SEVERITY.get(level, "information")
        self._app.notify(text, title=title, severity=severity, timeout=TOAST_SECONDS, markup=False)

    def _clear_toasts(self) -> None:
        """Take away what would lie over a question; what is told nowhere else goes to the conversation."""
        for toast in self._told.values():
            if toast.notice and toast.notice.source != "marvin" and toast.since > time.monotonic() - TOAST_SECONDS:
                self._app.conversation.notice(toast.notice)
        self._told.clear()
        self._app.clear_notifications()

    def set_hook_status(self, key: str, text: str | None) -> None:
        statuses = self._app.state.statuses
        if text is None:
            statuses.pop(key, None)
        else:
            statuses[key] = text
        self._app.repaint()

    def set_hook_widget(self, key: str, content: Any) -> None:
        app = self._app
        old = self._widgets.pop(key, None)
        if old is not None and old is not content:
            app.guests.forget(old)
            old.remove()
        if content is None:
            return
        widget = self._widgets[key] = content if isinstance(content, Widget) else Static(_lines(content))
        if old is content:
            widget.refresh(layout=True)
            return

        # A widget may fail while it is painted, when nothing can be taken away.
        def failed(error: Exception) -> None:
            app.call_later(self._widget_failed, key, widget, error)

        app.guests.welcome(widget, failed)
        try:
            app.query_one("#widgets").mount(widget)
        except Exception as error:
            self._widget_failed(key, widget, error)

    def _widget_failed(self, key: str, widget: Widget, error: Exception) -> None:
        """Put a line in the place of a hook's widget."""
        if self._widgets.get(key) is widget:
            self.set_hook_widget(key, [f"{key} failed: {account.describe(error)}"])
        if engine := self._app.engine:
            engine.hooks.report(error, "widget", key)

    def forget_hook(self, hook: str) -> None:
        statuses = self._app.state.statuses
        for key in [key for key in statuses if key.startswith(f"{hook}:")]:
            del statuses[key]
        for key in [key for key in self._widgets if key.startswith(f"{hook}:")]:
            self.set_hook_widget(key, None)
        self._app.repaint()

    def set_terminal_title(self, title: str) -> None:
        if not self._titled:
            self._titled = True
            self._app.write_terminal("\x1b[22;2t")  # the terminal keeps its own for when marvin is left
        self._app.write_terminal(f"\x1b]2;{one_line(title, 120)}\x07")

    def give_title_back(self) -> None:
        """The terminal's title as it was before hooks changed it."""
        if self._titled:
            self._app.write_terminal("\x1b[23;2t")

    def set_editor_text(self, text: str) -> None:
        self._app.prompt.write(text)

    def editor_text(self) -> str:
        return self._app.prompt.text

    def hand_over(self, words: Sequence[str]) -> int:
        secret = keys.provider_key_names()
        env = {name: value for name, value in os.environ.items() if name not in secret}
        app = self._app
        return handover.run_in_terminal(app, words, app.places.cwd, settings=app.terminal_before, env=env)

    def current_colours(self) -> Any:
        return self._app.current_theme


def _lines(lines: Sequence[str]) -> Content:
    given = "\n".join(lines).split("\n")
    if len(given) > WIDGET_LINES:
        given[WIDGET_LINES - 1 :] = [f"... and {len(given) - WIDGET_LINES + 1:,} more lines"]
    return Content("\n".join(map(printable, given)))
