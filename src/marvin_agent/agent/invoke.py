"""The one place where tools are invoked: gates first, then the calls of a message in parallel, then the after hooks."""

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import UNSET

from marvin_agent.agent.events import ToolEnded, ToolStarted, ToolUpdated
from marvin_agent.agent.outlet import Outlet
from marvin_agent.agent.points import Points
from marvin_agent.errors import ToolError
from marvin_agent.hooks import events as h
from marvin_agent.hooks.forms import FormError
from marvin_agent.hooks.outcome import Outcome
from marvin_agent.hooks.payload import Event
from marvin_agent.messages import (
    Text,
    ToolCall,
    ToolResultMessage,
    ToolStatus,
    UserPart,
    clean,
    clean_value,
    now_ms,
    raw,
)
from marvin_agent.tools.files import resolve
from marvin_agent.tools.registry import Registry
from marvin_agent.tools.shorten import shorten
from marvin_agent.tools.tool import FileMemory, Tool, ToolFailure, ToolInterrupted, ToolResult


class Result:
    """A call on its way: what will run, then what came of it."""

    def __init__(self, call: ToolCall, origin: str) -> None:
        self.call = call
        self.origin = origin
        self.tool: Tool | None = None
        self.input: dict[str, Any] = {}
        self.content: tuple[UserPart, ...] = ()
        self.details: Any = {}
        self.status: ToolStatus | None = None
        self.duration_ms = 0
        self.changed_by: tuple[str, ...] = ()
        self.input_changed = False
        self.private = False
        """A closed after handler must see the whole before anybody sees a part."""
        self.told = False
        """The after hooks were asked, if not to the end."""

    def fail(self, status: ToolStatus, text: str, details: Any = None) -> None:
        self.status = status
        self.content = (Text(text=clean(text)),)
        self.details = details or {}

    def message(self) -> ToolResultMessage:
        assert self.status
        return ToolResultMessage(
            tool_call_id=self.call.id,
            tool_name=self.call.name,
            content=self.content,
            details=raw(self.details) if self.details else UNSET,
            input=raw(self.input) if self.input_changed else UNSET,
            is_error=self.status != "ok",
            status=self.status,
            timestamp=now_ms(),
        )


class Home(Protocol):
    """Where tools work."""

    @property
    def cwd(self) -> str: ...

    @property
    def files(self) -> FileMemory: ...

    @property
    def scratch(self) -> str: ...

    def is_active(self, name: str) -> bool: ...


class Invoker:
    """Invokes tools for one engine."""

    def __init__(self, registry: Registry, points: Points, outlet: Outlet, home: Home) -> None:
        self.registry = registry
        self.home = home
        self._points = points
        self._outlet = outlet

    def batch(self, calls: tuple[ToolCall, ...], store: Callable[[Result], None], origin: str = "main") -> "Batch":
        """The calls of one message. `store` gets each result in call order."""
        return Batch(self, [Result(call, origin) for call in calls], store)

    async def single(self, name: str, arguments: dict[str, Any], call_id: str, origin: str) -> Result:
        """One call from elsewhere (a hook, `!`), through the same gates; nothing is shown or stored."""
        result = Result(ToolCall(id=call_id, name=name, arguments=raw(arguments)), origin)
        await self.prepare(result)
        await self.run(result, visible=False)
        await self.after(result)
        return result

    async def prepare(self, result: Result) -> None:
        """Look the tool up, check the arguments and ask the gates."""
        call = result.call
        try:
            result.tool = self.registry.get(call.name)
            if not self.home.is_active(call.name):
                raise ToolError(f"The tool {call.name} is switched off for now; use another.")
            if call.malformed is not UNSET:
                raise ToolError(
                    f"The arguments of {call.name} were not a JSON object, so nothing ran. They began with: "
                    f"{call.malformed[:200]!r}. Call the tool again with valid JSON."
                )
            result.input = result.tool.check(call.input)
        except ToolError as error:
            result.input = {} if call.malformed is not UNSET else call.input
            result.fail("invalid", error.message)
            return
        outcome = await self._points.fire(
            h.ToolExecuteBefore,
            origin=result.origin,
            check=self._checker(result.tool),
            tool_name=call.name,
            tool_call_id=call.id,
            input=result.input,
        )
        if outcome:
            self._gated(result, outcome)

    def _checker(self, tool: Tool) -> Callable[[Event], None]:
        def check(event: Event) -> None:
            try:
                tool.check(vars(event)["input"])
            except ToolError as error:
                raise FormError(f"changed the input to what {tool.name} does not take: {error.message}") from error

        return check

    def _gated(self, result: Result, outcome: Outcome) -> None:
        assert result.tool
        result.changed_by = outcome.changed_by
        if outcome.changes:
            result.input = result.tool.check(outcome.event.input)
            result.input_changed = True
        if refusal := outcome.refused:
            reason = refusal.reason or "no reason given"
            verb = "failed, so the call was refused" if refusal.failed else "refused the call"
            result.changed_by = tuple(dict.fromkeys((*result.changed_by, refusal.hook)))
            result.fail("blocked", f"Not run: {refusal.hook} {verb}: {reason}", {"blockedBy": refusal.hook})

    async def run(self, result: Result, *, visible: bool = True) -> None:
        """Execute what may run; failures become results."""
        if result.status or result.tool is None:
            return
        result.private = self._points.closed_handler_for(
            h.ToolExecuteAfter, tool_name=result.call.name, tool_call_id=result.call.id
        )
        context = RunningTool(self, result, visible)
        started = time.monotonic()
        try:
            made: ToolResult = await result.tool.execute(result.input, context)
        except ToolInterrupted as interrupted:
            result.fail("aborted", interrupted.message, interrupted.details)
            raise asyncio.CancelledError from interrupted  # timeouts of Python 3.11 know no other
        except asyncio.CancelledError:
            result.fail("aborted", "Interrupted before it was done.")
            raise
        except ToolFailure as failure:
            result.fail("error", failure.message, failure.details)
        except ToolError as error:
            result.fail("error", error.message)
        except Exception as error:
            result.fail("error", f"{result.call.name} failed: {type(error).__name__}: {error}")
        else:
            result.status = "error" if made.is_error else "ok"
            result.content = made.content
            result.details = made.details
        finally:
            result.duration_ms = round((time.monotonic() - started) * 1000)

    async def after(self, result: Result) -> None:
        """Let the after hooks see, change or withhold the result."""
        assert result.status
        result.told = True
        outcome = await self._points.fire(
            h.ToolExecuteAfter,
            origin=result.origin,
            tool_name=result.call.name,
            tool_call_id=result.call.id,
            input=result.input,
            content=list(result.content),
            details=result.details,
            is_error=result.status != "ok",
            status=result.status,
            duration_ms=result.duration_ms,
        )
        if outcome is None:
            return
        if refusal := outcome.refused:
            result.fail("error", f"The result is withheld: {refusal.hook} failed: {refusal.reason}")
            result.changed_by = (*result.changed_by, refusal.hook)
            return
        event = outcome.event
        result.content = tuple(event.content)
        result.details = clean_value(event.details)
        if event.is_error != (result.status != "ok"):
            result.status = "error" if event.is_error else "ok"
        result.changed_by = tuple(dict.fromkeys((*result.changed_by, *outcome.changed_by)))
        if result.private:
            self._shorten(result)

    def _shorten(self, result: Result) -> None:
        """Cut what a handler had to see whole."""
        parts: list[UserPart] = []
        for part in result.content:
            if not isinstance(part, Text):
                parts.append(part)
                continue
            text, path = shorten(part.text, lambda: self.home.scratch)
            parts.append(Text(text=text))
            if path and isinstance(result.details, dict):
                result.details = {**result.details, "truncated": True, "fullOutput": path}
        result.content = tuple(parts)

    def started(self, result: Result) -> None:
        call = result.call
        by = result.changed_by or UNSET
        self._outlet.emit(ToolStarted(tool_call_id=call.id, tool_name=call.name, input=result.input, changed_by=by))

    def ended(self, result: Result) -> None:
        assert result.status
        self._outlet.emit(
            ToolEnded(
                tool_call_id=result.call.id,
                tool_name=result.call.name,
                status=result.status,
                content=result.content,
                details=clean_value(result.details) or None,
                duration_ms=result.duration_ms,
                changed_by=result.changed_by or UNSET,
            )
        )

    def grew(self, result: Result, text: str, visible: bool) -> None:
        if result.private:
            return
        if visible:
            self._outlet.emit(ToolUpdated(tool_call_id=result.call.id, text=clean(text)))
        self._points.tell(
            h.ToolExecuteUpdate,
            origin=result.origin,
            tool_name=result.call.name,
            tool_call_id=result.call.id,
            partial=clean(text),
        )


class RunningTool:
    """The context of a running tool."""

    def __init__(self, invoker: Invoker, result: Result, visible: bool) -> None:
        self._invoker = invoker
        self._result = result
        self._visible = visible

    @property
    def cwd(self) -> str:
        return self._invoker.home.cwd

    @property
    def call_id(self) -> str:
        return self._result.call.id

    @property
    def files(self) -> FileMemory:
        return self._invoker.home.files

    @property
    def scratch(self) -> str:
        return self._invoker.home.scratch

    @property
    def private(self) -> bool:
        """True when nothing of the output may be seen or kept before the tool is done."""
        return self._result.private

    def update(self, text: str) -> None:
        self._invoker.grew(self._result, text, self._visible)


class Batch:
    """The calls of one message: all gates in call order, then all tools at once, then all after hooks in call order."""

    def __init__(self, invoker: Invoker, results: list[Result], store: Callable[[Result], None]) -> None:
        self._invoker = invoker
        self.results = results
        self._store = store
        self._tasks: list[asyncio.Task[None]] = []
        self._done = 0

    async def run(self) -> None:
        """Do it all. When cancelled, `abort` must be called to leave every call with a result."""
        for result in self.results:
            await self._invoker.prepare(result)
            self._invoker.started(result)
        last_on_path: dict[str, asyncio.Task[None]] = {}
        for result in self.results:
            path = self._path(result)
            task = asyncio.ensure_future(self._one(result, last_on_path.get(path) if path else None))
            self._tasks.append(task)
            if path:
                last_on_path[path] = task
        for result, task in zip(self.results, self._tasks, strict=True):
            await asyncio.wait({task})
            await self._invoker.after(result)
            self._keep(result)

    async def abort(self) -> None:
        """Kill what runs and give every call that has no result yet one that says so. When cancelled: `leave`."""
        await self.stop()
        for result in self.results[self._done :]:
            if result.status is None:
                result.fail("aborted", "Interrupted before it ran.")
            if not result.told:
                await self._invoker.after(result)
            elif result.private:
                result.fail("aborted", "Interrupted before a hook had seen the result, so it is withheld.")
            self._keep(result)

    async def stop(self) -> None:
        """Kill what runs, and no more: for when nothing can be kept."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def leave(self) -> None:
        """Give every call a result at once, asking no hook."""
        for result in self.results[self._done :]:
            if result.status is None or result.private:
                result.fail("aborted", "Interrupted.")
            self._keep(result)

    async def _one(self, result: Result, before: "asyncio.Task[None] | None") -> None:
        if before:
            await asyncio.wait({before})
        await self._invoker.run(result)

    def _keep(self, result: Result) -> None:
        self._store(result)
        self._done += 1
        self._invoker.ended(result)

    def _path(self, result: Result) -> str | None:
        if result.status or result.tool is None or result.tool.path_of is None:
            return None
        path = result.tool.path_of(result.input)
        try:
            # `a` and `./a`, and a link and its target, are one file.
            return os.path.realpath(resolve(path, self._invoker.home.cwd)) if path else None
        except ToolError:
            return None  # no file can have this path; the tool says so
