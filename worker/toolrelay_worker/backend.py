"""Celery's result backend, writing through the call record.

Celery stores a task's result here like any other; for a tool call that means FINISH: the record, Celery's own result
key and all publications in one script, accepted only from the worker that owns the call. Other tasks are stored as
usual.
"""

from __future__ import annotations

import logging
from typing import Any

from celery.backends.redis import RedisBackend

from toolrelay.errors import BrokerUnavailable
from toolrelay_worker.process import Finished
from toolrelay_worker.tasks import TASK_NAME, current_process

logger = logging.getLogger(__name__)


class RecordBackend(RedisBackend):  # type: ignore[misc]  # Celery is untyped
    """Named in the worker's ``result_backend`` URL."""

    def store_result(self, task_id: str, result: Any, state: str, *args: Any, **kwargs: Any) -> Any:
        """Store, and let go of the call whatever comes: from here on only its lease keeps it alive."""
        if not isinstance(result, Finished):
            return super().store_result(task_id, result, state, *args, **kwargs)
        try:
            return super().store_result(task_id, result, state, *args, **kwargs)
        finally:
            current_process().release(result)

    def exception_safe_to_retry(self, exc: BaseException) -> bool:
        """Whether storing is tried again: the record takes a result once, however often it is sent."""
        return isinstance(exc, BrokerUnavailable) or bool(super().exception_safe_to_retry(exc))

    def _store_result(
        self, task_id: str, result: Any, state: str, traceback: Any = None, request: Any = None, **kwargs: Any
    ) -> Any:
        if isinstance(result, Finished):
            current_process().store(result)
            return result
        if getattr(request, "task", None) == TASK_NAME:
            # A fault of ours, not of a tool: the lease runs out, and the record decides on another attempt.
            logger.error("%s ended outside its tool (%s); it will be looked after by the reaper", task_id, state)
            return result
        return super()._store_result(task_id, result, state, traceback=traceback, request=request, **kwargs)
