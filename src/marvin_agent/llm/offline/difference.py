"""What differs between a recorded request and the one that a replay sees, apart from what differs in every run."""

import difflib
import re
from typing import Any

from marvin_agent.llm.offline.secrets import MASK

_OWN_KEYS = frozenset(("prompt_cache_key", "safety_identifier", "user_id"))
"""Named after the session, and each run has one of its own."""

# What the clock, the system and tools put into texts, anew in each run.
_MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?:/private)?(?:/tmp|/var/tmp|/var/folders/\w+/\w+/T)/[^\s\"'`\\:,;)\]}<>]*"), "<temporary path>"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<uuid>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (
        re.compile(r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d (?:\d\d:\d\d(?::\d\d)?|\d{4})\b"),
        "<time>",
    ),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|sec|seconds)\b"), "<duration>"),
    (re.compile(r"\b0x[0-9a-f]{6,16}\b", re.IGNORECASE), "<address>"),
)
_LONGEST_LINE = 240
_MOST_LINES = 60


class Comparison:
    """Compares requests of a run in one directory with those of a run in another."""

    __slots__ = ("_here", "_there")

    def __init__(self, recorded_cwd: str, cwd: str) -> None:
        self._there = recorded_cwd
        self._here = cwd

    def difference(self, recorded: Any, actual: Any) -> str | None:
        """A diff of the two bodies, or None when they are the same but for what differs in every run."""
        before = _lines(_masked(recorded, self._there))
        after = _lines(_masked(actual, self._here))
        # Where the recording hides a secret, anything may stand.
        after = [
            known if known != line and MASK in known and _hides(known, line) else line
            for known, line in zip(before, after, strict=False)
        ] + after[len(before) :]
        return None if before == after else _shown(before, after)


def _masked(value: Any, cwd: str, key: str = "") -> Any:
    match value:
        case str():
            return "<this session's>" if key in _OWN_KEYS else _masked_text(value, cwd)
        case dict():
            return {name: _masked(item, cwd, name) for name, item in value.items()}
        case list():
            return [_masked(item, cwd, key) for item in value]
        case _:
            return value


def _masked_text(text: str, cwd: str) -> str:
    if len(cwd) > 1:
        text = re.sub(re.escape(cwd.rstrip("/")) + r"(?![\w.-])", "<working directory>", text)
    for pattern, name in _MASKS:
        text = pattern.sub(name, text)
    return text


def _lines(value: Any, place: str = "body") -> list[str]:
    """The value as lines, each with its place: a change in a long text is seen where it is."""
    match value:
        case dict() if value:
            return [line for key, item in value.items() for line in _lines(item, f"{place}.{key}")]
        case list() if value:
            return [line for index, item in enumerate(value) for line in _lines(item, f"{place}[{index}]")]
        case str() if "\n" in value:
            return [f"{place}:", *(f"    {line}" for line in value.split("\n"))]
        case _:
            return [f"{place} = {value!r}"]


def _hides(known: str, line: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, known.split(MASK))), line) is not None


def _shown(before: list[str], after: list[str]) -> str:
    lines = list(difflib.unified_diff(before, after, "recorded", "this run", n=1, lineterm=""))
    cut = [line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…" for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        cut.append(f"… and {len(lines) - _MOST_LINES} more lines")
    return "\n".join(cut)
