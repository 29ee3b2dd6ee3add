"""What users are promised of a fleet that works as it should."""

from __future__ import annotations

import subprocess
import sys

from pytest_celery import CeleryTestSetup

from tests.acceptance.nodes import CONCURRENCY, Fleet
from tests.support.waiting import wait_until
from tests.support.workers import ROOT, environment
from toolrelay.models import CallStatus, NormalizedToolResult, StatusUpdate
from toolrelay.producer import Producer


def test_either_of_two_workers_runs_what_the_app_enqueues(relay: Producer, fleet: Fleet) -> None:
    ran: set[str | None] = set()

    def both_have_run() -> bool:
        turn = [relay.enqueue({"name": "slow/sleep", "arguments": '{"seconds": 0.2}'}) for _ in range(2 * CONCURRENCY)]
        results = [handle.result(timeout=20) for handle in turn]
        assert all(result.success and result.attempt == 1 for result in results)
        ran.update(result.worker for result in results)
        return len(ran) > 1

    wait_until(both_have_run, "both workers to run a call")

    assert ran == fleet.names


def test_stock_celery_gets_the_result_by_the_tool_call_id(relay: Producer, celery_setup: CeleryTestSetup) -> None:
    handle = relay.enqueue({"name": "math/add", "arguments": '{"a": 19, "b": 23}'})

    stored = celery_setup.app.AsyncResult(handle.id).get(timeout=20)

    result = NormalizedToolResult.model_validate(stored)
    assert result.output == 42
    assert result == handle.result(timeout=20)


def test_any_process_follows_a_call_by_its_id_even_one_that_comes_late(fleet: Fleet) -> None:
    call_id = agent(fleet, "enqueue", "plan-of-another-process", "slow/sleep", '{"seconds": 0.5}').strip()
    polled = NormalizedToolResult.model_validate_json(agent(fleet, "poll", call_id))
    updates = [StatusUpdate.model_validate_json(line) for line in agent(fleet, "subscribe", call_id).splitlines()]

    assert polled.output == 1
    assert polled.worker in fleet.names
    assert [update.seq for update in updates] == list(range(1, len(updates) + 1))
    assert updates[0].status is CallStatus.PENDING
    assert CallStatus.RUNNING in {update.status for update in updates}
    assert updates[-1].status is CallStatus.COMPLETE
    assert updates[-1].result == polled


def agent(fleet: Fleet, *arguments: str) -> str:
    """Run a program of ``agent.py`` to its end, and give what it printed."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.acceptance.agent", *arguments],
        env=environment(fleet.settings, fleet.folder),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
