"""Writing the prompt in the user's own editor."""

import os
import shlex
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

from marvin_agent.errors import UsageError
from marvin_agent.frontends.tui.handover import run_in_terminal
from marvin_agent.settings import EditorCommand

if TYPE_CHECKING:
    from marvin_agent.frontends.tui.app import MarvinApp


def write_in_editor(app: "MarvinApp") -> None:
    """Take what is in the prompt to the editor, and what it leaves back."""
    command = editor_command(app.config.editor if app.config else None)
    with tempfile.TemporaryDirectory(prefix="marvin-") as directory:
        path = os.path.join(directory, "prompt.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(app.prompt.expanded())
        try:
            code = run_in_terminal(app, [*command, path], app.places.cwd, settings=app.terminal_before)
        except UsageError as error:
            app.tell(f"{error.message}. Set editor in config.json.", "error", "marvin")
            return
        if code:
            app.tell(f"{command[0]} ended with exit code {code}; the prompt is as it was.", "warning", "marvin")
            return
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                app.prompt.write(file.read().rstrip("\n"))
        except OSError as error:
            app.tell(f"{command[0]} left no text ({error.strerror}); the prompt is as it was.", "warning", "marvin")


def editor_command(setting: str | Sequence[str] | EditorCommand | None) -> list[str]:
    """The words that start the user's editor."""
    match setting:
        case EditorCommand(command=command, args=args):
            return [command, *args]
        case str():
            return shlex.split(setting)
        case None:
            return shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
        case words:
            return list(words)
