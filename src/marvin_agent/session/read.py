"""Sessions to look at and not to change: what hooks receive, and what `marvin sessions show` reads."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw, UnsetType

from marvin_agent.errors import SessionError
from marvin_agent.messages import Message, Value
from marvin_agent.session.context import context_entries, message_of
from marvin_agent.session.document import read_document
from marvin_agent.session.entries import CompactionEntry, Entry
from marvin_agent.session.index import SessionInfo, find_session, latest, list_sessions, matching
from marvin_agent.session.store import Session
from marvin_agent.session.tree import TreeNode, path_to, tree


class CompactionState(Value):
    """The compaction that the model's context begins with."""

    entry_id: str
    summary: str
    first_kept_entry_id: str | None
    tokens_before: int
    from_hook: bool
    details: Any
    preserve_data: Any
    """What hooks kept with it (`session.compacting`)."""


class StoredSession:
    """A session as its file was when it was read; nobody is kept from writing to it."""

    def __init__(self, path: str) -> None:
        document = read_document(path)
        self.path = path
        self.header = document.header
        self.id = document.header.id
        self.cwd = document.header.cwd
        self.leaf_id = document.leaf_id
        self.entries = tuple(document.entries)
        self.warnings = tuple(document.warnings)
        self._by_id = document.by_id

    def get(self, entry_id: str) -> Entry | None:
        return self._by_id.get(entry_id)

    def branch(self, leaf_id: str | None = None) -> list[Entry]:
        """The entries from the root to a leaf, or to where the session goes on."""
        if leaf_id is not None and leaf_id not in self._by_id:
            raise SessionError(f"There is no entry {leaf_id} in session {self.id}")
        return path_to(self._by_id, self.leaf_id if leaf_id is None else leaf_id)

    def tree(self) -> list[TreeNode]:
        return tree(self.entries)

    def messages(self) -> tuple[Message, ...]:
        """What the model sees when the session goes on."""
        found = map(message_of, context_entries(self.branch()))
        return tuple(message for message in found if message is not None)


class SessionReader:
    """`ctx.sessions`: the current session and its siblings. Safe from any thread: it only reads what never changes."""

    def __init__(self, current: Callable[[], Session], root: str) -> None:
        self._current = current
        self._root = root

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self._current().id

    @property
    def session_path(self) -> str | None:
        """The file, which may not be there before the first entry; None with `--no-session`."""
        return self._current().path

    @property
    def leaf_id(self) -> str | None:
        """The entry that the conversation goes on from."""
        return self._current().leaf_id

    def entries(self) -> tuple[Entry, ...]:
        """All entries of the current session, in the order in which they were made."""
        return tuple(self._current().entries)

    def branch(self, leaf_id: str | None = None) -> tuple[Entry, ...]:
        """The entries from the root to a leaf, or to the current one."""
        return tuple(self._current().branch(leaf_id))

    def tree(self) -> list[TreeNode]:
        """The roots of the current session's tree."""
        return tree(self.entries())

    def get(self, entry_id: str) -> Entry | None:
        """An entry by its id."""
        return self._current().get(entry_id)

    def list(self) -> "list[SessionInfo]":
        """The sessions of this project, the one that was written to last first."""
        return list_sessions(self._root, self._current().cwd)

    def find(self, text: str) -> SessionInfo | None:
        """The session of this id, beginning of an id or path; None when there is none, an error when several."""
        return find_session(self._root, text) if matching(self._root, text) else None

    def load(self, path: str) -> StoredSession:
        """Read a session file. Raises SessionError when it is none."""
        return StoredSession(path)

    def load_latest(self) -> StoredSession | None:
        """The session of this project that was written to last; None when there is none."""
        found = latest(self._root, self._current().cwd)
        return StoredSession(found.path) if found else None

    def compaction_state(self) -> CompactionState | None:
        """The last compaction of the current branch; None when nothing was compacted."""
        for entry in reversed(self.branch()):
            if isinstance(entry, CompactionEntry):
                return CompactionState(
                    entry_id=entry.id,
                    summary=entry.summary,
                    first_kept_entry_id=entry.first_kept_entry_id,
                    tokens_before=entry.tokens_before,
                    from_hook=entry.from_hook,
                    details=_decoded(entry.details),
                    preserve_data=_decoded(entry.preserve_data),
                )
        return None


def _decoded(data: Raw | UnsetType) -> Any:
    return msgspec.json.decode(data) if isinstance(data, Raw) else None
