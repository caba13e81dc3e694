"""The hooks in words: a line for each hook and handler with its numbers, its details, and the calls as they come."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content

from marvin_agent.frontends.tui.conversation.changes import changed
from marvin_agent.frontends.tui.conversation.diffs import Changed
from marvin_agent.frontends.tui.dialogs.preview import COLOURS as DIFF_STYLES
from marvin_agent.hooks.outcome import Failure
from marvin_agent.hooks.registry import Handler, Hook
from marvin_agent.hooks.system import HookSystem
from marvin_agent.hooks.tally import Figures, Seen, Tally
from marvin_agent.text import one_line, printable
from marvin_agent.tools.diff import body, unified

NARROW = 70
WIDE = 92
"""Columns from which on the heads are written out."""
MARKS = {"ok": " ", "changed": "~", "blocked": "!", "failed": "✗", "timeout": "✗", "skipped": "✗"}
STYLES = {"changed": "$text-accent", "blocked": "$text-warning", "ok": ""}


class Entry(NamedTuple):
    """A line of the list, and what it is about."""

    name: str
    line: Content
    hook_id: str
    hook: Hook | None = None
    handler: Handler | None = None
    problem: Failure | None = None


def entries(hooks: HookSystem, tally: Tally, width: int) -> list[Entry]:
    """Every hook with its handlers, then those that are off and those that did not load."""
    found: list[Entry] = []
    for hook in hooks.registry.hooks:
        found.append(Entry(hook.id, _hook_line(hook), hook.id, hook))
        for number, handler in enumerate(hook.handlers):
            line = _handler_line(handler, tally.figures(handler), width)
            found.append(Entry(f"{hook.id}#{number}", line, hook.id, hook, handler))
    there = {hook.id for hook in hooks.registry.hooks}
    for name, why in hooks.off.items():
        if name not in there:
            line = Content.assemble((printable(name), "bold"), (f"  off: {why}", "$text-warning"))
            found.append(Entry(name, line, name))
    for number, problem in enumerate(hooks.problems):
        text = f"  did not load: {one_line(problem.error, 200)}"
        line = Content.assemble((printable(problem.hook), "bold"), (text, "$text-error"))
        found.append(Entry(f"problem{number}", line, problem.hook, problem=problem))
    return found


def _hook_line(hook: Hook) -> Content:
    notes = [word for word, true in (("required", hook.required), (f"off: {hook.off}", hook.off)) if true]
    if not hook.handlers:
        notes.append("listens to no event")
    return Content.assemble((printable(hook.id), "bold"), (f"  {', '.join(notes)}" if notes else "", "$text-muted"))


def heads(width: int) -> str:
    """What stands above the numbers: calls, changes, refusals, failures and times."""
    if width >= WIDE:
        return f"{'calls':>6} {'changed':>8} {'refused':>8} {'failed':>7} {'p50 ms':>9} {'p95 ms':>9}"
    return f"{'calls':>6} {'chg':>4} {'ref':>4} {'fail':>4} {'p50':>7} {'p95':>7}"


def _numbers(figures: Figures, width: int) -> str:
    counts = (figures.calls, figures.changed, figures.refused, figures.failed)
    times = (_ms(figures, 50), _ms(figures, 95))
    columns = (6, 8, 8, 7, 9, 9) if width >= WIDE else (6, 4, 4, 4, 7, 7)
    return " ".join(f"{number:>{column}}" for number, column in zip((*counts, *times), columns, strict=True))


def _handler_line(handler: Handler, figures: Figures, width: int) -> Content:
    room = max(width - len(heads(width)) - 3, 12)
    names = (handler.spec.name, handler.name)
    # Where there is little room, what tells handlers apart comes first.
    text = " ".join(names if width >= NARROW else reversed(names))
    name = one_line(f"{'(off) ' if handler.off else ''}{text}", room)
    style = "$text-error" if figures.failed else "" if figures.calls else "$text-muted"
    return Content.assemble("  ", name.ljust(room), " ", (_numbers(figures, width), style))


def _ms(figures: Figures, percent: int) -> str:
    value = figures.milliseconds(percent)
    return "-" if value is None else f"{value:.2f}" if value < 1000 else f"{value:,.0f}"


def call_line(seen: Seen) -> Content:
    """A call of a handler: when, how long, what came of it, of whom, about what."""
    record = seen.record
    clock = time.strftime("%H:%M:%S", time.localtime(seen.time))
    text = f"{record.ms:>8.1f} ms {MARKS[record.verdict]} {record.event} {record.hook}"
    verdict = "" if record.verdict == "ok" else f" {record.verdict}"
    about = " ".join(part for part in (record.subject, record.error or "") if part)
    style = STYLES.get(record.verdict, "$text-error")
    about = one_line(about, 200)
    return Content.assemble((clock, "$text-muted"), text, (verdict, style), (f"  {about}" if about else "", style))


def details(entry: Entry, tally: Tally) -> Content:
    """All there is to know of a line: of a handler its numbers, its last calls and changes, and its last error."""
    if entry.problem:
        return _failure(entry.problem)
    if entry.handler:
        return _handler_details(entry.handler, tally)
    parts = [Content("It is not loaded now.")]
    if hook := entry.hook:
        rows = [("file", hook.path), ("from", hook.scope), ("state", f"off: {hook.off}" if hook.off else "on")]
        rows += [("listens to", ", ".join(dict.fromkeys(handler.spec.name for handler in hook.handlers)) or "no event")]
        parts = _rows(rows)
    if failure := tally.failures.get(entry.hook_id):
        parts += [Content(""), Content.styled("The last error", "bold"), _failure(failure)]
    calls = [call_line(seen) for seen in tally.recent if seen.record.hook == entry.hook_id]
    parts += [Content(""), Content.styled("The last calls", "bold"), *(calls or [Content("It was not called yet.")])]
    return Content("\n").join(parts)


def _handler_details(handler: Handler, tally: Tally) -> Content:
    figures = tally.figures(handler)
    rows = [
        ("function", f"{handler.name} at {handler.place}"),
        ("event", handler.spec.name + (f", for {', '.join(handler.tools)}" if handler.tools else "")),
        ("priority", f"{handler.priority}{', after all others (final)' if handler.final else ''}"),
        ("when it fails", "what it guards is refused (closed)" if handler.closed else "the others go on (open)"),
        ("calls", f"{figures.calls}: changed {figures.changed}, refused {figures.refused}, failed {figures.failed}"),
        ("time", f"p50 {_ms(figures, 50)} ms, p95 {_ms(figures, 95)} ms"),
    ]
    if handler.off:
        rows.append(("state", "off: it failed too often in a row"))
    parts = _rows(rows)
    mine = handler.label
    seen = [one for one in tally.recent if (one.record.hook, one.record.handler) == (handler.hook.id, mine)]
    seen = [one for one in seen if one.record.event == handler.spec.name]
    if figures.last_failure:
        parts += [Content(""), Content.styled("The last error", "bold"), _failure(figures.last_failure)]
    if last := next((one.record for one in reversed(seen) if one.record.changes), None):
        parts += [Content(""), Content.styled("The last change", "bold")]
        parts += _difference(found) if (found := changed(last.changes)) else []
    parts += [Content(""), Content.styled("The last calls", "bold"), *map(call_line, seen[-20:])]
    return Content("\n").join(parts)


def _difference(found: Changed) -> list[Content]:
    lines = body(unified(f"{found.before}\n", f"{found.after}\n", ""))
    return [Content.styled(printable(line), DIFF_STYLES.get(line[:1], "")) for line in lines]


def _failure(failure: Failure) -> Content:
    where = f" at {failure.place}" if failure.place else ""
    head = Content.styled(printable(f"{failure.event}{where}: {failure.error}"), "$text-error")
    return Content("\n").join([head, Content(printable(failure.traceback.strip()))])


def _rows(rows: Sequence[tuple[str, str]]) -> list[Content]:
    return [Content.assemble((name.ljust(14), "bold"), printable(value)) for name, value in rows]
