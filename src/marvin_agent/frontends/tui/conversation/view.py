"""The conversation: told what happens, it shows it, and can be searched, opened and copied from."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from marvin_agent.frontends.tui.conversation.pointer import Pointed
from marvin_agent.frontends.tui.conversation.search import Search
from marvin_agent.frontends.tui.conversation.transcript import Place
from marvin_agent.later import Later

if TYPE_CHECKING:
    from marvin_agent.agent import events as out
    from marvin_agent.frontends.tui.conversation import drawing, history, said, toolentry
    from marvin_agent.frontends.tui.conversation.diffs import Changed
    from marvin_agent.frontends.tui.conversation.entry import Entry
    from marvin_agent.frontends.tui.conversation.sections import Section
    from marvin_agent.llm.values import Delta
    from marvin_agent.messages import AssistantMessage, HookMessage, Message, UserMessage
else:
    # What an empty conversation does not need: the first key is on the screen before it is loaded.
    drawing = Later("marvin_agent.frontends.tui.conversation.drawing")
    history = Later("marvin_agent.frontends.tui.conversation.history")
    said = Later("marvin_agent.frontends.tui.conversation.said")
    toolentry = Later("marvin_agent.frontends.tui.conversation.toolentry")


class ConversationView(Pointed):
    """The widget. All that happens is told by its methods; what is painted is worked out once a frame."""

    def __init__(self, *, renderer: "drawing.Renderer | None" = None) -> None:
        super().__init__()
        self.renderer = renderer
        """Draws the messages of hooks; gives None for those that no hook draws."""
        self._searched: dict[Entry, tuple[str, str]] = {}

    @cached_property
    def _history(self) -> "history.History":
        return history.History(self.transcript, self._draw)

    def _draw(self, message: "HookMessage", opened: bool) -> "Section | None":
        given = self.renderer(message, opened) if self.renderer else None
        return None if given is None else drawing.drawn(self, given, said.parts_text(message.content))

    # What happens

    def add_user(
        self, message: "UserMessage", changed_by: tuple[str, ...] = (), changed: "Changed | None" = None
    ) -> None:
        """The user said something: from here on the end is followed again."""
        self._history.user(message, changed_by, changed)
        self.follows = True
        self.soon()

    def begin_answer(self) -> None:
        self._history.begin()

    def grow(self, delta: "Delta") -> None:
        """More of the answer under way."""
        self._history.grow(delta)
        self.soon()

    def end_answer(self, message: "AssistantMessage", changed_by: tuple[str, ...] = ()) -> None:
        """The answer as it is stored."""
        self._changed_from(self._history.end(message, changed_by))

    def withdraw(self, reason: str) -> bool:
        """What was shown of the answer under way is void; whether there was any, and the reason is told."""
        start = self._history.withdraw(reason)
        if start is not None:
            self._changed_from(start)
        return start is not None

    def tool_started(self, event: "out.ToolStarted", before: "Changed | None" = None) -> None:
        """`before`: what hooks made the user's own command from."""
        self._history.tool_started(event, before)
        self.soon()

    def tool_grew(self, event: "out.ToolUpdated") -> None:
        self._history.tool_grew(event)
        self.soon()

    def tool_ended(self, event: "out.ToolEnded", changed: "Changed | None" = None) -> None:
        """`changed`: what hooks made of the result."""
        entry = self._history.tool_ended(event, changed)
        index = self.transcript.entries.index(entry)
        self.selection.touched(index)
        self.transcript.moved(index)
        self.soon()

    def _changed_from(self, start: int) -> None:
        """The entries from one on may be others now."""
        self.selection.touched_from(start)
        if self.current not in self.transcript.entries:
            self.current = None
        self.transcript.moved(start)
        self.soon()

    def notice(self, event: "out.Notice") -> None:
        self._history.notice(event)
        self.soon()

    def hook_acted(self, event: "out.HookActed", changed: "Changed | None" = None) -> None:
        self._history.hook_acted(event, changed)
        self.soon()

    def hook_message(self, message: "HookMessage") -> None:
        self._history.hook_message(message)
        self.soon()

    def load(self, messages: "Sequence[Message]", changed_by: Sequence[tuple[str, ...]] = ()) -> None:
        """Show a stored session, from its end. `changed_by` has the hooks that changed each message."""
        self.clear()
        self._history.load(messages, changed_by)
        self.soon()

    def clear(self) -> None:
        self._history.clear()
        self.selection.clear()
        self.finder = self.current = None
        self.follows = True
        self.soon()

    # What can be asked

    @property
    def last_answer(self) -> str:
        """The Markdown of the latest answer."""
        return self._history.last_answer()

    @property
    def code_blocks(self) -> tuple[str, ...]:
        """The code blocks of the latest answer."""
        return self._history.code_blocks()

    @property
    def selected_text(self) -> str:
        return self.selection.text

    # Opening and closing

    def toggle_last_tool(self) -> None:
        for entry in reversed(self.transcript.entries):
            if isinstance(entry, toolentry.ToolEntry):
                self.toggle(entry)
                return

    def toggle_thinking(self) -> None:
        """Open all that models thought, or close it; what they think from now on too."""
        self._history.thinking_opened = opened = not self._history.thinking_opened
        anchor = self.reading_place()
        for entry in self.transcript.entries:
            if isinstance(entry, said.ThinkingEntry) and entry.opened != opened:
                entry.toggle()
        self.selection.clear()
        self.transcript.moved(0)
        self.return_to(anchor)
        self.soon()

    def action_toggle_current(self) -> None:
        if self.current:
            self.toggle(self.current)

    def action_next_block(self, step: int) -> None:
        """Go to the next block that opens."""
        entries = self.transcript.entries
        if self.current in entries:
            index = entries.index(self.current) + step
        else:
            index = self.transcript.at(
                self.scroll_offset.y + self.size.height - 1 if step < 0 else self.scroll_offset.y
            )
        while 0 <= index < len(entries):
            if entries[index].opens:
                self.current = entries[index]
                self.reveal(self.transcript.top(index))
                self.refresh()
                return
            index += step

    # Search

    def search(self, text: str) -> tuple[int, int]:
        """Look for a text, from the end of what is seen upwards; gives back which match it is, and of how many."""
        if not text:
            self.end_search()
            return 0, 0
        self.finder = Search(self.transcript, text, self._searched)
        bottom = self.scroll_offset.y + self.size.height - 1
        return self._found(Place(self.transcript.at(bottom), 2**31), forward=False)

    def search_next(self) -> tuple[int, int]:
        return self._go_on(forward=True)

    def search_previous(self) -> tuple[int, int]:
        return self._go_on(forward=False)

    def end_search(self) -> None:
        self.finder = None
        self._searched = {}
        self.refresh()

    def _go_on(self, *, forward: bool) -> tuple[int, int]:
        if not self.finder or not self.finder.current:
            return 0, 0
        return self._found(self.finder.current, forward=forward)

    def _found(self, start: Place, *, forward: bool) -> tuple[int, int]:
        search = self.finder
        if not search or not self.transcript.entries:
            return 0, 0
        place = search.go(start, forward=forward)
        if place:
            entry = self.transcript.entries[place.entry]
            if entry.opens and not entry.opened:
                entry.toggle()
                self.transcript.moved(place.entry)
            self.reveal(self.row_of(place))
        self.refresh()
        return search.position(), search.count()
