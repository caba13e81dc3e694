"""What a session was left with: its model and its thinking level."""

from marvin_agent.messages import AssistantMessage
from marvin_agent.session.entries import MessageEntry, ModelChangeEntry, ThinkingChangeEntry
from marvin_agent.session.store import Session


def last_model(session: Session) -> tuple[str, str] | None:
    """Provider and id of the model that a session was left with."""
    for entry in reversed(session.branch()):
        match entry:
            case ModelChangeEntry(provider=provider, model_id=model_id):
                return provider, model_id
            case MessageEntry(message=AssistantMessage(provider=provider, model=model)) if provider and model:
                return provider, model
            case _:
                pass
    return None


def last_thinking(session: Session) -> str | None:
    """The thinking level that a session was left with; None when nobody chose one."""
    levels = (entry.level for entry in reversed(session.branch()) if isinstance(entry, ThinkingChangeEntry))
    return next(levels, None)
