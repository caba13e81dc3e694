"""The open session: the tree of entries in memory, and each entry in the file before the next step starts."""

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec import UNSET, Raw, UnsetType

from marvin_agent.errors import SessionError
from marvin_agent.messages import Message, raw
from marvin_agent.places import make_private_directory
from marvin_agent.session.context import context_entries, message_of
from marvin_agent.session.document import Document, read_document
from marvin_agent.session.entries import (
    UNREADABLE,
    VERSION,
    BranchSummaryEntry,
    CompactionEntry,
    CustomEntry,
    Entry,
    Header,
    InfoEntry,
    LabelEntry,
    LeafEntry,
    MessageEntry,
    ModelChangeEntry,
    StoredEntry,
    ThinkingChangeEntry,
    clean_texts,
    decode_entry,
    encode_line,
    new_entry_id,
    timestamp_now,
)
from marvin_agent.session.foreign import current
from marvin_agent.session.journal import Journal
from marvin_agent.session.layout import project_of, session_path
from marvin_agent.session.lock import WriterLock
from marvin_agent.session.migration import migrate
from marvin_agent.session.tree import path_to

E = TypeVar("E", bound=StoredEntry)


class Session:
    """One conversation, open for writing by this process alone. Made by `create`, `open` or `in_memory`.

    An append is in the file when it returns; when it raises, neither the file nor the session has changed. Each
    `append_*` puts its entry below the leaf, makes it the leaf and returns it. One thread appends; any may read.
    """

    def __init__(self, header: Header, path: str | None) -> None:
        self.header = header
        self.path = path
        """The file, which may not exist before the first entry; None in memory."""
        self.warnings: list[str] = []
        """What was wrong with the file when it was opened, to be told to the user."""
        self._entries: list[Entry] = []
        self._by_id: dict[str, Entry] = {}
        self._leaf_id: str | None = None
        self._info: InfoEntry | None = None
        self._context: list[Entry] | None = []
        self._messages: list[Message] = []
        self._growing = threading.Lock()
        """Held while the entries and what is made of them are brought together."""
        self._document: Document | None = None  # until the first append to a file that was opened
        self._unended = False  # the last line of the file lacks its newline
        self._journal: Journal | None = None
        self._lock: WriterLock | None = None
        self._closed = False

    @classmethod
    def create(cls, root_dir: str, cwd: str, *, parent: str | None = None) -> "Session":
        """A new session of a project. Nothing is on disk before its first entry, but the id is there."""
        header = _new_header(cwd, parent)
        path = session_path(os.path.abspath(root_dir), header.cwd, header.id, header.timestamp)
        return cls(header, path)

    @classmethod
    def in_memory(cls, cwd: str) -> "Session":
        """A session that leaves no trace."""
        return cls(_new_header(cwd, None), None)

    @classmethod
    def open(cls, path: str) -> "Session":
        """Open a file to go on with it. Raises SessionError when it is no session or another process has it open."""
        path = os.path.realpath(path)
        if not os.path.isfile(path):
            raise SessionError(f"There is no session file {path}", hint="`marvin sessions list` shows them.")
        lock, warning = _locked(path)
        try:
            document = read_document(path)
        except BaseException:
            lock.release()
            raise
        session = cls(document.header, path)
        session.warnings = [*warning, *document.warnings]
        session._entries = document.entries
        session._by_id = document.by_id
        session._leaf_id = document.leaf_id
        session._info = next((entry for entry in reversed(document.entries) if isinstance(entry, InfoEntry)), None)
        session._context = None
        session._document = document
        session._lock = lock
        return session

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def cwd(self) -> str:
        return self.header.cwd

    @property
    def leaf_id(self) -> str | None:
        """Where the next entry goes; None before the first."""
        return self._leaf_id

    @property
    def entries(self) -> Sequence[Entry]:
        """All entries in the order of the file. It grows as the session does."""
        return self._entries

    @property
    def by_id(self) -> Mapping[str, Entry]:
        """All entries by their ids, for `tree.common_ancestor` and the like."""
        return self._by_id

    @property
    def name(self) -> str | None:
        """The name that the session was given last."""
        info = self._info
        return info.name if info is not None and isinstance(info.name, str) else None

    def get(self, entry_id: str) -> Entry | None:
        return self._by_id.get(entry_id)

    def branch(self, leaf_id: str | None = None) -> list[Entry]:
        """The entries from the root to a leaf, or to the current one."""
        return path_to(self._by_id, self._leaf_id if leaf_id is None else self._existing(leaf_id).id)

    def context(self) -> tuple[Entry, ...]:
        """The entries that the model sees, one for each of `messages()`."""
        with self._growing:
            return tuple(self._current_context())

    def messages(self) -> tuple[Message, ...]:
        """What the model sees of the current branch, with the last compaction applied."""
        with self._growing:
            self._current_context()
            return tuple(self._messages)

    def append_message(self, message: Message, *, changed_by: Sequence[str] = ()) -> MessageEntry:
        """Store a message; `changed_by` are the hooks that made it another than it was."""
        return self._append(
            MessageEntry(
                **self._base(),
                message=message,
                changed_by=tuple(changed_by) or UNSET,
            )
        )

    def append_custom(self, custom_type: str, data: object = UNSET) -> CustomEntry:
        """Store what a hook wants to find again; the model never sees it."""
        return self._append(CustomEntry(**self._base(), custom_type=custom_type, data=_as_json(data)))

    def append_compaction(
        self,
        summary: str,
        first_kept_entry_id: str | None,
        tokens_before: int,
        *,
        details: object = UNSET,
        from_hook: bool = False,
        preserve_data: object = UNSET,
    ) -> CompactionEntry:
        """Put a summary in place of everything before an entry of this branch (None: of everything)."""
        if first_kept_entry_id is not None and not self._is_on_branch(first_kept_entry_id):
            raise SessionError(f"Entry {first_kept_entry_id} is not on the current branch; it cannot be the first kept")
        entry = CompactionEntry(
            **self._base(),
            summary=summary,
            first_kept_entry_id=first_kept_entry_id,
            tokens_before=tokens_before,
            details=_as_json(details),
            from_hook=from_hook,
            preserve_data=_as_json(preserve_data),
        )
        return self._append(entry, sync=True)

    def append_branch_summary(
        self, from_id: str, summary: str, *, details: object = UNSET, from_hook: bool = False
    ) -> BranchSummaryEntry:
        """Tell the model here what happened on the branch that ends at `from_id`."""
        self._existing(from_id)
        return self._append(
            BranchSummaryEntry(
                **self._base(),
                from_id=from_id,
                summary=summary,
                details=_as_json(details),
                from_hook=from_hook,
            )
        )

    def append_model_change(self, provider: str, model_id: str) -> ModelChangeEntry:
        return self._append(ModelChangeEntry(**self._base(), provider=provider, model_id=model_id))

    def append_thinking_change(self, level: str) -> ThinkingChangeEntry:
        return self._append(ThinkingChangeEntry(**self._base(), level=level))

    def append_label(self, target_id: str, label: str | None) -> LabelEntry:
        """Name an entry, or take its name away."""
        self._existing(target_id)
        return self._append(
            LabelEntry(
                **self._base(),
                target_id=target_id,
                label=UNSET if label is None else label,
            )
        )

    def append_info(self, name: str | None) -> InfoEntry:
        """Name the session, or take its name away."""
        return self._append(InfoEntry(**self._base(), name=UNSET if name is None else name))

    def move_leaf(self, entry_id: str | None) -> None:
        """Go on from another entry (None: from the beginning); kept in the file."""
        if entry_id is not None and isinstance(self._existing(entry_id), LeafEntry):
            raise SessionError(f"Entry {entry_id} is a move in the tree, not a place in it")
        if entry_id == self._leaf_id:
            return
        self._append(LeafEntry(**self._base(), target_id=entry_id))

    def close(self) -> None:
        """Give the file free for others. Appending is an error from then on."""
        self._closed = True
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _base(self) -> dict[str, Any]:
        return {"id": new_entry_id(self._by_id), "parent_id": self._leaf_id, "timestamp": timestamp_now()}

    def _append(self, entry: E, *, sync: bool = False) -> E:
        if self._closed:
            raise SessionError(f"Session {self.id} is closed", hint="Open it again to go on with it.")
        try:
            line = encode_line(entry)
        except UnicodeEncodeError:
            entry = clean_texts(entry)
            line = encode_line(entry)
        try:
            decode_entry(line)
            line.decode()
        except UNREADABLE as error:
            # Raw JSON goes into the line as it is; broken, it would make the line unreadable for ever.
            raise SessionError(f"A {entry.type} entry cannot be stored as JSON: {error}") from error
        if self.path is not None:
            self._write(self.path, line + b"\n", sync)
        with self._growing:
            self._entries.append(entry)
            self._by_id[entry.id] = entry
            self._follow(entry)
        return entry

    def _write(self, path: str, line: bytes, sync: bool) -> None:
        if self._journal is None:
            if self._document is None:
                self._begin(path, line)
                return
            self._continue(self._document)
        assert self._journal is not None
        self._journal.append(b"\n" + line if self._unended else line, sync=sync)
        self._unended = False

    def _begin(self, path: str, line: bytes) -> None:
        """Make the file, with the header and the first entry in one write."""
        lock = journal = None
        try:
            make_private_directory(os.path.dirname(path))
            lock, warning = _locked(path)
            journal = Journal.create(path)
            journal.append(encode_line(self.header) + b"\n" + line, sync=True)
        except BaseException as error:
            # Nothing of it stays, so that the next entry can try again.
            if journal is not None:
                journal.discard()
            if lock is not None:
                lock.release()
            if not isinstance(error, OSError):
                raise
            raise SessionError(
                f"Cannot make the session file {path}: {error.strerror}",
                hint="Mend the directory, name another one in the configuration (sessions), or use --no-session.",
            ) from error
        self.warnings += warning
        self._journal, self._lock = journal, lock

    def _continue(self, document: Document) -> None:
        """Make the file that was opened ready for the next line."""
        if document.native:
            size, good = document.size, document.good
        else:
            size = good = migrate(document)
            self.header = current(document.header)
        try:
            journal = Journal.reopen(document.path, read=size, good=good)
        except OSError as error:
            raise SessionError(
                f"Cannot write to the session file {document.path}: {error.strerror}",
                hint="Make it writable, or go on in a copy of it.",
            ) from error
        self._journal, self._document = journal, None
        self._unended = document.native and document.unended

    def _follow(self, entry: Entry) -> None:
        """Move with an entry that was appended."""
        match entry:
            case LeafEntry():
                self._leaf_id = entry.target_id
                self._context = None
                return
            case CompactionEntry():
                self._context = None
            case InfoEntry():
                self._info = entry
            case MessageEntry() | BranchSummaryEntry() if self._context is not None:
                message = message_of(entry)
                assert message is not None
                self._context.append(entry)
                self._messages.append(message)
            case _:
                pass
        self._leaf_id = entry.id

    def _current_context(self) -> list[Entry]:
        if self._context is None:
            self._context = context_entries(self.branch())
            self._messages = [message for message in map(message_of, self._context) if message is not None]
        return self._context

    def _existing(self, entry_id: str) -> Entry:
        entry = self._by_id.get(entry_id)
        if entry is None:
            raise SessionError(f"There is no entry {entry_id} in session {self.id}")
        return entry

    def _is_on_branch(self, entry_id: str) -> bool:
        return any(entry.id == entry_id for entry in self.branch())


def _new_header(cwd: str, parent: str | None) -> Header:
    return Header(
        version=VERSION,
        id=os.urandom(8).hex(),
        timestamp=timestamp_now(),
        cwd=project_of(cwd),
        parent=UNSET if parent is None else parent,
    )


def _locked(path: str) -> tuple[WriterLock, list[str]]:
    lock = WriterLock(path)
    try:
        has_lock = lock.acquire()
    except OSError as error:
        raise SessionError(
            f"Cannot lock the session {path}: {error.strerror}",
            hint="Its directory must be writable to go on with it; `marvin sessions show` only reads.",
        ) from error
    return lock, [] if has_lock else [f"{path}: this file system has no locks; open the session only once at a time"]


def _as_json(value: object) -> Raw | UnsetType:
    if value is UNSET:
        return UNSET
    try:
        return value if isinstance(value, Raw) else raw(value)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise SessionError(f"A session keeps only what JSON can say: {error}") from error
