"""When a failed model call is tried again, and after how long."""

import os
from collections.abc import Callable

from marvin_agent.errors import ProviderError
from marvin_agent.messages import Value


def _chance() -> float:
    # The module `random` would cost each start a millisecond.
    return int.from_bytes(os.urandom(4), "big") / 2**32


class RetryPolicy(Value):
    """Exponential back-off with jitter; a provider's own wish (`retry-after`) is honoured up to `longest_wait`."""

    max_attempts: int = 4
    base_delay: float = 1.0
    max_delay: float = 30.0
    longest_wait: float = 300.0
    fallback: bool = False
    """Go on with the next model of the list when a provider stays down."""

    def delay(self, attempt: int, error: ProviderError, chance: Callable[[], float] = _chance) -> float | None:
        """Seconds before the next attempt after `attempt` (from 1) failed; None when it is not worth one."""
        if not error.retryable or attempt >= self.max_attempts:
            return None
        if error.retry_after:  # who asks to wait for nothing, and fails again, would have all attempts at once
            return error.retry_after if error.retry_after <= self.longest_wait else None
        whole: float = min(self.base_delay * 2 ** (attempt - 1), self.max_delay)
        return whole * (0.75 + chance() / 4)
