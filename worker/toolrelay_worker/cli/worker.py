"""``toolrelay worker``: a Celery worker in this process, which runs tools until it is told to stop."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import warnings
from typing import Annotated, Any, Literal

import typer

from toolrelay.session import redis_url
from toolrelay.settings import Settings
from toolrelay_worker._logs import counted, masked
from toolrelay_worker.cli.exits import leave
from toolrelay_worker.cli.options import RedisUrl
from toolrelay_worker.loading import load_tools

logger = logging.getLogger(__name__)

LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


def worker(
    tools: Annotated[
        str | None,
        typer.Option(metavar="MODULE[,MODULE]", help="Modules that register the tools; else TOOLRELAY_TOOLS."),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Calls to run at a time; else TOOLRELAY_CONCURRENCY, or 16.")
    ] = None,
    loglevel: Annotated[LogLevel, typer.Option(case_sensitive=False, help="What to log, on stderr.")] = "INFO",
    redis_url: RedisUrl = None,
) -> None:
    """Run tools until SIGTERM or Ctrl-C.

    A worker that is asked to stop takes no more calls, lets running ones finish for TOOLRELAY_SHUTDOWN_GRACE seconds,
    gives back the rest, and exits with 0. For more processes start it more than once.
    """
    _stop_at_once_while_starting()
    # The worker's app reads its settings from the environment when it is imported, as under `celery -A`.
    given = {"TOOLRELAY_TOOLS": tools, "TOOLRELAY_CONCURRENCY": concurrency, "TOOLRELAY_REDIS_URL": redis_url}
    os.environ.update({name: str(value) for name, value in given.items() if value is not None})
    registry = load_tools(Settings.load().tools)  # Celery would report what is wrong as a crash of its own
    leave(_run(loglevel, [tool.name for tool in registry]))


def _stop_at_once_while_starting() -> None:
    """Until Celery has its own handlers: process 1 of a container ignores signals without one."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))


def _run(loglevel: LogLevel, tools: list[str]) -> int:
    from celery import signals
    from celery.exceptions import SecurityWarning

    from toolrelay_worker.app import app, is_replacing, settings, start_anew

    asked: list[str] = []

    def note(how: str, **_: Any) -> None:
        asked.append(how)

    def welcome(**_: Any) -> None:
        logger.info("%s on offer: %s", counted(len(tools), "tool"), ", ".join(tools))

    signals.worker_shutting_down.connect(note)
    signals.worker_ready.connect(welcome)
    # It is about pickle, which we never accept, and said at every start of a container whose user is root.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    # Celery writes its words at a shutdown to stdout, which is for answers.
    sys.__stdout__ = sys.__stderr__  # type: ignore[misc]  # final for all but those who know why
    # Not `app.worker_main`, which keeps the exit code of a worker that could not start to itself.
    celery_worker = app.Worker(
        hostname=f"toolrelay-{os.getpid()}@{socket.gethostname()}",
        loglevel=loglevel,
        without_gossip=True,  # workers meet in the record, not among themselves
        without_mingle=True,
        quiet=True,  # a banner on stdout
    )
    logger.info(
        "worker on Redis %s, queue %s, namespace %s, %s at a time",
        masked(redis_url(settings)),
        settings.queue,
        settings.namespace,
        counted(celery_worker.concurrency, "call"),
    )
    celery_worker.start()
    if is_replacing():
        start_anew()
    # Celery calls Ctrl-C a failure; to whoever pressed it, it is not.
    return 0 if asked == ["Warm"] else int(celery_worker.exitcode or 0)
