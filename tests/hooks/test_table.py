"""The event table, row by row: what each row promises is what dispatch does. Made from the table itself."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from samples import event, json_form, other, value
from test_dispatch import Room

from marvin_agent.errors import HookError
from marvin_agent.hooks import forms
from marvin_agent.hooks.merge import read, write
from marvin_agent.hooks.payload import fields_of
from marvin_agent.hooks.spec import NAMES, ROWS, Field, Spec

ALL = [pytest.param(row, id=row.name) for row in ROWS]
FIELDS = [pytest.param(row, field, id=f"{row.name}-{field.name}") for row in ROWS for field in row.fields.values()]


def by_rule(*rules: str) -> list[Any]:
    return [
        pytest.param(row, field, id=f"{row.name}-{field.name}")
        for row in ROWS
        for field in row.fields.values()
        if field.rule in rules
    ]


@pytest_asyncio.fixture
async def room() -> AsyncGenerator[Room, None]:
    made = Room(limit=5.0)
    yield made
    made.loop.stop()


def returning(result: Any) -> Any:
    async def handler(event: Any, ctx: Any) -> Any:
        return result

    return handler


@pytest.mark.parametrize("row", ALL)
def test_a_row_and_its_classes_say_the_same(row: Spec) -> None:
    assert row.event.type == row.name
    for kind in fields_of(row.event).values():
        forms.accept(kind)
    if row.result:
        assert set(fields_of(row.result)) == set(row.fields)
    else:
        assert not row.fields
    for field in row.fields.values():
        assert field.at is None or read(event(row), field.at) is not Ellipsis
    if row.closed:
        assert row.gate
    for alias in row.aliases:
        assert NAMES[alias] == (row.name,)


@pytest.mark.parametrize("row", ALL)
def test_an_event_has_a_json_form_in_camel_case(row: Spec) -> None:
    plain = forms.to_plain(event(row))
    assert {"sessionId", "origin", "mode"} <= plain.keys()
    assert {forms.camel(name) for name in fields_of(row.event)} == plain.keys()


@pytest.mark.parametrize("row", ALL)
async def test_every_name_of_an_event_reaches_a_handler_with_the_whole_payload(room: Room, row: Spec) -> None:
    seen: list[Any] = []

    async def hear(event: Any, ctx: Any) -> None:
        seen.append(event)

    for name in (row.name, *row.aliases, row.event):
        room.on(name, hear, purposes=("turn",) if "purpose" in fields_of(row.event) else None)
    sent = event(row)
    await room.send(sent)
    assert len(seen) == len(row.aliases) + 2
    assert all(got == sent and got is not sent for got in seen)


@pytest.mark.parametrize(("row", "field"), by_rule("chain"))
@pytest.mark.parametrize("way", ["returned", "json", "in place"])
async def test_a_chained_field_is_changed_in_place_or_returned_and_seen_by_the_next(
    room: Room, row: Spec, field: Field, way: str
) -> None:
    assert field.at
    sent = event(row)
    wanted = other(field, read(sent, field.at))
    seen: list[Any] = []

    async def change(event: Any, ctx: Any) -> Any:
        if way == "returned":
            return {field.name: wanted}
        if way == "json":
            which = 1 if wanted == value(field.kind, 1) else 0
            return {forms.camel(field.name): json_form(field.kind, which)}
        *path, last = field.at.split(".")
        target = event
        for name in path:
            target = getattr(target, name)
        setattr(target, last, wanted)
        return None

    async def look(event: Any, ctx: Any) -> None:
        seen.append(read(event, field.at))

    room.on(row.name, change)
    room.on(row.name, look, "library:b")
    before = read(sent, field.at)
    outcome = await room.send(sent)
    assert room.failures == []
    now = read(outcome.event, field.at)
    expected = {**before, **wanted} if field.kind == "dict[str, str]" and way != "in place" else wanted
    if way == "json" and field.kind == "Model":
        assert (now["provider"], now["id"]) == (wanted.provider, wanted.id)
    else:
        assert now == expected
        assert seen == [expected]
    assert outcome.changed_by == ("library:a",)


@pytest.mark.parametrize(("row", "field"), by_rule("refuse"))
async def test_a_refusal_stops_the_event(room: Room, row: Spec, field: Field) -> None:
    if field.name == "reason":
        room.on(row.name, returning({"reason": "only a reason refuses nothing"}))
        assert (await room.send(event(row))).refused is None
        return
    room.on(row.name, returning({field.name: True, "reason": "because"}))
    room.on(row.name, returning({}), "library:never")
    outcome = await room.send(event(row))
    assert outcome.refused.reason == "because"
    assert room.failures == []
    assert len(room.records) == 1


@pytest.mark.parametrize(("row", "field"), by_rule("first"))
async def test_the_first_value_decides(room: Room, row: Spec, field: Field) -> None:
    room.on(row.name, returning({field.name: value(field.kind)}))
    room.on(row.name, returning({field.name: value(field.kind, 1)}), "library:b")
    outcome = await room.send(event(row))
    assert outcome.decided[field.name] == value(field.kind)
    assert outcome.decided_by == "library:a"
    assert len(room.records) == 1


@pytest.mark.parametrize(("row", "field"), by_rule("append"))
async def test_all_values_are_kept_in_order(room: Room, row: Spec, field: Field) -> None:
    room.on(row.name, returning({field.name: value(field.kind)}))
    room.on(row.name, returning({field.name: value(field.kind, 1)}), "library:b")
    outcome = await room.send(event(row))
    if field.at:
        assert read(outcome.event, field.at) == [*value(field.kind), *value(field.kind, 1)]
    else:
        assert outcome.added[field.name] == [("library:a", value(field.kind)), ("library:b", value(field.kind, 1))]


@pytest.mark.parametrize(("row", "field"), [pair for pair in by_rule("append") if pair.values[1].at])
async def test_what_one_handler_added_no_other_takes_away(room: Room, row: Spec, field: Field) -> None:
    async def replace(event: Any, ctx: Any) -> None:
        write(event, field.at or "", value(field.kind, 1))

    room.on(row.name, returning({field.name: value(field.kind)}))
    room.on(row.name, replace, "library:b")
    outcome = await room.send(event(row))
    assert read(outcome.event, field.at or "") == [*value(field.kind), *value(field.kind, 1)]


@pytest.mark.parametrize("row", ALL)
async def test_a_failing_handler_contributes_nothing_and_the_policy_of_the_row_holds(room: Room, row: Spec) -> None:
    async def spoil(event: Any, ctx: Any) -> None:
        for field in row.fields.values():
            if field.at and "." not in field.at:
                setattr(event, field.at, other(field, read(event, field.at)))
        raise ValueError("spoilt")

    asked: list[int] = []

    async def later(event: Any, ctx: Any) -> None:
        asked.append(1)

    options = {"purposes": ("turn",)} if "purpose" in fields_of(row.event) else {}
    room.on(row.name, spoil, **options)
    room.on(row.name, later, "library:b", **options)
    sent = event(row)
    outcome = await room.send(sent)
    assert outcome.event == event(row)
    assert [failure.error for failure in room.failures] == ["ValueError: spoilt"]
    assert bool(outcome.refused) == row.closed
    assert asked == ([] if row.closed else [1])


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS if row.result])
async def test_a_junk_result_is_reported_and_changes_nothing(room: Room, row: Spec) -> None:
    room.on(row.name, returning({"no_such_key": 1}))
    room.on(row.name, returning(42), "library:b")
    outcome = await room.send(event(row))
    assert outcome.event == event(row)
    assert "unknown key 'no_such_key'" in room.failures[0].error
    assert bool(outcome.refused) == row.closed


@pytest.mark.parametrize(("row", "field"), FIELDS)
async def test_a_field_of_a_wrong_type_is_reported(room: Room, row: Spec, field: Field) -> None:
    room.on(row.name, returning({field.name: object()}))
    outcome = await room.send(event(row))
    assert len(room.failures) == 1
    assert field.name in room.failures[0].error
    assert outcome.event == event(row)


@pytest.mark.parametrize("row", ALL)
async def test_a_late_handler_counts_as_failed(row: Spec) -> None:
    room = Room(limit=0.02)

    async def late(event: Any, ctx: Any) -> None:
        await asyncio.sleep(60)

    room.on(row.name, late, timeout=0.02)
    outcome = await room.send(event(row))
    assert room.failures[0].timed_out
    assert bool(outcome.refused) == row.closed
    room.loop.stop()


@pytest.mark.parametrize("row", ALL)
async def test_a_removed_handler_is_not_called(room: Room, row: Spec) -> None:
    leave = room.on(row.name, returning({"block": True}))
    leave()
    assert not room.dispatcher.heard(row.name)
    assert (await room.send(event(row))).refused is None


@pytest.mark.parametrize("row", ALL)
def test_registration_holds_a_hook_to_the_row(row: Spec) -> None:
    room = Room()
    try:
        if not row.gate:
            with pytest.raises(HookError, match="final=True is for gates"):
                room.on(row.name, print, final=True)
        if row.closed:
            with pytest.raises(HookError, match="cannot lower"):
                room.on(row.name, print, on_error="open")
        if row.result is None:
            with pytest.raises(HookError, match="only observes"):
                room.on(row.name, print, on_error="closed")
        if "tool_name" not in fields_of(row.event):
            with pytest.raises(HookError, match="no tools filter"):
                room.on(row.name, print, tools=("bash",))
    finally:
        room.loop.stop()
