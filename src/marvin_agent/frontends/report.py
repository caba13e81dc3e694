"""A headless run as JSON on standard output: one object at the end, or a line for each event."""

from typing import Any, Literal, TextIO, TypeAlias

import msgspec

from marvin_agent import __version__
from marvin_agent.agent import events as out
from marvin_agent.errors import MarvinError
from marvin_agent.frontends.result import Result
from marvin_agent.messages import clean_value, encode

STREAM_VERSION = 1
Shape: TypeAlias = Literal["json", "stream-json"]


class Report:
    """Implements `headless.Output`."""

    def __init__(self, shape: Shape, answer: TextIO) -> None:
        self._answer = answer
        self.streams = shape == "stream-json"
        self._began = False
        self._early: list[out.Notice] = []

    def notice(self, text: str) -> None:
        """Something that is known before there is a session."""
        if self.streams:
            self._early.append(out.Notice(level="warning", text=text))

    def begin(self, result: Result, cwd: str) -> None:
        """The model and the session are known."""
        if self.streams:
            self._header(result, cwd)

    def show(self, event: out.EngineEvent) -> None:
        if self.streams:
            self._line(event)

    def finish(self, result: Result) -> None:
        if self.streams:
            if result.error and not self._began:
                self._header(result, None)
                self._ended(result, result.error)
            return
        error = result.error
        self._line(
            {
                "ok": error is None,
                "provider": result.provider,
                "model": result.model,
                "prompt": result.prompt,
                "assistant": result.answer,
                "error": error.show() if error else None,
                "sessionId": result.session_id,
                "sessionPath": result.session_path,
                "usage": msgspec.to_builtins(result.usage) if result.usage else None,
                "cost": result.usage.cost.total if result.usage else None,
                "turns": result.turns,
                "toolCalls": result.tool_calls,
                "stopReason": result.stop_reason,
                "durationMs": round(result.seconds * 1000),
                "validationIssues": result.issues,
            }
        )

    def command_ended(self, result: Result) -> None:
        """A command makes no run by itself, so nothing else says how it ended."""
        if self.streams and result.error:
            self._ended(result, result.error)

    def failed(self, error: MarvinError) -> None:
        """The command line was wrong: nothing else is known."""
        result = Result()
        result.failed(error)
        self.finish(result)

    def _header(self, result: Result, cwd: str | None) -> None:
        self._began = True
        self._line(
            {
                "type": "header",
                "version": STREAM_VERSION,
                "marvin": __version__,
                "provider": result.provider,
                "model": result.model,
                "sessionId": result.session_id,
                "cwd": cwd,
            }
        )
        for notice in self._early:
            self._line(notice)

    def _ended(self, result: Result, error: MarvinError) -> None:
        self._line(
            out.AgentEnded(
                stop_reason=result.stop_reason,
                error=error.show(),
                error_kind=error.kind,
                exit_code=error.exit_code,
            )
        )

    def _line(self, value: Any) -> None:
        try:
            line = encode(value)
        except UnicodeEncodeError:  # a path or an argument that is no UTF-8
            line = encode(clean_value(msgspec.to_builtins(value)))
        self._answer.buffer.write(line + b"\n")
        self._answer.buffer.flush()
