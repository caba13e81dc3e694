"""Permission gate: asks before a shell command that is hard to take back, and refuses it when nobody is there to ask.

It is a `final` gate: it sees the command that will really run, whatever other hooks made of it.

Settings: `patterns`, a list of regular expressions in place of the ones below.
"""

import re

from marvin_agent.hooks import Context, HookAPI, ToolBeforeResult, ToolExecuteBefore

PATTERNS = (
    r"\brm\b[^;&|\n]*\s-(-recursive|-force|\w*[rRf])",
    r"\bfind\b[^;&|\n]*\s-(delete|exec\w*\s+rm)\b",
    r"\bsudo\b",
    r"\bgit\s+(push\b.*(--force|\s-f\b|\s\+\S)|reset\s+--hard|checkout\s+(--\s+)?\.(?=\s|$)|clean\s+-\w*f|branch\s+-D)",
    r"\b(mkfs|fdisk|shutdown|reboot)\b|\bdd\b.*\bof=",
    r"\b(chmod|chown)\s+-R\b",
    r"\b(curl|wget)\b.*\|\s*(sudo\s+)?\w*sh\b",
    r"\b(drop|truncate)\s+(table|database)\b",
)


def setup(marvin: HookAPI) -> None:
    """Watch the shell."""
    patterns = [re.compile(pattern, re.IGNORECASE) for pattern in marvin.settings.get("patterns", PATTERNS)]

    @marvin.on("tool.execute.before", tools=("bash",), final=True)
    async def ask(event: ToolExecuteBefore, ctx: Context) -> ToolBeforeResult | None:
        command = event.input["command"]
        if not any(pattern.search(command) for pattern in patterns):
            return None
        if not ctx.has_ui:
            return ToolBeforeResult(block=True, reason="this command needs a person's consent, and nobody is here")
        if not await ctx.ui.confirm("Run this command?", command):
            return ToolBeforeResult(block=True, reason="refused by the user")
        return None
