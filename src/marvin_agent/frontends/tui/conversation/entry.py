"""What the conversation is a list of: something with a source text, laid out when it is looked at."""

from marvin_agent.frontends.tui.conversation.sections import Placed, Stack


class Entry:
    """One thing in the conversation. What is not near the screen keeps its height only, and is laid out again."""

    opens = False
    """Whether there is more to see."""
    close_to = ""
    """Entries of the same kind stand without an empty line between them."""

    def __init__(self) -> None:
        self.opened = False
        self.growing = False
        self._stack: Stack | None = None
        self._height = (-1, 0)

    @property
    def source(self) -> str:
        """The text that it is about, whether it can be seen or not."""
        raise NotImplementedError

    def build(self) -> Stack:
        """Lay it out as it is to be seen now."""
        raise NotImplementedError

    def update(self, stack: Stack) -> None:
        """Lay out what is new of an entry that grows."""

    @property
    def stack(self) -> Stack:
        if self._stack is None:
            self._stack = self.build()
        self.update(self._stack)
        return self._stack

    @property
    def plain(self) -> str:
        """The text as it can be seen and copied now."""
        return self.stack.plain

    @property
    def whole(self) -> str:
        """The text as it could be seen when everything is open."""
        if not self.opens or self.opened:
            return self.plain
        self.opened = True
        try:
            return self.build().plain
        finally:
            self.opened = False

    def measured(self, width: int) -> bool:
        return not self.growing and self._height[0] == width

    def height(self, width: int) -> int:
        if self.growing or self._height[0] != width:
            self._height = width, max(self.stack.height(width), 1)
        return self._height[1]

    def guess(self, width: int) -> int:
        """About how high it is, without laying it out; what it was at another width helps."""
        known, height = self._height
        if known == width:
            return height
        if known > 0:
            return max(height * known // max(width, 1), 1)
        return self.first_guess(width)

    def first_guess(self, width: int) -> int:
        text = self.source
        return 1 + len(text) // max(width, 1) + text.count("\n")

    def rows(self, width: int, first: int, last: int) -> list[Placed]:
        return self.stack.rows(width, first, last)

    @property
    def built(self) -> bool:
        return self._stack is not None

    def release(self) -> None:
        """Nobody looks at it: keep the height only."""
        if not self.growing:
            self._stack = None

    def changed(self) -> None:
        """It is to be laid out anew."""
        self._stack = None
        self._height = (-1, 0)

    def toggle(self) -> None:
        self.opened = not self.opened
        self.changed()
