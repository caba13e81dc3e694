"""What dialogs and hooks do to the app's screen: implements `interface.Stage`."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from marvin_agent.agent import events as out
from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.text import one_line, printable

if TYPE_CHECKING:
    from marvin_agent.frontends.tui.app import MarvinApp

SEVERITY = {"warning": "warning", "error": "error"}
WIDGET_LINES = 10
"""Lines of a hook's widget that are shown."""


class AppStage:
    """Lives on the app's loop; whoever calls from elsewhere goes through `Person`."""

    def __init__(self, app: "MarvinApp") -> None:
        self._app = app
        self._widgets: dict[str, Widget] = {}
        self._dropped: set[Dialog[Any]] = set()

    def show_dialog(self, dialog: Dialog[Any], done: Callable[[Any], None]) -> None:
        if dialog in self._dropped:
            self._dropped.discard(dialog)
            return
        self._app.notifier.waiting("marvin asks something")
        self._app.push_screen(dialog, done)

    def drop_dialog(self, dialog: Dialog[Any]) -> None:
        if dialog.is_current:
            dialog.dismiss(None)
        elif not dialog.is_attached and dialog not in self._app.screen_stack:
            # Dropped before it was shown, or answered: either way it does not come any more.
            self._dropped.discard(dialog)

    def tell(self, message: str, level: out.Level, source: str) -> None:
        problem = level in ("warning", "error")
        if problem:
            # A toast goes away; what went wrong stays to be read.
            self._app.conversation.notice(out.Notice(level=level, text=message, source=source))
            if source == "marvin":
                return
        text = printable(message)
        title = "" if source == "marvin" else one_line(source, 60)
        severity: Any = SEVERITY.get(level, "information")
        self._app.notify(
            text, title=title, severity=severity, timeout=8 if severity != "information" else 5, markup=False
        )

    def set_hook_status(self, key: str, text: str | None) -> None:
        statuses = self._app.state.statuses
        if text is None:
            statuses.pop(key, None)
        else:
            statuses[key] = str(text)
        self._app.repaint()

    def set_hook_widget(self, key: str, content: Any) -> None:
        if old := self._widgets.pop(key, None):
            old.remove()
        if content is None:
            return
        widget = content if isinstance(content, Widget) else Static(_lines(content))
        self._widgets[key] = widget
        self._app.query_one("#widgets").mount(widget)

    def forget_hooks(self) -> None:
        """The hooks are loaded again: what they showed goes."""
        self._app.state.statuses.clear()
        for key in list(self._widgets):
            self.set_hook_widget(key, None)
        self._app.repaint()

    def set_terminal_title(self, title: str) -> None:
        self._app.write_terminal(f"\x1b]2;{one_line(title, 120)}\x07")

    def set_editor_text(self, text: str) -> None:
        self._app.prompt.write(text)

    def editor_text(self) -> str:
        return self._app.prompt.text

    def hand_over(self, run: Callable[[], int]) -> int:
        with self._app.suspend():
            return run()

    def current_colours(self) -> Any:
        return self._app.current_theme


def _lines(content: Any) -> Content:
    given: Sequence[Any] = [content] if isinstance(content, str) else list(content)
    lines = "\n".join(str(line) for line in given).splitlines()[:WIDGET_LINES]
    return Content("\n".join(printable(line) for line in lines))
