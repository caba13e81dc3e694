"""Answers that ended otherwise than they should: what the user is told, and whether the run has failed."""

from msgspec import UNSET

from marvin_agent.errors import ContentRefusedError, MarvinError, ProviderError
from marvin_agent.messages import AssistantMessage


def notice_of(message: AssistantMessage) -> str | None:
    """A line for the user about an answer that is not whole, or is nothing at all."""
    match message.stop_reason:
        case "length" if not message.tool_calls:
            return "the answer is cut off: it reached the limit of its length"
        case "stop" if not message.text.strip():
            return "the model ended without a word"
        case _:
            return None


def failure_of(message: AssistantMessage) -> MarvinError | None:
    """Why a run that ends with this answer did not do what was asked; None when it may have."""
    request_id = None if message.request_id is UNSET else message.request_id
    match message.stop_reason:
        case "refusal":
            return ContentRefusedError(
                "the model refused to go on",
                provider=message.provider,
                request_id=request_id,
                hint="Ask in another way, or use another model.",
            )
        case "length" if message.tool_calls:
            return ProviderError(
                "the answer reached the limit of its length while it called a tool, so nothing was run",
                provider=message.provider,
                request_id=request_id,
                hint="Go on with `marvin -c`: the model is told. Ask for less at once.",
            )
        case _:
            return None
