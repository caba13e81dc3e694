"""Finds the name that somebody meant: what is nearest to a word that nothing is called."""

from collections.abc import Iterable


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The most similar name, or None when none is similar."""
    found = nearest_names(word, names, count=1)
    return found[0] if found else None


def nearest_names(word: str, names: Iterable[str], *, count: int = 3) -> list[str]:
    """The most similar names, best first; empty when none is similar."""
    wanted = _fold(word)
    if not wanted:
        return []
    scored: list[tuple[float, str]] = []
    for name in names:
        folded = _fold(name)
        # One letter is in half of all words.
        part = folded != wanted and min(len(folded), len(wanted)) > 1 and (folded in wanted or wanted in folded)
        distance = 0.5 if part else _distance(wanted, folded)
        if distance <= max(1, max(len(wanted), len(folded)) // 3):
            scored.append((distance, name))
    return [name for _, name in sorted(scored)[:count]]


def _fold(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _distance(one: str, other: str) -> int:
    """How many letters must be put in, left out, replaced or swapped with their neighbour."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
