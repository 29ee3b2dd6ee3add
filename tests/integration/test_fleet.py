"""Promises that hold between processes: real workers, killed for real."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from tests.support.waiting import wait_until
from tests.support.workers import Worker, Workers
from toolrelay.drivers import Driver
from toolrelay.errors import CallConflictError, ErrorCategory
from toolrelay.models import CallStatus, NormalizedToolResult
from toolrelay.producer import Producer
from toolrelay.protocol.commands import Commands
from toolrelay.protocol.replies import CancelReply
from toolrelay.settings import Settings


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"name": name, "arguments": arguments}


def effects(folder: Path, word: str, call_id: str) -> int:
    log = folder / "effects.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return sum(line.startswith(f"{word} {call_id} ") for line in lines)


def runs_on(relay: Producer, call_id: str, workers: list[Worker]) -> Worker:
    """Give the worker that runs a call now."""
    commands, driver = Commands(relay.settings), relay._session.driver

    def owner() -> Worker | None:
        name = driver.run(commands.record(call_id)).get("owner", "")
        return next((worker for worker in workers if name.endswith(f":{worker.pid}")), None)

    found = wait_until(owner, f"{call_id} to run")
    assert found is not None
    return found


@pytest.mark.parametrize("tool", ["slow/sync", "slow/async"])
def test_a_call_whose_worker_is_killed_is_finished_by_another(relay: Producer, workers: Workers, tool: str) -> None:
    started = workers.start(2)
    handle = relay.enqueue(call(tool, seconds=1.5))
    victim = runs_on(relay, handle.id, started)
    wait_until(lambda: effects(workers.folder, "start", handle.id), "the tool to start")
    killed_at = time.monotonic()

    victim.kill()
    result = handle.result(timeout=30)

    survivor = next(worker for worker in started if worker is not victim)
    assert result.success
    assert result.attempt == 2
    assert str(result.worker).endswith(f":{survivor.pid}")
    assert effects(workers.folder, "end", handle.id) == 1
    # lease + 5 s, and the time the tool itself takes
    assert time.monotonic() - killed_at < relay.settings.lease.total_seconds() + 5 + 1.5
    terminal = [update for update in handle.updates(timeout=5) if update.status.is_terminal]
    assert len(terminal) == 1


def test_a_tool_that_must_not_repeat_is_never_started_twice(relay: Producer, workers: Workers) -> None:
    started = workers.start(2)
    handle = relay.enqueue(call("slow/once", seconds=30))
    victim = runs_on(relay, handle.id, started)
    wait_until(lambda: effects(workers.folder, "start", handle.id), "the tool to start")

    victim.kill()
    result = handle.result(timeout=20)

    assert not result.success
    assert result.error_category is ErrorCategory.WORKER_LOST
    assert effects(workers.folder, "start", handle.id) == 1


def test_a_call_that_kills_its_worker_becomes_a_dead_letter_and_others_go_on(
    relay: Producer, workers: Workers, driver: Driver, settings: Settings
) -> None:
    workers.start(3)
    poison = relay.enqueue(call("bad/poison"))

    result = poison.result(timeout=30)
    other = relay.enqueue(call("math/add", a=1, b=2)).result(timeout=20)

    assert result.error_category is ErrorCategory.WORKER_LOST
    assert effects(workers.folder, "start", poison.id) == 2  # max_attempts
    assert poison.id in driver.run(Commands(settings).dead())
    assert other.output == 3


def test_fifty_threads_with_one_id_are_one_run(relay: Producer, workers: Workers) -> None:
    workers.start(2)
    barrier = threading.Barrier(50)
    results: list[NormalizedToolResult] = []
    faults: list[Exception] = []

    def enqueue() -> None:
        barrier.wait()
        try:
            results.append(relay.enqueue(call("test/mark"), sequence=7).result(timeout=20))
        except Exception as error:  # noqa: BLE001 - whatever it is fails the test below
            faults.append(error)

    threads = [threading.Thread(target=enqueue) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert faults == []
    assert len(results) == 50
    assert len({result.model_dump_json() for result in results}) == 1
    assert effects(workers.folder, "mark", results[0].tool_call_id) == 1


def test_enqueued_again_after_the_end_it_is_the_stored_result(relay: Producer, workers: Workers) -> None:
    workers.start(1)
    first = relay.enqueue(call("test/mark"), sequence=3).result(timeout=20)

    again = relay.enqueue(call("test/mark"), sequence=3).result(timeout=5)

    assert again == first
    assert effects(workers.folder, "mark", first.tool_call_id) == 1


def test_the_same_id_with_other_arguments_is_a_conflict(relay: Producer, workers: Workers) -> None:
    workers.start(1)
    relay.enqueue(call("math/add", a=1, b=2), sequence=0).result(timeout=20)

    with pytest.raises(CallConflictError, match="plan_id"):
        relay.enqueue(call("math/add", a=1, b=3), sequence=0)


def test_a_thousand_calls_over_three_workers_are_complete_in_order_and_leave_nothing(
    relay: Producer, workers: Workers, driver: Driver, settings: Settings
) -> None:
    workers.start(3)

    def message(turn: int) -> dict[str, object]:
        calls = [
            {
                "id": f"call_{turn}_{place}",
                "type": "function",
                "function": {"name": "math/add", "arguments": f'{{"a": {turn * 10}, "b": {place}}}'},
            }
            for place in range(10)
        ]
        return {"role": "assistant", "tool_calls": calls}

    turns = [relay.submit(message(turn)) for turn in range(100)]
    answers = [turn.messages(timeout=60) for turn in turns]

    for number, messages in enumerate(answers):
        assert [message["tool_call_id"] for message in messages] == [f"call_{number}_{place}" for place in range(10)]
        assert [message["content"] for message in messages] == [str(number * 10 + place) for place in range(10)]
    for worker in workers.all:
        assert worker.stop() == 0
    prefix = f"{settings.namespace}:"
    left = {key for key in driver.redis.scan_iter(match=f"{prefix}*", count=1000) if driver.redis.ttl(key) == -1}
    # kombu's own table of its queues: a fixed number of keys a deployment, however many calls
    assert {key for key in left if not key.startswith(f"{prefix}_kombu.")} == set()
    assert len(left) <= 4


def test_a_worker_that_is_asked_to_stop_finishes_what_runs_and_loses_nothing(relay: Producer, workers: Workers) -> None:
    (leaving,) = workers.start(1)
    handles = [relay.enqueue(call("slow/sync", seconds=0.6)) for _ in range(8)]  # two rounds for its four slots
    wait_until(lambda: any(handle.status() is CallStatus.RUNNING for handle in handles), "a running call")

    leaving.signal(signal.SIGTERM)
    workers.start(1)
    results = [handle.result(timeout=30) for handle in handles]

    assert leaving.stop() == 0
    assert [result.success for result in results] == [True] * 8
    assert [result.attempt for result in results] == [1] * 8
    assert all(effects(workers.folder, "start", handle.id) == 1 for handle in handles)


def test_a_tool_that_outlasts_the_shutdown_goes_back_to_the_others(relay: Producer, workers: Workers) -> None:
    (leaving,) = workers.start(1, TOOLRELAY_SHUTDOWN_GRACE="0.5")
    handle = relay.enqueue(call("slow/async", seconds=4))
    wait_until(lambda: effects(workers.folder, "start", handle.id), "the tool to start")

    leaving.signal(signal.SIGTERM)
    workers.start(1)
    result = handle.result(timeout=30)

    assert leaving.stop() == 0
    assert (result.success, result.attempt) == (True, 2)


def test_a_waiting_call_is_cancelled_at_once(relay: Producer) -> None:
    handle = relay.enqueue(call("math/add", a=1, b=2))

    assert handle.cancel() is CancelReply.CANCELLED
    assert handle.status() is CallStatus.CANCELLED
    assert handle.result(timeout=5).error_category is ErrorCategory.CANCELLED
    assert handle.cancel() is CancelReply.FINISHED


@pytest.mark.parametrize("tool", ["slow/sync", "slow/async"])
def test_a_running_call_is_cancelled_by_its_worker(relay: Producer, workers: Workers, tool: str) -> None:
    workers.start(1)
    handle = relay.enqueue(call(tool, seconds=30))
    wait_until(lambda: effects(workers.folder, "start", handle.id), "the tool to start")

    assert handle.cancel() is CancelReply.REQUESTED
    result = handle.result(timeout=10)

    assert result.error_category is ErrorCategory.CANCELLED
    assert handle.status() is CallStatus.CANCELLED


def test_a_retryable_failure_is_tried_again_by_policy(relay: Producer, workers: Workers) -> None:
    workers.start(1)
    handle = relay.enqueue(call("retry/until", attempt=3))

    result = handle.result(timeout=20)
    statuses = [update.status.value for update in handle.updates(timeout=5)]

    assert (result.success, result.attempt, result.output) == (True, 3, 3)
    assert statuses == ["pending", "running", "pending", "running", "pending", "running", "complete"]


def test_retries_that_do_not_help_end_in_a_dead_letter(
    relay: Producer, workers: Workers, driver: Driver, settings: Settings
) -> None:
    workers.start(1)
    handle = relay.enqueue(call("retry/until", attempt=9))

    result = handle.result(timeout=20)

    assert (result.success, result.attempt, result.error_category) == (False, 3, ErrorCategory.TIMEOUT)
    assert handle.id in driver.run(Commands(settings).dead())


def test_a_tool_may_ask_to_be_tried_again(relay: Producer, workers: Workers) -> None:
    workers.start(1)

    assert relay.enqueue(call("retry/asked")).result(timeout=20).output == 2


def test_progress_and_partial_output_arrive_in_order(relay: Producer, workers: Workers) -> None:
    workers.start(1)
    steps = relay.enqueue(call("test/progress", steps=2000))
    pieces = relay.enqueue(call("test/partial", pieces=20))

    reported = [u.progress.current for u in steps.updates(timeout=20) if u.progress]
    given = [u.partial["piece"] for u in pieces.updates(timeout=20) if u.partial]

    assert reported == sorted(reported)
    assert reported[-1] == 2000  # the last word is never dropped
    assert len(reported) < 200  # and what comes within a tenth of a second is coalesced
    assert given == list(range(20))


def test_validation_tools_give_their_verdict(relay: Producer, workers: Workers) -> None:
    workers.start(1)

    even = relay.enqueue(call("check/even", number=2)).result(timeout=20)
    odd = relay.enqueue(call("check/even", number=3)).result(timeout=20)

    assert (even.is_validation, even.success, even.validation_passed) == (True, True, True)
    assert (odd.is_validation, odd.success, odd.validation_passed) == (True, True, False)


def test_celerys_own_result_is_the_same(relay: Producer, workers: Workers) -> None:
    workers.start(1)
    handle = relay.enqueue(call("math/add", a=20, b=22))

    stored = handle.async_result.get(timeout=20)

    assert NormalizedToolResult.model_validate(stored) == handle.result(timeout=5)


def test_a_process_with_hung_tools_is_replaced_and_serves_again(relay: Producer, workers: Workers) -> None:
    (worker,) = workers.start(1, program="toolrelay", TOOLRELAY_MAX_HUNG_TOOLS="2", TOOLRELAY_SHUTDOWN_GRACE="2")

    hung = [relay.enqueue(call("slow/limited", seconds=60)) for _ in range(2)]
    timeouts = [handle.result(timeout=20) for handle in hung]
    after = relay.enqueue(call("math/add", a=1, b=2)).result(timeout=40)

    assert [result.error_category for result in timeouts] == [ErrorCategory.TIMEOUT] * 2
    assert all((result.duration_ms or 0) < 3000 for result in timeouts)  # reported on time, not after 60 s
    assert after.output == 3
    assert worker.is_running
    assert "replaced" in worker.log


def test_in_a_mixed_fleet_a_call_waits_for_a_worker_that_has_its_tool(relay: Producer, workers: Workers) -> None:
    (old,) = workers.start(1, TOOLRELAY_TOOLS="tests.support.old_tools")
    (new,) = workers.start(1)
    new.signal(signal.SIGSTOP)  # the worker without the tool gets the message first
    handle = relay.enqueue(call("math/add", a=1, b=2))
    wait_until(lambda: "elsewhere" in old.log, "the old worker to leave the call alone")

    new.signal(signal.SIGCONT)
    result = handle.result(timeout=20)

    assert (result.output, result.attempt) == (3, 1)
    assert str(result.worker).endswith(f":{new.pid}")
    assert old.log.count("elsewhere") == 1  # however often the call came by
