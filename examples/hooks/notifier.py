"""Notifier: tells you when the agent is done, if it took so long that you may have looked away.

Settings: `seconds`, what counts as long (15); `command`, a list such as ["notify-send", "marvin", "{text}"]. When the
command is missing or fails, the terminal's bell rings.
"""

import sys
import time
from typing import Any

from marvin_agent.hooks import AgentEnd, AgentSettled, AgentStart, Context, HookAPI

SCRIPT = 'on run argv\ndisplay notification (item 1 of argv) with title "marvin"\nend run'
DESKTOP = {
    "darwin": ["osascript", "-e", SCRIPT, "{text}"],
    "linux": ["notify-send", "--app-name=marvin", "marvin", "{text}"],
}


def ring() -> None:
    """Ring the terminal's bell, if there is a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write("\a")
        sys.stderr.flush()


def setup(marvin: HookAPI) -> None:
    """Time the runs."""
    patience = float(marvin.settings.get("seconds", 15))
    command: list[str] = marvin.settings.get("command", DESKTOP.get(sys.platform, []))
    began: float | None = None
    outcome = "Done."

    @marvin.on("agent.start")
    async def start(event: AgentStart, ctx: Context) -> None:
        nonlocal began
        began = began or time.monotonic()

    @marvin.on("agent.end")
    async def end(event: AgentEnd, ctx: Context) -> None:
        nonlocal outcome
        outcome = f"Failed: {event.error.splitlines()[0]}" if event.error else "Done."

    @marvin.on("agent.settled")
    async def tell(event: AgentSettled, ctx: Context) -> None:
        nonlocal began
        took, began = time.monotonic() - (began or time.monotonic()), None
        if took >= patience:
            text = f"{outcome} ({took:.0f} s, {ctx.cwd})"
            if not await shown(ctx, text):
                ring()

    async def shown(ctx: Context, text: str) -> bool:
        if not command:
            return False
        program, *args = [text if word == "{text}" else word for word in command]
        try:
            done: Any = await ctx.exec(program, args, timeout=5)
        except Exception as error:  # it is not installed
            marvin.log.info("%s: %s", program, error)
            return False
        return bool(done.code == 0)
