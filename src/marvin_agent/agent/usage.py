"""Adding usage up, and its form for hooks."""

from marvin_agent.hooks.events import Tokens
from marvin_agent.messages import Cost, Usage


def add(a: Usage | None, b: Usage | None) -> Usage | None:
    if a is None or b is None:
        return a or b
    cost = Cost(
        input=a.cost.input + b.cost.input,
        output=a.cost.output + b.cost.output,
        cache_read=a.cost.cache_read + b.cost.cache_read,
        cache_write=a.cost.cache_write + b.cost.cache_write,
        total=a.cost.total + b.cost.total,
    )
    return Usage(
        input=a.input + b.input,
        output=a.output + b.output,
        cache_read=a.cache_read + b.cache_read,
        cache_write=a.cache_write + b.cache_write,
        total_tokens=a.total_tokens + b.total_tokens,
        cost=cost,
    )


def tokens(usage: Usage | None) -> Tokens | None:
    """Usage as hooks see it; None when the provider reported nothing."""
    if usage is None:
        return None
    return Tokens(
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        total=usage.total_tokens,
        cost=usage.cost.total,
    )
