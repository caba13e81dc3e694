"""What stays on the normal screen when the app is left."""

import shutil
from typing import TYPE_CHECKING

from marvin_agent.text import printable

if TYPE_CHECKING:
    from marvin_agent.agent.engine import Engine

MOST_LINES = 40


def farewell(engine: "Engine", answer: str) -> str:
    """The last answer, cut to what a screen holds, and the command that goes on with the session."""
    lines = printable(answer).strip().splitlines()
    if len(lines) > MOST_LINES:
        lines = [f"... ({len(lines) - MOST_LINES} lines before)", *lines[-MOST_LINES:]]
    parts = ["\n".join(lines)] if lines else []
    session = engine.session
    if session.path and session.entries:
        parts.append(f"marvin --session {session.id}")
    rule = "─" * min(shutil.get_terminal_size().columns, 40)
    return f"\n{rule}\n".join(parts)
