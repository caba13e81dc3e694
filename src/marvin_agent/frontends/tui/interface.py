"""How hooks reach the person in the app: implements `hooks.engine.Interface`."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from textual.widget import Widget

from marvin_agent.errors import HookError, MarvinError
from marvin_agent.frontends.tui.dialogs.confirm import ConfirmDialog
from marvin_agent.frontends.tui.dialogs.custom import CustomDialog
from marvin_agent.frontends.tui.dialogs.dialog import Dialog
from marvin_agent.frontends.tui.dialogs.line import LineDialog
from marvin_agent.frontends.tui.dialogs.permission import PermissionDialog
from marvin_agent.frontends.tui.dialogs.select import SelectDialog
from marvin_agent.frontends.tui.dialogs.text import TextDialog
from marvin_agent.hooks.engine import asking

T = TypeVar("T")


class Stage(Protocol):
    """What of the app dialogs and hooks reach. Called on the app's loop, in the app's own context."""

    def show_dialog(self, dialog: Dialog[Any], done: Callable[[Any], None]) -> None: ...

    def drop_dialog(self, dialog: Dialog[Any]) -> None: ...

    def tell(self, message: str, level: Any, source: str) -> None: ...

    def set_hook_status(self, key: str, text: str | None) -> None: ...

    def set_hook_widget(self, key: str, content: Any) -> None: ...

    def set_terminal_title(self, title: str) -> None: ...

    def set_editor_text(self, text: str) -> None: ...

    def editor_text(self) -> str: ...

    def forget_hook(self, hook: str) -> None: ...

    def hand_over(self, words: Sequence[str]) -> int: ...

    def current_colours(self) -> Any: ...


class Person:
    """The person in front of the app. Plain methods may be called from any thread.

    What hooks give is made text here, in their own call: on the screen it is too late for an error.
    """

    has_person: bool = True

    def __init__(self, stage: Stage, soon: Callable[..., None], cwd: str) -> None:
        self._stage = stage
        self._soon = soon
        """Calls a function on the app's loop in the app's context."""
        self._cwd = cwd
        self._one_at_a_time = asyncio.Lock()
        self._open: asyncio.Future[Any] | None = None
        """Where the answer to the dialog in front comes."""

    async def ask(self, dialog: Dialog[T], timeout: float | None = None) -> T | None:
        """Show a dialog when those before it are answered; None when cancelled or late."""
        if not asking.get().startswith("builtin:"):  # that is marvin itself
            dialog.asker = asking.get()
        async with self._one_at_a_time:
            if not self.has_person:
                return None
            answer: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
            self._open = answer

            def done(value: T | None) -> None:
                if not answer.done():
                    answer.set_result(value)

            self._soon(self._stage.show_dialog, dialog, done)
            try:
                return await asyncio.wait_for(answer, timeout)
            except TimeoutError:
                return None
            finally:
                # Also when the run was aborted: nobody waits for the answer any more.
                self._soon(self._stage.drop_dialog, dialog)

    def leave(self) -> None:
        """Nobody is there any more: what is asked gets its safe answer. Called on the app's loop."""
        self.has_person = False
        if self._open and not self._open.done():
            self._open.set_result(None)

    async def select(self, title: str, options: Sequence[str], timeout: float | None) -> str | None:
        given = [str(option) for option in options]
        chosen = await self.ask(SelectDialog(str(title), given), timeout)
        return None if chosen is None else given[chosen]

    async def confirm(self, title: str, message: str, timeout: float | None) -> bool:
        answer: bool | None = await self.ask(ConfirmDialog(str(title), str(message)), timeout)
        return bool(answer)

    async def input(self, title: str, placeholder: str) -> str | None:
        return await self.ask(LineDialog(str(title), str(placeholder)))

    async def editor(self, title: str, text: str) -> str | None:
        return await self.ask(TextDialog(str(title), str(text)))

    async def permission(self, question: Mapping[str, Any]) -> dict[str, Any]:
        refused = {"decision": "deny", "reason": "", "remember": None}
        return await self.ask(PermissionDialog(question, self._cwd)) or refused

    async def custom(self, factory: Any) -> Any:
        dialog: CustomDialog = CustomDialog(factory)
        value = await self.ask(dialog)
        if dialog.problem:
            raise HookError(dialog.problem)
        return value

    async def suspended(self, command: str, arguments: Sequence[str]) -> int:
        words = [command, *map(str, arguments)]
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def hand_over() -> None:
            try:
                code = self._stage.hand_over(words)
            except MarvinError as error:
                if not done.done():
                    done.set_exception(HookError(error.message))
            else:
                if not done.done():
                    done.set_result(code)

        async with self._one_at_a_time:
            # Not while a dialog asks: the program would have its keys.
            self._soon(hand_over)
            return await done

    def notify(self, message: str, level: str, source: str) -> None:
        self._soon(self._stage.tell, str(message), str(level), source)

    def set_status(self, key: str, text: str | None) -> None:
        self._soon(self._stage.set_hook_status, key, None if text is None else str(text))

    def set_widget(self, key: str, content: Any) -> None:
        if not isinstance(content, Widget | list | None):
            raise HookError(f"a widget is lines of text or a Textual widget, not {type(content).__name__}")
        lines = content if not isinstance(content, list) else [str(line) for line in content]
        self._soon(self._stage.set_hook_widget, key, lines)

    def set_title(self, title: str) -> None:
        self._soon(self._stage.set_terminal_title, str(title))

    def set_editor_text(self, text: str) -> None:
        self._soon(self._stage.set_editor_text, str(text))

    def get_editor_text(self) -> str:
        return self._stage.editor_text()

    def forget(self, hook: str) -> None:
        self._soon(self._stage.forget_hook, hook)

    @property
    def theme(self) -> Any:
        return self._stage.current_colours()
