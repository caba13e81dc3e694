"""What a person sees of a headless run: the answer on stdout, what the tools do on stderr."""

import os
import sys

from marvin_agent.agent import events as out
from marvin_agent.llm.values import TextDelta
from marvin_agent.messages import AssistantMessage, Text

MARKS = {"ok": "✓", "error": "✗", "blocked": "⊘", "invalid": "✗", "aborted": "■", "skipped": "-"}
COLOURS = {"ok": "32", "error": "31", "blocked": "33", "invalid": "31", "aborted": "33", "skipped": "33"}


class Progress:
    """Renders events as they come. `stream`: stdout is a terminal, so the answer is shown while it is written."""

    def __init__(self, *, stream: bool) -> None:
        self.streams = stream
        self._colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        self._open_line = False
        self._subjects: dict[str, str] = {}

    def show(self, event: out.EngineEvent) -> None:
        match event:
            case out.MessageGrew(delta=TextDelta(text=text)) if self.streams:
                sys.stdout.write(text)
                sys.stdout.flush()
                self._open_line = not text.endswith("\n")
            case out.MessageEnded() | out.MessageWithdrawn():
                self._end_line()
            case out.ToolStarted():
                self._subjects[event.tool_call_id] = subject(event.tool_name, event.input)
            case out.ToolEnded():
                self._tool(event)
            case out.RetryStarted():
                wait = event.delay_ms / 1000
                self._say(f"retry {event.attempt}/{event.max_attempts} in {wait:.1f} s: {event.error}", "33")
            case out.Notice():
                source = "" if event.source == "marvin" else f"{event.source}: "
                self._say(f"{source}{event.text}", "31" if event.level == "error" else "33")
            case out.HookFailed():
                where = f" at {event.place}" if event.place else ""
                self._say(f"hook {event.hook} failed in {event.event}{where}: {event.error}", "31")
            case out.HookWaiting(hook=hook) if hook:
                self._say(f"waiting for {hook} ({event.event}) at {event.place}", "33")
            case _:
                pass

    def finish(self, answer: AssistantMessage | None) -> None:
        """The final answer, where it was not streamed."""
        if self.streams or answer is None:
            return
        text = "".join(part.text for part in answer.content if isinstance(part, Text))
        if text:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
            sys.stdout.flush()

    def _tool(self, event: out.ToolEnded) -> None:
        mark = MARKS.get(event.status, "?")
        took = f" ({event.duration_ms / 1000:.1f} s)" if event.duration_ms >= 1000 else ""
        line = f"{mark} {self._subjects.pop(event.tool_call_id, event.tool_name)}{took}"
        if event.status != "ok":
            first = next((part.text for part in event.content if isinstance(part, Text)), "").strip()
            line += f"\n  {first.splitlines()[0][:200]}" if first else ""
        self._say(line, COLOURS.get(event.status, "0"))

    def _say(self, text: str, colour: str) -> None:
        self._end_line()
        shown = "".join(c if c.isprintable() or c == "\n" else "·" for c in text)
        print(f"\x1b[{colour}m{shown}\x1b[0m" if self._colour else shown, file=sys.stderr, flush=True)

    def _end_line(self) -> None:
        if self._open_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._open_line = False


def subject(name: str, arguments: dict[str, object]) -> str:
    """A tool call in a line."""
    for key in ("command", "path", "pattern"):
        if value := arguments.get(key):
            text = " ".join(str(value).split())
            return f"{name} {text[:100]}{'…' if len(text) > 100 else ''}"
    return name
