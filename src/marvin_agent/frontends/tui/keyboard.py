"""Who gets a key or a click first: nobody while the app is not there yet, a dialog once it is seen, a shortcut."""

from typing import TYPE_CHECKING, TypeAlias

from textual import events

from marvin_agent.frontends.tui.dialogs.dialog import Dialog

if TYPE_CHECKING:
    from marvin_agent.frontends.tui.app import MarvinApp

Typed: TypeAlias = events.Key | events.Paste


ALWAYS = frozenset(["ctrl+c"])
"""Keys that are never meant for what was in front before."""


class Keyboard:
    """Looks at every key and every click before Textual does."""

    def __init__(self, app: "MarvinApp") -> None:
        self._app = app
        self._early: list[Typed] | None = []

    def begin(self) -> None:
        """The editor is there: nothing that was typed before is lost."""
        early, self._early = self._early or [], None
        for event in early:
            self._app.post_message(event)

    def lets_click(self) -> bool:
        """Whether a click is meant for what is in front, and not for what was there a moment before."""
        screen = self._app.screen
        return not isinstance(screen, Dialog) or not screen.too_early()

    def lets_through(self, event: Typed) -> bool:
        """Whether the key goes its usual way. If not, it was kept, used or given to the editor."""
        if self._early is not None:
            self._early.append(event)
            return False
        app, screen = self._app, self._app.screen
        key = event if isinstance(event, events.Key) else None
        letter = key.character if key and key.is_printable else None
        if isinstance(screen, Dialog):
            if not screen.too_early():
                return True
            # Meant for the editor, where it would have gone a moment before.
            if isinstance(event, events.Paste):
                app.prompt.take_paste(event.text)
            elif event.key in ALWAYS:
                return True
            else:
                app.prompt.insert(letter or "")
            return False
        if key and app.shortcuts.press(key.key):
            return False
        if letter and app.focused is app.conversation:
            # Whoever has clicked on the conversation and types on means the editor.
            app.prompt.focus()
            app.prompt.insert(letter)
            return False
        return True
