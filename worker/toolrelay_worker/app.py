"""The Celery app of a worker: ``celery -A toolrelay_worker.app worker``, or ``toolrelay worker``.

Settings come from the environment; importing this module opens no connection and imports no tools.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import warnings
from typing import Any, Final

from celery import Celery, bootsteps, signals
from celery.exceptions import CPendingDeprecationWarning
from celery.worker import state as worker_state

from toolrelay.celery_app import make_celery
from toolrelay.session import redis_url
from toolrelay.settings import Settings, unknown_variables
from toolrelay_worker import tasks
from toolrelay_worker.loading import load_tools
from toolrelay_worker.process import WorkerProcess

logger = logging.getLogger(__name__)

#: Exit code that asks a supervisor for a new process (EX_TEMPFAIL).
RECYCLE_EXIT_CODE: Final = 75


class ToolrelayStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery is untyped
    """Loads the tools before the worker takes its first message; a worker without them does not start."""

    requires = frozenset({"celery.worker.components:Pool"})

    def __init__(self, worker: Any, **kwargs: Any) -> None:
        super().__init__(worker, **kwargs)
        concurrency = worker.concurrency or settings.concurrency
        mine = settings.model_copy(update={"concurrency": concurrency})
        registry = load_tools(settings.tools)
        _warn_of_unknown_variables()
        tasks.set_process_factory(lambda: WorkerProcess(mine, redis_url(settings), registry, on_unfit=replace_process))

    def start(self, _worker: Any) -> None:
        """Begin to beat."""
        tasks.current_process()


def _warn_of_unknown_variables() -> None:
    unknown = unknown_variables(os.environ)
    if unknown:
        named = [f"{name} ({meant} is meant?)" if meant else name for name, meant in unknown.items()]
        logger.warning("no settings, so nobody reads them: %s", ", ".join(named))


def replace_process(why: str) -> None:
    """Let running calls finish, then start this process anew: what hangs in it is gone then."""
    if _replacing.is_set():
        return
    _replacing.set()
    logger.error("this worker process is replaced: %s", why)
    grace = settings.shutdown_grace.total_seconds()
    tasks.current_process().shut_down_after(grace)
    worker_state.should_stop = RECYCLE_EXIT_CODE
    # A process that cannot even shut down is replaced all the same.
    last_resort = threading.Timer(grace * 2, start_anew)
    last_resort.daemon = True
    last_resort.start()


def is_replacing() -> bool:
    """Whether this process is to start anew when its worker has stopped."""
    return _replacing.is_set()


def start_anew() -> None:
    """Replace the program in this process by a fresh start of the same command line; the pid stays."""
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - our own command line


@signals.task_unknown.connect  # type: ignore[untyped-decorator]  # Celery is untyped
def _keep_unknown(message: Any, **_: Any) -> None:
    tasks.current_process().set_aside(json.dumps(message.serializable(), default=str))


@signals.worker_shutting_down.connect  # type: ignore[untyped-decorator]  # Celery is untyped
def _begin_shutdown(**_: Any) -> None:
    tasks.current_process().shut_down_after(settings.shutdown_grace.total_seconds())


@signals.worker_shutdown.connect  # type: ignore[untyped-decorator]  # Celery is untyped
def _end(**_: Any) -> None:
    tasks.current_process().close()


_replacing = threading.Event()
# Said at every lost connection; the setting it advertises would kill healthy runs.
warnings.filterwarnings("ignore", message=r"\s*In Celery 5.1", category=CPendingDeprecationWarning)
settings = Settings.load()
app: Celery = make_celery(settings, redis_url(settings), "toolrelay_worker.backend:RecordBackend")
app.steps["worker"].add(ToolrelayStep)
tasks.register(app)
