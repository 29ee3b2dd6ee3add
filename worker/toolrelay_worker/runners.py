"""Where tools run, and how their time limits hold.

A synchronous tool runs in a thread, an asynchronous one as a task on the process's one event loop. The thread that
asked waits for whichever comes first: the tool's end, its time limit, or a stop. It never waits longer, because Python
can end neither a thread nor a task that ignores its cancellation; such a run is *abandoned*, and *hung* until it really
ends.
"""

from __future__ import annotations

import contextvars
import functools
import os
import threading
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from toolrelay.errors import ErrorCategory
from toolrelay_worker._attempts import Attempt, Ended, Raised, Returned, Stopped, TimedOut
from toolrelay_worker._loops import LoopThread
from toolrelay_worker._threads import Job, ThreadPool
from toolrelay_worker.stopping import StopReason, StopSignal

__all__ = [
    "Ended",
    "Raised",
    "Returned",
    "StopReason",
    "StopSignal",
    "Stopped",
    "TimedOut",
    "ToolRunner",
    "shared_runner",
]

_ASYNC_GRACE_SECONDS = 1.0
"""A cancelled task needs a turn of the loop to end; only then does it count as hung."""


class ToolRunner:
    """Runs tools of one process. Threads and loop start when first needed, and again in a forked child.

    ``on_hung`` is called with the number of hung runs when an attempt has been abandoned, by the thread that waited for
    it, so that a worker can replace its process when too many hang.
    """

    def __init__(self, *, on_hung: Callable[[int], None] | None = None, max_idle_threads: int = 128) -> None:
        self._on_hung = on_hung
        self._max_idle = max_idle_threads
        self._is_closed = False
        self._lock = threading.Lock()
        self._threads = ThreadPool(max_idle_threads)
        self._loop: LoopThread | None = None
        self._abandoned: set[tuple[Attempt, float]] = set()
        _runners.add(self)

    @property
    def hung(self) -> int:
        """How many abandoned runs still go on; a task only counts after a second to take its cancellation."""
        with self._lock:
            self._abandoned = {one for one in self._abandoned if not one[0].is_finished}
            return sum(attempt.is_hung(grace) for attempt, grace in self._abandoned)

    def run(
        self, call: Callable[[], Any], *, is_async: bool = False, timeout: timedelta, stop: StopSignal | None = None
    ) -> Ended:
        """Call a tool and wait for its end. What the tool raises comes back as ``Raised``, whatever it is.

        ``call`` takes no arguments; with ``is_async`` it returns an awaitable. It sees the caller's context variables.
        """
        attempt = Attempt()
        if stop is None:
            return self._run(call, is_async, timeout, attempt)
        stop.on_stop(attempt.stop)
        try:
            # A call that was cancelled before it began is never begun.
            return self._run(call, is_async, timeout, attempt) if attempt.ended is None else attempt.ended
        finally:
            stop.forget(attempt.stop)

    def close(self) -> None:
        """Cancel asynchronous tools, let idle threads end. A tool that hangs is left alone: its thread is a daemon."""
        with self._lock:
            self._is_closed = True
            loop, self._loop = self._loop, None
        self._threads.close()
        if loop is not None:
            loop.close()

    def _run(self, call: Callable[[], Any], is_async: bool, timeout: timedelta, attempt: Attempt) -> Ended:
        if self._is_closed:
            raise RuntimeError("this ToolRunner is closed")
        job = Job(call, contextvars.copy_context(), attempt)
        loop = self._event_loop() if is_async else None
        if loop is not None and loop.is_current:
            return Raised(RuntimeError(_WAITS_FOR_ITSELF))
        (loop or self._threads).submit(job)
        try:
            ended = attempt.wait(timeout.total_seconds())
        except BaseException:  # a signal handler raised in the waiting thread: Ctrl-C, Celery's soft time limit
            attempt.stop(StopReason(ErrorCategory.CANCELLED, "the wait for the tool was interrupted"))
            self._abandon(attempt, loop)
            raise
        if isinstance(ended, TimedOut | Stopped):
            self._abandon(attempt, loop)
        return ended

    def _abandon(self, attempt: Attempt, loop: LoopThread | None) -> None:
        attempt.abandon()
        if loop is not None:
            loop.cancel(attempt)
        with self._lock:
            self._abandoned.add((attempt, 0.0 if loop is None else _ASYNC_GRACE_SECONDS))
        hung = self.hung
        if hung and self._on_hung is not None:
            self._on_hung(hung)

    def _event_loop(self) -> LoopThread:
        loop = self._loop
        if loop is not None:
            return loop
        with self._lock:
            if self._loop is None:
                self._loop = LoopThread()
            return self._loop

    def _after_fork(self) -> None:
        # The child has none of the threads, but a copy of their locks in whatever state they were.
        if self._loop is not None:
            self._loop.forsake()
            self._loop = None
        self._lock = threading.Lock()
        self._threads = ThreadPool(self._max_idle)
        self._abandoned = set()


_WAITS_FOR_ITSELF = (
    "an asynchronous tool waits for another one and so keeps the event loop from running it; "
    "await asyncio.to_thread(router.route, …) instead"
)

_runners: weakref.WeakSet[ToolRunner] = weakref.WeakSet()


def _after_fork() -> None:
    for runner in tuple(_runners):
        runner._after_fork()  # noqa: SLF001 - one module, one concept


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork either
    os.register_at_fork(after_in_child=_after_fork)


@functools.cache
def shared_runner() -> ToolRunner:
    """Give the runner that everyone in this process uses who brings none of their own."""
    return ToolRunner()
