"""The event loop that asynchronous tools share: one a process, in a daemon thread."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from toolrelay.errors import ErrorCategory
from toolrelay_worker._attempts import Attempt, Raised, Returned
from toolrelay_worker._logs import plain_traceback
from toolrelay_worker._threads import Job
from toolrelay_worker.stopping import StopReason

logger = logging.getLogger(__name__)
logger.addFilter(plain_traceback)

_CLOSE_SECONDS = 2.0  # how long close() waits for tasks to take their cancellation

_forsaken: list[asyncio.AbstractEventLoop] = []  # a parent's loops, see LoopThread.forsake


class LoopThread:
    """A running event loop. All of ``_tasks`` happens in its own thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._is_closing = False
        self._tasks: dict[Attempt, asyncio.Task[None]] = {}
        self._thread = threading.Thread(target=self._serve, name="toolrelay-loop", daemon=True)
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Whether the caller runs on this loop, and so must not wait for it."""
        return threading.current_thread() is self._thread

    def submit(self, job: Job) -> None:
        """Start the job as a task; its call returns an awaitable."""
        self._loop.call_soon_threadsafe(self._start, job)

    def cancel(self, attempt: Attempt) -> None:
        """Throw ``CancelledError`` into the attempt's task. A task may take its time, or ignore it."""
        with contextlib.suppress(RuntimeError):  # the loop was closed in between, and has cancelled all its tasks
            self._loop.call_soon_threadsafe(self._cancel, attempt)

    def close(self) -> None:
        """Cancel what runs, then end the loop and its thread; does not wait for a tool that refuses to end."""
        if self._is_closing:
            return
        self._is_closing = True
        self._loop.call_soon_threadsafe(self._shut_down)
        if not self.is_current:
            self._thread.join(_CLOSE_SECONDS)

    def forsake(self) -> None:
        """After a fork: keep the parent's loop for ever. Closing it here would unhook the parent's own selector."""
        _forsaken.append(self._loop)

    def _start(self, job: Job) -> None:
        if job.attempt.ended is not None:  # stopped or timed out while it waited for a blocked loop
            job.attempt.is_finished = True
            return
        task = self._loop.create_task(_run(job.call, job.attempt), context=job.context)
        self._tasks[job.attempt] = task  # the loop itself holds tasks weakly
        task.add_done_callback(lambda _: self._forget(job.attempt))

    def _forget(self, attempt: Attempt) -> None:
        del self._tasks[attempt]
        if not attempt.is_finished:  # cancelled before its first step, so that not one line of _run() was executed
            attempt.finish(Raised(asyncio.CancelledError()))

    def _cancel(self, attempt: Attempt) -> None:
        task = self._tasks.get(attempt)
        if task is not None:
            task.cancel()

    def _shut_down(self) -> None:
        for attempt, task in self._tasks.items():
            attempt.stop(StopReason(ErrorCategory.CANCELLED, "the worker process shuts down"))
            task.cancel()
        self._loop.create_task(self._stop_when_idle())

    async def _stop_when_idle(self) -> None:
        if self._tasks:
            await asyncio.wait(tuple(self._tasks.values()), timeout=_CLOSE_SECONDS)
        await self._loop.shutdown_asyncgens()
        self._loop.stop()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        while True:
            try:
                self._loop.run_forever()
            except BaseException:  # a task that a tool spawned called sys.exit(): the others' loop goes on
                logger.exception("the event loop was interrupted by a tool's own task; it goes on")
                continue
            if self._is_closing:  # else a tool stopped the loop, which is not its own
                break
        self._loop.close()


async def _run(call: Callable[[], Awaitable[Any]], attempt: Attempt) -> None:
    # Nothing may leave this coroutine: asyncio would carry SystemExit and KeyboardInterrupt on to the loop and end it.
    try:
        value = await call()
    except BaseException as exc:  # noqa: BLE001 - a tool's own code, which may raise CancelledError or call sys.exit()
        attempt.finish(Raised(exc))
    else:
        attempt.finish(Returned(value))
