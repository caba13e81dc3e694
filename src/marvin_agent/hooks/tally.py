"""What every handler did so far in this run: how often, how long it took, and how it failed last."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from marvin_agent.hooks.outcome import Change, Failure, Record
from marvin_agent.hooks.registry import Handler

KEPT = 200
"""Calls that are kept whole."""
TIMES = 1_000
"""Times of a handler that its percentiles are made of: the latest ones."""
FAILED = frozenset({"failed", "timeout", "skipped"})


class Seen(NamedTuple):
    """A call and when it ended, in seconds since the epoch."""

    time: float
    record: Record


class Figures:
    """The numbers of one handler."""

    def __init__(self) -> None:
        self.calls = self.changed = self.refused = self.failed = 0
        self.last_failure: Failure | None = None
        self._times: deque[float] = deque(maxlen=TIMES)

    def add(self, record: Record, failure: Failure | None) -> None:
        self.calls += 1
        self.changed += record.verdict == "changed"
        self.refused += record.refused
        self._times.append(record.ms)
        if record.verdict in FAILED:
            self.failed += 1
            self.last_failure = failure

    def milliseconds(self, percent: int) -> float | None:
        """A percentile of its times; None before the first call."""
        times = sorted(self._times.copy())
        return percentile(times, percent) if times else None


class Tally:
    """Grows on the hook loop; read from anywhere."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.count = 0
        """How much was told: it says whether there is news."""
        self._figures: dict[tuple[str, str, str], Figures] = {}
        self._recent: deque[Seen] = deque(maxlen=KEPT)
        self._failure: Failure | None = None
        self.failures: dict[str, Failure] = {}
        """The last failure of each hook, of its tasks, timers and widgets too."""

    def failed(self, failure: Failure) -> None:
        """Told before the record of the call that failed, if it was a call."""
        self._failure = failure
        self.failures = {**self.failures, failure.hook: failure}
        self.count += 1

    def add(self, record: Record) -> None:
        """Count a call that has ended."""
        key = (record.hook, record.event, record.handler)
        figures = self._figures.get(key)
        if figures is None:
            figures = self._figures[key] = Figures()
        failure = self._failure
        mine = failure is not None and (failure.hook, failure.event) == (record.hook, record.event)
        figures.add(record, failure if mine else None)
        self._recent.append(Seen(self._clock(), record))
        self.count += 1

    def figures(self, handler: Handler) -> Figures:
        """The numbers of a handler; all zero before its first call."""
        key = (handler.hook.id, handler.spec.name, handler.label)
        return self._figures.get(key) or Figures()

    def changes(self, event: str, hooks: Sequence[str], call: str = "") -> tuple[Change, ...]:
        """What hooks changed when they were asked last: about a tool call, or about what an event is fired for."""
        found: dict[str, Record] = {}
        for _, record in reversed(self.recent):
            if record.verdict == "changed" and record.event == event and record.call == call and record.hook in hooks:
                found.setdefault(f"{record.hook} {record.handler}", record)
        return tuple(change for record in reversed(found.values()) for change in record.changes)

    @property
    def recent(self) -> Sequence[Seen]:
        """The latest calls, the newest last."""
        return tuple(self._recent.copy())


def percentile(times: Sequence[float], percent: int) -> float:
    """A percentile of sorted times."""
    return times[min(len(times) - 1, len(times) * percent // 100)]
