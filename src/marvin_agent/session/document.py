"""What a session file holds, read so that damage to some lines never costs the others.

- A last line without an end is what an interrupted write leaves: it does not count, and the next writer cuts it off.
  So does a tail of NUL bytes, which a loss of power can leave.
- Any other line that cannot be read stays in the file and in the tree, as an `UnreadEntry`, where it was.
- An entry whose parent is missing follows the line before it (most likely that is its parent, damaged). A parent
  stands before its children, so there are no circles.
- Of two different entries with one id the first keeps it, and the children; the other gets one from its line number.
  A line that was written twice counts once.

Each of these gives a warning. All of them give the same tree at every reading, so that what is appended fits.
"""

import gc
import re

import msgspec

from marvin_agent.errors import SessionError
from marvin_agent.messages import changed
from marvin_agent.session.entries import (
    UNREADABLE,
    VERSION,
    Entry,
    Header,
    LeafEntry,
    UnreadEntry,
    decode_entry,
)
from marvin_agent.session.foreign import adopt_entry, adopt_header, derived_id, mend_text

# How our lines and those of pi begin: enough to place a line in the tree of which nothing else can be read.
_LINE_START = rb'\s*\{"type":"(\w{1,40})","id":"([\w-]{1,40})","parentId":(?:"([\w-]{1,40})"|null)'


class Document:
    """The content of a session file."""

    __slots__ = ("by_id", "entries", "good", "header", "leaf_id", "path", "size", "unended", "warnings")

    def __init__(self, path: str, header: Header, size: int) -> None:
        self.path = path
        self.header = header
        self.entries: list[Entry] = []
        self.by_id: dict[str, Entry] = {}
        self.leaf_id: str | None = None
        self.warnings: list[str] = []
        self.size = size
        """How many bytes the file had."""
        self.good = size
        """How many of them are to stay."""
        self.unended = False
        """The last line is whole but for the newline at its end."""

    @property
    def native(self) -> bool:
        """Whether the file has our format, so that we may append to it."""
        return self.header.version == VERSION


def read_document(path: str) -> Document:
    """Read a session file. Raises SessionError when it is not there or has no readable header."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise SessionError(f"There is no session file {path}", hint="`marvin sessions list` shows them.") from None
    except OSError as error:
        raise SessionError(f"Cannot read the session file {path}: {error.strerror}") from error
    collecting = gc.isenabled()
    # A hundred thousand entries are no garbage: looking for some among them takes longer than reading them.
    gc.disable()
    try:
        return _Parser(path, data).parse()
    finally:
        if collecting:
            gc.enable()


def parse_header(path: str, line: bytes) -> Header:
    """The header from a file's first line, of any version that we know."""
    try:
        header = adopt_header(mend_text(line))
    except UNREADABLE:
        raise SessionError(
            f"{path} is not a session, or its first line is damaged: no header can be read",
            hint="Entries without a header cannot be opened; the file was left as it is.",
        ) from None
    if not 1 <= header.version <= VERSION:
        raise SessionError(
            f"{path} has session format {header.version}; this marvin reads formats 1 to {VERSION}",
            hint="A newer marvin wrote it: update marvin to open it.",
        )
    return header


class _Parser:
    __slots__ = ("document", "foster", "lines", "unknown")

    def __init__(self, path: str, data: bytes) -> None:
        self.lines = data.split(b"\n")
        self.document = Document(path, parse_header(path, self.lines[0]), len(data))
        self.foster: dict[str, str | None] = {}
        """Who took the place of a parent that is missing."""
        self.unknown: dict[str, list[int]] = {}

    def parse(self) -> Document:
        document = self.document
        self._trim_end()
        entries, by_id = document.entries, document.by_id
        for number, line in enumerate(self.lines[1:], 2):
            try:
                entry: Entry = decode_entry(line)
                if not line.isascii():
                    line.decode()  # raw JSON inside is not checked when it is decoded
            except UNREADABLE:
                if not line.strip():
                    continue
                entry = self._rescue(line, number)
            if entry.id in by_id or (entry.parent_id is not None and entry.parent_id not in by_id):
                placed = self._place(entry, number)
                if placed is None:
                    continue
                entry = placed
            entries.append(entry)
            by_id[entry.id] = entry
        document.leaf_id = self._tip()
        last = entries[-1] if entries else None
        if isinstance(last, LeafEntry) and last.target_id != document.leaf_id:
            self._warn(len(self.lines), f"moves to an entry {last.target_id} that is not there; nothing is moved")
        for kind, numbers in self.unknown.items():
            count = "1 entry" if len(numbers) == 1 else f"{len(numbers)} entries"
            self._warn(numbers[0], f"{count} of type {kind!r} from here on cannot be understood; they stay in the file")
        return document

    def _trim_end(self) -> None:
        document, lines = self.document, self.lines
        last = lines[-1]
        text = last.rstrip(b"\0")
        if len(lines) > 1 and text == last and _is_object(text):
            document.unended = True
            return
        if len(lines) == 1:
            # A header alone: whole if it could be read, whatever NUL bytes follow it.
            document.good = len(text)
            document.unended = True
            return
        lines.pop()
        document.good = document.size - len(last)
        if last:
            what = f"the last {len(last)} bytes are an unfinished line and are cut off"
            self._warn(len(lines) + 1, what)

    def _rescue(self, line: bytes, number: int) -> Entry:
        mended = mend_text(line)
        try:
            mended.decode()
            return adopt_entry(mended, number, self._tip())
        except UNREADABLE:
            return self._unread(line, mended, number)

    def _unread(self, line: bytes, mended: bytes, number: int) -> UnreadEntry:
        """An entry that holds the place of a line in the tree."""
        entry = UnreadEntry(id=self._free_id(number), parent_id=self._tip(), timestamp="", line=line, number=number)
        place = _whole_place(mended)
        if place is not None:
            self.unknown.setdefault(place[0], []).append(number)
        else:
            place = _place_in_damage(mended)
            where = f"{place[0]} {place[1]}" if place else "nothing of it is readable"
            self._warn(number, f"is damaged ({where}); it stays in the file, and what follows it is kept")
        if place is None:
            return entry
        kind, entry_id, parent_id = place
        return changed(entry, id=entry_id, parent_id=parent_id, kind=kind)

    def _place(self, entry: Entry, number: int) -> Entry | None:
        """An entry with an id of its own and a parent that is there; None when it only repeats another."""
        by_id = self.document.by_id
        namesake = by_id.get(entry.id)
        if namesake is not None:
            if namesake == entry:
                self._warn(number, f"repeats the entry {entry.id} word for word; it counts once")
                return None
            fresh = self._free_id(number)
            self._warn(number, f"has the id {entry.id} of an earlier entry; it is read as {fresh}")
            entry = changed(entry, id=fresh)
        if entry.parent_id is not None and entry.parent_id not in by_id:
            missing = entry.parent_id
            parent = self.foster.setdefault(missing, self._tip())
            self._warn(number, f"follows an entry {missing} that is not there; it is read as following {parent}")
            entry = changed(entry, parent_id=parent)
        return entry

    def _tip(self) -> str | None:
        """Where the last line leaves the user: at itself, or where it moved them to."""
        entries = self.document.entries
        last = entries[-1] if entries else None
        if not isinstance(last, LeafEntry):
            return last.id if last else None
        known = last.target_id is None or last.target_id in self.document.by_id
        return last.target_id if known else last.parent_id

    def _free_id(self, number: int) -> str:
        while (candidate := derived_id(number)) in self.document.by_id:
            number += 1 << 20
        return candidate

    def _warn(self, number: int, what: str) -> None:
        self.document.warnings.append(f"{self.document.path}: line {number}: {what}")


def _is_object(line: bytes) -> bool:
    # No beginning of a line that was cut is an object with an end.
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except UNREADABLE:
        return False


def _whole_place(line: bytes) -> tuple[str, str, str | None] | None:
    """Type, id and parent of a line that is whole, but of a type that we do not know."""
    try:
        fields = msgspec.json.decode(line)
    except UNREADABLE:
        return None
    match fields:
        case {"type": str(kind), "id": str(entry_id), "parentId": str() | None as parent_id}:
            return kind, entry_id, parent_id
        case _:
            return None


def _place_in_damage(line: bytes) -> tuple[str, str, str | None] | None:
    """Type, id and parent of a line that is damaged behind them."""
    found = re.match(_LINE_START, line)
    if found is None:
        return None
    kind, entry_id, parent_id = found[1].decode(), found[2].decode(), found[3]
    return kind, entry_id, parent_id.decode() if parent_id else None
