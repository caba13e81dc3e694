"""Model router: a conversation begins with a cheap model, and goes to the model that you chose once it gets hard.

Hard is a prompt that is long, has a picture, names a file with `@` or says a word such as "refactor". From there on the
conversation stays with your model: "yes, go on" is no easy prompt in the middle of a migration, and its cache is warm.
The whole run that a prompt starts stays with its model, tool calls included.

Settings: `cheap`, the model for short prompts as `provider/id`; `characters`, how long an easy prompt may be (120);
`hard`, a regular expression for prompts that are not easy.
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
        begun = any(entry.type == "message" for entry in ctx.sessions.entries())
        if not short:
            easy.discard(event.session_id)
        elif not begun:
            easy.add(event.session_id)

    @marvin.on("model.resolve", purposes=("turn",))
    async def route(event: ModelResolve, ctx: Context) -> dict[str, object] | None:
        if event.session_id not in easy:
            return None
        return {"model": {"provider": provider, "id": model_id}}
