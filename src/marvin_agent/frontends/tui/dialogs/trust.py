"""The question at start whether a project's `.marvin` may act: its files, to be looked at."""

from collections.abc import Mapping
from typing import Any, Literal

from textual import events, on
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static

from marvin_agent.frontends.tui.choices import Choices
from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.text import printable

Choice = Literal["once", "always", "no"]
SHOWN = 200
"""Lines of a file that are shown; the rest is counted."""


class TrustDialog(Dialog[Choice]):
    DEFAULT_CSS = "TrustDialog .text { margin: 1 0; max-height: 60vh; border: round $border-blurred; }"
    KEYS = "Tab: read on · Esc no"

    def __init__(self, root: str, files: Mapping[str, bytes], changes: Mapping[str, str]) -> None:
        super().__init__("Trust this project?")
        self._root = root
        self._files = files
        self._changes = changes

    def parts(self) -> list[Any]:
        head = Static(
            Content(
                f"{printable(self._root)}/.marvin has {len(self._files)} files that can act: hooks are code that runs"
                " with your rights. Nothing of them has run yet."
            )
        )
        return [
            head,
            VerticalScroll(Static(self._content()), classes="text"),
            Choices(
                [
                    ("once", Content("o  Trust them for this run")),
                    ("always", Content("a  Always, as long as nothing in them changes")),
                    ("no", Content("n  No, go on without them")),
                ],
                id="list",
            ),
        ]

    def on_mount(self) -> None:
        listing = self.query_one("#list", OptionList)
        listing.focus()
        listing.highlighted = 2

    def _content(self) -> Content:
        parts = []
        for path, data in sorted(self._files.items()):
            mark = f"  ({self._changes[path]})" if path in self._changes else ""
            lines = printable(data.decode("utf-8", "replace")).splitlines()
            rest = f"\n... and {len(lines) - SHOWN} more lines" if len(lines) > SHOWN else ""
            body = "\n".join(lines[:SHOWN]) + rest
            parts.append(Content.assemble((f"{printable(path)}{mark}", "bold"), "\n", body))
        return Content("\n\n").join(parts)

    def on_key(self, event: events.Key) -> None:
        known: dict[str, Choice] = {"o": "once", "a": "always", "n": "no"}
        if choice := known.get(event.key):
            event.stop()
            self.dismiss(choice)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        choices: dict[str | None, Choice] = {"once": "once", "always": "always"}
        self.dismiss(choices.get(event.option_id, "no"))

    def action_cancel(self) -> None:
        self.dismiss("no")
