"""Deadlines: which limit counts for a handler, and what its clock has counted."""

import time

import pytest

from marvin_agent.hooks.clock import Clock, Limits
from marvin_agent.hooks.registry import Handler, Hook
from marvin_agent.hooks.spec import SPECS

HOOK = Hook("library:a", "library", __file__)
LIMITS = Limits(30.0, 600.0)
WITH_A_PERSON = Limits(30.0, 600.0, person=True)


async def listen(event: object, ctx: object) -> None: ...


@pytest.mark.parametrize(
    ("limits", "event", "timeout", "limit"),
    [
        (LIMITS, "turn.start", None, 30.0),
        (LIMITS, "tool.execute.before", None, 600.0),
        (WITH_A_PERSON, "tool.execute.before", None, None),
        (WITH_A_PERSON, "turn.start", None, 30.0),
        (WITH_A_PERSON, "tool.execute.before", 5.0, 5.0),
        (LIMITS, "tool.execute.before", 0, None),
        (LIMITS, "session.shutdown", None, 2.0),
        (Limits(0, 600.0), "turn.start", None, None),
    ],
)
def test_the_limit_of_a_handler(limits: Limits, event: str, timeout: float | None, limit: float | None) -> None:
    assert limits.of(Handler(HOOK, SPECS[event], listen, timeout=timeout)) == limit


def test_what_was_used_before_a_dialog_counts_after_it() -> None:
    clock = Clock(60.0)
    while not (before := clock.used):
        time.sleep(0)
    with clock.standing():
        stands_at = clock.used
        assert stands_at >= before
        with clock.standing():
            assert clock.used == stands_at
        assert clock.used == stands_at
    assert clock.used >= stands_at
