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
        self._step: asyncio.Task[Any] | None = None

    def abort(self) -> None:
        self.aborted = True
        if self._step:
            self._step.cancel()

    def aborting(self) -> bool:
        return self.aborted

    async def step(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a step to its end; raises Aborted when it was interrupted. Cancelling the caller cancels the step."""
        if self.aborted:
            coroutine.close()
            raise Aborted
        step = asyncio.ensure_future(coroutine)
        self._step = step
        try:
            return await step
        except asyncio.CancelledError:
            if self.aborting() and step.cancelled():
                raise Aborted from None
            if not step.done():
                step.cancel()
                await asyncio.wait({step})
            raise
        finally:
            self._step = None
