"""What tests may ask of a node, whether it is a process of this machine or a container."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from pytest_celery import CeleryTestWorker, RedisTestBackend, RedisTestBroker

from toolrelay.session import close_session
from toolrelay.settings import Settings

TOOLS = "tests.acceptance.tools"
CONCURRENCY = 4
READY = " ready."
"""What a Celery worker logs when it consumes."""
START_SECONDS = 60.0


class Node(Protocol):
    """The part of ``CeleryTestContainer`` that our nodes have, and what they have beyond it."""

    @property
    def celeryconfig(self) -> dict[str, Any]: ...

    @property
    def exit_code(self) -> int | None:
        """``None`` while it runs."""

    @property
    def runs_as(self) -> str:
        """What a worker writes into the results of the calls it ran."""

    def logs(self) -> str: ...

    def ready(self) -> bool: ...

    def kill(self, signal: str | int = "SIGKILL") -> None: ...

    def restart(self, timeout: int = 10) -> None: ...

    def teardown(self) -> None: ...


class Host(Protocol):
    """Where nodes are started: each Redis has its own data, which a restart finds again."""

    def start_redis(self, folder: Path) -> Node: ...

    def start_worker(self, name: str, redis: Node, settings: Settings, folder: Path) -> Node: ...


@dataclass(frozen=True)
class Fleet:
    """One Redis, two workers, and how a client on this machine reaches them."""

    settings: Settings
    broker: RedisTestBroker
    backend: RedisTestBackend
    workers: tuple[CeleryTestWorker, CeleryTestWorker]
    folder: Path
    """Where logs are left."""

    @property
    def names(self) -> set[str]:
        """What the workers write into results."""
        return {worker.container.runs_as for worker in self.workers}

    def worker(self, name: str) -> CeleryTestWorker:
        return next(worker for worker in self.workers if worker.container.runs_as == name)


@contextmanager
def running_fleet(host: Host, folder: Path) -> Iterator[Fleet]:
    """Start a fleet in the default namespace, where stock Celery finds results without any configuration."""
    nodes: list[Node] = []
    try:
        nodes.append(redis := host.start_redis(folder))
        redis.ready()
        settings = Settings.load(
            redis_url=redis.celeryconfig["host_url"],
            lease=timedelta(seconds=2),
            reap_interval=timedelta(seconds=0.3),
            ring_grace=timedelta(seconds=1),
            result_ttl=timedelta(minutes=5),
            concurrency=CONCURRENCY,
        )
        nodes.append(one := host.start_worker("w1", redis, settings, folder))
        nodes.append(two := host.start_worker("w2", redis, settings, folder))
        for node in nodes:
            node.ready()
        workers = (CeleryTestWorker(one, None), CeleryTestWorker(two, None))
        yield Fleet(settings, RedisTestBroker(redis), RedisTestBackend(redis), workers, folder)
        close_session(settings)
    finally:
        for node in reversed(nodes):
            node.teardown()
