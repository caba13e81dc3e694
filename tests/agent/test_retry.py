"""After how long a failed model call is tried again."""

import pytest

from marvin_agent.agent.retry import RetryPolicy
from marvin_agent.errors import AuthenticationError, NetworkError, OverloadedError, ProviderError, RateLimitError

POLICY = RetryPolicy(max_attempts=5, base_delay=1.0, max_delay=6.0, longest_wait=300.0)


def delays(error: ProviderError, chance: float) -> list[float | None]:
    return [POLICY.delay(attempt, error, lambda: chance) for attempt in range(1, 6)]


def test_the_wait_doubles_up_to_a_limit_and_the_attempts_end() -> None:
    assert delays(NetworkError("x"), 1.0) == [1.0, 2.0, 4.0, 6.0, None]


def test_chance_shortens_a_wait_by_a_quarter_at_most() -> None:
    assert delays(OverloadedError("x"), 0.0) == [0.75, 1.5, 3.0, 4.5, None]
    found = {POLICY.delay(3, OverloadedError("x")) for _ in range(20)}
    assert len(found) > 1
    assert all(delay is not None and 3.0 <= delay <= 4.0 for delay in found)


def test_what_will_fail_again_is_not_tried_again() -> None:
    assert delays(AuthenticationError("x"), 1.0) == [None] * 5


@pytest.mark.parametrize(("asked", "waited"), [(0.02, 0.02), (30.0, 30.0), (300.0, 300.0), (301.0, None)])
def test_the_wait_that_a_provider_asks_for_is_kept_unless_it_is_too_long(asked: float, waited: float | None) -> None:
    assert POLICY.delay(1, RateLimitError("x", retry_after=asked), lambda: 1.0) == waited


def test_who_asks_to_wait_for_nothing_is_not_asked_again_at_once() -> None:
    assert delays(RateLimitError("x", retry_after=0.0), 1.0) == [1.0, 2.0, 4.0, 6.0, None]
