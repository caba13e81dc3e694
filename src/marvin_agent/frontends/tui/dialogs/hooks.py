"""`/hooks`: every hook and handler with its numbers, on and off, its last error, and the calls as they come."""

from functools import partial
from typing import Any, ClassVar, Protocol

from textual import events, on
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static

from marvin_agent.errors import MarvinError
from marvin_agent.frontends.tui.choices import MARK, Choices
from marvin_agent.frontends.tui.dialogs.confirm import ConfirmDialog
from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.frontends.tui.dialogs.text import ShowDialog
from marvin_agent.frontends.tui.hooklines import Entry, call_line, details, entries, heads
from marvin_agent.frontends.tui.latest import run_latest
from marvin_agent.hooks.system import HookSystem
from marvin_agent.hooks.tally import Tally
from marvin_agent.text import printable

OFTEN = 0.25
"""Seconds between two looks at whether something was called."""


class Asker(Protocol):
    async def ask(self, dialog: Dialog[bool]) -> bool | None: ...


class HooksDialog(Dialog[None]):
    DEFAULT_CSS = """
    HooksDialog {
        & #box { height: 100%; max-height: 100%; }
        & #heads { color: $text-muted; }
        & #list { height: 1fr; max-height: 100%; }
        & #calls { height: 30%; min-height: 4; border-top: solid $border-blurred; border-title-color: $text-muted; }
        & #seen { text-wrap: nowrap; text-overflow: ellipsis; }
        & #problem { color: $text-error; display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "switch", "On or off", show=False)]
    KEYS = "Enter details · Space on or off · Esc closes"

    def __init__(self, hooks: HookSystem, tally: Tally, asker: Asker) -> None:
        super().__init__("Hooks")
        self._hooks = hooks
        self._tally = tally
        self._asker = asker
        self._entries: list[Entry] = []
        self._counted = -1

    def parts(self) -> list[Any]:
        calls = VerticalScroll(Static(id="seen"), id="calls")
        calls.border_title = Content("calls, the newest last")
        return [Static(id="heads"), Choices(id="list"), Static(id="problem"), calls]

    def on_mount(self) -> None:
        self.query_one("#list").focus()
        self.app.clear_notifications()  # they would lie over the numbers
        self.call_after_refresh(self._paint)
        self.set_interval(OFTEN, self._look)

    def on_resize(self) -> None:
        self.call_after_refresh(self._paint)

    def too_early(self) -> bool:
        return False  # it asks nothing

    def _look(self) -> None:
        if self._tally.count != self._counted:
            self._paint()

    def _paint(self) -> None:
        listing, calls = self.query_one("#list", Choices), self.query_one("#calls", VerticalScroll)
        width = listing.size.width - len(MARK)
        self._counted = self._tally.count
        self._entries = entries(self._hooks, self._tally, width)
        listing.change([(entry.name, entry.line) for entry in self._entries])
        self.query_one("#heads", Static).update(Content(heads(width).rjust(len(MARK) + width)))
        at_end = calls.scroll_offset.y >= calls.max_scroll_y
        lines = [call_line(seen) for seen in self._tally.recent]
        self.query_one("#seen", Static).update(Content("\n").join(lines) if lines else Content("none yet"))
        if at_end:
            calls.scroll_end(animate=False)

    @property
    def _chosen(self) -> Entry | None:
        at = self.query_one("#list", OptionList).highlighted
        return self._entries[at] if at is not None and at < len(self._entries) else None

    @on(OptionList.OptionSelected)
    def _open(self) -> None:
        if entry := self._chosen:
            self.app.push_screen(
                ShowDialog(entry.handler.name if entry.handler else entry.hook_id, self._details(entry))
            )

    def _details(self, entry: Entry) -> Content:
        return details(entry, self._tally)

    def action_switch(self) -> None:
        if entry := self._chosen:
            run_latest(self, partial(self._switch, entry), "switch")

    async def _switch(self, entry: Entry) -> None:
        """Off needs a yes where the hook guards something."""
        hook, problem = entry.hook, ""
        guards = [handler.spec.name for handler in hook.handlers if handler.closed] if hook else []
        if guards:
            text = f"It guards {', '.join(dict.fromkeys(guards))}: nothing asks it any more until it is on again."
            if not await self._asker.ask(ConfirmDialog(f"Switch {entry.hook_id} off?", text)):
                return
        try:
            await self._hooks.switch(entry.hook_id, on=hook is None)
        except MarvinError as error:
            problem = error.show()
        line = self.query_one("#problem", Static)
        line.update(Content(printable(problem)))
        line.display = bool(problem)
        self._paint()

    def on_key(self, event: events.Key) -> None:
        if event.key in ("q", "f1"):
            event.stop()
            self.dismiss(None)
