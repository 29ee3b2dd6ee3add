"""A Redis that answers and refuses to write, as one whose replicas are gone: what runs in a worker outlives it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import OwnThreads, deployment
from tests.support.record import Record, request
from tests.support.waiting import wait_until
from toolrelay.embedded import EmbeddedServer
from toolrelay.errors import BrokerUnavailable
from toolrelay.models import Progress
from toolrelay_worker.reaper import Reaper
from toolrelay_worker.reporter import Reporter


@pytest.fixture
def record() -> Iterator[Record]:
    with EmbeddedServer() as server:
        record = Record(deployment(server.url))
        yield record
        record.close()


def replicas_needed(record: Record, count: int) -> None:
    record.redis.config_set("min-replicas-to-write", count)


def test_who_needs_a_write_is_told_that_redis_takes_none(record: Record) -> None:
    replicas_needed(record, 1)

    with pytest.raises(BrokerUnavailable, match="takes no writes"):
        record.enqueue(request())


def test_the_reaper_rescues_what_it_could_not_while_redis_refused(
    record: Record, caplog: pytest.LogCaptureFixture, own_threads: OwnThreads
) -> None:
    call = str(request().tool_call_id)
    record.enqueue(request())
    record.ring()
    record.start(call)
    record.advance(2001)  # the lease is over
    replicas_needed(record, 1)
    reaper = Reaper(record.driver, record.commands, 0.02)
    reaper.start()
    wait_until(lambda: "cannot look for lost calls" in caplog.text, "the reaper to be refused")

    replicas_needed(record, 0)
    rung = wait_until(record.ring, "the call to be rung again")
    reaper.close()
    wait_until(lambda: not own_threads(), "its thread to end")

    assert rung == call


def test_updates_that_were_refused_are_sent_later_and_once(
    record: Record, caplog: pytest.LogCaptureFixture, own_threads: OwnThreads
) -> None:
    call = str(request().tool_call_id)
    record.enqueue(request())
    claim = record.start(call)
    replicas_needed(record, 1)
    reporter = Reporter(record.driver, record.commands)
    report = reporter.open(call, claim.fence)
    report(Progress(current=1))
    wait_until(lambda: f"updates of {call} wait" in caplog.text, "the update to be refused")

    replicas_needed(record, 0)
    wait_until(lambda: any("progress" in update for update in record.log(call)), "the update to be sent")
    reporter.finish(report)
    reporter.close()
    wait_until(lambda: not own_threads(), "its thread to end")

    assert [update["progress"]["current"] for update in record.log(call) if "progress" in update] == [1]
