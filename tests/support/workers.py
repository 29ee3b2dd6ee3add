"""Real worker processes, started from the command line and ended for real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.waiting import wait_until
from toolrelay.drivers import Driver
from toolrelay.protocol.commands import Commands
from toolrelay.settings import Settings

ROOT = Path(__file__).parents[2]
TOOLS = "tests.support.tools"


class Worker:
    """One worker process, started with ``celery -A toolrelay_worker.app worker`` or with ``toolrelay worker``."""

    def __init__(self, settings: Settings, folder: Path, number: int, program: str, **variables: str) -> None:
        self.log_file = folder / f"worker-{number}.log"
        celery = ["-m", "celery", "-A", "toolrelay_worker.app", "worker", "--without-gossip", "--without-mingle"]
        ours = ["-m", "toolrelay_worker", "worker"]
        own_name = ["--hostname", f"w{number}@%h"] if program == "celery" else []
        command = [sys.executable, *(celery if program == "celery" else ours), "--loglevel", "INFO", *own_name]
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                env=environment(settings, folder, **variables),
                cwd=ROOT,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """End it without a chance to clean up."""
        os.killpg(self.pid, signal.SIGKILL)
        self.process.wait(10)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self, timeout: float = 30) -> int:
        """Ask it to stop, and wait; its exit code."""
        if self.is_running:
            self.signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"worker {self.pid} did not stop within {timeout:g} s:\n{self.log[-4000:]}") from None


class Workers:
    """Starts workers of one deployment, and ends what is left of them."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.folder = folder
        self.all: list[Worker] = []
        self._driver = Driver(str(settings.url), settings.command_timeout)
        self._commands = Commands(settings)

    def start(self, count: int = 1, *, program: str = "celery", **variables: str) -> list[Worker]:
        """Start ``count`` more, and return when each consumes and offers its tools."""
        before = len(self.all)
        started = [self.launch(program=program, **variables) for _ in range(count)]
        for worker in started:
            wait_until(lambda worker=worker: self._is_ready(worker), f"worker {worker.pid}", 40)  # type: ignore[misc]  # mypy cannot type a lambda's default
        wait_until(lambda: self._driver.run(self._commands.catalogue()), "the catalogue")
        assert len(self.all) == before + count
        return started

    def launch(self, *, program: str = "celery", **variables: str) -> Worker:
        """Start one, and do not wait."""
        worker = Worker(self.settings, self.folder, len(self.all), program, **variables)
        self.all.append(worker)
        return worker

    def _is_ready(self, worker: Worker) -> bool:
        assert worker.is_running, f"worker {worker.pid} exited with {worker.process.returncode}:\n{worker.log[-4000:]}"
        names = self._driver.run(self._commands.workers())
        return any(name.endswith(f":{worker.pid}") for name in names) and " ready." in worker.log

    def close(self) -> None:
        for worker in self.all:
            if worker.is_running:
                worker.kill()
        self._driver.close()


def environment(settings: Settings, folder: Path, **variables: str) -> dict[str, str]:
    """Give the environment in which a process works with ``settings``; effects of tools go to ``folder``."""
    mine = {
        "TOOLRELAY_REDIS_URL": str(settings.url),
        "TOOLRELAY_NAMESPACE": settings.namespace,
        "TOOLRELAY_LEASE": str(settings.lease.total_seconds()),
        "TOOLRELAY_REAP_INTERVAL": str(settings.reap_interval.total_seconds()),
        "TOOLRELAY_RING_GRACE": str(settings.ring_grace.total_seconds()),
        "TOOLRELAY_RESULT_TTL": str(settings.result_ttl.total_seconds()),
        "TOOLRELAY_CONCURRENCY": "4",
        "TOOLRELAY_TOOLS": TOOLS,
        "EFFECTS": str(folder / "effects.log"),
        "PYTHONPATH": str(ROOT),
    }
    return {**os.environ, **mine, **variables}
