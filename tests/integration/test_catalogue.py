"""The tools on offer: how often a producer asks for them, and what a worker makes of what others left there."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.conftest import deployment
from tests.support.waiting import wait_until

from toolrelay import session
from toolrelay.drivers import Driver
from toolrelay.embedded import EmbeddedServer
from toolrelay.models import ExecutionPolicy, ToolSpec
from toolrelay.producer import Producer
from toolrelay.protocol.keys import Keys
from toolrelay.protocol.replies import CatalogueEntry
from toolrelay.session import close_session
from toolrelay.settings import Settings
from toolrelay_worker import ToolRegistry
from toolrelay_worker.process import WorkerProcess


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        pytest.param({"name": "add"}, 1, id="offered in its namespace"),
        pytest.param({"name": "math/add"}, 1, id="by its own name"),
        pytest.param({"name": "subtract"}, 3, id="not offered: a worker may have come"),
    ],
)
def test_the_catalogue_is_read_again_only_for_a_tool_that_is_not_in_it(
    call: dict[str, str], asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_CATALOGUE_YOUNG_SECONDS", -1.0)
    with EmbeddedServer() as server, Producer("plan", settings=(settings := deployment(server.url))) as relay:
        opened = session.open_session(settings)
        offer = CatalogueEntry(ToolSpec("math/add", "Add.", {"type": "object"}), ExecutionPolicy())
        opened.driver.run_all(opened.commands.publish_catalogue([offer], 1))
        opened.driver.redis.config_resetstat()
        for _ in range(3):
            relay.enqueue({**call, "arguments": "{}"}, provider_metadata={"namespace": "math"})

        assert opened.driver.redis.info("commandstats")["cmdstat_hgetall"]["calls"] == asked
    close_session(settings)


def test_an_entry_that_cannot_be_read_does_not_keep_a_worker_from_beating(settings: Settings, driver: Driver) -> None:
    keys = Keys.of(settings)
    driver.redis.hset(keys.catalogue, mapping={"theirs": "no JSON", "later": '{"spec": {}}', "gone": '{"at": 1}'})
    process = WorkerProcess(settings, str(settings.url), ToolRegistry(), on_unfit=print)

    process.start()
    wait_until(lambda: not driver.redis.hexists(keys.catalogue, "gone"), "what is long gone to be forgotten")
    beaten: Any = driver.redis.zscore(keys.workers, process.name)
    wait_until(lambda: driver.redis.zscore(keys.workers, process.name) > beaten, "the next heartbeat")
    process.close()
    wait_until(
        lambda: not any(one.name.startswith("toolrelay-") for one in threading.enumerate()), "its threads to end"
    )

    assert set(driver.redis.hkeys(keys.catalogue)) == {"theirs", "later"}
