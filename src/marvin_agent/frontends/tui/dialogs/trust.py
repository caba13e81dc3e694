"""The question at start whether a project's `.marvin` may act: its files, to be looked at."""

from collections.abc import Mapping
from typing import Any, Literal

from textual import events, on
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static

from marvin_agent.frontends.tui.choices import Choices
from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.frontends.tui.dialogs.foreign import foreign
from marvin_agent.text import revealed

Choice = Literal["once", "always", "no"]
SHOWN = 10_000
"""Lines that are shown; the rest is counted."""
LONGEST = 2_000
"""Letters of a line that are shown: a repository must not keep the app busy for minutes."""


class TrustDialog(Dialog[Choice]):
    DEFAULT_CSS = """
    TrustDialog {
        & #box { max-height: 100%; }
        & .text { margin: 1 0; max-height: 50vh; border: round $border-blurred; }
    }
    """
    KEYS = "Esc no"

    def __init__(
        self, root: str, files: Mapping[str, bytes], changes: Mapping[str, str], *, trusted: bool = False
    ) -> None:
        super().__init__("Trust this project?")
        self._root = root
        self._files = files
        self._changes = changes
        self._trusted = trusted

    def parts(self) -> list[Any]:
        content, hidden = self._content()
        state = "They are trusted now." if self._trusted else "Nothing of them has run yet."
        if hidden:
            lines = "a line is" if hidden == 1 else f"{hidden:,} lines are"
            state += f" There is too much to be shown, {lines} missing or cut: look at the files first."
        count = "a file" if len(self._files) == 1 else f"{len(self._files)} files"
        head = Static(
            Content(
                f"{revealed(self._root)}/.marvin has {count} that can act: hooks are code that runs"
                f" with your rights. {state}"
            )
        )
        return [
            head,
            VerticalScroll(Static(content), classes="text"),
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

    def _content(self) -> tuple[Content, int]:
        """The files, and how many lines of them are not shown, or not whole."""
        parts = []
        hidden, room = 0, SHOWN
        for path, data in sorted(self._files.items()):
            mark = f"  ({self._changes[path]})" if path in self._changes else ""
            lines = data.decode("utf-8", "replace").split("\n")
            shown, rest = lines[:room], len(lines[room:])
            hidden += rest + sum(len(line) > LONGEST for line in shown)
            # Long lines take the room of several.
            room = max(room - sum(1 + min(len(line), LONGEST) // 100 for line in shown), 0)
            more = (f"\n... and {rest:,} more lines", "$text-warning") if rest else ""
            parts.append(Content.assemble((f"{revealed(path)}{mark}", "bold"), "\n", foreign(_cut(shown)), more))
        parts += [Content.styled(f"{revealed(path)}  (gone)", "bold") for path in self._gone()]
        return Content("\n\n").join(parts), hidden

    def _gone(self) -> list[str]:
        return sorted(path for path, what in self._changes.items() if what == "gone")

    def on_key(self, event: events.Key) -> None:
        known: dict[str, Choice] = {"o": "once", "a": "always", "n": "no"}
        if choice := known.get(event.key):
            event.stop()
            self.dismiss(choice)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        choices: dict[str | None, Choice] = {"once": "once", "always": "always"}
        self.dismiss(choices.get(event.option_id, "no"))


def _cut(lines: list[str]) -> str:
    whole = (len(line) <= LONGEST for line in lines)
    return "\n".join(
        line if fits else f"{line[:LONGEST]} ... and {len(line) - LONGEST:,} more letters"
        for line, fits in zip(lines, whole, strict=True)
    )
