"""What a person sees of a headless run: the answer on standard output, what the tools do on standard error."""

import os
from typing import TextIO

from marvin_agent.agent import events as out
from marvin_agent.errors import MarvinError
from marvin_agent.frontends.result import Result, failure_line
from marvin_agent.frontends.spinner import Spinner
from marvin_agent.llm.values import TextDelta, ThinkingDelta
from marvin_agent.messages import AssistantMessage, HookMessage, Text, text_of
from marvin_agent.text import one_line, printable

MARKS = {"ok": "✓", "error": "✗", "blocked": "⊘", "invalid": "✗", "aborted": "■", "skipped": "-"}
COLOURS = {"ok": "32", "error": "31", "blocked": "33", "invalid": "31", "aborted": "33", "skipped": "33"}
LEVELS = {"info": "36", "success": "32", "warning": "33", "error": "31"}


class Progress:
    """Implements `headless.Output`. On a terminal the answer streams, elsewhere it comes once at the end."""

    def __init__(self, answer: TextIO, words: TextIO) -> None:
        self._answer = answer
        self._words = words
        self.streams = answer.isatty()
        terminal = words.isatty() and os.environ.get("TERM") != "dumb"
        # https://no-color.org: set, and not empty.
        self._colour = terminal and not os.environ.get("NO_COLOR")
        self._spinner = Spinner(words) if terminal else None
        self._open_line = False
        self._shown = False
        """Whether any of the message that is under way has been shown."""
        self._running: dict[str, str] = {}
        """What each running tool call is about."""
        self._waits_for = ""
        self._acted: set[tuple[str, str, str]] = set()
        self._took_over = ""

    def notice(self, text: str) -> None:
        self._say(f"marvin: {text}", "33")

    def begin(self, result: Result, cwd: str) -> None:
        """Text has no header."""

    def show(self, event: out.EngineEvent) -> None:
        match event:
            case out.MessageGrew(delta=TextDelta(text=text)):
                if self.streams:
                    self._write(text)
            case out.MessageStarted(message=AssistantMessage()):
                self._shown = False
            case out.MessageEnded():
                self._end_line()
                self._message(event)
            case out.MessageWithdrawn():
                self._withdrawn()
            case out.ToolStarted():
                self._running[event.tool_call_id] = subject(event.tool_name, event.input)
            case out.ToolEnded():
                self._tool(event)
            case out.RetryStarted():
                wait, why = event.delay_ms / 1000, event.error.partition("\n")[0]  # what to do about it: when it failed
                self._say(f"retry {event.attempt}/{event.max_attempts} in {wait:.1f} s: {why}", "33")
            case out.Notice():
                source = "" if event.source == "marvin" else f"{event.source}: "
                self._say(f"{source}{event.text}", LEVELS[event.level])
            case out.HookFailed():
                self._say(failure_line(event), "31")
            case out.HookActed():
                self._hook_acted(event)
            case out.HookWaiting(hook=hook) if hook:
                self._say(f"waiting for {hook} ({event.event}) at {event.place}", "33")
            case _:
                pass
        self._wait(event)

    def finish(self, result: Result) -> None:
        """The answer, where it was not streamed, and why the run ended otherwise than it should."""
        self._stop_spinner()
        self._end_line()
        text = result.answer
        if text and not self.streams:
            self._answer.write(text if text.endswith("\n") else text + "\n")
            self._answer.flush()
        if result.error:
            self.failed(result.error)

    def command_ended(self, result: Result) -> None:
        """The line of a command is shown as an answer is."""
        if self.streams and result.answer:
            self._write(result.answer)
            self._end_line()

    def failed(self, error: MarvinError) -> None:
        self._say(f"marvin: {error.show()}", "31")

    def _tool(self, event: out.ToolEnded) -> None:
        mark = MARKS.get(event.status, "?")
        took = f" ({event.duration_ms / 1000:.1f} s)" if event.duration_ms >= 1000 else ""
        line = f"{mark} {self._running.pop(event.tool_call_id, event.tool_name)}{took}"
        if event.changed_by and event.status != "blocked":
            line += f" [changed by {', '.join(event.changed_by)}]"
        if event.status != "ok":
            first = next((part.text for part in event.content if isinstance(part, Text)), "")
            line += f"\n  {gist(first)}" if first.strip() else ""
        self._say(line, COLOURS.get(event.status, "0"))

    def _hook_acted(self, event: out.HookActed) -> None:
        # A tool's line names the hooks by itself; what happens at every model call is worth one line a run.
        # What marvin's own policies add is what marvin is like; they are in the trace like all others.
        if event.verdict == "handled":
            self._took_over = event.hook
            self._say(f"{event.hook} {out.TOOK_OVER}", "36")
            return
        if event.event.startswith(("tool.", "chat.message")) or event.hook.startswith("builtin:"):
            return
        act = (event.hook, event.event, event.verdict)
        if act not in self._acted:
            self._acted.add(act)
            self._say(f"{event.hook} {event.verdict} {event.event}", "36")

    def _message(self, event: out.MessageEnded) -> None:
        hooks = ", ".join(hook for hook in event.changed_by or () if hook != self._took_over)
        self._took_over = ""
        if isinstance(event.message, HookMessage):
            if event.message.display:
                self._say(f"{hooks or 'hook'}: {text_of(event.message.content)}", "36")
        elif hooks:
            self._say(f"the message was changed by {hooks}", "36")

    def _withdrawn(self) -> None:
        self._end_line()
        if self._shown:
            # It stands on the terminal and cannot be taken back.
            self._write("[the attempt failed: what it said above is void]\n")
        self._shown = False

    def _wait(self, event: out.EngineEvent) -> None:
        """Let the spinner turn while something is waited for and no line is half written."""
        match event:
            case out.TurnStarted() | out.RetryStarted() | out.CompactionStarted():
                self._waits_for = "waiting for the model"
            case out.MessageGrew(delta=ThinkingDelta()):
                self._waits_for = "thinking"
            case out.MessageGrew():
                self._waits_for = ""
            case out.ToolStarted() | out.ToolEnded():
                about = list(self._running.values())
                self._waits_for = about[0] if len(about) == 1 else f"{len(about)} tools" if about else "working"
            case out.AgentEnded() | out.AgentSettled() | out.CompactionEnded():
                self._waits_for = ""
            case _:
                pass
        if self._spinner is None:
            return
        if self._waits_for and not self._open_line:
            self._spinner.turn(self._waits_for)
        else:
            self._spinner.stop()

    def _stop_spinner(self) -> None:
        if self._spinner:
            self._spinner.stop()

    def _write(self, text: str) -> None:
        """More of the answer, on a terminal."""
        if not text:
            return
        self._stop_spinner()
        # A carriage return of a Windows line end may come apart from its newline.
        self._answer.write(printable(text.replace("\r", "")))
        self._answer.flush()
        self._shown = True
        self._open_line = not text.endswith("\n")

    def _say(self, text: str, colour: str) -> None:
        self._stop_spinner()
        self._end_line()
        shown = printable(text)
        try:
            print(f"\x1b[{colour}m{shown}\x1b[0m" if self._colour else shown, file=self._words, flush=True)
        except OSError:
            pass  # nobody reads it any more; the answer may still be wanted

    def _end_line(self) -> None:
        if self._open_line:
            self._answer.write("\n")
            self._answer.flush()
            self._open_line = False


def subject(name: str, arguments: dict[str, object]) -> str:
    """A tool call in a line."""
    for key in ("command", "pattern", "path"):
        if value := arguments.get(key):
            return f"{one_line(name, 60)} {one_line(str(value), 100)}"
    return one_line(name, 60)


def gist(text: str) -> str:
    """The first and the last line of a failure: how it began, and what the tool said in the end."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return one_line(text, 300)
    return f"{one_line(lines[0], 150)} … {one_line(lines[-1], 150)}"
