"""Search in the conversation: over all texts, folded ones too, without laying out what cannot hold a match."""

import re

from marvin_agent.frontends.tui.conversation.entry import Entry
from marvin_agent.frontends.tui.conversation.transcript import Place, Transcript


class Search:
    """One text that is looked for, without regard to case."""

    def __init__(self, transcript: Transcript, text: str, texts: dict[Entry, tuple[str, str]]) -> None:
        self.text = text
        self._transcript = transcript
        self._texts = texts
        """The source of each entry that was laid out, and its whole text: kept from one search to the next."""
        self._pattern = re.compile(re.escape(text), re.IGNORECASE)
        # Markup may stand between the words of the source, but hardly within one.
        self._words = [re.compile(re.escape(word), re.IGNORECASE) for word in re.findall(r"\w+", text)]
        self.current: Place | None = None
        self._seen: dict[Entry, tuple[str, list[int]]] = {}

    def matches(self, text: str) -> list[int]:
        return [found.start() for found in self._pattern.finditer(text)]

    def count(self) -> int:
        """How many matches there are; costs the most when a text is everywhere."""
        return sum(len(self._in(index)) for index in range(len(self._transcript.entries)))

    def position(self) -> int:
        """Which match, counted from 1, is the current one; 0 for none."""
        if self.current is None:
            return 0
        before = sum(len(self._in(index)) for index in range(self.current.entry))
        return before + sum(offset <= self.current.offset for offset in self._in(self.current.entry))

    def go(self, start: Place, *, forward: bool) -> Place | None:
        """The next match after a place, or before it; from the other end when there is none."""
        count = len(self._transcript.entries)
        step = 1 if forward else -1
        for distance in range(count + 1):
            index = (start.entry + step * distance) % count
            offsets = self._in(index)
            if distance == 0:
                offsets = [at for at in offsets if (at > start.offset if forward else at < start.offset)]
            if offsets:
                self.current = Place(index, offsets[0 if forward else -1])
                return self.current
        return None

    def spans(self, index: int) -> list[tuple[int, int, str]]:
        """The matches in what an entry shows now, with their styles."""
        entry = self._transcript.entries[index]
        if not self._may_hold(entry):
            return []
        length = len(self.text)
        own = self.current.offset if self.current and self.current.entry == index else -1
        return [(at, at + length, "match-now" if at == own else "match") for at in self.matches(entry.plain)]

    def _may_hold(self, entry: Entry) -> bool:
        source = entry.source
        return all(word.search(source) for word in self._words)

    def _in(self, index: int) -> list[int]:
        entry = self._transcript.entries[index]
        if not self._may_hold(entry):
            return []
        source = entry.source
        known = self._seen.get(entry)
        if known is None or known[0] != source:
            known = self._seen[entry] = source, self.matches(self._whole(entry, source))
        return known[1]

    def _whole(self, entry: Entry, source: str) -> str:
        known = self._texts.get(entry)
        if known is None or known[0] != source:
            known = self._texts[entry] = source, entry.whole
            entry.release()
        return known[1]
