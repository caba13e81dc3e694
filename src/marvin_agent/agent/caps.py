"""Caps: what a run may cost at most, and how far hooks may carry it on by themselves."""

from marvin_agent.errors import Refused
from marvin_agent.messages import Usage, Value

HOOK_CALLS = 32
"""Model calls and runs that hooks may cause for one prompt of a person."""
CONTINUATIONS_IN_A_ROW = 8


class Limits(Value):
    """What the user allows one run; None is no limit."""

    max_turns: int | None = None
    max_cost: float | None = None


class LimitReached(Refused):
    """The run stopped at a limit that the user set."""

    kind = "limit"


class Caps:
    """Counts for one prompt of a person."""

    def __init__(self) -> None:
        self._hook_calls = 0
        self.continuations = 0

    def new_prompt(self) -> None:
        self._hook_calls = 0
        self.continuations = 0

    def hook_call(self, hook: str) -> None:
        """A hook makes the model work; raises Refused when that happened too often."""
        self._hook_calls += 1
        if self._hook_calls > HOOK_CALLS:
            raise Refused(f"{hook} may not call the model again: hooks have made {HOOK_CALLS} calls for this prompt")

    def continuation(self, hook: str) -> None:
        """A hook lets the agent go on; raises Refused when that happened too often in a row."""
        if self.continuations >= CONTINUATIONS_IN_A_ROW:
            raise Refused(f"{hook} may not continue again: {CONTINUATIONS_IN_A_ROW} continuations in a row")
        self.hook_call(hook)
        self.continuations += 1


def check_limits(limits: Limits, turns: int, usage: Usage | None) -> None:
    """Raise LimitReached before a turn that the user does not allow."""
    if limits.max_turns is not None and turns >= limits.max_turns:
        raise LimitReached(
            f"Stopped after {turns} turns, as --max-turns says.", hint="Continue with `marvin -c`, or allow more turns."
        )
    check_cost(limits, usage)


def check_cost(limits: Limits, usage: Usage | None) -> None:
    """Raise LimitReached before a model call that the user does not pay for."""
    if limits.max_cost is not None and usage and usage.cost.total >= limits.max_cost:
        raise LimitReached(
            f"Stopped at ${usage.cost.total:.4f}, as --max-cost ${limits.max_cost:g} says.",
            hint="Continue with `marvin -c`, or allow more.",
        )
