"""Telling from the trace what hooks did: the story of a session, and the waterfall of a trace file."""

import json
from collections.abc import Iterable
from typing import Any

from marvin_agent.errors import UsageError
from marvin_agent.text import printable

WORDS = {
    "blocked": "was blocked by",
    "changed": "was changed by",
    "failed": "met a failure of",
    "timeout": "waited too long for",
    "skipped": "went on without",
    "ok": "was seen by",
}
BAR = 40


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
        if not isinstance(entry, dict) or "hook" not in entry:
            raise UsageError(f"{path}:{number}: is not a line of a trace")
        found.append(entry)
    return found


def story(entries: Iterable[dict[str, Any]]) -> list[str]:
    """A sentence for each decision."""
    return [printable(_sentence(entry)) for entry in entries if entry["outcome"] != "ok"]


def _sentence(entry: dict[str, Any]) -> str:
    what = entry.get("subject") or entry["event"]
    line = entry["handler"].rpartition(":")[2].rstrip(")")
    who = f"{entry['hook']} line {line}" if line.isdigit() else entry["hook"]
    told = f"{entry['time'][11:19]}  {what} {WORDS.get(entry['outcome'], entry['outcome'])} {who}"
    if entry["outcome"] == "changed":
        changes = "; ".join(_change(each) for each in entry["diff"])
        return f"{told}: {changes}" if changes else f"{told} ({entry['event']})"
    return f"{told}: {entry['error']}" if entry.get("error") else told


def _change(each: dict[str, Any]) -> str:
    return f"{each['field']} {_short(each['before'])} -> {_short(each['after'])}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."


def waterfall(entries: list[dict[str, Any]]) -> list[str]:
    """A line per call with a bar for its time, then totals per hook."""
    if not entries:
        return ["The trace is empty."]
    longest = max(entry["ms"] for entry in entries) or 1.0
    lines = []
    for entry in entries:
        bar = "#" * max(1, round(BAR * entry["ms"] / longest))
        mark = "" if entry["outcome"] == "ok" else f"  {entry['outcome']}"
        lines.append(
            f"{entry['time'][11:23]} {entry['ms']:9.2f} ms {bar:<{BAR}} {entry['event']} {entry['hook']}{mark}"
        )
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
        f"{hook:<32} {len(times):>6} {sum(times):>10.2f} {_percentile(times, 50):>8.2f} {_percentile(times, 95):>8.2f}"
        f" {outcomes.count('changed'):>7} {outcomes.count('blocked'):>7} {failed:>6}"
    )


def _percentile(times: list[float], percent: int) -> float:
    return times[min(len(times) - 1, len(times) * percent // 100)]
