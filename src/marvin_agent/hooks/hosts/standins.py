"""What stands in this process for a handler or a function in a hook's own process."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from marvin_agent.hooks.hosts.signature import function_like
from marvin_agent.hooks.payload import Event
from marvin_agent.hooks.registry import Handler

if TYPE_CHECKING:
    from marvin_agent.hooks.hosts.python import HostedHook


class _Code:
    """Where the real function is written, for whoever asks a function for that."""

    def __init__(self, file: str, line: int) -> None:
        self.co_filename = file
        self.co_firstlineno = line


class StandIn:
    """A handler. Its number changes when the process is started again."""

    handler: Handler
    leave: Callable[[], None]

    def __init__(self, host: "HostedHook", number: int, key: bytes, name: str, file: str, line: int) -> None:
        self._host = host
        self.number = number
        self.key = key
        """What it is known by when it registers again."""
        self.__name__ = name
        self.__code__ = _Code(file, line)

    async def __call__(self, event: Event, ctx: Any) -> Any:
        return await self._host.handle(self, event, ctx)


class Function:
    """A function that the hook gave to marvin."""

    def __init__(self, host: "HostedHook", form: dict[str, Any]) -> None:
        self._host = host
        self.number = int(form["number"])
        self.name = str(form["name"])
        self.file = str(form["file"])
        self.line = int(form["line"])
        self.place = "last"
        """Where the context goes among its arguments."""

    def as_function(self) -> Callable[..., Any]:
        """A function of `(args, ctx)`, or of arguments alone."""

        async def call(*arguments: Any) -> Any:
            context = arguments[-1] if arguments and hasattr(arguments[-1], "call_tool") else None
            given = list(arguments if context is None else arguments[:-1])
            return await self._host.run(self, given, {}, context)

        call.__name__ = call.__qualname__ = self.name
        return call

    def as_tool(self, form: dict[str, Any]) -> Callable[..., Any]:
        """A function with the parameters of the real one, to make a tool of."""
        self.place = "keyword"

        async def call(values: dict[str, Any], context: Any) -> Any:
            return await self._host.run(self, [], values, context)

        return function_like(form, call)
