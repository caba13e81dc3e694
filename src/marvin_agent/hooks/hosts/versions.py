"""Whether a Python version is one that `requires-python` allows (PEP 440, as far as interpreters need it)."""

import re
from collections.abc import Callable

from marvin_agent.errors import HookError

_CLAUSE = re.compile(r"(~=|===|==|!=|<=|>=|<|>)\s*v?(\d+(?:\.\d+)*)(\.\*)?(?:[-_.]?(?:a|b|rc|dev|post)\d*)*$")
Numbers = tuple[int, ...]

_ORDER: dict[str, Callable[[Numbers, Numbers], bool]] = {
    "<=": lambda have, want: have <= want,
    ">=": lambda have, want: have >= want,
    "<": lambda have, want: have < want,
    ">": lambda have, want: have > want,
}


def satisfies(version: str, specifier: str) -> bool:
    """Whether a version meets every clause of a specifier; an empty one allows all. Raises HookError."""
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    have = _numbers(numbers[0] if numbers else "0")
    return all(_meets(have, clause.strip()) for clause in specifier.split(",") if clause.strip())


def _meets(have: Numbers, clause: str) -> bool:
    match = _CLAUSE.match(clause)
    if match is None:
        raise HookError(f'requires-python: {clause!r} is no version specifier such as ">=3.11"')
    operator, text, any_end = match.groups()
    want = _numbers(text)
    if operator == "~=":
        return have >= want and have[: len(want) - 1] == want[:-1]
    if operator in ("==", "===", "!="):
        same = have[: len(want)] == want if any_end else _padded(have, want) == _padded(want, have)
        return same is (operator != "!=")
    return _ORDER[operator](_padded(have, want), _padded(want, have))


def _numbers(text: str) -> Numbers:
    return tuple(int(part) for part in text.split("."))


def _padded(numbers: Numbers, other: Numbers) -> Numbers:
    return numbers + (0,) * (len(other) - len(numbers))
