"""Patterns for paths, as .gitignore knows them: `*.py`, `src/**/test_*.py`, `*.{ts,tsx}`, `[a-z]?`."""

import re
from collections.abc import Callable

from marvin_agent.tools.tool import ToolFailure


def matcher(pattern: str) -> Callable[[str], bool]:
    """Says whether a relative path (`a/b.py`, directories with a slash at their end) fits the pattern.

    A pattern without a slash is for the last name of a path, one with a slash for the whole path; `**` stands for any
    number of directories. A pattern that begins with `!` is for what does not fit the rest.
    """
    if pattern.startswith("!"):
        fits = matcher(pattern[1:])
        return lambda path: not fits(path)
    wanted = pattern.removeprefix("./")
    for_directories = wanted.endswith("/")
    anchored = "/" in wanted.rstrip("/")
    try:
        compiled = re.compile(_regex(wanted.strip("/")), re.DOTALL)
    except (re.error, RecursionError) as error:
        raise ToolFailure(f"The pattern {pattern} makes no sense: {error}.") from error

    def fits_path(path: str) -> bool:
        if for_directories and not path.endswith("/"):
            return False
        plain = path.rstrip("/")
        return compiled.fullmatch(plain if anchored else plain.rpartition("/")[2]) is not None

    return fits_path


def _regex(pattern: str) -> str:
    at = 0
    depth = 0
    pieces = []
    while at < len(pattern):
        letter = pattern[at]
        at += 1
        if letter == "*":
            piece, at = _star(pattern, at)
        elif letter == "?":
            piece = "[^/]"
        elif letter == "[":
            piece, at = _letters(pattern, at)
        elif letter == "{" and "}" in pattern[at:]:
            piece = "(?:"
            depth += 1
        elif letter == "}" and depth:
            piece = ")"
            depth -= 1
        elif letter == "," and depth:
            piece = "|"
        elif letter == "\\" and at < len(pattern):
            piece = re.escape(pattern[at])
            at += 1
        else:
            piece = re.escape(letter)
        pieces.append(piece)
    return "".join(pieces)


def _star(pattern: str, at: int) -> tuple[str, int]:
    if not pattern.startswith("*", at):
        return "[^/]*", at
    starts_name = at == 1 or pattern[at - 2] == "/"
    if starts_name and pattern.startswith("*/", at):
        return "(?:[^/]+/)*", at + 2
    if starts_name and at + 1 == len(pattern):
        return ".*", at + 1
    return "[^/]*", at + 1


def _letters(pattern: str, at: int) -> tuple[str, int]:
    end = pattern.find("]", at + 2 if pattern[at : at + 1] in ("!", "^") else at + 1)
    if end < 0:
        return re.escape("["), at
    letters = pattern[at:end]
    negated = letters.startswith(("!", "^"))
    escaped = letters.removeprefix("!" if letters.startswith("!") else "^" if negated else "")
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", escaped)
    return f"(?!/)[{'^' if negated else ''}{escaped}]", end + 1
