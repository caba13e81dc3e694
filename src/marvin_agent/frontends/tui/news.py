"""Where each event of the engine goes: to the conversation, the lines around it, or a toast."""

import asyncio
import time
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import UNSET

from marvin_agent.agent import events as out
from marvin_agent.agent.outlet import Subscription
from marvin_agent.frontends.tui.conversation.view import ConversationView
from marvin_agent.frontends.tui.state import State
from marvin_agent.messages import AssistantMessage, HookMessage, Text, UserMessage

if TYPE_CHECKING:
    from marvin_agent.frontends.tui.conversation.diffs import Changed

SLICE = 0.015
"""Seconds of events in a row; then keys get their turn."""


class Shell(Protocol):
    """What of the app hears of events."""

    def changes(self, event: str, hooks: tuple[str, ...], call: str = "") -> "Changed | None": ...

    def repaint(self) -> None: ...

    def show_queue(self) -> None: ...

    def session_changed(self, event: out.SessionChanged) -> None: ...

    def tell(self, message: str, level: out.Level, source: str) -> None: ...

    def settled(self) -> None: ...


class News:
    """Reads the engine's channel until it is closed."""

    def __init__(self, shell: Shell, conversation: ConversationView, state: State) -> None:
        self._shell = shell
        self._conversation = conversation
        self._state = state
        self._acted: set[tuple[str, str, str]] = set()
        self._withdrawn = ""
        """Why the latest attempt failed, when the conversation says so."""

    async def read(self, subscription: Subscription) -> None:
        until = time.monotonic() + SLICE
        async for event in subscription.events():
            self._hear(event)
            if time.monotonic() > until:
                # A model that streams fast must not keep the keys waiting.
                await asyncio.sleep(0)
                until = time.monotonic() + SLICE

    def _hear(self, event: out.EngineEvent) -> None:
        activity = self._state.activity
        self._state.hear(event)
        self._show(event)
        if not isinstance(event, out.MessageGrew | out.ToolUpdated) or activity != self._state.activity:
            self._shell.repaint()

    def _show(self, event: out.EngineEvent) -> None:
        conversation = self._conversation
        match event:
            case out.MessageStarted(message=AssistantMessage()):
                conversation.begin_answer()
            case out.MessageGrew():
                conversation.grow(event.delta)
            case out.MessageEnded():
                self._message(event)
            case out.MessageWithdrawn():
                self._withdrawn = event.reason if conversation.withdraw(event.reason) else ""
            case out.ToolStarted():
                conversation.tool_started(event, self._typed(event))
            case out.ToolUpdated():
                conversation.tool_grew(event)
            case out.ToolEnded():
                by = event.changed_by or ()
                conversation.tool_ended(event, self._shell.changes("tool.execute.after", by, event.tool_call_id))
            case out.RetryStarted():
                error = event.error.partition("\n")[0]  # what to do about it is told when it has failed for good
                why = "." if event.error == self._withdrawn else f": {error}"
                self._line("warning", f"Trying again in {event.delay_ms / 1000:.1f} s{why}")
            case out.CompactionEnded():
                self._compacted(event)
            case out.AgentEnded():
                self._ended(event)
            case out.AgentSettled():
                self._shell.settled()
            case out.QueueChanged():
                self._shell.show_queue()
            case out.SessionChanged():
                self._shell.session_changed(event)
            case out.Notice():
                conversation.notice(event)
            case out.HookFailed():
                where = f" at {event.place}" if event.place else ""
                self._shell.tell(f"failed in {event.event}{where}: {event.error}", "error", event.hook)
            case out.HookActed():
                self._hook_acted(event)
            case _:
                pass

    def _typed(self, event: out.ToolStarted) -> "Changed | None":
        """What the user typed, when hooks made another command of it."""
        if not event.tool_call_id.startswith(out.CALL_OF_USER) or not event.changed_by:
            return None
        found = self._shell.changes("user.bash", event.changed_by)
        return found if found and found.after == event.input.get("command") else None

    def _message(self, event: out.MessageEnded) -> None:
        by: Any = () if event.changed_by is UNSET else event.changed_by
        match event.message:
            case UserMessage():
                self._conversation.add_user(event.message, by, self._shell.changes("chat.message", by) if by else None)
            case AssistantMessage():
                self._conversation.end_answer(event.message, by)
            case HookMessage() if event.message.display:
                self._conversation.hook_message(event.message)
            case _:
                pass

    def _compacted(self, event: out.CompactionEnded) -> None:
        if event.error:
            self._line("error", event.error)
            return
        # The model knows the conversation so far by this, and nothing else of it.
        summary = HookMessage(custom_type="compaction", content=(Text(text=event.summary or ""),))
        self._conversation.hook_message(summary)
        self._state.context_tokens = 0

    def _ended(self, event: out.AgentEnded) -> None:
        self._acted.clear()
        if event.stop_reason == "aborted":
            self._line("warning", "Stopped.")
        elif event.error:
            self._line("error", event.error)

    def _hook_acted(self, event: out.HookActed) -> None:
        # What happens at every model call is worth one line a run.
        act = (event.hook, event.event, event.verdict)
        if event.event.startswith(("tool.", "chat.message")) or act not in self._acted:
            self._acted.add(act)
            changed = event.verdict == "changed"
            found = self._shell.changes(event.event, (event.hook,)) if changed else None
            self._conversation.hook_acted(event, found)

    def _line(self, level: out.Level, text: str) -> None:
        self._conversation.notice(out.Notice(level=level, text=text))
