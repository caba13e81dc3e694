import asyncio
import contextvars
from collections.abc import Coroutine
from typing import Any

import pytest

from marvin_agent.hooks.eager import Begun, begin_task, take_first_step

place: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="outside")


def begun(coroutine: Coroutine[Any, Any, Any]) -> tuple[Begun[Any], "asyncio.Task[Any]"]:
    loop = asyncio.get_running_loop()
    begun, task, context = begin_task(coroutine, loop)
    take_first_step(begun, task, context, loop)
    return begun, task


async def test_what_waits_for_nothing_is_done_at_once() -> None:
    async def quick() -> str:
        return "done"

    first, task = begun(quick())
    assert first.over and first.result() == "done"
    assert await task == "done"


async def test_an_error_of_the_first_step_is_its_result_and_no_stray_one() -> None:
    async def wrong() -> None:
        raise ValueError("no")

    first, task = begun(wrong())
    with pytest.raises(ValueError, match="no"):
        first.result()
    await task


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
    assert not first.over and asyncio.current_task() is ours
    gate.set()
    assert await task == "late"
    assert seen == [task, task]


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
