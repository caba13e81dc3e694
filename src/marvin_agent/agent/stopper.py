"""Aborting a run at any moment: the step that is under way is cancelled, the run itself lives to tidy up."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from marvin_agent.errors import Aborted

T = TypeVar("T")


class Stopper:
    """One run's. `step` runs what may be interrupted; `abort` interrupts it and all later steps."""

    def __init__(self) -> None:
        self.aborted = False
        self._steps: set[asyncio.Task[Any]] = set()

    def abort(self) -> None:
        self.aborted = True
        for step in self._steps:
            step.cancel()

    async def step(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a step to its end; raises Aborted when it was interrupted. Cancelling the caller cancels the step."""
        if self.aborted:
            coroutine.close()
            raise Aborted
        return await self.last(coroutine)

    async def last(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run what is due even after an abort, until another one interrupts it: then raises Aborted."""
        step = asyncio.ensure_future(coroutine)
        self._steps.add(step)
        try:
            return await step
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if step.cancelled() and not (caller and caller.cancelling()):
                raise Aborted from None
            if not step.done():
                step.cancel()
                await asyncio.wait({step})
            raise
        finally:
            self._steps.discard(step)
