"""What hook authors test with: load a hook, emit any event, see what it did."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from marvin_agent.agent import events as out
from marvin_agent.agent.commands import Call, run_command
from marvin_agent.hooks.outcome import Change, Failure, Outcome
from marvin_agent.hooks.registry import Hook
from marvin_agent.llm.values import HttpRequest, Model
from marvin_agent.messages import HookMessage, UserMessage, text_of
from marvin_agent.places import find_places
from marvin_agent.testing.engine import MODEL, ScriptedEngine
from marvin_agent.testing.payloads import make_event
from marvin_agent.testing.person import Person


class Emitted:
    """What came of one event."""

    def __init__(self, outcome: Outcome, failures: list[Failure], seconds: float, heard: bool) -> None:
        self.event: Any = outcome.event
        """The event as the hook left it."""
        self.blocked = outcome.refused is not None
        """Whether the hook refused (`block`, `cancel`), or failed where a failure refuses."""
        self.reason = outcome.refused.reason if outcome.refused else None
        self.changes: list[Change] = outcome.changes
        self.decided: dict[str, Any] = outcome.decided
        """Values of fields where the first, or the strictest, decides."""
        self.added: dict[str, list[Any]] = {
            name: [value for _, value in values] for name, values in outcome.added.items()
        }
        self.errors: list[Failure] = failures
        self.seconds = seconds
        self.heard = heard
        """Whether a handler wanted it: the hook listens to the event, and its filters let this one through."""

    @property
    def changed(self) -> set[str]:
        """The names of the fields that the hook changed."""
        return {change.field for change in self.changes}


class Called(NamedTuple):
    """What came of a tool call."""

    text: str
    status: str
    """`ok`, `error`, `blocked`, `invalid`, `aborted` or `skipped`."""
    details: Any


class Harness:
    """A hook in a real engine with a scripted model. Use as an async context manager.

    `hook` is a file, a package's directory or a setup function. `answers` are a person's answers to dialogs, in order;
    without them nobody is there. `replies` are the model's (docs/scripted.md). `settings` is what `marvin.settings`
    gives. `models` are the models that there are; the first is used, and all of them answer with the replies.
    `isolate` runs a file in a process of its own. `work` is the directory that it works in, an empty one unless given;
    `cache_dir` has the environments of hooks that name dependencies, those of the user unless given.
    """

    def __init__(
        self,
        hook: str | Path | Callable[[Any], Any],
        *,
        answers: Sequence[Any] | None = None,
        replies: Sequence[dict[str, Any]] = (),
        settings: dict[str, Any] | None = None,
        models: Sequence[Model] = (MODEL,),
        isolate: bool = False,
        work: Path | None = None,
        cache_dir: str | None = None,
        directory: Path | None = None,
        timeout: float = 5.0,
    ) -> None:
        self._own = tempfile.TemporaryDirectory() if directory is None else None
        base = directory if directory is not None else Path(self._own.name if self._own else ".")
        self.person = Person(answers)
        files: list[str] = []
        functions: dict[str, Callable[[Any], Any]] = {}
        if isinstance(hook, str | Path):
            file = Path(hook) / "__init__.py" if Path(hook).is_dir() else Path(hook)
            files.append(str(file.resolve()))
            self.hook_id = f"flag:{_stem(file)}"
        else:
            functions["hook"] = hook
            self.hook_id = "library:hook"
        self.scripted = ScriptedEngine(
            base,
            replies,
            hooks=functions,
            hook_files=files,
            models=models,
            interface=self.person,
            settings={self.hook_id: settings or {}},
            hook_timeout=timeout,
            isolate=(self.hook_id,) if isolate else (),
            work=work,
            cache_dir=cache_dir or find_places().cache_dir,
        )

    async def __aenter__(self) -> "Harness":
        await self.scripted.__aenter__()
        if problems := self.scripted.engine.hooks.problems:
            error = problems[0]
            await self.scripted.__aexit__()
            raise AssertionError(f"the hook did not load: {error.error} {error.place}\n{error.traceback}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.scripted.__aexit__()
        if self._own:
            self._own.cleanup()
        # A gate takes the missing answer for a failure and refuses, which might be just what the test expects.
        if kind is None and (left := self.person.unanswered):
            raise AssertionError(f"the hook asked {left[0].kind} {left[0].title!r}, and the test had no answer left")

    @property
    def work(self) -> Path:
        """The directory that tools and `ctx.cwd` work in."""
        return self.scripted.work

    @property
    def events(self) -> list[str]:
        """The events that the hook listens to."""
        return [handler.spec.name for handler in self._hook.handlers]

    @property
    def _hook(self) -> Hook:
        (hook,) = [hook for hook in self.scripted.engine.hooks.registry.hooks if hook.id == self.hook_id]
        return hook

    async def emit(self, event: str, /, **payload: Any) -> Emitted:
        """Send one event through the hook; what is left out of its payload is neutral, and of this session."""
        failures = len(self._failures)
        made = make_event(event, payload, self.scripted.engine.session_id)
        heard = any(each.spec.name == made.type and each.wants(made) for each in self._hook.handlers)
        began = time.perf_counter()
        outcome = await self.scripted.engine.hooks.dispatcher.dispatch(made)
        return Emitted(outcome, self._failures[failures:], time.perf_counter() - began, heard)

    async def prompt(self, text: str) -> str:
        """A whole run with the scripted model; gives the answer's text."""
        summary = await self.scripted.prompt(text)
        return summary.answer.text if summary.answer else ""

    async def command(self, name: str, arguments: str = "") -> None:
        """Run one of the hook's slash commands."""
        await run_command(self.scripted.engine, Call(name, arguments))

    async def complete(self, name: str, prefix: str = "") -> list[str]:
        """What one of the hook's slash commands offers behind its name."""
        return await self.scripted.engine.side.tools.complete(name, prefix)

    async def tool(self, name: str, **arguments: Any) -> str:
        """Call a tool, through the gates; gives its text."""
        return (await self.call(name, **arguments)).text

    async def call(self, name: str, **arguments: Any) -> Called:
        """Call a tool, through the gates; gives all that came of it."""
        result = await self.scripted.engine.invoker.single(name, arguments, "test", "main")
        return Called(text_of(result.content), result.status or "error", result.details)

    async def wait_until(self, reached: Callable[[], object], timeout: float = 10.0) -> None:
        """Wait for something that a timer, a task or a thread of the hook does. AssertionError when late."""
        until = time.monotonic() + timeout
        while not reached():
            assert time.monotonic() < until, f"it did not come within {timeout:g} s"
            await asyncio.sleep(0.005)

    @property
    def sent(self) -> list[str]:
        """The texts of the user messages in the conversation, those of the hook among them."""
        return [text_of(m.content) for m in self._messages if isinstance(m, UserMessage)]

    @property
    def messages(self) -> list[HookMessage]:
        """The messages that the hook put into the conversation."""
        return [message for message in self._messages if isinstance(message, HookMessage)]

    @property
    def told(self) -> list[str]:
        """What the hook told the person: toasts and notifications."""
        return [shown.text for shown in self.person.shown]

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies that the model got."""
        return self.scripted.bodies

    @property
    def calls(self) -> list[HttpRequest]:
        """The requests as they went out: `url`, `headers`, `body` (bytes)."""
        return self.scripted.models.recorded.requests

    @property
    def _messages(self) -> tuple[Any, ...]:
        return self.scripted.engine.session.messages()

    @property
    def _failures(self) -> list[Failure]:
        return [
            Failure(event.hook, event.event, event.place, event.error, event.traceback)
            for event in self.scripted.of(out.HookFailed)
        ]


def _stem(path: Path) -> str:
    return path.parent.name if path.name == "__init__.py" else path.stem
