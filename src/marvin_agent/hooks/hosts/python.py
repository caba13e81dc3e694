"""A Python hook in a process of its own: started, called, watched, started again after a crash, ended.

Its handlers, tools and commands stand in the registries of this process as stand-ins that call the real ones. So order,
rules, deadlines and failure policies are applied here, as to every other hook.
"""

import asyncio
import itertools
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from marvin_agent.errors import HookError
from marvin_agent.hooks import forms
from marvin_agent.hooks.bus import Bus
from marvin_agent.hooks.engine import Engine
from marvin_agent.hooks.hosts import environment
from marvin_agent.hooks.hosts.marks import unmarked
from marvin_agent.hooks.hosts.packing import callables, files_of, name_of
from marvin_agent.hooks.hosts.process import Process, environment_for
from marvin_agent.hooks.hosts.rpc import NO_METHOD, Closed, RpcError
from marvin_agent.hooks.hosts.script import Block
from marvin_agent.hooks.hosts.services import EngineService, tell_error
from marvin_agent.hooks.hosts.settings import HostSettings
from marvin_agent.hooks.hosts.standins import Function, StandIn
from marvin_agent.hooks.loop import HookLoop
from marvin_agent.hooks.merge import write
from marvin_agent.hooks.outcome import Failure
from marvin_agent.hooks.payload import Event
from marvin_agent.hooks.raised import Raised, raised
from marvin_agent.hooks.registry import Hook, Registry
from marvin_agent.hooks.running import Running
from marvin_agent.hooks.sources import Source

CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child", "__main__.py")
GRACE = 1.0
"""Seconds that a cancelled handler has to end before its process is killed."""
CRASHES = 5
"""How many in a row are mended; in a row means without a handler that ended well in between."""
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 30.0


class HostedHook:
    """One hook and its process. Lives on the hook loop; `close` may be called from any thread."""

    def __init__(
        self,
        hook: Hook,
        source: Source,
        block: Block,
        *,
        registry: Registry,
        engine: Engine,
        loop: HookLoop,
        bus: Bus,
        settings: HostSettings,
        failed: Callable[[Failure], None],
    ) -> None:
        self.hook = hook
        self._source = source
        self._files = files_of(source)
        self._block = block
        self._registry = registry
        self._loop = loop
        self._bus = bus
        self._settings = settings
        self._failed = failed
        self._engine = engine
        self._log = logging.getLogger(f"marvin.hooks.{hook.id}")
        self._running: dict[int, Running] = {}
        self._contexts: dict[int, Any] = {}
        self._service = EngineService(engine, hook.id, self._running)
        self._calls = itertools.count(1)
        self._process: Process | None = None
        self._python = sys.executable
        self._stand_ins: list[StandIn] = []
        self._unclaimed: list[StandIn] = []
        self._given: dict[tuple[str, str], list[Function]] = {}
        self._listening: dict[int, Callable[[], None]] = {}
        self._restart: asyncio.Task[None] | None = None
        self._closed = False
        self.down: str | None = "it has not started yet"
        """Why its handlers cannot be asked; None while they can."""
        self.crashes = 0

    # Life.

    async def prepare(self) -> None:
        """Make its environment, or find it made. Takes long the first time; says so. Raises HookError."""
        if self._block.dependencies or self._block.requires_python:
            self._python = await environment.python_for(
                self._block,
                base=os.path.dirname(self._source.path),
                cache_dir=os.path.join(self._settings.cache_dir, "hooks"),
                environ={k: v for k, v in os.environ.items() if k not in self._settings.secret_names},
                progress=lambda text: self._say(text, "info"),
            )

    async def start(self) -> None:
        """Start the process and run `setup` in it. Raises Raised, with what was raised there, or HookError."""
        try:
            await self._launch()
        except BaseException:
            self.hang_up()
            self.close()
            raise

    async def _launch(self) -> None:
        self._unclaimed = list(self._stand_ins)
        self._process = process = Process(
            [self._python, "-I", CHILD],
            env=environment_for(self._settings.env.get(self.hook.id, ())),
            cwd=self._engine.cwd,
            serve=self._serve,
            tell_error=tell_error,
            on_cancelled=self._call_was_cancelled,
            on_end=self._ended,
            on_output=lambda line: self._say(line, "info"),
        )
        hook = self.hook
        process.calls += 1
        try:
            load = {"id": hook.id, "scope": hook.scope, "path": hook.path, "files": self._files}
            await process.peer.request("load", load)
        except RpcError as error:
            raise raised(error.data, error.message) from None
        except Closed as ended:
            last = "\n".join(process.output.last)
            raise Raised({"type": "HookError", "text": f"{ended}", "told": f"{ended}", "traceback": last}) from None
        finally:
            process.calls -= 1
        for stand_in in self._unclaimed:
            stand_in.leave()
            self._stand_ins.remove(stand_in)
        self._unclaimed = []
        self.down = None

    def _ended(self, why: str) -> None:
        """The process is gone, and nobody here ended it."""
        process, was_up = self._process, self.down is None
        self.down = why
        for off in self._listening.values():
            off()
        self._listening.clear()
        if self._closed or (not was_up and self._restart is None):
            return  # its first start tells by itself
        self._crashed(why, "\n".join(process.output.last) if process else "")

    def _crashed(self, why: str, last: str) -> None:
        self.crashes += 1
        if self.crashes > CRASHES:
            self._report(f"{why}; that was {self.crashes} times in a row, and it stays off for this session", last)
            self._restart = None
            return
        pause = min(FIRST_PAUSE * 2 ** (self.crashes - 1), LONGEST_PAUSE)
        self._report(f"{why}; it starts again in {pause:g} s", last)
        self._restart = self._loop.loop.create_task(self._start_again(pause))

    async def _start_again(self, pause: float) -> None:
        await asyncio.sleep(pause)
        me = self._restart
        try:
            async with asyncio.timeout(self._settings.setup_timeout):
                await self._launch()
        except Exception as error:
            if self._closed or self._restart is not me:
                return  # the end of the process was told, and counted, already
            text = error.described if isinstance(error, Raised) else str(error) or type(error).__name__
            self._end_process()
            self._crashed(f"its setup failed when it was started again: {text}", getattr(error, "traceback", ""))

    def hang_up(self) -> None:
        """Tell the process to end."""
        if not self._closed:
            self._closed = True
            self.down = "it was ended"
            if self._restart:
                self._restart.cancel()
            if self._process:
                self._process.hang_up()

    async def end(self) -> None:
        """End the process, and kill it when it does not end within a moment."""
        self.hang_up()
        if self._process:
            await self._process.ended()
        self.close()

    def close(self) -> None:
        """Make sure that nothing is left of the process, from any thread; blocks for a moment at most."""
        self._closed = True
        if self._process:
            self._process.end()

    def _end_process(self) -> None:
        if self._process:
            self._process.hang_up()
            self._process.end(0.0)

    # Calling.

    async def handle(self, stand_in: StandIn, event: Event, ctx: Any) -> Any:
        """Call a handler: its changes are written to the event, what it returned is given back."""
        process = self._process
        if self.down is not None or process is None:
            if stand_in.handler.closed:
                raise HookError(f"its process is not there: {self.down}")
            return None  # as if it had not run; that the process is gone was told
        spec = stand_in.handler.spec
        call = next(self._calls)
        running: Running = ctx._running  # noqa: SLF001  # the call that this context is of
        self._running[call] = running
        running.line_elsewhere = lambda: process.lines.get(str(call))
        process.calls += 1
        try:
            answer = await process.peer.request(
                "handle", {"call": call, "handler": stand_in.number, "event": msgspec.Raw(forms.to_json(event))}
            )
        except RpcError as error:
            raise raised(error.data, error.message) from None
        except Closed as ended:
            raise HookError(f"{ended} while it ran") from None
        finally:
            process.calls -= 1
            del self._running[call]
        self.crashes = 0
        for name, value in answer["changed"].items():
            write(event, spec.fields[name].at or "", unmarked(value))
        return unmarked(answer["returned"])

    async def run(self, function: Function, arguments: list[Any], keywords: dict[str, Any], ctx: Any) -> Any:
        """Call a function that the hook gave: a tool, a command, a completion. `ctx` is what it would get here."""
        process = self._process
        if self.down is not None or process is None:
            raise HookError(f"{self.hook.id}: its process is not there: {self.down}")
        call = next(self._calls)
        self._contexts[call] = ctx
        process.calls += 1
        try:
            answer = await process.peer.request(
                "run",
                {
                    "call": call,
                    "number": function.number,
                    "args": arguments,
                    "keywords": keywords,
                    "context": None if ctx is None else "tool" if hasattr(ctx, "call_replaced") else "command",
                    "callId": getattr(ctx, "call_id", ""),
                    "place": function.place,
                },
            )
        except RpcError as error:
            raise raised(error.data, error.message) from None
        except Closed as ended:
            raise HookError(f"{self.hook.id}: {ended} while it ran") from None
        finally:
            process.calls -= 1
            del self._contexts[call]
        return unmarked(answer)

    def _call_was_cancelled(self, late: "asyncio.Future[None]") -> None:
        self._loop.loop.create_task(self._outlive(late))

    async def _outlive(self, late: "asyncio.Future[None]") -> None:
        process = self._process
        await asyncio.wait({late}, timeout=GRACE)
        if not late.done() and process and process is self._process:
            process.fail("it did not end when it was told to and was killed")

    # Serving.

    def _serve(self, method: str, params: Any) -> Any:
        match method:
            case "engine":
                return self._ask_engine(params)
            case "interface":
                arguments, keywords = unmarked(params["args"]), unmarked(params["keywords"])
                return self._service.interface(params["member"], arguments, keywords, params["call"])
            case "sessions":
                return self._service.sessions(params["handle"], params["member"], params.get("args"))
            case "release":
                return self._service.release(params["handle"])
            case "tool":
                return self._ask_context(params)
            case "subscribe":
                return self._subscribe(params)
            case "unsubscribe":
                return self._unsubscribe(params["number"])
            case "bus.on" | "bus.off" | "bus.emit":
                return self._ask_bus(method, params)
            case "log":
                return self._log.log(int(params["level"]), "%s", params["text"])
            case "stray":
                error = raised(params, "")
                return self._failed(Failure(self.hook.id, "background", error.place, error.described, error.traceback))
            case _:
                raise RpcError(f"there is no method {method!r}", NO_METHOD)

    def _ask_engine(self, params: Any) -> Any:
        member = params["member"]
        made: list[Function] = []

        def function(form: dict[str, Any]) -> Function:
            made.append(Function(self, form))
            return made[-1]

        arguments, keywords = unmarked(params["args"], function), unmarked(params["keywords"], function)
        if member.startswith("register_"):
            arguments = [callables(argument) for argument in arguments]
            keywords = {name: callables(value) for name, value in keywords.items()}
            key = (member, name_of(arguments, keywords))
            if key in self._given:
                # Started again: what stands here calls the new process.
                for old, new in zip(self._given[key], made, strict=False):
                    old.number = new.number
                return None
            value = self._service.engine(member, arguments, keywords, params["call"])
            self._given[key] = made
            return value
        return self._service.engine(member, arguments, keywords, params["call"])

    def _ask_context(self, params: Any) -> Any:
        context = self._contexts.get(params["call"])
        if context is None:
            raise HookError(f"{self.hook.id}: this ctx is of a tool call that has ended")
        match params["member"]:
            case "update":
                return context.update(*params["args"])
            case "call_replaced":
                return context.call_replaced(*params["args"]).coroutine
            case _:
                raise RpcError(f"a tool's ctx has no {params['member']!r}", NO_METHOD)

    def _subscribe(self, params: Any) -> None:
        key = msgspec.json.encode([params[name] for name in ("event", "name", "file", "line", "options")])
        for stand_in in self._unclaimed:
            if stand_in.key == key:
                stand_in.number = params["number"]
                self._unclaimed.remove(stand_in)
                return
        options = params["options"]
        for name in ("tools", "purposes"):
            options[name] = tuple(options[name]) if options[name] is not None else None
        stand_in = StandIn(self, params["number"], key, params["name"], params["file"], params["line"])
        stand_in.leave = self._registry.subscribe(self.hook, params["event"], stand_in, **options)
        stand_in.handler = self.hook.handlers[-1]
        self._stand_ins.append(stand_in)

    def _unsubscribe(self, number: int) -> None:
        for stand_in in self._stand_ins:
            if stand_in.number == number:
                stand_in.leave()
                self._stand_ins.remove(stand_in)
                return

    def _ask_bus(self, method: str, params: Any) -> None:
        if method == "bus.emit":
            self._bus.emit(params["channel"], unmarked(params["data"]))
        elif method == "bus.off":
            if off := self._listening.pop(params["number"], None):
                off()
        else:
            number = params["number"]

            def deliver(data: Any) -> None:
                if self._process:
                    self._process.peer.notify("bus", {"number": number, "data": forms.to_plain(data)})

            self._listening[number] = self._bus.on(params["channel"], deliver, hook=self.hook)

    # News.

    def _say(self, text: str, level: str) -> None:
        self._log.info("%s", text)
        self._engine.interface.notify(text, level, self.hook.id)

    def _report(self, text: str, last: str) -> None:
        self._failed(Failure(self.hook.id, "process", os.path.basename(self.hook.path), text, last))
