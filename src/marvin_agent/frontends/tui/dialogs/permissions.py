"""`/permissions`: the mode, the rules of the configuration, and the remembered ones, which can be forgotten."""

from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList, Static

from marvin_agent.errors import MarvinError, of_file
from marvin_agent.frontends.tui.choices import Choices
from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.policies.permissions.remembered import Remembered
from marvin_agent.settings import PermissionSettings
from marvin_agent.text import one_line, printable

MEANS = {
    "ask": "what acts is asked about",
    "edits": "files may be changed, everything else that acts is asked about",
    "auto": "everything runs",
    "plan": "nothing runs that changes anything",
}
WIDTH = 300
REMEMBERED = "remembered "


class PermissionsDialog(Dialog[None]):
    """Raises ConfigError when what is remembered cannot be read."""

    DEFAULT_CSS = """
    PermissionsDialog #list { max-height: 70vh; }
    PermissionsDialog #problem { height: auto; color: $text-error; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("delete,backspace,d", "forget", "Forget", show=False)]

    def __init__(self, settings: PermissionSettings, remembered: Remembered, root: str) -> None:
        super().__init__("Permissions")
        self._settings = settings
        self._remembered = remembered
        self._root = root
        self._known = remembered.rules(root)

    @property
    def keys(self) -> str:
        return "Del forgets what is remembered · Esc closes" if self._known else "Esc closes"

    def parts(self) -> list[Any]:
        problem = Static(id="problem", markup=False)
        problem.display = False
        return [Choices(self._lines(), id="list"), problem]

    def on_mount(self) -> None:
        self.query_one("#list").focus()

    def too_early(self) -> bool:
        return False  # it asks nothing

    def _lines(self) -> list[tuple[str, Content]]:
        settings = self._settings
        rows = [("mode", f"{settings.mode}: {MEANS[settings.mode]}", "")]
        for kind in ("deny", "ask", "allow"):
            rows += [(kind, rule, "  of the configuration") for rule in getattr(settings, kind)]
        lines = [(f"rule {at}", _line(*row)) for at, row in enumerate(rows)]
        origin = "  remembered for this project"
        return [*lines, *((REMEMBERED + rule, _line("allow", rule, origin)) for rule in map(str, self._known))]

    def action_forget(self) -> None:
        listing = self.query_one("#list", Choices)
        at = listing.highlighted
        name = listing.get_option_at_index(at).id if at is not None else None
        if name and name.startswith(REMEMBERED):
            try:
                self._remembered.forget(self._root, name.removeprefix(REMEMBERED))
                self._known = self._remembered.rules(self._root)
            except (MarvinError, OSError) as error:
                line = self.query_one("#problem", Static)
                line.update(Content(printable(of_file(error).show())))
                line.display = True
                return
            listing.change(self._lines())
            self._show_keys()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()


def _line(kind: str, text: str, origin: str) -> Content:
    return Content.assemble((kind.ljust(6), "bold"), one_line(text, WIDTH), (origin, "$text-muted"))
