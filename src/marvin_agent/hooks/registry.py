"""The hooks that are loaded and their handlers, in the order in which they run."""

import inspect
import math
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

from marvin_agent.errors import HookError
from marvin_agent.hooks.events import Purpose
from marvin_agent.hooks.payload import Event
from marvin_agent.hooks.spec import NAMES, SPECS, Spec
from marvin_agent.toolnames import is_misspelt

Scope: TypeAlias = Literal["builtin", "package", "global", "project", "config", "flag", "library"]
SCOPES: tuple[Scope, ...] = ("builtin", "package", "global", "project", "config", "flag", "library")
OnError: TypeAlias = Literal["open", "closed"]
PURPOSES: tuple[str, ...] = get_args(Purpose)

MODEL_EVENTS_FOR_TURNS = frozenset({"chat.messages.transform"})
"""Events that reach a handler for purpose `turn` only, unless it names others."""


class Hook:
    """A loaded hook file and what it registered."""

    def __init__(self, id: str, scope: Scope, path: str, *, required: bool = False) -> None:  # noqa: A002
        self.id = id
        self.scope = scope
        self.path = path
        self.required = required
        self.origin = f"hook:{id}"
        """How events name it that it causes."""
        self.handlers: list[Handler] = []
        self.off: str | None = None
        """Why it does not run any more; None while it does."""

    def holds(self, file: str) -> bool:
        """Whether a file is this hook's: its own, or one of its package's."""
        directory, _, name = self.path.rpartition("/")
        return file == self.path or (name == "__init__.py" and file.startswith(f"{directory}/"))


class Handler:
    """One function that listens to one event."""

    def __init__(
        self,
        hook: Hook,
        spec: Spec,
        function: Callable[..., Any],
        *,
        priority: int = 0,
        timeout: float | None = None,
        closed: bool = False,
        hides: bool = False,
        tools: tuple[str, ...] | None = None,
        final: bool = False,
        purposes: tuple[str, ...] | None = None,
    ) -> None:
        self.hook = hook
        self.spec = spec
        self.function = function
        self.priority = priority
        self.timeout = timeout
        self.closed = closed
        self.hides = hides
        """The hook chose to be closed: what it takes out must be kept nowhere, a trace included."""
        self.tools = tools
        self.final = final
        self.purposes = purposes or (("turn",) if spec.name in MODEL_EVENTS_FOR_TURNS else None)
        self.is_async = runs_async(function)
        self.failures = 0
        """How often in a row it failed."""
        self.off = False
        code = getattr(inspect.unwrap(function), "__code__", None)
        self.file: str = code.co_filename if code else hook.path
        self.line: int = code.co_firstlineno if code else 0

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def place(self) -> str:
        """`file.py:12`, the way a person finds it."""
        return f"{self.file.rpartition('/')[2]}:{self.line}"

    @cached_property
    def label(self) -> str:
        """Its function and place, as records have it: `ask (gate.py:12)`."""
        return f"{self.name} ({self.place})"

    def wants(self, event: Event) -> bool:
        """Whether the filters let this event through."""
        if self.off or self.hook.off:
            return False
        if self.tools is None and self.purposes is None:
            return True
        values = vars(event)
        if self.tools is not None and not any(fnmatchcase(values.get("tool_name", ""), p) for p in self.tools):
            return False
        return self.purposes is None or values.get("purpose") in self.purposes


class Registry:
    """All handlers by event. Changing it makes new tuples, so that a running event keeps its own."""

    def __init__(self) -> None:
        self.hooks: list[Hook] = []
        self.listening: dict[str, tuple[Handler, ...]] = {}
        self._pinned: set[tuple[str, str]] = set()

    def pin(self, hook: str, event: str) -> None:
        """Make a hook's handlers of an event closed from now on, those too that it registers when loaded again."""
        self._pinned.add((hook, event))
        for handler in self.listening.get(event, ()):
            if handler.hook.id == hook:
                handler.closed = True

    def pins_of(self, hook: str) -> list[str]:
        """The events whose handlers of a hook are closed for good."""
        return [event for name, event in self._pinned if name == hook]

    def add_hook(self, hook: Hook) -> None:
        self.hooks.append(hook)

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
        """Register a handler under an event's name, an alias or its class; gives back how to take it away."""
        made = []
        _validate_handler(function, priority, timeout)
        for name in event_names(event):
            spec = SPECS[name]
            _validate(spec, on_error, tools, final, purposes)
            made.append(
                Handler(
                    hook,
                    spec,
                    function,
                    priority=priority,
                    timeout=timeout,
                    hides=on_error == "closed" and not spec.closed,
                    closed=spec.closed or on_error == "closed" or (hook.id, name) in self._pinned,
                    tools=tools,
                    final=final,
                    purposes=purposes,
                )
            )
        hook.handlers += made
        self._arrange()

        def unsubscribe() -> None:
            hook.handlers = [handler for handler in hook.handlers if handler not in made]
            self._arrange()

        return unsubscribe

    def order(self, ids: Sequence[str]) -> None:
        """Bring the hooks into an order, within which their scopes still count first."""
        self.hooks.sort(key=lambda hook: ids.index(hook.id) if hook.id in ids else len(ids))
        self._arrange()

    def remove_hook(self, hook: Hook) -> None:
        self.hooks.remove(hook)
        self._arrange()

    def _arrange(self) -> None:
        found: dict[str, list[tuple[tuple[bool, int, int, int], Handler]]] = {}
        ranked = sorted(self.hooks, key=lambda hook: SCOPES.index(hook.scope))
        for rank, hook in enumerate(ranked):
            for number, handler in enumerate(hook.handlers):
                order = (handler.final, -handler.priority, rank, number)
                found.setdefault(handler.spec.name, []).append((order, handler))
        self.listening = {
            name: tuple(handler for _, handler in sorted(pairs, key=lambda pair: pair[0]))
            for name, pairs in found.items()
        }


def takes_two(function: Callable[..., Any]) -> bool:
    """Whether it can be called with two arguments; what has no signature is taken at its word."""
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def runs_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine."""
    called = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def event_names(event: object) -> tuple[str, ...]:
    """The events behind a name, an alias or an event class; an unknown one is an error with the nearest name."""
    if isinstance(event, type) and issubclass(event, Event):
        return (event.type,)
    if isinstance(event, str) and event in NAMES:
        return NAMES[event]
    raise HookError(f"unknown event {event!r}{_nearest(str(event))}")


def _nearest(name: str) -> str:
    def distance(other: str) -> int:
        # Edit distance in one row: quick enough for the error path, and cheaper to import than difflib.
        row = list(range(len(other) + 1))
        for i, a in enumerate(name, 1):
            before, row[0] = row[0], i
            for j, b in enumerate(other, 1):
                before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
        return row[-1]

    best = min(NAMES, key=distance)
    return f"; did you mean {best!r}?" if distance(best) <= max(3, len(name) // 2) else ""


def _validate_handler(function: object, priority: object, timeout: object) -> None:
    if not callable(function):
        raise HookError(f"a handler is a function of (event, ctx), not {type(function).__name__}")
    if not takes_two(function):
        name = getattr(function, "__name__", type(function).__name__)
        raise HookError(
            f"a handler is a function of (event, ctx): {name}{inspect.signature(function)} cannot be called so"
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        # Called, it would give a generator, and nothing of it would run.
        raise HookError(f"a handler returns, and {getattr(function, '__name__', 'this one')} yields")
    if not isinstance(priority, int):
        raise HookError(f"priority is a whole number, not {priority!r}")
    if timeout is not None and not (isinstance(timeout, int | float) and 0 <= timeout < math.inf):
        raise HookError(f"timeout is in seconds, 0 for none and None for the usual one, not {timeout!r}")


def _validate(
    spec: Spec,
    on_error: OnError | None,
    tools: tuple[str, ...] | None,
    final: bool,
    purposes: tuple[str, ...] | None,
) -> None:
    kinds = spec.event.__annotations__
    if on_error not in (None, "open", "closed"):
        raise HookError(f"on_error is 'open' or 'closed', not {on_error!r}")
    if on_error == "open" and spec.closed:
        raise HookError(f"{spec.name} is closed: a failing handler refuses, and on_error cannot lower that")
    if on_error == "closed" and spec.result is None:
        raise HookError(f"{spec.name} only observes: there is nothing that on_error='closed' could refuse")
    if final and not spec.gate:
        raise HookError(f"{spec.name} refuses nothing: final=True is for gates")
    if tools is not None and "tool_name" not in kinds:
        raise HookError(f"{spec.name} is not about a tool: it takes no tools filter")
    if purposes is not None and "purpose" not in kinds:
        raise HookError(f"{spec.name} is not about a model call: it takes no purposes filter")
    if tools is not None and not all(tools):
        raise HookError(f"tools is a list of names and patterns, not {tools!r}")
    for name in tools or ():
        # A gate that is never asked, since it waits for a tool of Claude Code, is worse than none.
        if "|" in name or is_misspelt(name):
            meant = ", ".join(repr(each.strip().lower()) for each in name.split("|"))
            raise HookError(f"no tool is called {name!r}: give tools=({meant},)")
    if unknown := [name for name in purposes or () if name not in PURPOSES]:
        raise HookError(f"a purpose is one of {', '.join(PURPOSES)}, not {unknown[0]!r}")
