"""The five rules: how what a handler returned, or changed in place, enters the outcome of an event."""

from collections.abc import Callable
from typing import Any, TypeAlias

from marvin_agent.hooks import forms
from marvin_agent.hooks.outcome import Change, Outcome, Refusal
from marvin_agent.hooks.payload import Event, Payload
from marvin_agent.hooks.registry import Handler
from marvin_agent.hooks.spec import REFUSING, Field

Check: TypeAlias = Callable[[Event], None]
"""Looks at the event with a handler's changes in it; raises FormError when they cannot stand."""

_STRICTNESS = ("allow", "ask", "deny")
_MISSING = object()


def merge(outcome: Outcome, handler: Handler, view: Event, returned: Any, check: Check | None) -> bool:
    """Take over what one handler did to its copy of the event. True when the event ends here.

    Everything is checked before anything is taken over: a handler contributes all or nothing. Raises FormError.
    """
    spec = handler.spec
    if spec.result is None:
        return False
    given = forms.result(spec.result, returned)
    found: list[tuple[Field, Any]] = []
    for field in spec.fields.values():
        value = _contribution(field, outcome.event, view, given)
        if value is not _MISSING:
            found.append((field, value))
    if handler.final and (extra := [f.name for f, _ in found if f.rule != "refuse"]):
        raise forms.FormError(f"a final handler can only refuse, not change {', '.join(extra)}")
    if refusal := _refusal(found, handler):
        outcome.refused = refusal
        return True
    return _apply(outcome, handler, [pair for pair in found if pair[0].rule != "refuse"], check)


def _contribution(field: Field, event: Event, view: Event, given: dict[str, Any]) -> Any:
    before: Any = read(event, field.at) if field.at else _MISSING
    if field.name in given:
        value = given[field.name]
        if field.rule == "append" and field.at:
            return [*(before or ()), *value]
        if isinstance(value, Payload) and isinstance(before, Payload):
            return type(value)(**{**vars(before), **vars(value)})
        if field.kind == "dict[str, str]" and isinstance(before, dict):
            return {**before, **value}
        return value
    if field.at is None:
        return _MISSING
    after = read(view, field.at)
    if after is before or (type(after) is type(before) and after == before):
        return _MISSING
    value = forms.accept(field.kind)(after)
    return _appended(before or [], value) if field.rule == "append" else value


def _appended(before: list[Any], after: list[Any]) -> Any:
    """A list that a handler changed in place: it adds to it, and takes nothing away that others gave."""
    size = len(before)
    added = after[size:] if after[:size] == before else [item for item in after if item not in before]
    return [*before, *added] if added else _MISSING


def _refusal(found: list[tuple[Field, Any]], handler: Handler) -> Refusal | None:
    values = {field.name: value for field, value in found if field.rule == "refuse"}
    if any(values.get(name) for name in REFUSING):
        return Refusal(handler.hook.id, handler.place, str(values.get("reason", "")), failed=False)
    return None


def _apply(outcome: Outcome, handler: Handler, found: list[tuple[Field, Any]], check: Check | None) -> bool:
    changes = [
        Change(handler.hook.id, field.name, read(outcome.event, field.at), value)
        for field, value in found
        if field.at and read(outcome.event, field.at) != value
    ]
    if check and changes:
        trial = forms.fresh(outcome.event)
        for change in changes:
            write(trial, handler.spec.fields[change.field].at or "", change.after)
        check(trial)
    for change in changes:
        write(outcome.event, handler.spec.fields[change.field].at or "", change.after)
    if changes:
        outcome.changes += changes
        outcome.subject = None
    ended = False
    for field, value in found:
        match field.rule:
            case "first" if value not in (None, False, ""):
                outcome.decided[field.name] = value
                outcome.decided_by = handler.hook.id
                ended = True
            case "append" if field.at is None:
                outcome.added.setdefault(field.name, []).append((handler.hook.id, value))
            case "strictest" if field.name == "decision":
                _decide(outcome, handler, value, {f.name: v for f, v in found})
            case _:
                pass
    return ended


def _decide(outcome: Outcome, handler: Handler, decision: str, values: dict[str, Any]) -> None:
    standing = outcome.decided.get("decision")
    if standing is None or _STRICTNESS.index(decision) > _STRICTNESS.index(standing):
        outcome.decided = {"decision": decision, "reason": values.get("reason", "")}
        outcome.decided_by = handler.hook.id


def read(event: Payload, at: str) -> Any:
    """The value at `output.parts`."""
    value: Any = event
    for name in at.split("."):
        value = vars(value).get(name)
    return value


def write(event: Payload, at: str, value: Any) -> None:
    target: Any = event
    *path, last = at.split(".")
    for name in path:
        target = vars(target)[name]
    setattr(target, last, value)
