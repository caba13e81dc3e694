"""The editor at the bottom: Enter sends, long pastes are folded, what was sent before comes back with up and down."""

import os
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from marvin_agent.agent.attachments import image_of, parts_of
from marvin_agent.agent.queue import Delivery, Prompt
from marvin_agent.errors import MarvinError
from marvin_agent.frontends.tui.completion import Completion
from marvin_agent.frontends.tui.draft import Draft
from marvin_agent.frontends.tui.history import History
from marvin_agent.frontends.tui.latest import run_latest
from marvin_agent.frontends.tui.pastes import Pastes, dropped_image, harmless
from marvin_agent.later import Later
from marvin_agent.messages import Image

if TYPE_CHECKING:
    from marvin_agent.frontends.tui import clipboard
else:
    clipboard = Later("marvin_agent.frontends.tui.clipboard")

DRAFT_DELAY = 0.3
"""Seconds of rest before what was typed is written to disk."""


class PromptEditor(TextArea):
    """Where the user writes. It says what is to be sent and never decides what becomes of it."""

    DEFAULT_CSS = """
    PromptEditor {
        height: auto; max-height: 40%; min-height: 3; border: round $border-blurred; padding: 0 1;
        background: transparent; scrollbar-size-vertical: 1;
        &:focus { border: round $border; background: transparent; }
        & .text-area--cursor-line { background: transparent; }
        & .text-area--placeholder { color: $text-muted; }
        &.-shell { border: round $warning; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        # The editor's own copy and cut keys would hide those of the app.
        Binding("ctrl+shift+c", "copy", "Copy", show=False),
    ]

    class Submitted(Message):
        """The user sends what he wrote."""

        def __init__(self, prompt: Prompt, typed: str, delivery: Delivery) -> None:
            super().__init__()
            self.prompt = prompt
            self.typed = typed
            self.delivery: Delivery = delivery

    class TakeBack(Message):
        """The user wants what waits in the queue back."""

    class HelpWanted(Message):
        """A question mark in the empty editor."""

    class Problem(Message):
        """Something about the prompt that the user should know."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, *, cwd: str, completion: Completion, history: History, draft: Draft) -> None:
        super().__init__(
            show_line_numbers=False,
            soft_wrap=True,
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder="What shall be done?",
            id="prompt",
        )
        self.has_queue = False
        """Whether something waits that could be taken back."""
        self._cwd = cwd
        self._completion = completion
        self._history = history
        self._draft = draft
        self._pastes = Pastes()
        self._saving: Timer | None = None

    def on_mount(self) -> None:
        if kept := self._draft.left_behind():
            for number, text in kept.pastes.items():
                self._pastes.keep(number, text)
            self.write(kept.text)
            self.post_message(self.Problem("The draft of a session that did not end well is back in the editor."))

    # The text.

    def write(self, text: str) -> None:
        """Replace the text; the cursor goes to its end."""
        self.load_text(harmless(text))
        self.move_cursor(self.document.end)

    def put_back(self, prompts: tuple[Prompt, ...]) -> None:
        """Put prompts that were not sent in front of what stands in the editor."""
        texts = [self._back(prompt) for prompt in prompts]
        if self.text.strip():
            texts.append(self.text)
        self.write("\n\n".join(texts))

    def _back(self, prompt: Prompt) -> str:
        # Images that the text names by `@` come along again when it is sent.
        named = len(self._named_images(prompt.text))
        return self._pastes.put_back(prompt.text, prompt.images[: len(prompt.images) - named])

    def clear_text(self) -> None:
        """Empty the editor and forget the draft."""
        self.load_text("")
        self._pastes = Pastes()
        self._draft.forget()
        self._history.leave()
        self._completion.close()

    @property
    def is_empty(self) -> bool:
        return not self.text

    def _send(self, delivery: Delivery) -> None:
        typed = self.text
        if not typed.strip():
            return
        sent = self._pastes.expand(typed)
        try:
            text, attached = self._with_files(sent.text)
        except MarvinError as error:
            self.post_message(self.Problem(error.show()))
            return
        self._history.add(typed if sent.text == typed else sent.text)
        prompt = Prompt(text, (*sent.images, *attached))
        self.clear_text()
        self.post_message(self.Submitted(prompt, typed, delivery))

    def _with_files(self, text: str) -> tuple[str, tuple[Image, ...]]:
        """Images named as `@picture.png` go along."""
        paths = self._named_images(text)
        _, images = parts_of("", paths, self._cwd) if paths else ("", ())
        return text, images

    def _named_images(self, text: str) -> list[str]:
        words = [word[1:] for word in text.split() if word.startswith("@")]
        return [path for word in words if (path := dropped_image(word, self._cwd))]

    # Keys.

    async def _on_key(self, event: events.Key) -> None:
        if self._handled(event) or await self._edited(event.key):
            event.stop()
            event.prevent_default()

    async def _edited(self, key: str) -> bool:
        """Do what a key of the editor does, now: Textual would go up to the app with it and come back after the letters
        that were typed behind it, when several keys come at once."""
        for binding in self._bindings.key_to_bindings.get(key, ()):
            if await self.app.run_action(binding.action, self):
                return True
        return False

    def _handled(self, event: events.Key) -> bool:
        if self._completion.is_open and self._menu_key(event.key):
            return True
        match event.key:
            case "enter":
                self._enter()
            case "alt+enter":
                self._send("follow_up")
            case "shift+enter" | "ctrl+j":
                self.insert("\n")
            case "tab":
                self._completion.ask(self)
            case "ctrl+v":
                run_latest(self, self._paste_clipboard, "clipboard")
            case "up" if self.cursor_at_first_line:
                return self._up()
            case "down" if self.cursor_at_last_line:
                return self._show(self._history.newer())
            case "alt+up" if self.has_queue:
                self.post_message(self.TakeBack())
            case "question_mark" if self.is_empty:
                self.post_message(self.HelpWanted())
            case _:
                return False
        return True

    def _menu_key(self, key: str) -> bool:
        completion = self._completion
        match key:
            case "up" | "ctrl+p":
                completion.menu.move(-1)
            case "down" | "ctrl+n":
                completion.menu.move(1)
            case "tab":
                completion.accept(self, send=False)
            case "enter":
                # What is written out already is sent, not completed to itself.
                return completion.accept(self, send=True)
            case "escape":
                completion.close()
            case _:
                return False
        return True

    def _enter(self) -> None:
        row, column = self.cursor_location
        if column and self.document[row][column - 1] == "\\" and column == len(self.document[row]):
            self.replace("\n", (row, column - 1), (row, column))
        else:
            self._send("steer")

    def _up(self) -> bool:
        if self.is_empty and self.has_queue:
            self.post_message(self.TakeBack())
            return True
        return self._show(self._history.older(self.text))

    def _show(self, text: str | None) -> bool:
        if text is None:
            return False
        self.write(text)
        self._completion.close()
        return True

    # Pastes.

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.take_paste(event.text)

    def take_paste(self, text: str) -> None:
        """Put a paste where the cursor is."""
        self.insert(self._pasted(text))

    def _pasted(self, text: str) -> str:
        path = dropped_image(text, self._cwd)
        return (self._image(path) if path else "") or self._pastes.fold(text)

    def _image(self, attachment: Any) -> str:
        """The mark of an image that goes along; empty, and the problem told, when it cannot."""
        try:
            _, images = parts_of("", [attachment], self._cwd)
        except MarvinError as error:
            self.post_message(self.Problem(error.show()))
            return ""
        return "".join(f"{self._pastes.add_image(image)} " for image in images)

    async def _paste_clipboard(self) -> None:
        """The clipboard of the desktop where it can be asked, else what was copied in the app."""
        found = await clipboard.read_clipboard(os.environ)
        if isinstance(found, bytes):
            self.insert(self._image(image_of(found, "The image of the clipboard")))
        else:
            self.insert(self._pastes.fold(found or self.app.clipboard))

    # What follows from a change.

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.set_class(self.text.startswith("!"), "-shell")
        self._completion.follow(self)
        if self._saving:
            self._saving.stop()
        self._saving = self.set_timer(DRAFT_DELAY, self.keep_draft)

    def keep_draft(self) -> None:
        """Write what stands in the editor to disk."""
        self._draft.write(self.text, self._pastes.texts)

    def expanded(self) -> str:
        """The text with its pastes, for the external editor."""
        return self._pastes.expand(self.text).text
