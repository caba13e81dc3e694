"""A run without a person in front: the answer as text, as one JSON object, or as a stream of events."""

import argparse
import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from typing import Any, Protocol

from marvin_agent.agent import events as out
from marvin_agent.agent.attachments import parts_of
from marvin_agent.agent.commands import Call, command_in, run_command
from marvin_agent.agent.engine import Engine
from marvin_agent.agent.nobody import Nobody
from marvin_agent.agent.queue import Prompt
from marvin_agent.errors import Aborted, MarvinError, UsageError
from marvin_agent.frontends.own_output import OwnOutput, own_output
from marvin_agent.frontends.progress import Progress
from marvin_agent.frontends.report import Report
from marvin_agent.frontends.result import Result
from marvin_agent.frontends.start import start_engine
from marvin_agent.frontends.stdin import Asked, read_asked
from marvin_agent.places import Places
from marvin_agent.processes import kill_all

SAME_PRESS = 0.5
"""Seconds in which a second signal is taken for the first: a terminal and a wrapper may both send one."""


class Output(Protocol):
    """How a run is told to whoever started it."""

    streams: bool
    """Whether messages are shown while they grow."""

    def notice(self, text: str) -> None:
        """Something worth a word that is known before there is an engine."""
        ...

    def begin(self, result: Result, cwd: str) -> None: ...

    def show(self, event: out.EngineEvent) -> None: ...

    def command_ended(self, result: Result) -> None: ...

    def finish(self, result: Result) -> None: ...


class Headless:
    """One headless run."""

    def __init__(self, options: argparse.Namespace, places: Places, streams: OwnOutput) -> None:
        self._options = options
        self._places = places
        self._shape: str = options.output or ("json" if options.headless else "text")
        answer, words = streams
        self._output: Output = Progress(answer, words) if self._shape == "text" else Report(self._shape, answer)  # type: ignore[arg-type]
        self._result = Result()
        self._engine: Engine | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._step: asyncio.Task[Any] | None = None
        self._signals: list[tuple[int, float]] = []
        self._unprintable: OSError | None = None
        """Why nothing more can be printed: mostly since the reader has left."""

    def run(self) -> int:
        """Do it; the exit code."""
        began = time.monotonic()
        try:
            asked = read_asked(self._options.prompt, self._options.attach, self._notify)
            self._result.prompt = asked.text
            asyncio.run(self._go(asked))
        except MarvinError as error:
            self._result.failed(error)
        if self._unprintable:
            raise self._unprintable
        self._result.seconds = time.monotonic() - began
        self._output.finish(self._result)
        if self._signals and self._result.error:
            return 128 + self._signals[0][0]
        return self._result.error.exit_code if self._result.error else 0

    async def _go(self, asked: Asked) -> None:
        self._loop = asyncio.get_running_loop()
        self._catch_signals()
        text, images = parts_of(asked.text, asked.attachments, self._places.cwd)
        mode: Any = "print" if self._shape == "text" else "json"
        engine = await self._interruptible(
            start_engine(
                self._options, self._places, mode=mode, interface=Nobody(self._notify_from_hook), notify=self._notify
            )
        )
        self._engine = engine
        self._know(engine)
        self._output.begin(self._result, engine.cwd)
        rendering = asyncio.ensure_future(self._render(engine.outlet.subscribe(deltas=self._output.streams).events()))
        try:
            await self._interruptible(engine.start())
            if call := command_in(asked.text, engine):
                await self._command(engine, call)
            else:
                engine.submit(Prompt(text, images))
            await self._interruptible(engine.wait_until_idle())
        finally:
            await engine.close("signal" if self._signals else "quit")
            await rendering
            self._know(engine)
        if engine.last and engine.last.error:
            raise engine.last.error

    async def _command(self, engine: Engine, call: Call) -> None:
        """Do what the words after a slash say; the line it gives is the answer."""
        if self._options.attach:
            raise UsageError(f"--attach goes with a prompt, not with /{call.name}")
        try:
            self._result.answer = await self._interruptible(run_command(engine, call))
        except MarvinError as error:
            self._result.failed(error)
            self._output.command_ended(self._result)
            raise
        self._output.command_ended(self._result)

    async def _render(self, events: AsyncIterator[out.EngineEvent]) -> None:
        async for event in events:
            self._result.hear(event)
            if self._unprintable is None:
                try:
                    self._output.show(event)
                    continue
                except OSError as error:
                    self._unprintable = error
            elif not isinstance(event, out.AgentStarted):
                continue
            # Nobody reads what is printed: there is nobody to work for, also when the run begins only now. The session
            # keeps what there is.
            if self._engine:
                self._engine.abort()

    def _know(self, engine: Engine) -> None:
        self._result.usage = engine.spent
        self._result.provider, self._result.model = engine.model.provider, engine.model.id
        self._result.session_id = engine.session.id
        self._result.session_path = engine.session.path if engine.session.entries else None

    def _notify(self, text: str) -> None:
        self._result.issue("warning", text)
        self._output.notice(text)

    def _notify_from_hook(self, text: str, level: Any, source: str) -> None:
        if self._loop:
            self._loop.call_soon_threadsafe(self._tell, out.Notice(level=level, text=text, source=source))

    def _tell(self, notice: out.Notice) -> None:
        if self._engine:
            self._engine.outlet.emit(notice)
        else:
            # Hooks are loaded before there is an engine; installing what one needs may take a while.
            told = f"{notice.source}: {notice.text}"
            self._result.issue(notice.level, told)
            self._output.notice(told)

    # Signals.

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # What is ignored (nohup) stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._interrupted, number)

    def _interrupted(self, number: int) -> None:
        """The first signal stops the run and tidies up; the next one leaves at once."""
        now = time.monotonic()
        self._signals.append((number, now))
        if len(self._signals) > 2 or now - self._signals[0][1] > SAME_PRESS:
            kill_all()
            os._exit(128 + number)
        if self._engine:
            self._engine.abort()
        if self._step:
            self._step.cancel()

    async def _interruptible(self, coroutine: Any) -> Any:
        """Wait for what a signal may cut short."""
        self._step = step = asyncio.ensure_future(coroutine)
        try:
            return await step
        except asyncio.CancelledError:
            if self._signals:
                raise Aborted from None
            raise
        finally:
            self._step = None


def run(options: argparse.Namespace, places: Places) -> int:
    """Run without a person in front; the exit code."""
    with own_output() as streams:
        return Headless(options, places, streams).run()
