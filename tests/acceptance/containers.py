"""Nodes in containers: the project's own image, and the Redis of its compose file."""

from __future__ import annotations

import gc
import itertools
import random
import secrets
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import docker  # type: ignore[import-untyped]  # docker ships no types
import yaml
from docker.errors import APIError, DockerException  # type: ignore[import-untyped]  # as above
from pytest_celery import CeleryTestContainer

from tests.acceptance.nodes import READY, START_SECONDS, TOOLS, Node
from tests.support.waiting import wait_until
from tests.support.workers import ROOT, environment
from toolrelay.embedded.server import PORTS
from toolrelay.settings import Settings

IMAGE = "toolrelay:acceptance"
REDIS_READY = "Ready to accept connections"
PORT_TRIES = 5
STOP_SECONDS = 30


class NoEngineError(Exception):
    """No Docker engine answers."""


class ContainerNode(CeleryTestContainer):  # type: ignore[misc]  # pytest-celery ships no types
    """A container that keeps its log when it goes, and is ready when it has said so once a start."""

    def __init__(self, container: Any, folder: Path, prompt: str) -> None:
        super().__init__(container)
        self._container: Any = container
        self._log_file = folder / f"{container.name}.log"
        self._prompt = prompt
        self._starts = 1

    @property
    def exit_code(self) -> int | None:
        self.reload()
        return None if self.status == "running" else int(self.attrs["State"]["ExitCode"])

    @property
    def runs_as(self) -> str:
        return f"{self.id[:12]}:1"

    def ready(self) -> bool:
        def is_ready() -> bool:
            assert self.exit_code is None, f"{self.name} exited with {self.exit_code}:\n{self.logs()[-4000:]}"
            return int(self.logs().count(self._prompt)) >= self._starts

        return wait_until(is_ready, f"{self.name} to be ready", START_SECONDS)

    def kill(self, signal: str | int = "SIGKILL") -> None:
        """Send a signal; after SIGKILL nothing is left of the process, after another one it may take its time."""
        self._container.kill(signal)
        if signal in ("SIGKILL", 9):
            self._container.wait(timeout=STOP_SECONDS)

    def restart(self, timeout: int = STOP_SECONDS) -> None:
        self._starts += 1
        self._container.restart(timeout=timeout)
        self.ready()

    def teardown(self) -> None:
        if self._container is None:
            return
        self._container.stop(timeout=STOP_SECONDS)
        self._log_file.write_text(self.logs())
        self._container.remove(force=True, v=True)
        self._container = None


class ContainerRedis(ContainerNode):
    """Redis, on the same port of this machine whenever it is started."""

    def __init__(self, container: Any, folder: Path, port: int) -> None:
        super().__init__(container, folder, REDIS_READY)
        self._port = port

    @property
    def celeryconfig(self) -> dict[str, Any]:
        return {
            "url": f"redis://{self.name}:6379/0",
            "host_url": f"redis://127.0.0.1:{self._port}/0",
            "port": self._port,
            "vhost": "0",
        }


class DockerHost:
    """Builds the image once, and starts nodes on a network of its own."""

    def __init__(self) -> None:
        self._client = _engine()
        self._name = f"toolrelay-acceptance-{secrets.token_hex(4)}"
        self._numbers = itertools.count(1)

    def __enter__(self) -> Self:
        self._client.images.build(path=str(ROOT), tag=IMAGE, rm=True)
        self._network = self._client.networks.create(self._name)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._network.remove()
        self._client.close()

    def start_redis(self, folder: Path) -> Node:
        service = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["redis"]
        for port in random.sample(PORTS, PORT_TRIES):
            try:
                container = self._run(
                    "redis",
                    service["image"],
                    command=service["command"],
                    ports={"6379/tcp": ("127.0.0.1", port)},
                    volumes=_mounted("deploy/redis/redis.conf", "/etc/valkey/valkey.conf"),
                )
            except APIError as error:
                if "port is already allocated" not in str(error) and "address already in use" not in str(error):
                    raise
            else:
                return ContainerRedis(container, folder, port)
        raise AssertionError(f"no free port among {PORT_TRIES}")

    def start_worker(self, name: str, redis: Node, settings: Settings, folder: Path) -> Node:
        given = environment(settings, folder, TOOLRELAY_TOOLS=TOOLS, TOOLRELAY_REDIS_URL=redis.celeryconfig["url"])
        variables = {name: value for name, value in given.items() if name.startswith("TOOLRELAY_")}
        container = self._run(name, IMAGE, environment=variables, volumes=_mounted("tests", "/app/tests"))
        return ContainerNode(container, folder, READY)

    def _run(self, name: str, image: str, **options: Any) -> Any:
        # Docker's DNS knows only containers that were given a name.
        name = f"{self._name}-{name}-{next(self._numbers)}"
        container = self._client.containers.create(image, name=name, network=self._network.name, **options)
        try:
            container.start()
        except APIError:
            container.remove(v=True)
            raise
        container.reload()
        return container


def _engine() -> Any:
    with warnings.catch_warnings():
        # docker leaves the socket of a failed attempt to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            return docker.from_env()  # asks the engine for its version
        except DockerException as error:
            problem = str(error)
        gc.collect()
    raise NoEngineError(f"no Docker engine answers, so nothing is run over docker: {problem}")


def _mounted(path: str, inside: str) -> dict[str, dict[str, str]]:
    return {str(ROOT / path): {"bind": inside, "mode": "ro"}}
