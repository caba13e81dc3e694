"""Fuzzy search: the letters of a query in order, those that begin words counting most."""

from collections.abc import Iterable
from heapq import nsmallest
from typing import TypeVar

T = TypeVar("T")
_SEPARATORS = "/_-. "


def score(query: str, text: str) -> int | None:
    """How badly a text fits, lower being better; None when the letters are not all in it. Query in lower case."""
    if not query:
        return len(text)
    lower = text.lower()
    at = lower.rfind(query)
    if at >= 0:
        # As it was typed: better in the last part of a path, best at the beginning of a word.
        base = lower.rfind("/") + 1
        beginning = at == 0 or lower[at - 1] in _SEPARATORS
        end = at + len(query)
        whole = end == len(lower) or not lower[end].isalnum()
        place = (0 if at >= base else 40) + (0 if beginning else 20) + (0 if at == base else 10)
        return place + (0 if whole else 5) + len(text) // 8
    position, gaps, jumps = -1, 0, 0
    for letter in query:
        found = lower.find(letter, position + 1)
        if found < 0:
            return None
        if found != position + 1:
            jumps += 1
            if lower[found - 1] not in _SEPARATORS:
                gaps += 1 + min(found - position, 10)
        position = found
    return 100 + gaps * 5 + jumps * 2 + len(text) // 8


def best(query: str, texts: Iterable[str], limit: int) -> list[str]:
    """The texts that fit best, the best first."""
    wanted = query.lower()
    letters = set(wanted)
    found = (
        (value, text) for text in texts if letters <= set(text.lower()) and (value := score(wanted, text)) is not None
    )
    return [text for _, text in nsmallest(limit, found)]
