"""What came of a headless run, gathered from its events."""

from marvin_agent.agent import events as out
from marvin_agent.errors import Aborted, MarvinError
from marvin_agent.messages import AssistantMessage, Usage


class Result:
    """Grows with the events. Hooks may start further runs for the same prompt: their numbers are added up."""

    def __init__(self) -> None:
        self.prompt = ""
        self.provider: str | None = None
        self.model: str | None = None
        self.session_id: str | None = None
        self.session_path: str | None = None
        self.answer = ""
        """The text of the latest answer, also of one that was interrupted."""
        self.error: MarvinError | None = None
        self.stop_reason = "stop"
        self.usage: Usage | None = None
        self.turns = 0
        self.tool_calls = 0
        self.seconds = 0.0
        self.issues: list[dict[str, str]] = []

    def hear(self, event: out.EngineEvent) -> None:
        match event:
            case out.MessageEnded(message=AssistantMessage() as message):
                self.answer = message.text
            case out.AgentEnded():
                self.turns += event.turns
                self.tool_calls += event.tool_calls
                self.stop_reason = event.stop_reason
            case out.Notice(level=level, text=text, source=source):
                self.issue(level, text if source == "marvin" else f"{source}: {text}")
            case out.HookFailed():
                self.issue("error", failure_line(event))
            case _:
                pass

    def issue(self, level: str, text: str) -> None:
        self.issues.append({"level": level, "message": text})

    def failed(self, error: MarvinError) -> None:
        """The error that the program ends with."""
        self.error = error
        if self.stop_reason not in ("length", "refusal"):
            self.stop_reason = "aborted" if isinstance(error, Aborted) else "error"


def failure_line(event: out.HookFailed) -> str:
    """A hook's failure in a line."""
    where = f" at {event.place}" if event.place else ""
    return f"hook {event.hook} failed in {event.event}{where}: {event.error}"
