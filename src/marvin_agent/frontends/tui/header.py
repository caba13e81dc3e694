"""The line at the top: where this is, and which model answers."""

import os

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from marvin_agent.frontends.tui.state import State
from marvin_agent.text import one_line


class Header(Static):
    DEFAULT_CSS = "Header { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, state: State, cwd: str) -> None:
        super().__init__("", markup=False, id="header")
        self._state = state
        self._cwd = cwd

    def paint(self) -> None:
        """Show the state as it is now."""
        state = self._state
        width = max((self.size.width or 80) - 2, 20)
        level = f" · {state.thinking}" if state.thinking and state.thinking != "off" else ""
        right = f"{short_model(state.model, max(width // 2, 20) - len(level))}{level}"
        room = width - cell_len(right) - len("marvin  ") - 2
        path = cell_len(short_path(self._cwd, room))
        branch = f" ({one_line(state.branch, min(max(room - path, room // 2) - 3, 30))})" if state.branch else ""
        left = f"  {short_path(self._cwd, room - cell_len(branch))}{branch}"
        gap = " " * max(width - cell_len(left) - cell_len(right) - len("marvin"), 1)
        self.update(Content.assemble(("marvin", "bold $text-primary"), left, gap, right))

    def on_resize(self) -> None:
        self.paint()


def short_model(ref: str, width: int) -> str:
    """A model in so many characters; its provider is what can be left out."""
    return one_line(ref if len(ref) <= width else ref.partition("/")[2] or ref, width)


def short_path(path: str, width: int) -> str:
    """A path in so many characters, its end being what matters."""
    home = os.path.expanduser("~")
    shown = f"~{path[len(home) :]}" if path == home or path.startswith(home + os.sep) else path
    shown = one_line(shown, 1_000)
    return shown if len(shown) <= max(width, 8) else "…" + shown[-max(width - 1, 7) :]


def git_branch(root: str) -> str:
    """The branch of a repository, or the beginning of its commit; empty when there is none."""
    try:
        git = os.path.join(root, ".git")
        if os.path.isfile(git):
            with open(git, encoding="utf-8") as file:
                git = os.path.join(root, file.read(4096).partition("gitdir:")[2].strip())
        with open(os.path.join(git, "HEAD"), encoding="utf-8") as file:
            head = file.read(4096).strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:8]
