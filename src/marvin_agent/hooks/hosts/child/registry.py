"""The handlers of a hook in a process of its own: each is made known to marvin, which keeps the order and the rules."""

import itertools
from collections.abc import Callable
from typing import Any

from marvin_agent.hooks.bus import Bus, Listener
from marvin_agent.hooks.hosts.child.peer import Peer
from marvin_agent.hooks.hosts.child.plain import plain
from marvin_agent.hooks.loop import HookLoop, owner
from marvin_agent.hooks.registry import Handler, Hook, OnError, Registry


class MirroredRegistry(Registry):
    """Checks as marvin's own does, and tells marvin of each handler, by a number."""

    def __init__(self, peer: Peer) -> None:
        super().__init__()
        self._peer = peer
        self._ids = itertools.count(1)
        self.numbered: dict[int, Handler] = {}

    def subscribe(
        self,
        hook: Hook,
        event: object,
        function: Callable[..., Any],
        *,
        priority: int = 0,
        timeout: float | None = None,
        on_error: OnError | None = None,
        tools: tuple[str, ...] | None = None,
        final: bool = False,
        purposes: tuple[str, ...] | None = None,
    ) -> Callable[[], None]:
        before = len(hook.handlers)
        undo = super().subscribe(
            hook,
            event,
            function,
            priority=priority,
            timeout=timeout,
            on_error=on_error,
            tools=tools,
            final=final,
            purposes=purposes,
        )
        options = {
            "priority": priority,
            "timeout": timeout,
            "on_error": on_error,
            "tools": tools,
            "final": final,
            "purposes": purposes,
        }
        numbers = [self._tell(handler, options) for handler in hook.handlers[before:]]

        def unsubscribe() -> None:
            undo()
            for number in numbers:
                if self.numbered.pop(number, None):
                    self._peer.call("unsubscribe", {"number": number})

        return unsubscribe

    def _tell(self, handler: Handler, options: dict[str, Any]) -> int:
        number = next(self._ids)
        self.numbered[number] = handler
        self._peer.call(
            "subscribe",
            {
                "number": number,
                "event": handler.spec.name,
                "name": handler.name,
                "file": handler.file,
                "line": handler.line,
                "options": options,
            },
        )
        return number


class RemoteBus(Bus):
    """`marvin.events`: the channels are marvin's, so that hooks in all processes meet there."""

    def __init__(self, loop: HookLoop, peer: Peer) -> None:
        super().__init__(loop)
        self._peer = peer
        self._ids = itertools.count(1)
        self._numbered: dict[int, Listener] = {}

    def on(self, channel: str, handler: Callable[[Any], Any], *, hook: Hook | None = None) -> Callable[[], None]:
        number = next(self._ids)
        self._numbered[number] = Listener(handler, hook or owner.get())
        self._peer.call("bus.on", {"channel": channel, "number": number})

        def off() -> None:
            if self._numbered.pop(number, None):
                self._peer.call("bus.off", {"number": number})

        return off

    def emit(self, channel: str, data: Any = None) -> None:
        self._peer.call("bus.emit", {"channel": channel, "data": plain(data)})

    def deliver(self, number: int, data: Any) -> None:
        """Called by whatever thread reads."""
        if listener := self._numbered.get(number):
            self._loop.post(self._deliver, listener, data)
