"""Secret redaction: what looks like a key or a password never reaches the model, the screen or the session file.

It fails closed: when this hook cannot look at a tool's result, the result is withheld. While it is loaded, tools do not
show their output piece by piece, since a piece might be half of a secret.

Besides well-known forms of keys it hides the values of environment variables whose names sound secret.

Settings: `patterns`, more regular expressions to hide.
"""

import os
import re
from collections.abc import Callable
from typing import Any

from marvin_agent.hooks import ChatMessage, Context, HookAPI, ToolAfterResult, ToolExecuteAfter

MASK = "[redacted]"
FORMS = (
    r"\bsk-[\w-]{16,}",
    r"\bgh[opsur]_\w{20,}",
    r"\bxox[abprs]-[\w-]{10,}",
    r"\bAKIA[0-9A-Z]{16}\b",
    r"\bAIza[\w-]{30,}",
    r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    r"(?i:(?<=password=))\S+|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)",
)
SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
SHORTEST = 8
"""Shorter values of variables are too likely to be ordinary words."""


def redactor(more: list[str]) -> Callable[[Any], Any]:
    """A function that hides secrets in a text, and in all texts inside lists and dicts."""
    values = [value for name, value in os.environ.items() if SECRET_NAME.search(name) and len(value) >= SHORTEST]
    known = [re.escape(value) for value in sorted(values, key=len, reverse=True)]
    secret = re.compile("|".join([*known, *FORMS, *more]))

    def redact(value: Any) -> Any:
        if isinstance(value, str):
            return secret.sub(MASK, value)
        if isinstance(value, dict):
            return {key: redact(item) for key, item in value.items()}
        return [redact(item) for item in value] if isinstance(value, list) else value

    return redact


def setup(marvin: HookAPI) -> None:
    """Look at what tools give and at what the user writes."""
    redact = redactor(marvin.settings.get("patterns", []))

    def clean(parts: list[Any]) -> list[Any]:
        return [{"type": "text", "text": redact(part.text)} if hasattr(part, "text") else part for part in parts]

    # The lowest priority runs last: nothing is added behind its back.
    @marvin.on("tool.execute.after", on_error="closed", priority=-1000)
    async def hide_in_results(event: ToolExecuteAfter, ctx: Context) -> ToolAfterResult:
        return ToolAfterResult(content=clean(event.content), details=redact(event.details))

    @marvin.on("chat.message", on_error="closed", priority=-1000)
    async def hide_in_prompts(event: ChatMessage, ctx: Context) -> None:
        event.output.parts = clean(event.output.parts)
