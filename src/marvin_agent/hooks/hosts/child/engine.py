"""The engine as a hook in a process of its own reaches it: every member of `hooks.engine`, asked of marvin."""

import asyncio
import functools
import inspect
import itertools
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

from marvin_agent.errors import HookError
from marvin_agent.hooks.engine import Engine, Interface
from marvin_agent.hooks.hosts.child.peer import Peer
from marvin_agent.hooks.hosts.child.plain import MARK, plain
from marvin_agent.hooks.hosts.child.tooltypes import function_form
from marvin_agent.hooks.hosts.child.values import Entry, copied, read

RESULTS = {
    "model": "Model",
    "active_tools": "tuple[str, ...]",
    "token_usage": "Tokens | None",
    "call_tool": "ToolAnswer",
    "complete": "Completion",
    "execute": "Executed",
}
"""What members of the engine give, where that is more than plain JSON."""
SESSION_RESULTS = {
    "entries": "tuple[Entry, ...]",
    "branch": "list[Entry]",
    "get": "Entry | None",
    "list": "list[SessionInfo]",
    "find": "SessionInfo | None",
    "messages": "tuple[Message, ...]",
    "compaction_state": "CompactionState | None",
    "header": "Header",
}


class Functions:
    """The functions that a hook gave to marvin, by the numbers under which they are called."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._by_number: dict[int, Callable[..., Any]] = {}

    def number(self, function: Callable[..., Any]) -> int:
        number = next(self._ids)
        self._by_number[number] = function
        return number

    def __getitem__(self, number: int) -> Callable[..., Any]:
        return self._by_number[number]

    def drop(self, number: int) -> None:
        self._by_number.pop(number, None)

    def form(self, function: Any) -> Any:
        """The mark of a function in JSON."""
        code = getattr(inspect.unwrap(function), "__code__", None)
        return {
            MARK: [
                "call",
                {
                    "number": self.number(function),
                    "name": getattr(function, "__name__", type(function).__name__),
                    "file": code.co_filename if code else "",
                    "line": code.co_firstlineno if code else 0,
                },
            ]
        }


class _Remote:
    """Asks for the members of a Protocol under its name; `call` is the handler's call in which it is asked."""

    def __init__(self, peer: Peer, functions: Functions, call: int | None = None) -> None:
        self._peer = peer
        self._functions = functions
        self._call = call
        self.asking: set[asyncio.Task[Any]] = set()
        """What waits for an answer now."""

    def _params(self, member: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        give = self._functions.form if member.startswith("register_") else None
        return {
            "member": member,
            "args": [plain(argument, give) for argument in arguments],
            "keywords": {name: plain(value, give) for name, value in keywords.items()},
            "call": self._call,
        }

    def _plain_call(self, room: str, member: str, kind: str, *arguments: Any, **keywords: Any) -> Any:
        return read(kind)(self._peer.call(room, self._params(member, arguments, keywords)))

    async def _awaited_call(self, room: str, member: str, kind: str, *arguments: Any, **keywords: Any) -> Any:
        task = asyncio.current_task()
        assert task
        self.asking.add(task)
        try:
            return read(kind)(await self._peer.ask(room, self._params(member, arguments, keywords)))
        finally:
            self.asking.discard(task)

    def _member(self, room: str, protocol: type, member: str, kind: str) -> Any:
        found = vars(protocol).get(member)
        if member.startswith("_") or found is None:
            raise AttributeError(f"{member!r}: marvin has nothing of that name for hooks in a process of their own")
        if isinstance(found, property):
            return self._plain_call(room, member, kind)
        if inspect.iscoroutinefunction(found):
            return functools.partial(self._awaited_call, room, member, kind)
        return functools.partial(self._plain_call, room, member, kind)


class RemoteInterface(_Remote):
    """Implements `hooks.engine.Interface`."""

    def __getattr__(self, member: str) -> Any:
        return self._member("interface", Interface, member, "Any")


class RemoteEngine(_Remote):
    """Implements `hooks.engine.Engine`. What a handler asks carries the number of its call, so that it can be told
    from what others ask: a dialog lets the clock of that call stand still."""

    def of_call(self, call: int | None) -> "RemoteEngine":
        return RemoteEngine(self._peer, self._functions, call)

    @property
    def interface(self) -> RemoteInterface:
        return RemoteInterface(self._peer, self._functions, self._call)

    @property
    def sessions(self) -> "RemoteSessions":
        return RemoteSessions(self._peer)

    def __getattr__(self, member: str) -> Any:
        return self._member("engine", Engine, member, RESULTS.get(member, "Any"))

    def post(self, function: Callable[..., Any], *arguments: Any) -> None:
        # What is posted here asks marvin itself, on whatever thread.
        function(*arguments)

    async def on_engine(self, function: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        return await function()

    async def ask(self, method: str, hook: str, *arguments: Any) -> Any:
        if method == "custom":
            if self.mode != "tui":
                return None
            raise HookError("ctx.ui.custom needs marvin's own process: a widget cannot come from another one")
        return await self._awaited_call("engine", "ask", "Any", method, *arguments)

    async def change_session(self, action: str, hook: str, scheduled: bool, **arguments: Any) -> Any:
        if callable(arguments.get("setup")):
            arguments["setup"] = _written(arguments["setup"])
        return await self._awaited_call("engine", "change_session", "Any", action, hook, scheduled, **arguments)

    def register_renderer(self, custom_type: str, renderer: Any, hook: str) -> None:
        raise HookError("a renderer needs marvin's own process: what it makes cannot cross from another one")

    def register_tool(self, tool: Any, replaces: str | None, hook: str) -> None:
        if "function" in tool:
            tool = {**tool, "function": function_form(tool["function"])}
        self._plain_call("engine", "register_tool", "Any", tool, replaces, hook)


def _written(setup: Callable[[Any], Any]) -> list[list[Any]]:
    """What a `setup(session)` writes, to be written by marvin once the session is there."""
    notes: list[list[Any]] = []

    class NewSession:
        def append_message(self, message: Any) -> None:
            notes.append(["append_message", message])

        def append_entry(self, custom_type: str, data: Any = None) -> None:
            notes.append(["append_entry", custom_type, data])

    setup(NewSession())
    return notes


class RemoteSessions:
    """`ctx.sessions`, or one session that was loaded (`handle`)."""

    def __init__(self, peer: Peer, handle: int | None = None) -> None:
        self._peer = peer
        self._handle = handle
        if handle is not None:
            weakref.finalize(self, _released, peer, handle)

    def __getattr__(self, member: str) -> Any:
        if member.startswith("_"):
            raise AttributeError(member)
        given = self._peer.call("sessions", {"handle": self._handle, "member": member})
        if given.get("callable"):
            return functools.partial(self._called, member)
        return self._made(member, given)

    def _called(self, member: str, *arguments: Any) -> Any:
        params = {"handle": self._handle, "member": member, "args": [plain(argument) for argument in arguments]}
        return self._made(member, self._peer.call("sessions", params))

    def _made(self, member: str, given: dict[str, Any]) -> Any:
        if "handle" in given:
            return RemoteSessions(self._peer, given["handle"])
        if "tree" in given:
            return _tree(given["tree"])
        return read(SESSION_RESULTS.get(member, "Any"))(given.get("value"))


def _released(peer: Peer, handle: int) -> None:
    peer.tell("release", {"handle": handle})


class TreeNode:
    """An entry with those that follow it, oldest first, and the label that it was given last."""

    __slots__ = ("children", "entry", "label")

    def __init__(self, entry: Any, label: str | None) -> None:
        self.entry = entry
        self.label = label
        self.children: list[TreeNode] = []


def _tree(rows: list[list[Any]]) -> list[TreeNode]:
    """The roots of a tree that came as rows of (number of the parent or none, label, entry)."""
    nodes: list[TreeNode] = []
    roots: list[TreeNode] = []
    for parent, label, entry in rows:
        node = TreeNode(Entry.over(copied(entry)), label)
        nodes.append(node)
        (roots if parent is None else nodes[parent].children).append(node)
    return roots
