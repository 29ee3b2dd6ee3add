"""Workers that start, die, stop in their tracks and come back; messages that get lost or come twice; operators."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from features.services import PATIENCE_SECONDS, Fleet
from features.support import given, then, when
from tests.support.waiting import wait_until

from toolrelay.errors import ErrorCategory
from toolrelay.models import CallStatus
from toolrelay.protocol.commands import outcome_fragment
from toolrelay.protocol.replies import CancelReply, FinishReply, ReplayReply


@given("a fleet")
def _(context: Any) -> None:
    workers = context.fleet.workers.all
    assert len(workers) == 2
    assert all(worker.is_running for worker in workers), "a peaceful scenario has hurt the shared fleet"


@given("a fleet of {count:d} workers")
@given("a fleet of {count:d} worker")
@when("{count:d} more worker is started")
@when("{count:d} more workers are started")
def _(context: Any, count: int) -> None:
    context.fleet.workers.start(count)


@given("a fleet whose workers have not started yet")
def _(context: Any) -> None:
    assert context.fleet.workers.all == []


@given("a fleet whose workers have all gone")
def _(context: Any) -> None:
    (worker,) = context.fleet.workers.start(1)
    worker.kill()


def wait_for_effect(fleet: Fleet, call_id: str, word: str, attempt: int) -> None:
    wait_until(
        lambda: any(said.startswith(word) and number == attempt for said, number, _ in fleet.effects(call_id)),
        f"attempt {attempt} of {call_id} to {word}",
        PATIENCE_SECONDS,
    )


@when("each call has been started")
@when("the call has been started")
def _(context: Any) -> None:
    for handle in context.handles:
        wait_for_effect(context.fleet, handle.id, "", 1)


@when("the worker that runs the call is killed")
@when("the worker that runs the calls is killed")
def _(context: Any) -> None:
    runners = {context.fleet.worker_of(handle.id) for handle in context.handles}
    assert len(runners) == 1
    context.victim = runners.pop()
    context.killed_at = time.monotonic()
    context.victim.kill()


@when("the worker that runs the call is stopped in its tracks")
def _(context: Any) -> None:
    context.victim = context.fleet.worker_of(context.handle.id)
    context.victim.signal(signal.SIGSTOP)


@when("another worker runs the call to its end")
def _(context: Any) -> None:
    context.result = context.handle.result(timeout=PATIENCE_SECONDS)
    assert context.result.attempt == 2, f"ended by attempt {context.result.attempt}"
    assert not str(context.result.worker).endswith(f":{context.victim.pid}")


@when("the stopped worker comes back and its tool returns too")
def _(context: Any) -> None:
    context.stored = stored(context)
    context.victim.signal(signal.SIGCONT)
    wait_for_effect(context.fleet, context.handle.id, "end", 1)
    assert [pid for said, n, pid in context.fleet.effects(context.handle.id) if (said, n) == ("end", 1)] == [
        context.victim.pid
    ]


@then("the worker that came back serves other calls")
def _(context: Any) -> None:
    for worker in context.fleet.workers.all:
        if worker is not context.victim:
            worker.kill()
    result = context.relay.enqueue({"name": "test/mark", "arguments": {}}).result(timeout=PATIENCE_SECONDS)
    assert str(result.worker).endswith(f":{context.victim.pid}")


def stored(context: Any) -> tuple[Any, ...]:
    """What Redis holds of the call: record, updates, Celery's result."""
    fleet, call_id = context.fleet, context.handle.id
    keys = fleet.commands.keys
    log = fleet.driver.redis.lrange(f"{keys.prefix}log:{call_id}", 0, -1)
    return fleet.record(call_id), log, fleet.driver.redis.get(keys.meta_prefix + call_id)


@then("what is stored of the call has not changed")
def _(context: Any) -> None:
    assert stored(context) == context.stored


@when("the worker of its first attempt says at last that it is complete")
def _(context: Any) -> None:
    fleet = context.fleet
    context.stored = stored(context)
    late = outcome_fragment(success=True, output="a late word")
    finish = fleet.commands.finish(context.handle.id, 1, CallStatus.COMPLETE, "", late)
    context.reply = fleet.driver.run(finish)


@then("it is told that the call is no longer its own")
def _(context: Any) -> None:
    assert context.reply is FinishReply.FENCED, f"got {context.reply}"


@then("it is told that the call has ended")
def _(context: Any) -> None:
    assert context.reply is FinishReply.ALREADY, f"got {context.reply}"


@when("the tool is started again")
def _(context: Any) -> None:
    wait_for_effect(context.fleet, context.handle.id, "start", 2)


@then("the call is finished within {seconds:d} seconds and the lease")
def _(context: Any, seconds: int) -> None:
    for handle in context.handles:
        handle.result(timeout=PATIENCE_SECONDS)
    took = time.monotonic() - context.killed_at
    assert took < context.fleet.settings.lease.total_seconds() + seconds, f"took {took:.1f} s"


@when("every connection that listens is cut")
def _(context: Any) -> None:
    assert context.fleet.driver.redis.execute_command("CLIENT", "KILL", "TYPE", "pubsub") > 0


@when("its message is lost from the queue")
def _(context: Any) -> None:
    assert context.fleet.driver.redis.delete(context.fleet.commands.keys.queue) == 1


@when("its message is put into the queue {times:d} more times")
def _(context: Any, times: int) -> None:
    redis, queue = context.fleet.driver.redis, context.fleet.commands.keys.queue
    (context.message,) = redis.lrange(queue, 0, -1)
    redis.lpush(queue, *[context.message] * times)


@when("its message comes once more after its end")
def _(context: Any) -> None:
    context.handle.result(timeout=PATIENCE_SECONDS)
    context.stored = stored(context)
    context.fleet.driver.redis.lpush(context.fleet.commands.keys.queue, context.message)


@when("its {count:d} messages have been dealt with")
@when("its {count:d} message has been dealt with")
def _(context: Any, count: int) -> None:
    context.fleet.await_messages(context.handle.id, count)


@when("the call is cancelled")
def _(context: Any) -> None:
    context.reply = context.handle.cancel()


@then("cancelling answers {reply:w}")
def _(context: Any, reply: str) -> None:
    assert context.reply is CancelReply(reply), f"got {context.reply}"


@then("the tool was started {count:d} times")
@then("the tool was started {count:d} time")
def _(context: Any, count: int) -> None:
    started = context.fleet.effects(context.handle.id, "start")
    assert len(started) == count, f"started {len(started)} times: {started}"


@then("each call was started {count:d} times and has ended once")
def _(context: Any, count: int) -> None:
    for handle in context.handles:
        assert len(context.fleet.effects(handle.id, "start")) == count
        assert len(context.fleet.effects(handle.id, "end")) == 1
        assert sum(update.status.is_terminal for update in handle.updates(timeout=PATIENCE_SECONDS)) == 1


@then("the tool was never started")
def _(context: Any) -> None:
    assert context.fleet.effects(context.handle.id) == []


@then("the attempts ran in {count:d} processes")
def _(context: Any, count: int) -> None:
    assert len({pid for _, _, pid in context.fleet.effects(context.handle.id)}) == count


@then("every attempt, {count:d} in all, was given the call's id as its idempotency key")
def _(context: Any, count: int) -> None:
    effects = context.fleet.effects(context.handle.id)
    expected = [(f"key={context.handle.id}", attempt) for attempt in range(1, count + 1)]
    assert [(word, attempt) for word, attempt, _ in effects] == expected, f"got {effects}"


@then("the call is a dead letter")
def _(context: Any) -> None:
    assert context.handle.id in context.fleet.driver.run(context.fleet.commands.dead())


@then("the call is no dead letter")
def _(context: Any) -> None:
    assert context.handle.id not in context.fleet.driver.run(context.fleet.commands.dead())


@when("whatever the tool waited for is mended")
def _(context: Any) -> None:
    (context.fleet.folder / "mended").touch()


@when("an operator replays the call")
def _(context: Any) -> None:
    context.reply = context.fleet.driver.run(context.fleet.commands.replay(context.handle.id))


@then("the replay answers {reply:w}")
def _(context: Any, reply: str) -> None:
    assert context.reply is ReplayReply(reply), f"got {context.reply}"


@then("the queue holds {count:d} messages")
@then("the queue holds {count:d} message")
def _(context: Any, count: int) -> None:
    assert context.fleet.driver.run(context.fleet.commands.queue_length()) == count


@then("it was lost with its worker")
def _(context: Any) -> None:
    assert not context.result.success
    assert context.result.error_category is ErrorCategory.WORKER_LOST


@then("a worker is still there and serves other calls")
def _(context: Any) -> None:
    result = context.relay.enqueue({"name": "math/add", "arguments": {"a": 1, "b": 2}}).result(timeout=PATIENCE_SECONDS)
    assert result.output == 3
    assert str(result.worker).rpartition(":")[2] != str(os.getpid())
