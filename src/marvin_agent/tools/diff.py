"""A unified diff of two texts, in time that does not grow with the square of their length.

Lines that are unique in both texts are the fixed points; between them, what begins and ends alike is common.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from marvin_agent.tools.truncate import head, split

CONTEXT = 3
Span: TypeAlias = tuple[int, int, int, int]
"""Lines `[0]` to `[1]` of the old text became lines `[2]` to `[3]` of the new one; counted from 0, the end excluded."""


def unified(old: str, new: str, path: str) -> str:
    """The diff, with three lines of context; empty when nothing changed, and cut when it is too long to look at."""
    before, after = split(old), split(new)
    hunks = [_hunk(group, before, after) for group in _groups(changes(before, after))]
    if not hunks:
        return ""
    cut = head(f"--- {path}\n+++ {path}\n{''.join(hunks)}")
    return cut.text if cut.whole else f"{cut.text}... and {cut.total - cut.last} more lines\n"


def body(diff: str) -> list[str]:
    """The lines of a diff without its two heads, told by their place: a line of a text may look like one."""
    lines = diff.removesuffix("\n").split("\n") if diff else []
    return lines[2:] if diff.startswith("--- ") else lines


def first_line(old: str, new: str) -> int | None:
    """The first changed line of the new text, counted from 1."""
    for _, _, start, _ in changes(split(old), split(new)):
        return start + 1
    return None


def changes(before: Sequence[str], after: Sequence[str]) -> list[Span]:
    """What changed, in order; two spans never touch."""
    merged: list[Span] = []
    for span in _changes(before, after):
        if merged and merged[-1][1] == span[0] and merged[-1][3] == span[2]:
            merged[-1] = (merged[-1][0], span[1], merged[-1][2], span[3])
        else:
            merged.append(span)
    return merged


def _changes(before: Sequence[str], after: Sequence[str]) -> Iterator[Span]:
    # A list of what is still to be compared, not recursion: the depth depends on the texts.
    waiting = [(0, len(before), 0, len(after))]
    while waiting:
        a, a_end, b, b_end = waiting.pop()
        while a < a_end and b < b_end and before[a] == after[b]:
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and before[a_end - 1] == after[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
        if a == a_end and b == b_end:
            continue
        anchors = _anchors(before, after, (a, a_end, b, b_end))
        if not anchors:
            yield a, a_end, b, b_end
            continue
        edges = [(a, b), *anchors, (a_end, b_end)]
        pieces = [(i, j, k, m) for (i, k), (j, m) in pairwise(edges)]
        waiting += reversed(pieces)


def _anchors(before: Sequence[str], after: Sequence[str], span: Span) -> list[tuple[int, int]]:
    a, a_end, b, b_end = span
    old_counts, new_counts = Counter(before[a:a_end]), Counter(after[b:b_end])
    places = {after[j]: j for j in range(b, b_end) if new_counts[after[j]] == 1}
    pairs = [(i, places[before[i]]) for i in range(a, a_end) if old_counts[before[i]] == 1 and before[i] in places]
    return _rising(pairs)


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs in which both numbers rise."""
    tails: list[int] = []
    last: list[int] = []
    link: list[int] = []
    for index, (_, place) in enumerate(pairs):
        length = bisect_left(tails, place)
        tails[length:] = [place]
        last[length:] = [index]
        link.append(last[length - 1] if length else -1)
    chain = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(pairs[index])
        index = link[index]
    return chain[::-1]


def _groups(spans: list[Span]) -> list[list[Span]]:
    groups: list[list[Span]] = []
    for span in spans:
        if groups and span[0] - groups[-1][-1][1] <= 2 * CONTEXT:
            groups[-1].append(span)
        else:
            groups.append([span])
    return groups


def _hunk(group: list[Span], before: Sequence[str], after: Sequence[str]) -> str:
    start, new_start = max(group[0][0] - CONTEXT, 0), max(group[0][2] - CONTEXT, 0)
    end, new_end = min(group[-1][1] + CONTEXT, len(before)), min(group[-1][3] + CONTEXT, len(after))
    lines = [f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@\n"]
    at = start
    for a, a_end, b, b_end in group:
        lines += [_line(" ", line) for line in before[at:a]]
        lines += [_line("-", line) for line in before[a:a_end]]
        lines += [_line("+", line) for line in after[b:b_end]]
        at = a_end
    lines += [_line(" ", line) for line in before[at:end]]
    return "".join(lines)


def _range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
