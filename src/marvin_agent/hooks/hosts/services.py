"""What a hook's process may ask of marvin: the members of the engine's and the interface's Protocols, and sessions.

Nothing else can be reached, and the hook is always the one whose process it is, whatever the process says.
"""

import asyncio
import inspect
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from marvin_agent.errors import HookError
from marvin_agent.hooks import forms
from marvin_agent.hooks.engine import Engine, Interface
from marvin_agent.hooks.hosts.rpc import NO_METHOD, RpcError
from marvin_agent.hooks.running import Running

_NOT_FOR_HOOKS = frozenset(["forget", "post", "on_engine", "interface", "sessions", "register_renderer", "ask"])
_DIALOGS = frozenset(["select", "confirm", "input", "editor", "permission", "suspended"])
_SESSIONS = frozenset(
    [
        *("session_id", "session_path", "leaf_id", "entries", "branch", "tree", "get", "list", "find"),
        *("load", "load_latest", "compaction_state"),
    ]
)
_STORED = frozenset(
    ["path", "header", "id", "cwd", "leaf_id", "entries", "warnings", "get", "branch", "tree", "messages"]
)


def _members(protocol: type) -> dict[str, inspect.Signature | None]:
    """The public members: a method with its signature, a property with None."""
    return {
        name: None if isinstance(member, property) else inspect.signature(member)
        for name, member in vars(protocol).items()
        if not name.startswith("_")
        and name not in _NOT_FOR_HOOKS
        and (callable(member) or isinstance(member, property))
    }


_ENGINE = _members(Engine)
_INTERFACE = {
    name: signature
    for name, signature in _members(Interface).items()
    if not inspect.iscoroutinefunction(vars(Interface)[name])
}


class EngineService:
    """Answers what one hook asks of the engine."""

    def __init__(self, engine: Engine, hook: str, running: Mapping[int, Running]) -> None:
        self._engine = engine
        self._hook = hook
        self._running = running
        self._sessions: dict[int, Any] = {}
        self._ids = itertools.count(1)

    def engine(self, member: str, arguments: list[Any], keywords: dict[str, Any], call: int | None) -> Any:
        """A member of the engine: its value, what it gives, or a coroutine."""
        self._alive(call)
        if member == "ask":
            return self._ask(arguments, call)
        if member == "change_session" and isinstance(keywords.get("setup"), list):
            keywords = {**keywords, "setup": _writer(keywords["setup"])}
        return _form(self._member(self._engine, _ENGINE, member, arguments, keywords))

    def interface(self, member: str, arguments: list[Any], keywords: dict[str, Any], call: int | None) -> Any:
        """A plain member of the interface; dialogs are asked through the engine, which queues them."""
        self._alive(call)
        try:
            forms.to_json((arguments, keywords))
            value = self._member(self._engine.interface, _INTERFACE, member, arguments, keywords)
            forms.to_json(value)
        except TypeError as error:
            raise HookError(f"{member} of a process of its own: {error}") from None
        return value

    def _member(
        self,
        target: Any,
        members: dict[str, inspect.Signature | None],
        member: str,
        arguments: list[Any],
        keywords: dict[str, Any],
    ) -> Any:
        if member not in members:
            raise RpcError(f"marvin has no {member!r} for hooks", NO_METHOD)
        signature = members[member]
        if signature is None:
            return getattr(target, member)
        bound = signature.bind(None, *arguments, **keywords)
        if "hook" in bound.arguments:
            bound.arguments["hook"] = self._hook
        return getattr(target, member)(*bound.args[1:], **bound.kwargs)

    def _alive(self, call: int | None) -> None:
        if call is None:
            return
        running = self._running.get(call)
        if running is None or running.over:
            raise HookError(f"{self._hook}: this ctx is of a handler that has ended; keep no ctx beyond its handler")

    async def _ask(self, arguments: list[Any], call: int | None) -> Any:
        if not arguments or arguments[0] not in _DIALOGS:
            raise RpcError(f"marvin has no dialog {arguments[:1]}", NO_METHOD)
        running = self._running.get(call) if call is not None else None
        if running is None:
            return await self._engine.ask(arguments[0], self._hook, *arguments[1:])
        with running.clock.standing():
            return await self._engine.ask(arguments[0], self._hook, *arguments[1:])

    # Sessions.

    def sessions(self, handle: int | None, member: str, arguments: list[Any] | None) -> dict[str, Any]:
        """A member of `ctx.sessions`, or of a session that was loaded: whether it is called, or what it gives."""
        target = self._engine.sessions if handle is None else self._sessions.get(handle)
        if target is None or member not in (_SESSIONS if handle is None else _STORED):
            raise AttributeError(f"sessions have no attribute {member!r}")
        value = getattr(target, member)
        if callable(value):
            if arguments is None:
                return {"callable": True}
            value = value(*arguments)
        if member in ("load", "load_latest") and value is not None:
            number = next(self._ids)
            self._sessions[number] = value
            return {"handle": number}
        return {"tree": _rows(value)} if member == "tree" else {"value": value}

    def release(self, handle: int) -> None:
        self._sessions.pop(handle, None)


def _form(value: Any) -> Any:
    """A result, named tuples by their names."""
    if asyncio.iscoroutine(value):
        return _awaited_form(value)
    as_dict = getattr(value, "_asdict", None)
    return as_dict() if as_dict else value


async def _awaited_form(work: Any) -> Any:
    return _form(await work)


def _rows(roots: list[Any]) -> list[tuple[int | None, str | None, Any]]:
    """A tree as rows, parents first: a long conversation is deeper than JSON may be nested."""
    rows: list[tuple[int | None, str | None, Any]] = []
    waiting: list[tuple[int | None, Any]] = [(None, node) for node in reversed(roots)]
    while waiting:
        parent, node = waiting.pop()
        waiting += [(len(rows), child) for child in reversed(node.children)]
        rows.append((parent, node.label, node.entry))
    return rows


def _writer(notes: list[list[Any]]) -> Callable[[Any], None]:
    """What a hook's `setup(session)` wrote, written into the new session."""

    def write(session: Any) -> None:
        for method, *arguments in notes:
            if method == "append_message":
                session.append_message(forms.accept("Message")(arguments[0]))
            elif method == "append_entry":
                session.append_entry(*arguments)

    return write


def tell_error(error: BaseException) -> dict[str, Any]:
    """The types of an error, the nearest first, for the other side to raise the like; and what to do."""
    return {"types": [cls.__name__ for cls in type(error).__mro__], "hint": getattr(error, "hint", None)}
