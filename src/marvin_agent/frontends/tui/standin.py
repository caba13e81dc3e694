"""The conversation as plain text."""

from textual.containers import VerticalScroll
from textual.widgets import Static

from marvin_agent.agent import events as out
from marvin_agent.llm.values import Delta, TextDelta
from marvin_agent.messages import AssistantMessage, HookMessage, Message, ToolResultMessage, UserMessage, text_of
from marvin_agent.text import printable


class ConversationView(VerticalScroll):
    DEFAULT_CSS = "ConversationView { height: 1fr; padding: 0 1; } ConversationView Static { margin-bottom: 1; }"
    can_focus = False

    def __init__(self) -> None:
        super().__init__(id="conversation")
        self._live: Static | None = None
        self._text = ""
        self.last_answer = ""
        self.code_blocks: tuple[str, ...] = ()

    def _add(self, text: str) -> Static:
        made = Static(printable(text), markup=False)
        self.mount(made)
        self.scroll_end(animate=False)
        return made

    def add_user(self, message: UserMessage, changed_by: tuple[str, ...] = ()) -> None:
        self._add(f"> {text_of(message.content)}")

    def begin_answer(self) -> None:
        self._live, self._text = self._add(""), ""

    def grow(self, delta: Delta) -> None:
        if self._live and isinstance(delta, TextDelta):
            self._text += delta.text
            self._live.update(printable(self._text))
            self.scroll_end(animate=False)

    def end_answer(self, message: AssistantMessage, changed_by: tuple[str, ...] = ()) -> None:
        if self._live is None:
            self.begin_answer()
        assert self._live
        self._live.update(printable(message.text))
        self.last_answer = message.text or self.last_answer
        self._live = None
        self.scroll_end(animate=False)

    def withdraw(self, reason: str) -> None:
        if self._live:
            self._live.remove()
            self._live = None

    def tool_started(self, event: out.ToolStarted) -> None:
        self._add(f"* {event.tool_name} {event.input}")

    def tool_grew(self, event: out.ToolUpdated) -> None: ...

    def tool_ended(self, event: out.ToolEnded) -> None:
        self._add(f"  {event.status} {text_of(event.content)}")

    def notice(self, event: out.Notice) -> None:
        self._add(f"{event.level}: {event.text}")

    def hook_acted(self, event: out.HookActed) -> None:
        self._add(f"{event.hook} {event.verdict} {event.event}: {event.reason}")

    def hook_message(self, message: HookMessage) -> None:
        self._add(text_of(message.content))

    def load(self, messages: tuple[Message, ...]) -> None:
        for message in messages:
            match message:
                case UserMessage():
                    self.add_user(message)
                case AssistantMessage():
                    self.end_answer(message)
                case ToolResultMessage():
                    self._add(text_of(message.content))
                case HookMessage():
                    self.hook_message(message)

    def clear(self) -> None:
        self.remove_children()

    def toggle_last_tool(self) -> None: ...

    def toggle_thinking(self) -> None: ...

    @property
    def selected_text(self) -> str:
        return ""
