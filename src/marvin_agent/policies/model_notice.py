"""Tells the user when a hook, and not the user, changed the model: it decides where words go and what they cost."""

from typing import Any

from marvin_agent.hooks.api import HookAPI


def setup(marvin: HookAPI) -> None:
    async def tell(event: Any, ctx: Any) -> None:
        if event.source == "hook":
            before = f"{event.previous_provider}/{event.previous_model_id}"
            now = f"{event.new_provider}/{event.new_model_id}"
            ctx.ui.notify(f"A hook changed the model from {before} to {now} (thinking {event.thinking_level})", "info")

    marvin.on("model.change", tell)
