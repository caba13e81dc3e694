"""Patterns for paths, as .gitignore knows them: `*.py`, `src/**/test_*.py`, `*.{ts,tsx}`, `[a-z]?`."""

import fnmatch
import re
from collections.abc import Callable, Iterator, Sequence

from marvin_agent.tools.tool import ToolFailure

MAX_ALTERNATIVES = 1000

# A name is matched by the interpreter's own translation, which never tries the same thing twice.
_ANY_DEPTH = "**"


def matcher(pattern: str) -> Callable[[str], bool]:
    """Says whether a relative path (`a/b.py`, directories with a slash at their end) fits the pattern.

    A pattern without a slash is for the last name of a path, one with a slash for the whole path; `**` stands for any
    number of directories. A pattern that begins with `!` is for what does not fit the rest.
    """
    if pattern.startswith("!"):
        fits = matcher(pattern[1:])
        return lambda path: not fits(path)
    alternatives = [_Alternative(one) for one in _expanded(pattern.removeprefix("./"), pattern)]
    return lambda path: any(one.fits(path) for one in alternatives)


class _Alternative:
    """A pattern without braces."""

    __slots__ = ("_anchored", "_for_directories", "_steps")

    def __init__(self, pattern: str) -> None:
        self._for_directories = pattern.endswith("/")
        self._anchored = "/" in pattern.rstrip("/")
        names = [name for name in pattern.split("/") if name]
        self._steps = [None if name == _ANY_DEPTH else _compiled(name) for name in names]

    def fits(self, path: str) -> bool:
        if self._for_directories and not path.endswith("/"):
            return False
        names = path.rstrip("/").split("/")
        return _fit(self._steps, names if self._anchored else names[-1:])


def _fit(steps: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    """Whether the steps take all of the names; None stands for any number of them."""
    # How many names may have been taken so far: one pass for each step.
    taken = {0}
    for number, step in enumerate(steps):
        if step is None:
            # At the end, `a/**` is for what is in `a`, not for `a`.
            last = number == len(steps) - 1 and number > 0
            taken = set(range(min(taken) + last, len(names) + 1))
        else:
            taken = {count + 1 for count in taken if count < len(names) and step.match(names[count])}
        if not taken:
            return False
    return len(names) in taken


def _compiled(name: str) -> re.Pattern[str]:
    # What is escaped here by a backslash is escaped there by brackets, and [^a] is [!a].
    plain = re.sub(r"\\(.)", lambda found: f"[{found[1]}]" if found[1] in "*?[" else found[1], name)
    return re.compile(fnmatch.translate(plain.replace("[^", "[!")))


def _expanded(pattern: str, whole: str) -> list[str]:
    """The patterns that the braces of one stand for."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        braces = _innermost(one)
        if braces is None:
            done.append(one)
        else:
            start, end = braces
            waiting += [one[:start] + choice + one[end:] for choice in one[start + 1 : end - 1].split(",")]
        if len(done) + len(waiting) > MAX_ALTERNATIVES:
            raise ToolFailure(f"The pattern {whole} stands for more than {MAX_ALTERNATIVES} others. Make it simpler.")
    return done


def _innermost(pattern: str) -> tuple[int, int] | None:
    """Where the first pair of braces is that has no other one in it."""
    start = -1
    for at, letter in _letters(pattern):
        if letter == "{":
            start = at
        elif letter == "}" and start >= 0:
            return start, at + 1
    return None


def _letters(pattern: str) -> Iterator[tuple[int, str]]:
    """The letters that are not escaped."""
    escaped = False
    for at, letter in enumerate(pattern):
        if not escaped and letter != "\\":
            yield at, letter
        escaped = letter == "\\" and not escaped
