"""Telling from the trace what hooks did: the story of a session, and the waterfall of a trace file."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from marvin_agent.errors import UsageError
from marvin_agent.hooks.tally import percentile
from marvin_agent.text import printable

WORDS = {
    "blocked": "was blocked by",
    "changed": "was changed by",
    "failed": "met a failure of",
    "timeout": "waited too long for",
    "skipped": "went on without",
    "ok": "was seen by",
}
TEXTS = ("time", "event", "hook", "handler", "outcome")
FAILED = {"timeout": "was late", "skipped": "was skipped"}
INDENT = " " * 10
BAR = 40
SHOWN = 80
AROUND = 20
"""Characters before the place where two values differ."""


def read_trace(path: str) -> list[dict[str, Any]]:
    """The lines of a trace; a torn last line is left out."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    found = []
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except ValueError:
            if number == len(lines):
                break
            raise UsageError(f"{path}:{number}: is not a line of a trace") from None
        if not _is_line(entry):
            raise UsageError(f"{path}:{number}: is not a line of a trace")
        found.append(entry)
    return found


def _is_line(entry: Any) -> bool:
    """Whether it has what is told of a call."""
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in TEXTS):
        return False
    changes = entry.get("diff")
    if not isinstance(entry.get("ms"), int | float) or not isinstance(changes, list):
        return False
    try:
        datetime.fromisoformat(entry["time"])
    except ValueError:
        return False
    return all(isinstance(each, dict) and {"field", "before", "after"} <= each.keys() for each in changes)


def story(entries: Iterable[dict[str, Any]]) -> list[str]:
    """A sentence for each decision, at the time of here; a line for the day when it is another."""
    lines: list[str] = []
    day = ""
    for entry in entries:
        if entry["outcome"] == "ok":
            continue
        when = datetime.fromisoformat(entry["time"]).astimezone()
        if day and day != f"{when:%Y-%m-%d}":
            lines.append(f"{when:%Y-%m-%d}")
        day = f"{when:%Y-%m-%d}"
        # What goes on in another line is indented: a command is no entry of its own.
        lines.append(printable(f"{when:%H:%M:%S}  {_sentence(entry)}").replace("\n", f"\n{INDENT}"))
    return lines


def _sentence(entry: dict[str, Any]) -> str:
    what = entry.get("subject") or entry["event"]
    line = entry["handler"].rpartition(":")[2].rstrip(")")
    who = f"{entry['hook']} line {line}" if line.isdigit() else entry["hook"]
    given = {each["field"]: each["after"] for each in entry["diff"]}
    if "decision" in given:
        why = f": {given['reason']}" if given.get("reason") else ""
        return f"{what} was decided by {who}: {given['decision']}{why}"
    if given.get("handled"):
        return f"{what} was taken over by {who}: nothing went to the model"
    told = f"{what} {WORDS.get(entry['outcome'], entry['outcome'])} {who}"
    if entry["outcome"] == "changed":
        changes = "; ".join(_change(each) for each in entry["diff"])
        return f"{told}: {changes}" if changes else f"{told} ({entry['event']})"
    if entry.get("refused") and entry["outcome"] != "blocked":
        told = f"{what} was refused because {who} {FAILED.get(entry['outcome'], 'failed')}"
    return f"{told}: {entry['error']}" if entry.get("error") else told


def _change(each: dict[str, Any]) -> str:
    before, after = (_as_text(each[key]) for key in ("before", "after"))
    if each["before"] is None:
        return f"{each['field']} {_cut(after, 0)}"
    # Of long values only where they differ says anything.
    same = next((at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), len(before))
    return f"{each['field']} {_cut(before, same)} -> {_cut(after, same)}"


def _as_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str, same: int) -> str:
    """At most SHOWN characters of a text, from a little before the place where it differs."""
    if len(text) <= SHOWN:
        return text
    begin = min(max(0, same - AROUND), len(text) - AROUND)
    end = begin + SHOWN
    return f"{'...' if begin else ''}{text[begin:end]}{'...' if end < len(text) else ''}"


def waterfall(entries: list[dict[str, Any]]) -> list[str]:
    """A line per call, with a bar where it was in the time of all and as long as it took, then totals per hook."""
    if not entries:
        return ["The trace is empty."]
    ends = [datetime.fromisoformat(entry["time"]).timestamp() * 1000 for entry in entries]
    begins = [end - entry["ms"] for end, entry in zip(ends, entries, strict=True)]
    first = min(begins)
    scale = BAR / max(max(ends) - first, 1.0)
    lines = []
    for entry, begin in zip(entries, begins, strict=True):
        bar = "#" * max(1, round(entry["ms"] * scale))
        left = min(round((begin - first) * scale), BAR - len(bar))
        mark = "" if entry["outcome"] == "ok" else f"  {entry['outcome']}"
        drawn = f"|{' ' * left + bar:<{BAR}}|"
        when, took = f"{(begin - first) / 1000:9.3f} s", f"{entry['ms']:10.2f} ms"
        lines.append(f"{when} {took} {drawn} {entry['event']} {entry['hook']}{mark}")
    lines += ["", f"{'hook':<32} {'calls':>6} {'total ms':>10} {'p50':>8} {'p95':>8} changed blocked failed"]
    hooks = dict.fromkeys(entry["hook"] for entry in entries)
    for hook in hooks:
        lines.append(_total(hook, [entry for entry in entries if entry["hook"] == hook]))
    return [printable(line) for line in lines]


def _total(hook: str, entries: list[dict[str, Any]]) -> str:
    times = sorted(entry["ms"] for entry in entries)
    outcomes = [entry["outcome"] for entry in entries]
    failed = sum(outcome in ("failed", "timeout", "skipped") for outcome in outcomes)
    return (
        f"{hook:<32} {len(times):>6} {sum(times):>10.2f} {percentile(times, 50):>8.2f} {percentile(times, 95):>8.2f}"
        f" {outcomes.count('changed'):>7} {outcomes.count('blocked'):>7} {failed:>6}"
    )
