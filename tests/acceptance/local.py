"""Processes of this machine in the place of pytest-celery's containers, so that the tests need no engine.

pytest-celery's nodes ask their container for its name, logs and status, and tell it to end or to start anew; nothing of
that needs Docker.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from signal import Signals
from typing import Any

from pytest_celery import CeleryTestContainer

from tests.acceptance.nodes import READY, START_SECONDS, TOOLS, Node
from tests.support.waiting import wait_until
from tests.support.workers import ROOT, environment
from toolrelay.embedded import EmbeddedServer
from toolrelay.settings import Settings

STOP_SECONDS = 30


class LocalNode(CeleryTestContainer):  # type: ignore[misc]  # pytest-celery ships no types
    """What all have in common that is no container. The base's ``__init__`` wants one, and is not called."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    @property
    def id(self) -> str:
        return self._name

    @property
    def status(self) -> str:
        return "running" if self.exit_code is None else "exited"

    @property
    def exit_code(self) -> int | None:
        raise NotImplementedError

    @property
    def runs_as(self) -> str:
        raise NotImplementedError

    def reload(self) -> None:
        """Nothing is remembered that could be old."""


class LocalRedis(LocalNode):
    """The embedded server, which keeps its address and its data over a restart."""

    def __init__(self) -> None:
        super().__init__("redis")
        self._server = EmbeddedServer().start()

    @property
    def celeryconfig(self) -> dict[str, Any]:
        return {"url": self._server.url, "host_url": self._server.url, "port": self._server.port, "vhost": "0"}

    @property
    def exit_code(self) -> int | None:
        return None if self._server.is_running else 0

    def logs(self) -> str:
        return self._server.log

    def ready(self) -> bool:
        return self._server.is_running

    def kill(self, signal: str | int = "SIGKILL") -> None:
        if _number(signal) is Signals.SIGKILL:
            self._server.kill()
        else:
            self._server.stop()

    def restart(self, timeout: int = 10) -> None:
        self._server.stop()
        self._server.start()

    def teardown(self) -> None:
        self._server.close()


class LocalWorker(LocalNode):
    """A worker process, started from the command line as Celery's users do."""

    def __init__(self, name: str, settings: Settings, folder: Path) -> None:
        super().__init__(name)
        self._log_file = folder / f"{name}.log"
        self._environment = environment(settings, folder, TOOLRELAY_TOOLS=TOOLS)
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        self._log_start = self._log_file.stat().st_size if self._log_file.exists() else 0
        command = [sys.executable, "-m", "celery", "-A", "toolrelay_worker.app", "worker", "--loglevel", "INFO"]
        with self._log_file.open("ab") as log:
            return subprocess.Popen(
                [*command, "--hostname", f"{self._name}@%h"],
                env=self._environment,
                cwd=ROOT,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    @property
    def runs_as(self) -> str:
        return f"{socket.gethostname()}:{self._process.pid}"

    def logs(self) -> str:
        """What it said since it was last started."""
        return self._log_file.read_bytes()[self._log_start :].decode(errors="replace")

    def ready(self) -> bool:
        def is_ready() -> bool:
            assert self.exit_code is None, f"{self._name} exited with {self.exit_code}:\n{self.logs()[-4000:]}"
            return READY in self.logs()

        return wait_until(is_ready, f"{self._name} to consume", START_SECONDS)

    def kill(self, signal: str | int = "SIGKILL") -> None:
        """Send a signal; after SIGKILL nothing is left of the process, after another one it may take its time."""
        number = _number(signal)
        os.killpg(self._process.pid, number)
        if number is Signals.SIGKILL:
            self._process.wait(STOP_SECONDS)

    def restart(self, timeout: int = STOP_SECONDS) -> None:
        self._stop(timeout)
        self._process = self._start()
        self.ready()

    def teardown(self) -> None:
        self._stop(STOP_SECONDS)

    def _stop(self, seconds: float) -> None:
        if self.exit_code is None:
            self._process.terminate()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self._name} did not stop within {seconds:g} s:\n{self.logs()[-4000:]}") from None


def _number(name: str | int) -> Signals:
    return Signals[name] if isinstance(name, str) else Signals(name)


class LocalHost:
    """Starts nodes as processes."""

    def start_redis(self, folder: Path) -> Node:
        return LocalRedis()

    def start_worker(self, name: str, redis: Node, settings: Settings, folder: Path) -> Node:
        return LocalWorker(name, settings, folder)
