"""How people name models: parts of an id, with dots or dashes, meaning the newest of its family."""

import re
from collections.abc import Iterable

_WORDS = re.compile(r"[a-z]+|\d+")
_NUMBERS = re.compile(r"\d+")
_POINT = re.compile(r"(?<=\d)p(?=\d)")
"""Where no dot may be in a name: `glm-5p3`."""
_ROUND = re.compile(r"\.(\d)0(?!\d)")
_TOKENS = re.compile(r"[a-z0-9]+")
_LONGEST_VERSION = 3
"""More digits than this are a date, not a version."""
# Words that say how finished a release is, not which model it is.
_STAGES = frozenset({"latest", "preview", "exp", "beta"})
_NEWEST = (10**9,)


def matches(text: str, names: Iterable[str]) -> int:
    """How well a text names a model: 3 when it is a name but for its punctuation, 2 when a name contains it, 1 when a
    name has all of its words, 0 when not."""
    wanted = _plain(text)
    if not wanted:
        return 0
    words = wanted.split("-")
    best = 0
    for name in names:
        plain = _plain(name)
        if plain == wanted:
            return 3
        at = f"-{plain}".find(f"-{wanted}")
        # `gpt-5` is not a part of `gpt-55`.
        if at >= 0 and not (wanted[-1].isdigit() and plain[at + len(wanted) :][:1].isdigit()):
            best = 2
            continue
        have = plain.split("-")
        if all(word in have if word.isdigit() else any(word in other for other in have) for word in words):
            best = max(best, 1)
    return best


def family(name: str) -> frozenset[str]:
    """The words of a name that stay the same from version to version."""
    return frozenset(word for word in _WORDS.findall(_dotted(name)) if word.isalpha()) - _STAGES


def newest_first(name: str) -> tuple[tuple[int, ...], int, int, str]:
    """A key that sorts the members of a family so that the one to take comes first.

    A name without a version is the maker's own alias of the newest; then versions count down; of one version the
    `latest` comes first, then names without a date or a stage, then younger dates.
    """
    name = _dotted(name)
    words = _TOKENS.findall(name)
    # 4.20 is 4.2, older than 4.3.
    numbers = _NUMBERS.findall(_ROUND.sub(r".\1", name))
    version = tuple(int(number) for number in numbers if len(number) <= _LONGEST_VERSION)
    date = next((int(number) for number in numbers if len(number) > _LONGEST_VERSION), 0)
    if not version and "latest" in words:
        version = _NEWEST
    stage = 0 if "latest" in words else 2 if _STAGES.intersection(words) else 1
    return tuple(-number for number in (*version, -1)), stage if not date else 3, -date, name


def nearest(text: str, names: Iterable[str], count: int = 5) -> list[str]:
    """The names that look most like a text, best first; none when nothing does."""
    wanted = _pairs(text)
    ranked: list[tuple[float, str]] = []
    for name in names:
        have = _pairs(name)
        likeness = 2 * len(wanted & have) / (len(wanted) + len(have) or 1)
        if likeness > 0.3:
            ranked.append((-likeness, name))
    return [name for _, name in sorted(ranked)[:count]]


def _plain(text: str) -> str:
    return "-".join(_TOKENS.findall(_dotted(text)))


def _dotted(text: str) -> str:
    return _POINT.sub(".", text.lower())


def _pairs(text: str) -> set[str]:
    plain = f" {_plain(text)} "
    return {plain[at : at + 2] for at in range(len(plain) - 1)}
