"""Asking for a line of text."""

from typing import Any

from textual import on
from textual.widgets import Input

from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.text import one_line


class LineDialog(Dialog[str]):
    """`secret`: what is typed is not shown."""

    def __init__(self, title: str, placeholder: str = "", *, secret: bool = False) -> None:
        super().__init__(title)
        self._placeholder = placeholder
        self._secret = secret

    def parts(self) -> list[Any]:
        return [Input(placeholder=one_line(self._placeholder, 200), password=self._secret)]

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)
