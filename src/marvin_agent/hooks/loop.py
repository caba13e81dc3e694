"""The loop that hooks live on: an event loop in a daemon thread, with worker threads for plain functions.

Whatever waits, blocks, raises or leaks in a hook stays here: the thread ends with the program and nothing waits for
it. An exit that a hook's timer or task raises stops neither the loop nor the program; it is reported.
"""

import asyncio
import contextvars
import os
import threading
import traceback
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from marvin_agent.errors import HookError
from marvin_agent.hooks.eager import WAITS, Seat
from marvin_agent.hooks.registry import Hook

T = TypeVar("T")
Report = Callable[[BaseException, Hook | None], None]

LAST_MOMENT = 0.2
"""Seconds that hooks have to end when the program does."""

owner: contextvars.ContextVar[Hook | None] = contextvars.ContextVar("marvin_hook", default=None)
"""The hook that this task or worker thread runs for; tasks that a handler starts inherit it."""


class _HookTask(asyncio.Task[Any]):
    """A task that knows the hook that it was started for."""

    owner: Hook | None = None

    @classmethod
    def make(cls, loop: asyncio.AbstractEventLoop, coroutine: Any, context: Any = None) -> "asyncio.Task[Any]":
        task = cls(coroutine, loop=loop, context=context)
        task.owner = owner.get()
        return task


_loops: "weakref.WeakSet[HookLoop]" = weakref.WeakSet()


def _in_child() -> None:
    """This is the copy that a hook's fork has made, of one thread of the program."""
    for loop in _loops:
        loop.forked()


os.register_at_fork(after_in_child=_in_child)


class HookLoop:
    """Runs coroutines for other loops. `report` hears of exceptions that nobody waits for."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.stopping = False
        """It is ended, or given up."""
        self.is_copy = False
        """A hook has forked and this is the child, which must not go on as if it were marvin."""
        self._idle: list[_Worker] = []
        self._seats: dict[str, Seat] = {}
        self._background: set[asyncio.Task[Any]] = set()
        """Kept: the loop itself does not, and one that waits for something of its own would be collected."""
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(self._stray)
        self.loop.set_task_factory(_HookTask.make)
        self.thread = threading.Thread(target=self._run, name="marvin-hooks", daemon=True)
        _loops.add(self)
        self.thread.start()

    def forked(self) -> None:
        """End this process once the hook's own code is through, which may never be."""
        self.is_copy = True
        if threading.get_ident() == self.thread.ident:
            self.loop.call_soon(os._exit, 1)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self.stopping:
            try:
                self.loop.run_forever()
            except BaseException as exit_of_a_hook:
                # SystemExit and KeyboardInterrupt leave run_forever; what else is due runs when it is entered again.
                self._report(exit_of_a_hook, _owner_of(_handle_in(exit_of_a_hook)))
        self._end()

    def _end(self) -> None:
        """Cancel what is left, give it a moment, close the loop. What does not end then ends with the process."""
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                self.loop.run_until_complete(asyncio.wait(tasks, timeout=LAST_MOMENT))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()
        except BaseException as exit_of_a_hook:
            self._report(exit_of_a_hook, None)

    def _stray(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception") or RuntimeError(context.get("message", "unknown error"))
        task = context.get("task") or context.get("future")
        self._report(error, getattr(task, "owner", None) or _owner_of(context.get("handle")))

    def start(self, coroutine: Coroutine[Any, Any, Any], hook: Hook) -> None:
        """Run a coroutine of a hook in the background; called on this loop."""
        token = owner.set(hook)
        try:
            self._background.add(task := self.loop.create_task(coroutine))
            task.add_done_callback(self._background.discard)
        finally:
            owner.reset(token)

    async def owned(self, coroutine: Coroutine[Any, Any, T], hook: Hook | None) -> T:
        """Await a coroutine as a hook's: the tasks that it starts are the hook's too."""
        token = owner.set(hook)
        try:
            return await coroutine
        finally:
            owner.reset(token)

    def complain(self, error: BaseException, hook: Hook | None) -> None:
        self._report(error, hook)

    async def cancel_tasks_of(self, hook: Hook, patience: float = 1.0) -> None:
        """Cancel every task that a hook started; those that do not end are left behind."""
        tasks = {task for task in asyncio.all_tasks(self.loop) if getattr(task, "owner", None) is hook}
        tasks -= {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=patience)

    def post(self, function: Callable[..., object], *arguments: object) -> bool:
        """Call a function on this loop soon; False when the loop is gone."""
        try:
            self.loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            return False
        return True

    def seat(self, purpose: str) -> Seat:
        """A task that nobody needed so far, to begin something in; called on this loop."""
        seat = self._seats.get(purpose)
        if seat is None or not seat.is_free():
            seat = self._seats[purpose] = Seat(self.loop)
        return seat

    async def call(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine function here and wait for it from whatever loop the caller is on.

        Cancelling the caller cancels the coroutine and does not wait for it.
        """
        if asyncio.get_running_loop() is self.loop:
            return await function()
        return await self.submit(function).answer()

    def submit(self, function: Callable[[], Coroutine[Any, Any, T]]) -> "Job[T]":
        """Begin what `call` waits for."""
        job = Job(self, function)
        if not self.post(job.start):
            raise RuntimeError("the hook loop has stopped")
        return job

    async def in_thread(self, function: Callable[[], T], began: Callable[[int | None], None]) -> T:
        """Run a plain function in a worker thread; `began` gets the thread's id. Cancelling abandons the thread."""
        worker = self._idle.pop() if self._idle else _Worker(self)
        answer: asyncio.Future[T] = self.loop.create_future()
        began(worker.thread.ident)
        worker.give(contextvars.copy_context(), function, answer)
        return await answer

    def abandon(self) -> None:
        """Give up on a loop that a hook blocks: its thread is left to itself."""
        self.stopping = True
        self.post(self.loop.stop)
        for worker in self._idle:
            worker.end()

    def rest(self, worker: "_Worker") -> None:
        self._idle.append(worker)

    def stop(self) -> None:
        """End the loop. A hook that blocks it is waited for no longer than a moment: the thread is a daemon."""
        self.stopping = True
        self.post(self.loop.stop)
        for worker in self._idle:
            worker.end()
        self.thread.join(LAST_MOMENT)


def _handle_in(error: BaseException) -> object:
    """The timer or callback that raised something: the loop calls it by its handle."""
    calls = (frame.f_locals.get("self") for frame, _ in traceback.walk_tb(error.__traceback__))
    return next((handle for handle in calls if isinstance(handle, asyncio.Handle)), None)


def _owner_of(handle: object) -> Hook | None:
    context: contextvars.Context | None = getattr(handle, "_context", None)
    return context.get(owner) if context else None


class Job(Generic[T]):
    """One coroutine that runs on the hook loop for a caller on another."""

    def __init__(self, owner: HookLoop, function: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._owner = owner
        self._function = function
        self._home = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self._home.create_future()
        """What comes of it; of the caller's loop."""
        self.left = False
        """Nobody waits for it any more."""
        self._task: asyncio.Task[Any] | None = None

    async def answer(self) -> T:
        """Wait for it. Cancelling this cancels it, and does not wait for its end."""
        try:
            return await self.future
        except asyncio.CancelledError:
            self.left = True
            self._owner.post(self._cancel)
            raise

    def start(self) -> None:
        if self.left:
            return
        seat = self._owner.seat("jobs")
        self._task = seat.task
        if seat.begin(self._do(), contextvars.copy_context()) is not WAITS:
            self._task = None  # it is the next one's

    def _cancel(self) -> None:
        if self._task:
            self._task.cancel()

    async def _do(self) -> None:
        value, error = None, None
        function = self._function
        del self._function  # it holds whoever waits, who holds this: that would be a case for the garbage collector
        try:
            value = await function()
        except BaseException as raised:
            error = raised  # a cancellation too: this is the end of the task, and the caller is told
            if isinstance(raised, asyncio.CancelledError) and not (self.left or self._owner.stopping):
                # Of a hook that cancels whatever it finds. It is not the caller's own end.
                error = HookError("a hook cancelled the task that it ran in")
        # At once, before other tasks that are due have their turn.
        try:
            self._home.call_soon_threadsafe(_settle, self.future, value, error)
        except RuntimeError:
            return  # the caller's loop is closed


def _settle(answer: "asyncio.Future[Any]", value: Any, error: BaseException | None) -> None:
    if answer.done():
        return
    if isinstance(error, asyncio.CancelledError):
        answer.cancel()
    elif error:
        answer.set_exception(error)
    else:
        answer.set_result(value)


class _Worker:
    """A daemon thread that runs one plain function at a time. The standard pool's threads are joined at exit."""

    def __init__(self, owner: HookLoop) -> None:
        self._owner = owner
        self._wake = threading.Semaphore(0)
        self._work: tuple[contextvars.Context, Callable[[], Any], asyncio.Future[Any]] | None = None
        self.thread = threading.Thread(target=self._run, name="marvin-hook-worker", daemon=True)
        self.thread.start()

    def give(self, context: contextvars.Context, function: Callable[[], Any], answer: "asyncio.Future[Any]") -> None:
        self._work = (context, function, answer)
        self._wake.release()

    def end(self) -> None:
        self._work = None
        self._wake.release()

    def _run(self) -> None:
        while True:
            self._wake.acquire()
            if self._work is None:
                return
            context, function, answer = self._work
            value: Any = None
            error: BaseException | None = None
            try:
                value = context.run(function)
            except BaseException as raised:
                error = raised
            if self._owner.is_copy:
                os._exit(1)
            if not self._owner.post(self._finish, answer, value, error):
                return

    def _finish(self, answer: "asyncio.Future[Any]", value: Any, error: BaseException | None) -> None:
        self._owner.rest(self)
        if answer.done():
            return
        if error is None:
            answer.set_result(value)
        elif isinstance(error, StopIteration):
            answer.set_exception(RuntimeError("a plain handler raised StopIteration"))
        else:
            answer.set_exception(error)
