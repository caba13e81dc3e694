"""Whether a tool may run: what exactly, why it is asked, and the four answers."""

from collections.abc import Mapping
from typing import Any, ClassVar

from textual import events, on
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from marvin_agent.frontends.tui.choices import Choices
from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.frontends.tui.dialogs.preview import preview
from marvin_agent.text import one_line

Answer = dict[str, Any]


class PermissionDialog(Dialog[Answer]):
    DEFAULT_CSS = """
    PermissionDialog {
        & #fields { height: auto; display: none; }
        & .text { margin-bottom: 1; }
        & #why { color: $text-muted; height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = []
    KEYS = "Esc no"
    FIELD_KEYS = "Enter answers · Esc back"

    def __init__(self, question: Mapping[str, Any], cwd: str) -> None:
        super().__init__(f"May {one_line(str(question.get('tool_name') or 'a tool'), 60)} run?")
        self._question = question
        self._cwd = cwd
        self._patterns = [str(pattern) for pattern in question.get("patterns") or ()]
        self._field = ""
        """Which answer the fields belong to, once they are open."""

    def parts(self) -> list[Any]:
        what = VerticalScroll(Static(preview(self._question, self._cwd)), classes="text foreign")
        why = Static(Content(self._why()), id="why")
        fields = Vertical(id="fields")
        options = [("yes", "y  Yes, this once")]
        if self._patterns:
            options.append(("always", f"a  Always in this project: {one_line(', '.join(self._patterns), 120)}"))
        options += [("no", "n  No"), ("reason", "r  No, and say why")]
        return [what, why, Choices([(name, Content(text)) for name, text in options], id="list"), fields]

    def on_mount(self) -> None:
        self.query_one("#list", OptionList).focus()

    @property
    def keys(self) -> str:
        return self.FIELD_KEYS if self._field else self.KEYS

    def _why(self) -> str:
        why, rule = self._question.get("why"), self._question.get("rule")
        given = str(why) if why else f"asked because of the rule {rule}" if rule else "no rule allows it yet"
        return one_line(given, 300)

    def on_key(self, event: events.Key) -> None:
        known = {"y": "yes", "a": "always", "n": "no", "r": "reason"}
        if not self._field and (choice := known.get(event.key)):
            event.stop()
            if choice != "always" or self._patterns:
                self._choose(choice)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self._choose(event.option_id or "no")

    def _choose(self, choice: str) -> None:
        match choice:
            case "yes":
                self._answer("allow")
            case "always":
                self._open("always", self._patterns, "pattern")
            case "reason":
                self._open("reason", [""], "what should be done in its place")
            case _:
                self._answer("deny")

    def _open(self, field: str, values: list[str], placeholder: str) -> None:
        self._field = field
        box = self.query_one("#fields", Vertical)
        box.remove_children()
        inputs = [Input(value, placeholder=placeholder, select_on_focus=False) for value in values]
        box.mount(*inputs)
        box.display = True
        self.query_one("#list").display = False
        self._show_keys()
        inputs[0].focus()

    @on(Input.Submitted)
    def _entered(self) -> None:
        values = [field.value.strip() for field in self.query(Input)]
        if self._field == "always":
            self._answer("allow", remember=[value for value in values if value])
        else:
            self._answer("deny", reason=values[0])

    def action_cancel(self) -> None:
        if not self._field:
            self._answer("deny")
            return
        self._field = ""
        self._show_keys()
        self.query_one("#fields").display = False
        listing = self.query_one("#list", OptionList)
        listing.display = True
        listing.focus()

    def _answer(self, decision: str, *, reason: str = "", remember: list[str] | None = None) -> None:
        self.dismiss({"decision": decision, "reason": reason, "remember": remember or None})
