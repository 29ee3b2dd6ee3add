"""What users are promised when workers or Redis go away. Each test has a fleet of its own to hurt."""

from __future__ import annotations

import time

import pytest
from pytest_celery import CeleryTestSetup

from tests.acceptance.nodes import CONCURRENCY, Fleet
from tests.support.waiting import wait_until
from toolrelay.handles import CallHandle
from toolrelay.producer import Producer


@pytest.fixture
def fleet(own_fleet: Fleet) -> Fleet:
    return own_fleet


def enqueue(relay: Producer, name: str, seconds: float) -> CallHandle:
    return relay.enqueue({"name": name, "arguments": {"seconds": seconds}})


def place_of(handle: CallHandle) -> str:
    """Wait until the call's tool says where it runs."""
    for update in handle.updates(timeout=20):
        if update.progress and update.progress.message:
            return update.progress.message
    raise AssertionError(f"{handle.id} ended without a word")


def test_a_call_whose_worker_is_killed_is_finished_by_the_other(relay: Producer, fleet: Fleet) -> None:
    handle = enqueue(relay, "slow/first", 60)
    victim = place_of(handle)
    fleet.worker(victim).kill()
    killed_at = time.monotonic()

    result = handle.result(timeout=30)

    assert time.monotonic() - killed_at < fleet.settings.lease.total_seconds() + 5
    assert result.output == result.attempt == 2
    assert {result.worker} == fleet.names - {victim}


def test_a_fleet_whose_workers_are_restarted_in_turn_answers_every_call(relay: Producer, fleet: Fleet) -> None:
    handles = []
    for worker in fleet.workers:
        handles += [enqueue(relay, "slow/sleep", 0.5) for _ in range(2 * CONCURRENCY)]
        worker.restart()
    results = [handle.result(timeout=30) for handle in handles]

    assert [result.output for result in results] == [1] * len(handles)


@pytest.mark.parametrize("signal", ["SIGTERM", "SIGKILL"])
def test_accepted_calls_complete_although_redis_goes_down(
    relay: Producer, celery_setup: CeleryTestSetup, signal: str
) -> None:
    handles = [enqueue(relay, "slow/sleep", 0.5) for _ in range(6 * CONCURRENCY)]
    place_of(handles[0])

    celery_setup.broker.kill(signal)
    wait_until(lambda: celery_setup.broker.container.exit_code is not None, "Redis to be gone")
    celery_setup.broker.restart()
    results = [handle.result(timeout=40) for handle in handles]

    assert all(result.success for result in results)


def test_a_worker_that_is_asked_to_stop_loses_no_call_and_no_attempt(relay: Producer, fleet: Fleet) -> None:
    handles = [enqueue(relay, "slow/sleep", 1) for _ in range(4 * CONCURRENCY)]
    leaving = place_of(handles[0])

    worker = fleet.worker(leaving)
    worker.kill("SIGTERM")
    results = [handle.result(timeout=30) for handle in handles]
    wait_until(lambda: worker.container.exit_code is not None, "the worker to end")

    assert [result.attempt for result in results] == [1] * len(handles)
    assert results[0].worker == leaving  # it was let to finish
    assert {result.worker for result in results} == fleet.names
    assert worker.container.exit_code == 0
