"""The prompts of before, kept over sessions: up and down bring them back."""

import os
from typing import TYPE_CHECKING

from marvin_agent.later import Later

if TYPE_CHECKING:
    import json
else:
    json = Later("json")

LIMIT = 1_000
_MOST_BYTES = 4 * 1024 * 1024
_LONGEST = 20_000


class History:
    """A file with a prompt a line. What cannot be read or written is no reason to stop: there is less history then."""

    def __init__(self, config_dir: str) -> None:
        self._path = os.path.join(config_dir, "history.jsonl")
        self._entries: list[str] | None = None
        self._at = 0
        self._draft = ""

    def add(self, text: str) -> None:
        """Remember a prompt that was sent."""
        entries = self._load()
        self._at = len(entries)
        if not text.strip() or len(text) > _LONGEST or (entries and entries[-1] == text):
            return
        entries.append(text)
        self._at = len(entries)
        line = json.dumps({"text": text}) + "\n"
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with open(descriptor, "ab") as file:
                file.write(line.encode("utf-8", "replace"))
        except OSError:
            return

    def older(self, current: str) -> str | None:
        """The prompt before; None when there is none. `current` is kept for the way back."""
        entries = self._load()
        if self._at == 0:
            return None
        if self._at == len(entries):
            self._draft = current
        self._at -= 1
        return entries[self._at]

    def newer(self) -> str | None:
        """The prompt after, at last what was being written; None when nothing is newer."""
        entries = self._load()
        if self._at >= len(entries):
            return None
        self._at += 1
        return self._draft if self._at == len(entries) else entries[self._at]

    def leave(self) -> None:
        """What is in the editor now is new text."""
        self._at = len(self._load())

    def _load(self) -> list[str]:
        if self._entries is None:
            self._entries = self._read()
            self._at = len(self._entries)
        return self._entries

    def _read(self) -> list[str]:
        try:
            with open(self._path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(max(size - _MOST_BYTES, 0))
                lines = file.read().split(b"\n")[-LIMIT - 1 :]
        except OSError:
            return []
        return [text for line in lines if (text := _text(line))]


def _text(line: bytes) -> str:
    try:
        value = json.loads(line)
    except ValueError:
        return ""
    text = value.get("text") if isinstance(value, dict) else None
    return text if isinstance(text, str) else ""
