"""A run without a person in front: the answer as text, as one JSON object, or as a stream of events."""

import argparse
import asyncio
import os
import signal
import sys
import time
from typing import Any

import msgspec

from marvin_agent import __version__
from marvin_agent.agent import events as out
from marvin_agent.agent.attachments import parts_of
from marvin_agent.agent.engine import Engine
from marvin_agent.agent.queue import Prompt
from marvin_agent.errors import UsageError
from marvin_agent.frontends.nobody import Nobody
from marvin_agent.frontends.progress import Progress
from marvin_agent.frontends.start import start_engine
from marvin_agent.messages import encode
from marvin_agent.places import Places

STREAM_VERSION = 1


class Run:
    """One headless run."""

    def __init__(self, options: argparse.Namespace, places: Places) -> None:
        self.options = options
        self.places = places
        self.output: str = options.output or ("json" if options.headless else "text")
        self.notices: list[dict[str, str]] = []
        self.progress = Progress(stream=self.output == "text" and sys.stdout.isatty())
        self._engine: Engine | None = None
        self._interrupts = 0

    async def go(self, prompt: str) -> int:
        """Do it; gives the exit code."""
        began = time.monotonic()
        interface = Nobody(self._notify_from_hook)
        mode: Any = "print" if self.output == "text" else "json"
        text, images = parts_of(prompt, self.options.attach, self.places.cwd)
        engine = await start_engine(self.options, self.places, mode=mode, interface=interface, notify=self._notify)
        self._engine = engine
        self._catch_signals()
        streams = self.output == "stream-json" or self.progress.streams
        reader = engine.outlet.subscribe(deltas=streams)
        rendering = asyncio.ensure_future(self._render(reader.events(), engine))
        try:
            await engine.start()
            engine.submit(Prompt(text, images))
            await engine.wait_until_idle()
        finally:
            await engine.close("signal" if self._interrupts else "quit")
            await rendering
        return self._finish(engine, prompt, time.monotonic() - began)

    async def _render(self, events: Any, engine: Engine) -> None:
        if self.output == "stream-json":
            self._line(
                {
                    "type": "header",
                    "version": STREAM_VERSION,
                    "marvin": __version__,
                    "provider": engine.model.provider,
                    "model": engine.model.id,
                    "cwd": self.places.cwd,
                }
            )
        async for event in events:
            match self.output:
                case "stream-json":
                    self._line(event)
                case _:
                    self.progress.show(event)

    def _line(self, value: Any) -> None:
        sys.stdout.buffer.write(encode(value) + b"\n")
        sys.stdout.buffer.flush()

    def _finish(self, engine: Engine, prompt: str, seconds: float) -> int:
        summary = engine.last
        assert summary
        error = summary.error
        answer = summary.answer.text if summary.answer else ""
        if self.output == "json":
            self._line(
                {
                    "ok": error is None,
                    "provider": engine.model.provider,
                    "model": engine.model.id,
                    "prompt": prompt,
                    "assistant": answer,
                    "error": error.show() if error else None,
                    "sessionId": engine.session.id,
                    "sessionPath": engine.session.path if engine.session.entries else None,
                    "usage": msgspec.to_builtins(summary.usage) if summary.usage else None,
                    "cost": summary.usage.cost.total if summary.usage else None,
                    "turns": summary.turns,
                    "toolCalls": summary.tool_calls,
                    "stopReason": summary.stop_reason,
                    "durationMs": round(seconds * 1000),
                    "validationIssues": self.notices,
                }
            )
        elif self.output == "text":
            self.progress.finish(summary.answer)
        if error is None:
            return 0
        if self.output != "json":
            print(f"marvin: {error.show()}", file=sys.stderr)
        return error.exit_code

    def _notify(self, text: str) -> None:
        self.notices.append({"level": "warning", "message": text})
        if self.output != "json":
            print(f"marvin: {text}", file=sys.stderr)

    def _notify_from_hook(self, text: str, level: str, source: str) -> None:
        engine = self._engine
        if engine:
            notice = out.Notice(level=level, text=text, source=source)  # type: ignore[arg-type]
            engine.loop.call_soon_threadsafe(engine.outlet.emit, notice)

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._interrupted, number)

    def _interrupted(self, number: int) -> None:
        self._interrupts += 1
        if self._interrupts > 2:
            os._exit(128 + number)  # asked three times: whatever hangs, leave
        if self._engine:
            self._engine.abort()


def read_prompt(options: argparse.Namespace) -> str:
    """The prompt from the words and from standard input; what is piped in is attached to the words."""
    words = " ".join(options.prompt)
    piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace")
    if words and piped.strip():
        return f"{words}\n\n<stdin>\n{piped.rstrip()}\n</stdin>"
    return words or piped.strip()


def run(options: argparse.Namespace, places: Places) -> int:
    prompt = read_prompt(options)
    if not prompt and not options.attach:
        raise UsageError("there is no prompt", hint="Write one behind -p, or pipe it in.")
    return asyncio.run(Run(options, places).go(prompt))
