"""Who may act: a final gate lets a tool call run, asks the person about it, or refuses it, by mode and rules."""

import importlib
from typing import Any

from marvin_agent.errors import ConfigError
from marvin_agent.hooks.api import HookAPI

MODES = ("ask", "edits", "auto", "plan")


def setup(marvin: HookAPI) -> None:
    settings = marvin.settings
    mode = settings.get("mode", "ask")
    if mode not in MODES:
        raise ConfigError(f"permissions.mode is one of {', '.join(MODES)}, not {mode!r}")
    if mode == "auto" and not settings.get("deny"):
        return  # all runs: no call has to wait for a gate
    # Rules are checked now; without any, the gate is loaded with the first call, which many runs never make.
    ruled = any(settings.get(name) for name in ("allow", "ask", "deny"))
    gate: Any = _gate(mode, settings) if ruled else None

    async def judge(event: Any, ctx: Any) -> dict[str, Any] | None:
        nonlocal gate
        gate = gate or _gate(mode, settings)
        answer: dict[str, Any] | None = await gate.look_at(event, ctx)
        return answer

    marvin.on("tool.execute.before", judge, final=True)


def _gate(mode: str, settings: dict[str, Any]) -> Any:
    return importlib.import_module("marvin_agent.policies.permissions.gate").Gate(mode, settings)
