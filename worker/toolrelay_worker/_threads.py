"""Daemon threads for synchronous tools.

``concurrent.futures`` joins its threads when the interpreter exits, so one tool that hangs would keep a worker from
shutting down; and a ``Future`` costs several times the hand-off we need.
"""

from __future__ import annotations

import contextvars
import itertools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from toolrelay_worker._attempts import Attempt, Ended, Raised, Returned

_numbers = itertools.count(1)


class Job(NamedTuple):
    """A tool to call, and where to say how it ended."""

    call: Callable[[], Any]
    context: contextvars.Context
    attempt: Attempt


class ThreadPool:
    """As many threads as calls run at once; those that are done wait for the next call, up to ``max_idle`` of them."""

    def __init__(self, max_idle: int) -> None:
        self._max_idle = max_idle
        self._idle: list[_Thread] = []  # a stack: the thread that ran last still has its memory at hand
        self._is_closed = False

    def submit(self, job: Job) -> None:
        """Run the job in an idle thread, or a new one. ``RuntimeError`` when no thread can be started."""
        try:
            thread = self._idle.pop()  # atomic: no lock between callers
        except IndexError:
            thread = _Thread(self)
        thread.give(job)

    def close(self) -> None:
        """Let idle threads end now and busy ones when their tool returns."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().give(None)

    def take_back(self, thread: _Thread) -> bool:
        """Keep a thread whose job is done; ``False`` when it is to end."""
        if self._is_closed or len(self._idle) >= self._max_idle:
            return False
        self._idle.append(thread)
        return True


class _Thread:
    __slots__ = ("_job", "_pool", "_wake")

    def __init__(self, pool: ThreadPool) -> None:
        self._pool = pool
        self._job: Job | None = None
        self._wake = threading.Lock()
        self._wake.acquire()
        threading.Thread(target=self._work, name=f"toolrelay-tool-{next(_numbers)}", daemon=True).start()

    def give(self, job: Job | None) -> None:
        self._job = job
        self._wake.release()

    def _work(self) -> None:
        stays = True
        while stays:
            self._wake.acquire()
            job, self._job = self._job, None
            if job is None:
                return
            ended = _run(job)
            # Idle before the outcome is seen: whoever waits for it may bring the next call at once.
            stays = self._pool.take_back(self)
            job.attempt.finish(ended)
            del job, ended  # an idle thread must not keep the last call's output alive


def _run(job: Job) -> Ended:
    try:
        return Returned(job.context.run(job.call))
    except BaseException as exc:  # noqa: BLE001 - a tool's own code: sys.exit() in it must not end the thread
        return Raised(exc)
