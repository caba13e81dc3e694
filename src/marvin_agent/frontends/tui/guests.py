"""Widgets of hooks on marvin's screen: what fails in one is replaced by plain text, and ends nothing else."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple

from textual.app import App
from textual.dom import DOMNode
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.worker import WorkerFailed


class Guest(NamedTuple):
    """A widget that a hook brought, with what is to be done when it fails."""

    widget: Widget
    failed: Callable[[Exception], None]


class Guests:
    """Knows which widgets, and which of the widgets in them, are hooks' code."""

    def __init__(self) -> None:
        self._guests: list[Guest] = []

    def welcome(self, widget: Widget, failed: Callable[[Exception], None]) -> None:
        """Take a widget in, before it is mounted. `failed` is called once, when it fails, and takes it away."""
        guest = Guest(widget, failed)
        self._guests.append(guest)
        self._guard(widget, guest)

    def forget(self, widget: Widget) -> None:
        self._guests = [guest for guest in self._guests if guest.widget is not widget]

    def joined(self, parent: DOMNode, child: Widget) -> None:
        """A widget was put into another: what is in a guest is a guest."""
        if guest := self._guest_of(parent):
            self._guard(child, guest)

    def takes_blame(self, error: Exception) -> bool:
        """Whether an error came from a guest; it is then dealt with."""
        guest = next((guest for node in _nodes(error) if (guest := self._guest_of(node))), None)
        if guest is None:
            return False
        self._fail(guest, error)
        return True

    def _guest_of(self, node: DOMNode) -> Guest | None:
        if not self._guests:
            return None
        owners = {id(guest.widget): guest for guest in self._guests}
        return next((owners[id(each)] for each in node.ancestors_with_self if id(each) in owners), None)

    def _fail(self, guest: Guest, error: Exception) -> None:
        if guest in self._guests:
            self._guests.remove(guest)
            guest.failed(error)

    def _guard(self, widget: Widget, guest: Guest) -> None:
        """Contain what Textual calls on the widget from loops of its own, which an error would end."""

        def contained(function: Callable[..., Any], instead: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **keywords: Any) -> Any:
                try:
                    return function(*arguments, **keywords)
                except Exception as error:
                    self._fail(guest, error)
                    return instead(*arguments)

            return call

        def awaited(function: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
            async def call(message: Any) -> Any:
                try:
                    return await function(message)
                except Exception as error:
                    self._fail(guest, error)

            return call

        guarded: dict[str, Callable[..., Any]] = {
            "render_lines": contained(widget.render_lines, _blank),
            "get_content_width": contained(widget.get_content_width, lambda *_: 1),
            "get_content_height": contained(widget.get_content_height, lambda *_: 1),
            "_dispatch_message": awaited(widget._dispatch_message),  # noqa: SLF001  # handlers of messages
        }
        for name, function in guarded.items():
            setattr(widget, name, function)


class GuestApp(App[int]):
    """An app on whose screen hooks have widgets: what fails in them does not end it."""

    def __init__(self) -> None:
        super().__init__()
        self.guests = Guests()
        self.crash: Exception | None = None
        """What ended the app, when nothing contained it."""

    def is_of_hook(self, error: Exception) -> bool:
        """Whether an error that is of no guest came from a hook's file all the same; it is reported then."""
        return False

    def _register_child(self, parent: DOMNode, child: Widget, before: int | None, after: int | None) -> None:
        super()._register_child(parent, child, before, after)
        self.guests.joined(parent, child)

    def _handle_exception(self, error: Exception) -> None:
        if not self._is_contained(error):
            self.crash = self.crash or error
            super()._handle_exception(error)

    def _print_error_renderables(self) -> None:
        # Textual's report has the values of all variables, keys among them. Whoever runs the app tells `crash`.
        self._exit_renderables.clear()

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            if not self._is_contained(error):
                raise

    def _is_contained(self, error: Exception) -> bool:
        if isinstance(error, WorkerFailed) and isinstance(error.error, Exception):
            error = error.error
        return self.guests.takes_blame(error) or self.is_of_hook(error)


def _blank(crop: Region) -> list[Strip]:
    return [Strip.blank(crop.width)] * crop.height


def _nodes(error: Exception) -> Iterator[DOMNode]:
    """The widgets whose methods are in a traceback, the innermost first."""
    frames = []
    trace = error.__traceback__
    while trace:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    for frame in reversed(frames):
        node = frame.f_locals.get("self")
        if isinstance(node, DOMNode):
            yield node
