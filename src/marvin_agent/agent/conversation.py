"""The session that is open, and its changes: each asks the hooks first and tells them afterwards."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

from marvin_agent.agent import events as out
from marvin_agent.agent.compaction import Compacted, Compactor, estimate
from marvin_agent.agent.outlet import Outlet
from marvin_agent.agent.points import Points
from marvin_agent.agent.setup import Setup
from marvin_agent.errors import Aborted, MarvinError, Refused, SessionError
from marvin_agent.hooks import events as h
from marvin_agent.llm.values import Model, ThinkingLevel
from marvin_agent.messages import AssistantMessage, HookMessage, Message, ToolResultMessage, Usage
from marvin_agent.places import make_private_directory
from marvin_agent.session.entries import MessageEntry
from marvin_agent.session.layout import files_directory
from marvin_agent.session.store import Session
from marvin_agent.tools.files import SeenFiles, resolve

_SHOWING = frozenset({"read", "write", "edit"})
"""Tools after which the model knows what is in a file."""


class Conversation:
    """The open session of an engine. `busy` says whether a run is under way, which forbids changing sessions."""

    def __init__(
        self, setup: Setup, points: Points, outlet: Outlet, compactor: Compactor, busy: Callable[[], bool]
    ) -> None:
        self._setup = setup
        self._points = points
        self._outlet = outlet
        self._compactor = compactor
        self._busy = busy
        self.session: Session = setup.session
        self.files = _seen_in(self.session)

    @property
    def scratch(self) -> str:
        """Where large outputs go: beside the session, for its owner alone."""
        base = self.session.path
        path = files_directory(base) if base else os.path.join(self._setup.config_dir, "scratch")
        make_private_directory(path)
        return path

    def store(self, message: Message, by: tuple[str, ...] = ()) -> None:
        """Keep a message in the session, on disk before anything else happens."""
        self.session.append_message(message, changed_by=by)

    def store_and_show(self, message: HookMessage, by: tuple[str, ...]) -> None:
        """Keep a message that came from outside a run, and tell frontends and hooks."""
        self.store(message, by)
        self._outlet.emit(out.MessageStarted(message=message))
        self._points.tell(h.MessageStart, message=message)
        self._outlet.emit(out.MessageEnded(message=message, changed_by=by))
        self._points.tell(h.MessageEnd, message=message)

    async def begin(self) -> None:
        """The program starts: tell the hooks which session this is."""
        if self._setup.resumed:
            await self._points.fire(h.SessionResume, session_path=self.session.path)
        else:
            await self._points.fire(h.SessionStart, reason="startup")
        self._announce("resume" if self._setup.resumed else "startup")

    async def compact(
        self, model: Model, thinking: ThinkingLevel, instructions: str | None, reason: h.CompactReason
    ) -> Compacted:
        """Sum the conversation up. Raises Refused or ProviderError; the session is then as it was."""
        self._outlet.emit(out.CompactionStarted(reason=reason))
        try:
            done = await self._compactor.compact(
                self.session,
                model,
                thinking,
                instructions=instructions,
                reason=reason,
                keep_tokens=self._setup.keep_recent_tokens if reason != "manual" else 0,
                tokens_before=self.context_tokens(),
            )
        except asyncio.CancelledError:
            self._outlet.emit(out.CompactionEnded(summary=None, error=Aborted().show()))
            raise
        except MarvinError as error:
            self._outlet.emit(out.CompactionEnded(summary=None, error=error.show()))
            raise
        self._outlet.emit(out.CompactionEnded(summary=done.summary, from_hook=done.from_hook, usage=done.usage))
        return done

    async def clear(self) -> None:
        """Go on in a new, empty session; the old file stays. Raises Refused when a hook says no."""
        outcome = await self._points.fire(h.SessionBeforeClear)
        if outcome and outcome.refused:
            raise Refused(f"Clear cancelled by {outcome.refused}")
        previous = self._replace_session(self._empty_session(None))
        await self._points.fire(h.SessionClear, previous_session_id=previous.id)
        self._announce("clear")

    async def new(
        self, parent: str | None = None, prepare: Callable[[], Awaitable[Callable[[Session], object]]] | None = None
    ) -> None:
        """Begin another session. Raises Refused when a hook says no.

        `prepare` gives what writes the first entries; when it fails, everything stays as it is.
        """
        await self._may_switch("new", None)
        write = await prepare() if prepare else None
        previous = self._replace_session(self._empty_session(parent))
        if write:
            write(self.session)
        await self._points.fire(h.SessionSwitch, reason="new", previous_session=previous.path)
        await self._points.fire(h.SessionStart, reason="new")
        self._announce("new")

    async def resume(self, path: str) -> None:
        """Go on with another session. Raises Refused or SessionError."""
        await self._may_switch("resume", path)
        previous = self._replace_session(Session.open(path))
        await self._points.fire(h.SessionSwitch, reason="resume", previous_session=previous.path)
        await self._points.fire(h.SessionResume, session_path=self.session.path)
        self._announce("resume")

    async def _may_switch(self, reason: str, target: str | None) -> None:
        outcome = await self._points.fire(h.SessionBeforeSwitch, reason=reason, target_session=target)
        if outcome and outcome.refused:
            raise Refused(f"Switch cancelled by {outcome.refused}")

    def _empty_session(self, parent: str | None) -> Session:
        if self.session.path is None:
            return Session.in_memory(self._setup.cwd)
        return Session.create(self._setup.sessions_dir, self._setup.cwd, parent=parent)

    def _replace_session(self, session: Session) -> Session:
        if self._busy():
            raise SessionError("The agent is working; wait for it or abort it before changing the session.")
        previous, self.session = self.session, session
        self.files = _seen_in(session)
        previous.close()
        return previous

    def _announce(self, reason: Any) -> None:
        for warning in self.session.warnings:
            self._outlet.emit(out.Notice(level="warning", text=warning))
        self._outlet.emit(out.SessionChanged(reason=reason, session_id=self.session.id, session_path=self.session.path))

    # Numbers.

    def last_usage(self) -> Usage | None:
        """Usage of the latest answer on this branch."""
        for message in reversed(self.session.messages()):
            if isinstance(message, AssistantMessage) and message.usage:
                return message.usage
        return None

    def context_tokens(self) -> int:
        """Tokens in the context: what the provider counted last, or an estimate."""
        usage = self.last_usage()
        return usage.total_tokens if usage else estimate(self.session.messages())


def _seen_in(session: Session) -> SeenFiles:
    """What is known of the files that the model saw in a session; also before now, when it was another process."""
    count = len(session.entries)

    def earlier() -> dict[str, int]:
        before = {entry.id for entry in session.entries[:count]}
        found: dict[str, int] = {}
        for entry in session.context():
            message = entry.message if isinstance(entry, MessageEntry) and entry.id in before else None
            if isinstance(message, ToolResultMessage) and message.tool_name in _SHOWING and not message.is_error:
                details = message.details_data
                path = details.get("path") if isinstance(details, dict) else None
                if isinstance(path, str) and path and "\0" not in path and message.timestamp:
                    found[os.path.realpath(resolve(path, session.cwd))] = message.timestamp
        return found

    return SeenFiles(earlier)
