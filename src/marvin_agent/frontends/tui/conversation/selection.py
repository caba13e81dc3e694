"""What of the conversation is selected: from one place in its texts to another, wherever they are on the screen."""

import re

from marvin_agent.frontends.tui.conversation.transcript import Place, Transcript

_WORD = re.compile(r"[^\s\"'`<>|(){}\[\],;]+")


class Selection:
    """Begins where the mouse goes down and ends where it is let go."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._start: Place | None = None
        self._end: Place | None = None

    def begin(self, place: Place) -> None:
        self._start, self._end = place, None

    def reach(self, place: Place) -> None:
        self._end = place

    def clear(self) -> None:
        self._start = self._end = None

    def word(self, place: Place) -> None:
        """Select the word at a place."""
        text = self._transcript.entries[place.entry].plain
        start = max(text.rfind("\n", 0, place.offset) + 1, place.offset - 2000)
        for found in _WORD.finditer(text, start, place.offset + 2000):
            if found.start() <= place.offset < found.end():
                self._start, self._end = place._replace(offset=found.start()), place._replace(offset=found.end())
                return

    def touched(self, index: int) -> None:
        """An entry shows another text now: places in it mean nothing any more."""
        if self._start and self._end:
            first, last = sorted((self._start, self._end))
            if first.entry <= index <= last.entry:
                self.clear()

    def touched_from(self, index: int) -> None:
        """The entries from one on are others now."""
        if any(place and place.entry >= index for place in (self._start, self._end)):
            self.clear()

    def range(self, index: int) -> tuple[int, int] | None:
        """What of an entry's text is selected."""
        if self._start is None or self._end is None or self._start == self._end:
            return None
        first, last = sorted((self._start, self._end))
        if not first.entry <= index <= last.entry:
            return None
        start = first.offset if index == first.entry else 0
        return start, last.offset if index == last.entry else 2**31

    @property
    def text(self) -> str:
        if self._start is None or self._end is None:
            return ""
        first, last = sorted((self._start, self._end))
        texts = []
        for index in range(first.entry, last.entry + 1):
            span = self.range(index)
            if span:
                texts.append(self._transcript.entries[index].plain[span[0] : span[1]])
        return "\n".join(texts)
