"""Model router: short prompts go to a cheap model, everything else to the model that you chose.

The whole run that a prompt starts stays with its model, tool calls included. A prompt with a picture is never short,
nor is one that names a file with `@`.

Settings: `cheap`, the model for short prompts as `provider/id`; `characters`, how long a short prompt may be (120);
`hard`, a regular expression for short prompts that are not easy.
"""

import re

from marvin_agent.hooks import ChatMessage, Context, HookAPI, ModelResolve

HARD = r"@\w|```|\b(design|refactor|debug|prove|architect\w*|investigate|migrate)\b"


def setup(marvin: HookAPI) -> None:
    """Judge each prompt, and send the calls of its run where it belongs."""
    provider, _, model_id = str(marvin.settings.get("cheap", "")).partition("/")
    longest = int(marvin.settings.get("characters", 120))
    hard = re.compile(marvin.settings.get("hard", HARD), re.IGNORECASE)
    easy: set[str] = set()
    if not model_id:
        marvin.log.warning('no cheap model: set hooks.settings["%s"].cheap to provider/id', marvin.id)
        return

    @marvin.on("chat.message", priority=-100)
    async def judge(event: ChatMessage, ctx: Context) -> None:
        texts = [part.text for part in event.output.parts if hasattr(part, "text")]
        text = "\n".join(texts)
        short = len(texts) == len(event.output.parts) and len(text) <= longest and not hard.search(text)
        (easy.add if short else easy.discard)(event.session_id)

    @marvin.on("model.resolve", purposes=("turn",))
    async def route(event: ModelResolve, ctx: Context) -> dict[str, object] | None:
        if event.session_id not in easy:
            return None
        return {"model": {"provider": provider, "id": model_id}}
