"""The tools on offer: how often a producer asks for them, and what a worker makes of what others left there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import OwnThreads, deployment
from tests.support.waiting import wait_until
from tests.support.workers import Workers
from toolrelay import session
from toolrelay.drivers import Driver
from toolrelay.embedded import EmbeddedServer
from toolrelay.errors import ErrorCategory
from toolrelay.models import CallStatus, ExecutionPolicy, ToolSpec
from toolrelay.producer import Producer
from toolrelay.protocol.commands import Commands
from toolrelay.protocol.keys import Keys
from toolrelay.protocol.replies import CatalogueEntry, ClaimRefusal, ReplayReply
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


def test_an_entry_that_cannot_be_read_does_not_keep_a_worker_from_beating(
    settings: Settings, driver: Driver, own_threads: OwnThreads
) -> None:
    keys = Keys.of(settings)
    driver.redis.hset(keys.catalogue, mapping={"theirs": "no JSON", "later": '{"spec": {}}', "gone": '{"at": 1}'})
    process = WorkerProcess(settings, str(settings.url), ToolRegistry(), on_unfit=print)

    process.start()
    wait_until(lambda: not driver.redis.hexists(keys.catalogue, "gone"), "what is long gone to be forgotten")
    beaten: Any = driver.redis.zscore(keys.workers, process.name)
    wait_until(lambda: driver.redis.zscore(keys.workers, process.name) > beaten, "the next heartbeat")
    process.close()
    wait_until(lambda: not own_threads(), "its threads to end")

    assert set(driver.redis.hkeys(keys.catalogue)) == {"theirs", "later"}


def test_what_only_a_newer_worker_knows_of_a_tool_stops_no_producer(settings: Settings, driver: Driver) -> None:
    spec = '{"name": "math/add", "description": "", "input_schema": {"type": "object"}, "since": "a later release"}'
    offers: Any = {"math/add": f'{{"at": 1, "spec": {spec}, "policy": {{"colour": "red"}}}}', "other": "unreadable"}
    driver.redis.hset(Keys.of(settings).catalogue, mapping=offers)

    with Producer("plan", settings=settings) as relay:
        known = relay.enqueue({"name": "math/add", "arguments": {"a": 1}})
        unreadable = relay.enqueue({"name": "other", "arguments": {}})

        assert [known.status(), unreadable.status()] == [CallStatus.PENDING, CallStatus.PENDING]


def test_a_call_for_a_tool_whose_workers_are_gone_is_looked_at_ever_more_rarely(
    settings: Settings, driver: Driver, relay: Producer
) -> None:
    commands = Commands(settings)
    driver.run_all(commands.publish_catalogue([CatalogueEntry(ToolSpec("old/tool", "", {}), ExecutionPolicy())], 1))
    handle = relay.enqueue({"name": "old/tool", "arguments": {}})
    waits = []
    for _ in range(8):
        claim = driver.run(commands.claim(handle.id, "worker", ExecutionPolicy(), missing=["old/tool"]))
        assert claim is ClaimRefusal.ELSEWHERE
        record = driver.run(commands.record(handle.id))
        now = driver.redis.time()
        waits.append(round((int(record["due"]) - now[0] * 1000 - now[1] / 1000) / 100))
        driver.redis.hdel(commands.keys.call(handle.id), "due")  # as if the time had come

    assert waits == sorted(waits)
    assert waits[-1] in (99, 100)  # ten seconds at most


def test_a_submission_can_be_repeated_after_redis_was_gone(relay: Producer) -> None:
    calls = [{"id": str(n), "type": "function", "function": {"name": "a", "arguments": "{}"}} for n in range(2)]
    place = relay.next_sequence
    first = relay.submit({"role": "assistant", "tool_calls": calls})

    again = relay.submit({"role": "assistant", "tool_calls": calls}, sequence=place)

    assert [handle.id for handle in again] == [handle.id for handle in first]
    assert relay.next_sequence == place + 2


def test_a_call_refused_because_its_tool_came_late_runs_once_it_is_replayed(
    relay: Producer, workers: Workers, settings: Settings, driver: Driver
) -> None:
    commands = Commands(settings)
    driver.run_all(commands.publish_catalogue([CatalogueEntry(ToolSpec("old/tool", "", {}), ExecutionPolicy())], 1))
    late = {"name": "math/add", "arguments": {"a": 1, "b": 2}}
    refused = relay.enqueue(late)
    assert refused.result(timeout=10).error_category is ErrorCategory.NOT_FOUND
    workers.start(1)
    assert relay.enqueue(late, sequence=0).result(timeout=10) == refused.result()  # the same call ended once

    assert driver.run(commands.replay(refused.id)) is ReplayReply.OK

    assert relay.enqueue(late, sequence=0).result(timeout=20).output == 3
