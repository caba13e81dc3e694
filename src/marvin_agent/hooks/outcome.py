"""What came of an event: who refused, what was decided, what changed, and a record of each handler's call."""

from typing import Any, Literal, NamedTuple, TypeAlias

from marvin_agent.hooks.payload import Event

Verdict: TypeAlias = Literal["ok", "changed", "blocked", "failed", "timeout", "skipped"]


class Refusal(NamedTuple):
    """A no: by whom, where in their file, and why."""

    hook: str
    place: str
    reason: str
    failed: bool
    """True when nobody meant to refuse: a closed handler failed."""

    def __str__(self) -> str:
        return f"{self.hook}: {self.reason}" if self.reason else self.hook


class Change(NamedTuple):
    """One field that a hook changed."""

    hook: str
    field: str
    before: Any
    after: Any


WITHHELD = "[withheld]"


class Record(NamedTuple):
    """One call of a handler, for the trace."""

    event: str
    hook: str
    handler: str
    """Its function and place: `ask (gate.py:12)`."""
    ms: float
    verdict: Verdict
    changes: tuple[Change, ...]
    error: str | None
    """Why it failed; the reason, when it refused."""
    subject: str
    """What it was about, in short: `bash "rm -rf build"`."""
    refused: bool
    """Whether the event was refused with it: by the handler, or because a closed one failed."""
    call: str = ""
    """The id of the tool call that it was about, if it was about one."""


class Failure(NamedTuple):
    """A handler, timer, task or thread of a hook that went wrong."""

    hook: str
    event: str
    place: str
    error: str
    traceback: str
    timed_out: bool = False

    def __str__(self) -> str:
        where = f" at {self.place}" if self.place else ""
        return f"hook {self.hook} failed in {self.event}{where}: {self.error}"


class Outcome:
    """The event as the handlers left it, and what they decided."""

    __slots__ = ("added", "changes", "decided", "decided_by", "event", "hidden", "refused", "subject")

    def __init__(self, event: Event) -> None:
        self.event: Any = event
        """The event with every change in it. Typed loosely: each caller knows which event it sent."""
        self.refused: Refusal | None = None
        self.decided: dict[str, Any] = {}
        """Values of fields under the rules `first` and `strictest`."""
        self.decided_by: str | None = None
        self.added: dict[str, list[tuple[str, Any]]] = {}
        """Values of fields under `append`, with the hook that gave each."""
        self.changes: list[Change] = []
        self.hidden = False
        """A handler may take out what nobody is to see: records tell no values."""
        self.subject: str | None = None
        """What the event is about, in a few words; None when that is to be looked up again."""

    def standing(self) -> tuple[dict[str, Any], dict[str, int]]:
        """What was decided and added so far, for `given_since`."""
        return dict(self.decided), {name: len(values) for name, values in self.added.items()}

    def given_since(self, standing: tuple[dict[str, Any], dict[str, int]], hook: str) -> list[Change]:
        """What a hook decided or added that has no place in the event, as changes for the record."""
        decided, added = standing
        found = [
            Change(hook, name, decided.get(name), value)
            for name, value in self.decided.items()
            if value != decided.get(name, "")
        ]
        for name, values in self.added.items():
            found += [Change(hook, name, None, value) for _, value in values[added.get(name, 0) :]]
        return found

    @property
    def changed_by(self) -> tuple[str, ...]:
        """The hooks that changed something, each once, in order."""
        return tuple(dict.fromkeys(change.hook for change in self.changes))
