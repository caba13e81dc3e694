"""The life of a hook in a process of its own: loaded, called, and ended when marvin closes its end.

The hook's code runs as it would in marvin's process: on a hook loop in a thread of its own, plain functions in worker
threads, with the same `marvin` and `ctx`. Only the engine behind them is somewhere else.
"""

import asyncio
import base64
import faulthandler
import logging
import os
import sys
import traceback
from collections.abc import Callable, Coroutine
from typing import Any

import marvin_agent.hooks
from marvin_agent.errors import MarvinError
from marvin_agent.hooks.api import HookAPI
from marvin_agent.hooks.calling import call
from marvin_agent.hooks.clock import Clock
from marvin_agent.hooks.context import Context, ToolCallContext
from marvin_agent.hooks.engine import Engine
from marvin_agent.hooks.exits import Exited, contained
from marvin_agent.hooks.faces import Blocking
from marvin_agent.hooks.hosts.child import values
from marvin_agent.hooks.hosts.child.engine import Functions, RemoteEngine
from marvin_agent.hooks.hosts.child.peer import CANCEL, Peer
from marvin_agent.hooks.hosts.child.plain import MARK, plain
from marvin_agent.hooks.hosts.child.registry import MirroredRegistry, RemoteBus
from marvin_agent.hooks.loop import HookLoop
from marvin_agent.hooks.modules import run_setup, run_source, setup_of
from marvin_agent.hooks.payload import Event, camel
from marvin_agent.hooks.registry import Handler, Hook
from marvin_agent.hooks.running import Running
from marvin_agent.hooks.sources import Source
from marvin_agent.hooks.spec import Field
from marvin_agent.hooks.threads import ThreadErrors


def main() -> None:
    """Take the pipes for the conversation with marvin away from the hook, and serve until they are closed."""
    reader, writer = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # Whatever prints, this process or one that it starts, must not print into the conversation.
    os.dup2(2, 1)
    if sys.stdout:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # it is a TextIOWrapper
    faulthandler.enable()
    for name in values.PUBLIC:
        setattr(marvin_agent.hooks, name, getattr(values, name))
    host = Host(Peer(reader, writer))
    try:
        host.peer.read_on(host.serve)
    finally:
        host.loop.stop()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                pass
        # A thread that never ends must not keep the process.
        os._exit(0)


class Host:
    """One hook and what marvin asks of it."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.loop = HookLoop(self._stray)
        self.functions = Functions()
        self.registry = MirroredRegistry(peer)
        self.bus = RemoteBus(self.loop, peer)
        self.engine = RemoteEngine(peer, self.functions)
        self.hook = Hook("hook", "library", "")
        self._threads = ThreadErrors(self._raised_in_thread)
        self._tasks: dict[int | str, asyncio.Task[None]] = {}
        self._running: dict[int, Running] = {}

    # On the thread that reads.

    def serve(self, number: int | str | None, method: str, params: Any) -> None:
        match method:
            case "ping":
                self.peer.answer(number, self._lines())
            case "handle":
                self.loop.post(self._start, number, self._handle, params)
            case "run":
                self.loop.post(self._start, number, self._run, params)
            case "load":
                self.loop.post(self._start, number, self._load, params)
            case "bus":
                self.bus.deliver(params["number"], values.copied(params["data"]))
            case _ if method == CANCEL:
                self.loop.post(self._cancel, params["id"])
            case _:
                self.peer.fail(number, f"there is no method {method!r}", None)

    def _lines(self) -> dict[str, int]:
        """Where each call is now."""
        found = {}
        for number, running in list(self._running.items()):
            found[str(number)] = int(running.where().rpartition(":")[2])
        return found

    # On the hook loop.

    def _start(self, number: int | str | None, work: Callable[[Any], Coroutine[Any, Any, Any]], params: Any) -> None:
        async def finish() -> None:
            try:
                result = await self.loop.owned(work(params), self.hook)
            except BaseException as error:
                self._failed(number, error)
            else:
                self.peer.answer(number, result)

        key = f"notified {id(params)}" if number is None else number
        self._tasks[key] = task = self.loop.loop.create_task(finish())
        task.add_done_callback(lambda done: self._tasks.pop(key, None))

    def _cancel(self, number: int | str) -> None:
        if task := self._tasks.get(number):
            task.cancel()

    def _failed(self, number: int | str | None, error: BaseException) -> None:
        form = error_form(error, self.hook.path)
        if number is None:
            self.peer.tell("stray", form)
        else:
            self.peer.fail(number, form["text"], form)

    def _stray(self, error: BaseException, hook: Hook | None) -> None:
        self.peer.tell("stray", error_form(error, self.hook.path))

    def _raised_in_thread(self, error: BaseException) -> bool:
        self._stray(error, None)
        return True

    async def _load(self, params: Any) -> None:
        given = params["files"]
        files = {path: base64.b64decode(data) for path, data in given.items()} if given is not None else None
        self.hook.id, self.hook.scope, self.hook.path = params["id"], params["scope"], params["path"]
        self.registry.add_hook(self.hook)
        api = HookAPI(self.hook, self.registry, self._face(), self.loop, self.bus)
        _log_to(self.peer, api.log)
        module = run_source(Source(params["path"], params["scope"], files))
        await run_setup(setup_of(module, params["path"]), api)

    def _face(self) -> Engine:
        face: Any = self.engine  # its members are looked up in the Protocol
        return face  # type: ignore[no-any-return]

    async def _handle(self, params: Any) -> dict[str, Any]:
        handler, call = self.registry.numbered[params["handler"]], params["call"]
        event: Event = values.payload(handler.spec.event, params["event"])
        running = self._running[call] = Running(handler, event, Clock(None), self.loop.thread.ident)
        running.task = asyncio.current_task()
        engine = self.engine.of_call(call)
        try:
            returned = await self._invoke(handler, running, engine)
            fields = handler.spec.fields.values() if handler.spec.result else ()
            return {
                "returned": self._returned(handler, returned),
                "changed": {field.name: after for field, after in _changes(fields, event, params["event"])},
            }
        finally:
            running.over = True
            del self._running[call]

    async def _invoke(self, handler: Handler, running: Running, engine: RemoteEngine) -> Any:
        face: Any = engine  # its members are looked up in the Protocol
        context = Context(face, running, self.hook.id)
        if handler.is_async:
            return await handler.function(running.event, context)
        blocking = Blocking(context, self.loop.loop)

        def began(thread: int | None) -> None:
            running.thread = thread

        called = self.loop.in_thread(lambda: handler.function(running.event, blocking), began)
        work = asyncio.ensure_future(contained(called))
        try:
            value = await asyncio.shield(work)
        except asyncio.CancelledError:
            # A thread cannot be cancelled. What it asks marvin can; if that does not end it, marvin ends the process.
            for task in engine.asking:
                task.cancel()
            await asyncio.wait({work})
            work.cancelled() or work.exception()  # nobody waits for what came of it
            raise
        return await value if asyncio.iscoroutine(value) else value

    def _returned(self, handler: Handler, returned: Any) -> Any:
        result = handler.spec.result
        if result is None:
            return None  # nobody reads what an observer returns
        if isinstance(returned, result):
            return plain(vars(returned))
        if returned is None or isinstance(returned, dict):
            return plain(returned)
        return {MARK: ["object", type(returned).__name__]}

    async def _run(self, params: Any) -> Any:
        """Call a function that the hook gave to marvin: a command, a tool, a completion."""
        function, number = self.functions[params["number"]], params["call"]
        arguments, keywords = values.copied(params["args"]), values.copied(params["keywords"])
        context: Any = None
        match params["context"]:
            case "tool":
                context = _tool_context(self.peer, self._face(), self.hook.id, number, params["callId"])
            case "command":
                context = Context(self._face(), None, self.hook.id)
        place = params["place"] if context else None

        def use(ctx: Any) -> Any:
            if place == "keyword":
                return function(*arguments, ctx=ctx, **keywords)
            return function(*arguments, *([ctx] if place == "last" else []), **keywords)

        return plain(await call(function, use, context, self.loop))


def _tool_context(peer: Peer, engine: Engine, hook: str, call: int, call_id: str) -> ToolCallContext:
    class Call:
        """The call of a tool: what `ToolCallContext` reaches of it."""

        def __init__(self) -> None:
            self.call_id = call_id

        def update(self, text: str) -> None:
            peer.call("tool", {"call": call, "member": "update", "args": [text]})

    async def old(arguments: dict[str, Any]) -> Any:
        given = await peer.ask("tool", {"call": call, "member": "call_replaced", "args": [plain(arguments)]})
        return values.read("ToolResult")(given)

    return ToolCallContext(engine, hook, Call(), old)


def _changes(fields: Any, event: Event, json: dict[str, Any]) -> Any:
    """The fields of the event that the handler changed in place."""
    field: Field
    for field in fields:
        if field.at is None:
            continue
        before: Any = json
        after: Any = event
        for name in field.at.split("."):
            before = before.get(camel(name)) if isinstance(before, dict) else None
            after = vars(after).get(name)
        after = plain(after)
        if after != before or type(after) is not type(before):
            yield field, after


def error_form(error: BaseException, path: str) -> dict[str, Any]:
    """What was raised, as marvin will tell it."""
    if isinstance(error, Exited) and error.__cause__:
        error = error.__cause__
    kind, text, told = type(error).__name__, str(error).strip(), None
    place = ""
    match error:
        case SystemExit() | KeyboardInterrupt():
            kind, text = "Exited", f"{kind}: {text}" if text else kind
        case asyncio.CancelledError():
            kind, text = "RuntimeError", "it was cancelled"
        case TimeoutError():
            kind = "TimeoutError"
        case SyntaxError():
            told = f"SyntaxError in line {error.lineno}: {error.msg}"
            place = f"{os.path.basename(error.filename or path)}:{error.lineno}"
        case MarvinError():
            told = error.message
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == path:
            place = f"{os.path.basename(path)}:{frame.lineno}"
    lines = "".join(traceback.format_exception(error))
    return {"type": kind, "text": text, "told": told, "place": place, "traceback": lines[-100_000:]}


class _Forward(logging.Handler):
    def __init__(self, peer: Peer) -> None:
        super().__init__()
        self._peer = peer

    def emit(self, record: logging.LogRecord) -> None:
        self._peer.tell("log", {"level": record.levelno, "text": self.format(record)})


def _log_to(peer: Peer, logger: logging.Logger) -> None:
    """What the hook logs is logged by marvin, under the same name."""
    logger.addHandler(_Forward(peer))
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
