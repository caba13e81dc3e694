"""What the header and the footer show, gathered from the engine's events."""

import time

from marvin_agent.agent import events as out
from marvin_agent.llm.thinking import clamp
from marvin_agent.llm.values import Model, TextDelta, ThinkingDelta, ThinkingLevel, ToolCallDelta
from marvin_agent.messages import AssistantMessage
from marvin_agent.text import one_line


class State:
    """Changed by `hear` and nobody else but the setters of the app."""

    def __init__(self) -> None:
        self.activity = "starting"
        """What the agent does now; empty when it is idle."""
        self.since = time.monotonic()
        self.model = ""
        self.thinking = ""
        self.context_tokens = 0
        self.context_limit = 0
        self.tokens = 0
        self.cost = 0.0
        self.branch = ""
        self.queue: tuple[tuple[str, str], ...] = ()
        """What waits: `steer` or `follow-up`, and the text."""
        self.waiting: out.HookWaiting | None = None
        self.skip_key = "F8"
        """What skips the hook that is waited for."""
        self.statuses: dict[str, str] = {}
        """Texts of hooks by key."""
        self._tools: dict[str, str] = {}
        self._in_run = False
        self._leaving = False

    @property
    def busy(self) -> bool:
        return bool(self.activity)

    def hear(self, event: out.EngineEvent) -> None:
        """Take over what an event says."""
        match event:
            case out.AgentStarted() | out.TurnStarted():
                self._in_run = True
                self._do("waiting for the model")
            case out.MessageGrew(delta=ThinkingDelta()):
                self._do("thinking")
            case out.MessageGrew(delta=TextDelta()):
                self._do("answering")
            case out.MessageGrew(delta=ToolCallDelta(name=name)):
                self._do(f"writing a call of {one_line(name, 30)}" if name else "writing a tool call")
            case out.MessageEnded(message=AssistantMessage() as message):
                self._count(message)
            case out.ToolStarted():
                self._tools[event.tool_call_id] = one_line(event.tool_name, 30)
                self._running()
            case out.ToolEnded():
                self._tools.pop(event.tool_call_id, None)
                self._running()
            case out.RetryStarted():
                self._do(f"retry {event.attempt}/{event.max_attempts} in {event.delay_ms / 1000:.0f} s")
            case out.RetryEnded():
                self._do("waiting for the model")
            case out.CompactionStarted():
                self._do("compacting")
            case out.CompactionEnded():
                self._do("working" if self._in_run else "")
            case out.AgentSettled():
                self._in_run = False
                self._tools.clear()
                self._do("")
            case out.QueueChanged():
                steering = [("steer", text) for text in event.steering]
                self.queue = (*steering, *[("follow-up", text) for text in event.follow_up])
            case out.HookWaiting():
                self.waiting = event if event.hook else None
            case out.SessionChanged():
                self.context_tokens, self.tokens, self.cost = 0, 0, 0.0
            case _:
                pass

    def add(self, message: AssistantMessage) -> None:
        """Count a message of a session that is opened."""
        self._count(message)

    def show_model(self, model: Model, thinking: ThinkingLevel) -> None:
        """The model as it is now, and the level that it thinks at."""
        self.model, self.context_limit = model.ref, model.context_window
        self.thinking, _ = clamp(model, thinking)

    def begin(self, activity: str) -> None:
        self._do(activity)

    def leave(self) -> None:
        """The program ends: nothing that ends with it takes that off the screen."""
        self._do("leaving, Ctrl+C at once")
        self._leaving = True

    def _running(self) -> None:
        names = list(self._tools.values())
        idle = "working" if self._in_run else ""
        self._do(f"running {names[0]}" if len(names) == 1 else f"running {len(names)} tools" if names else idle)

    def _do(self, activity: str) -> None:
        if activity != self.activity and not self._leaving:
            if not self.activity or not activity:
                self.since = time.monotonic()
            self.activity = activity

    def _count(self, message: AssistantMessage) -> None:
        if usage := message.usage:
            self.context_tokens = usage.total_tokens
            self.tokens += usage.total_tokens
            self.cost += usage.cost.total
