"""Inline shell: `!{command}` in a prompt is replaced by what the command prints. "Why does this fail? !{make test}"

With care: only in what a person typed, never in what was piped in or attached, nor in messages of other hooks. The
command goes through the same gates as the model's own calls, so the permission rules decide whether it runs.

Settings: `most`, how many characters of an output are kept (20000).
"""

import re
from typing import Any

from marvin_agent.hooks import ChatMessage, Context, HookAPI

COMMAND = re.compile(r"!\{([^{}\n]+)\}")
NOT_TYPED = re.compile(r"\n\n(<stdin>|\[Document: )")
"""Where the part of a prompt begins that somebody else may have written."""


def setup(marvin: HookAPI) -> None:
    """Expand the prompts of the person."""
    most = int(marvin.settings.get("most", 20_000))

    async def run(command: str, ctx: Context) -> str:
        answer = await ctx.call_tool("bash", {"command": command})
        if answer.is_error:
            ctx.ui.notify(f"!{{{command}}} failed: {answer.text[:200]}", "warning")
        output = answer.text.strip()
        if len(output) > most:
            output = f"{output[: most // 2]}\n[... cut ...]\n{output[-most // 2 :]}"
        return f"\n$ {command}\n{output}\n"

    async def expanded(text: str, ctx: Context) -> str:
        seam = NOT_TYPED.search(text)
        typed, rest = (text[: seam.start()], text[seam.start() :]) if seam else (text, "")
        made, end = "", 0
        for found in COMMAND.finditer(typed):
            made += typed[end : found.start()] + await run(found[1].strip(), ctx)
            end = found.end()
        return made + typed[end:] + rest

    @marvin.on("chat.message")
    async def expand(event: ChatMessage, ctx: Context) -> None:
        if event.input.source != "user":
            return
        parts: list[Any] = []
        for part in event.output.parts:
            text = getattr(part, "text", "")
            parts.append({"type": "text", "text": await expanded(text, ctx)} if COMMAND.search(text) else part)
        event.output.parts = parts
