"""The one Celery task. Everything it knows of the call, it learns from the record."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

from celery import Celery, Task
from celery.exceptions import Ignore, Reject

from toolrelay.celery_app import TASK_NAME
from toolrelay.errors import BrokerUnavailable
from toolrelay_worker.process import Finished, WorkerProcess

__all__ = ["TASK_NAME", "current_process", "register", "set_process_factory"]

logger = logging.getLogger(__name__)

_factory: Callable[[], WorkerProcess] | None = None
_processes: dict[int, WorkerProcess] = {}


def set_process_factory(factory: Callable[[], WorkerProcess]) -> None:
    """Say how a worker process is made; a pool that forks makes one in each child."""
    global _factory
    _factory = factory
    _processes.clear()


def current_process() -> WorkerProcess:
    """Give this process's ``WorkerProcess``, started at the first request."""
    process = _processes.get(os.getpid())
    if process is None:
        if _factory is None:
            raise RuntimeError("toolrelay's worker step has not run: start the worker with toolrelay_worker.app")
        process = _processes[os.getpid()] = _factory()
        process.start()
    return process


def register(app: Celery) -> None:
    """Add the task to ``app``."""

    @app.task(name=TASK_NAME, bind=True, ignore_result=False)  # type: ignore[untyped-decorator]  # Celery is untyped
    def execute(self: Task, tool_names: Sequence[str] = (), **_later: Any) -> Finished:
        # `_later` takes what a newer producer may send.
        process = current_process()
        if process.is_stopping:
            # Celery's loop learns that it is to stop between two events, and the next one may be another message.
            raise Reject("this worker is shutting down", requeue=True)
        try:
            finished = process.run(self.request.id, tool_names)
        except BrokerUnavailable as error:
            # The message is spent, the record is not: the reaper rings again.
            logger.warning("%s cannot be run now: %s", self.request.id, error)
            raise Ignore from error
        if finished is None:
            raise Ignore
        return finished
