"""Real services for scenarios tagged ``@services``: a server of the run's own, and fleets of real worker processes.

All of it is started when the first scenario asks for it, and ended with the run, however the run ends.
"""

from __future__ import annotations

import atexit
import secrets
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.support.waiting import wait_until
from tests.support.workers import Worker, Workers

from toolrelay.celery_app import TASK_NAME
from toolrelay.drivers import Driver
from toolrelay.embedded import EmbeddedServer
from toolrelay.producer import Producer
from toolrelay.protocol.commands import Commands
from toolrelay.session import close_session
from toolrelay.settings import Settings

#: How long a scenario waits for anything; only a scenario that fails waits so long.
PATIENCE_SECONDS = 20.0


class Fleet:
    """One deployment: its settings, its workers, what its tools did to the world, and the agents that use it."""

    def __init__(self, settings: Settings, agents: list[Settings]) -> None:
        self.settings = settings
        self._opened = agents
        self._agents = 0
        self.folder = Path(tempfile.mkdtemp(prefix="toolrelay-features-"))
        self.workers = Workers(settings, self.folder)
        self.commands = Commands(settings)
        self.driver = Driver(str(settings.url), settings.command_timeout)

    def agent(self, plan_id: str) -> Producer:
        """Give an agent with connections and a memory of its own, as if it ran in another process."""
        apart = timedelta(seconds=10, milliseconds=self._agents)  # settings that differ are a session of their own
        self._agents += 1
        settings = self.settings.model_copy(update={"command_timeout": apart})
        if settings not in self._opened:
            self._opened.append(settings)
        return Producer(plan_id, settings=settings)

    def dismiss_agents(self) -> None:
        """Let the next scenario's agents have the connections of this one's: to close one takes half a second."""
        self._agents = 0

    def effects(self, call_id: str, word: str = "") -> list[tuple[str, int, int]]:
        """Give what a call did to the world, in order: word, attempt, process id."""
        log = self.folder / "effects.log"
        lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        return [(said, int(n), int(pid)) for said, whose, n, pid in lines if whose == call_id and word in ("", said)]

    def record(self, call_id: str) -> dict[str, str]:
        """Read a call's record."""
        return self.driver.run(self.commands.record(call_id))

    def worker_of(self, call_id: str) -> Worker:
        """Wait until a call runs, and give the worker that runs it."""

        def owner() -> Worker | None:
            record = self.record(call_id)
            name = record.get("owner", "") if record.get("status") == "running" else ""
            return next((one for one in self.workers.all if name.endswith(f":{one.pid}")), None)

        found = wait_until(owner, f"{call_id} to run", PATIENCE_SECONDS)
        assert found is not None
        return found

    def await_messages(self, call_id: str, count: int) -> None:
        """Wait until workers have taken so many messages of a call, and are done with each."""
        task = f"{TASK_NAME}[{call_id}]"

        def said(what: str) -> int:
            return sum(worker.log.count(f"{task} {what}") for worker in self.workers.all)

        wait_until(
            lambda: said("received") == said("succeeded") + said("ignored") == count,
            f"{count} messages of {call_id} to be dealt with",
            PATIENCE_SECONDS,
        )

    def close(self) -> None:
        """End everything of the deployment that still runs, but for its agents' connections."""
        for worker in self.workers.all:
            if worker.is_running:
                worker.kill()  # also one that a scenario has stopped in its tracks
        self.workers.close()
        self.driver.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Services:
    """The run's server, the fleet that peaceful scenarios share, and fleets of their own for those that hurt theirs."""

    def __init__(self) -> None:
        self._server: EmbeddedServer | None = None
        self._shared: Fleet | None = None
        self._own: list[Fleet] = []
        self._agents: list[Settings] = []
        atexit.register(self.close)

    def shared(self) -> Fleet:
        """Give the shared fleet; its names are those of a deployment that configured none."""
        if self._shared is None:
            self._shared = Fleet(self._settings(namespace="toolrelay"), self._agents)
            self._shared.workers.start(2)
        return self._shared

    def own(self) -> Fleet:
        """Give a fleet without workers, under names that nobody else uses; leases are short, so losses show soon."""
        short = {"lease": timedelta(seconds=2), "ring_grace": timedelta(seconds=0.5)}
        fleet = Fleet(self._settings(namespace=f"f{secrets.token_hex(4)}", **short), self._agents)
        self._own.append(fleet)
        return fleet

    def dismiss(self, fleet: Fleet) -> None:
        """End a fleet that was given out by ``own``."""
        self._own.remove(fleet)
        fleet.close()

    def close(self) -> None:
        """End all that was started. May be called again."""
        fleets, self._own = [*self._own, *([self._shared] if self._shared else [])], []
        self._shared = None
        for fleet in fleets:
            fleet.close()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(close_session, self._agents))
        self._agents.clear()
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _settings(self, **chosen: Any) -> Settings:
        if self._server is None:
            self._server = EmbeddedServer()
            self._server.start()
        always = {"reap_interval": timedelta(seconds=0.2), "result_ttl": timedelta(minutes=5)}
        return Settings.load(redis_url=self._server.url, **{**always, **chosen})
