"""Finds the part of a text that somebody meant who did not write it exactly, and says what is different."""

import unicodedata
from collections import Counter
from collections.abc import Sequence

import msgspec

SHOWN_LINES = 12
MAX_COMMON = 50
"""A line that occurs more often says nothing about the place."""
MAX_COMPARED = 5_000
SIMILAR = 0.6

_LOOKALIKES = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        "\u2026": "...",
    }
)


def describe_nearest(text: str, wanted: str) -> str:
    """Where the text is most like `wanted`, and how it differs there: sentences for a model."""
    file_lines, lines = text.split("\n"), wanted.strip("\n").split("\n")
    start = _best_start(file_lines, lines)
    if start is None:
        return "Nothing in the file is like it. Read the file and copy the text from there."
    found = file_lines[start : start + len(lines)]
    last = start + len(found)
    where = f"line {last}" if len(found) == 1 else f"lines {start + 1}-{last}"
    listed = "\n".join(f"{number}: {line[:500]}" for number, line in enumerate(found[:SHOWN_LINES], start + 1))
    more = f"\n... and {len(found) - SHOWN_LINES} lines more" if len(found) > SHOWN_LINES else ""
    differences = _differences(found, lines, start)
    return (
        f"The nearest text is in {where}:\n{listed}{more}\n{differences}\nCopy the text exactly as it is in the file."
    )


def _best_start(file_lines: Sequence[str], lines: Sequence[str]) -> int | None:
    """The line at which most of the wanted lines are in their places, white space and the like aside."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(file_lines):
        if folded := _fold(line):
            places.setdefault(folded, []).append(number)
    votes: Counter[int] = Counter()
    for index, line in enumerate(lines):
        found = places.get(_fold(line), [])
        # A long line is a better sign than a bracket.
        weight = 1 + min(len(_fold(line)), 40)
        for number in found[:MAX_COMMON]:
            votes[max(number - index, 0)] += weight
    if votes:
        return min(votes, key=lambda start: (-votes[start], start))
    return _most_similar(file_lines, lines)


def _most_similar(file_lines: Sequence[str], lines: Sequence[str]) -> int | None:
    index, longest = max(enumerate(lines), key=lambda pair: len(pair[1].strip()))
    pairs = _pairs(longest)
    best, start = SIMILAR, None
    for number, line in enumerate(file_lines[:MAX_COMPARED]):
        likeness = _likeness(pairs, _pairs(line[:2000]))
        if likeness > best:
            best, start = likeness, max(number - index, 0)
    return start


def _pairs(line: str) -> Counter[str]:
    folded = _fold(line)
    return Counter(folded[at : at + 2] for at in range(len(folded) - 1))


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    together = one.total() + other.total()
    return 2 * (one & other).total() / together if together else 0.0


def _fold(line: str) -> str:
    """The line without what the eye does not see."""
    plain = line if line.isascii() else unicodedata.normalize("NFKC", line).translate(_LOOKALIKES)
    return "".join(plain.split())


def _differences(found: Sequence[str], lines: Sequence[str], start: int) -> str:
    told: list[str] = []
    count = 0
    for index, line in enumerate(lines):
        there = found[index] if index < len(found) else None
        if there == line:
            continue
        count += 1
        if len(told) < 3:
            told.append(_difference(there, line, start + index + 1))
    if not told:
        return "The lines are the same; what comes before or after them in oldText is not in the file."
    if count > len(told):
        told.append(f"{count - len(told)} more lines differ.")
    return "\n".join(told)


def _difference(there: str | None, yours: str, number: int) -> str:
    if there is None:
        return f"The file ends before line {number}: {_quoted(yours)}"
    if "".join(there.split()) == "".join(yours.split()):
        kind = "in white space only"
    elif _fold(there) == _fold(yours):
        odd = sorted({letter for letter in there + yours if not letter.isascii()})
        names = ", ".join(f"{letter!r} is U+{ord(letter):04X}" for letter in odd[:5])
        kind = f"in characters that look alike ({names})"
    else:
        kind = "in its text"
    return f"Line {number} differs {kind}:\n  in the file: {_quoted(there)}\n  in oldText:  {_quoted(yours)}"


def _quoted(line: str) -> str:
    """The line with its tabs and ends visible."""
    return msgspec.json.encode(line[:300]).decode()
