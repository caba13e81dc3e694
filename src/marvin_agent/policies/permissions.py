"""Who may act: tools that change something run only when the mode allows it."""

from typing import Any

from marvin_agent.hooks.api import HookAPI

LOOKING = frozenset({"read", "grep", "find", "ls"})
"""Tools that only look."""


def setup(marvin: HookAPI) -> None:
    mode = marvin.settings.get("mode", "ask")

    async def gate(event: Any, ctx: Any) -> dict[str, Any] | None:
        if mode == "auto" or event.tool_name in LOOKING or event.origin == "user":
            return None
        return {
            "block": True,
            "reason": f"permission mode is {mode} and nobody is here to ask. "
            'Run with --auto, or set "permissions": {"mode": "auto"} in config.json.',
        }

    if mode != "auto":
        marvin.on("tool.execute.before", gate, final=True)
