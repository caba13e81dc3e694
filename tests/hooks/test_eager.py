import asyncio
import contextvars
import weakref
from collections.abc import Coroutine
from typing import Any

import pytest

from marvin_agent.hooks.eager import WAITS, Seat

place: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="outside")


def begun(coroutine: Coroutine[Any, Any, Any], seat: Seat | None = None) -> tuple[Any, "asyncio.Task[Any]"]:
    seat = seat or Seat(asyncio.get_running_loop())
    return seat.begin(coroutine, contextvars.copy_context()), seat.task


async def current() -> int:
    return id(asyncio.current_task())


async def test_what_waits_for_nothing_is_done_at_once() -> None:
    async def quick() -> str:
        return "done"

    assert begun(quick())[0] == "done"


async def test_an_error_of_the_first_step_is_raised_at_once_and_is_no_stray_one() -> None:
    async def wrong() -> None:
        raise ValueError("no")

    seat = Seat(asyncio.get_running_loop())
    with pytest.raises(ValueError, match="no"):
        begun(wrong(), seat)
    assert seat.is_free()


async def test_what_waits_goes_on_in_its_task() -> None:
    gate = asyncio.Event()
    seen: list[Any] = []

    async def slow() -> str:
        seen.append(asyncio.current_task())
        await asyncio.sleep(0)
        await gate.wait()
        seen.append(asyncio.current_task())
        return "late"

    ours = asyncio.current_task()
    first, task = begun(slow())
    assert first is WAITS and asyncio.current_task() is ours
    gate.set()
    assert await task == "late"
    assert seen == [task, task]


async def test_a_task_that_was_not_needed_is_the_next_ones_before_and_after_it_has_begun() -> None:
    seat = Seat(asyncio.get_running_loop())
    first = begun(current(), seat)[0]
    assert seat.is_free() and begun(current(), seat)[0] == first == id(seat.task)
    await asyncio.sleep(0)
    assert seat.is_free() and begun(current(), seat)[0] == first

    async def slow() -> str:
        await asyncio.sleep(0)
        return "late"

    assert begun(slow(), seat)[0] is WAITS and not seat.is_free()
    assert await seat.task == "late"
    assert not seat.is_free()


@pytest.mark.parametrize("keep", [lambda task: task, weakref.ref], ids=["held", "a key"])
async def test_a_task_that_somebody_has_got_hold_of_is_nobody_elses(keep: Any) -> None:
    async def holds() -> Any:
        return keep(asyncio.current_task())

    seat = Seat(asyncio.get_running_loop())
    kept = begun(holds(), seat)[0]
    assert kept is not None and not seat.is_free()
    del kept
    assert seat.is_free()


async def test_a_task_that_was_cancelled_while_it_was_not_needed_is_nobodys() -> None:
    async def cancels() -> None:
        task = asyncio.current_task()
        assert task
        task.cancel()

    seat = Seat(asyncio.get_running_loop())
    begun(cancels(), seat)
    assert not seat.is_free()
    with pytest.raises(asyncio.CancelledError):
        await seat.task


async def test_a_timeout_entered_in_the_first_step_ends_it_and_not_who_began_it() -> None:
    async def bounded() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            return "timed out"
        return "not"

    _, task = begun(bounded())
    assert await task == "timed out"


async def test_a_cancellation_before_the_second_step_reaches_the_coroutine() -> None:
    seen: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    _, task = begun(waits())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"]


async def test_all_steps_share_one_context_which_is_not_the_callers() -> None:
    async def sets() -> str:
        place.set("inside")
        await asyncio.sleep(0)
        return place.get()

    _, task = begun(sets())
    assert place.get() == "outside"
    assert await task == "inside"
