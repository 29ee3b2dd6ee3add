"""Subscribers: early, late, cut off, slow, and in another language."""

from __future__ import annotations

import json
import time
from typing import Any

from features.services import PATIENCE_SECONDS
from features.support import given, then, when
from redis.client import PubSub
from tests.support.waiting import wait_until

from toolrelay.ids import tool_call_id
from toolrelay.models import StatusUpdate


@when("its updates are read")
def _(context: Any) -> None:
    context.updates = list(context.handle.updates(timeout=PATIENCE_SECONDS))
    context.result = context.updates[-1].result


@when("another agent reads its updates")
def _(context: Any) -> None:
    late = context.fleet.agent("plan-of-somebody").call(context.handle.id)
    context.updates = list(late.updates(timeout=PATIENCE_SECONDS))
    context.result = context.updates[-1].result


@then("their statuses, progress left out, are {statuses}")
def _(context: Any, statuses: str) -> None:
    found = [update.status.value for update in context.updates if update.progress is None and update.partial is None]
    assert found == statuses.split(", "), f"got {found}"


@then("their statuses, from number {number:d} on, are {statuses}")
def _(context: Any, number: int, statuses: str) -> None:
    found = [(update.seq, update.status.value) for update in context.updates]
    assert found == list(enumerate(statuses.split(", "), number)), f"got {found}"


@then('an update back to pending says "{reason}"')
def _(context: Any, reason: str) -> None:
    back = [update.reason for update in context.updates[1:] if update.status == "pending"]
    assert back == [reason], f"got {back}"


@then("they are numbered from 1 without a gap")
def _(context: Any) -> None:
    numbers = [update.seq for update in context.updates]
    assert numbers == list(range(1, len(numbers) + 1)), f"got {numbers}"
    assert not any(update.dropped for update in context.updates)


@then("their times never go back")
def _(context: Any) -> None:
    times = [update.at for update in context.updates]
    assert times == sorted(times)


@then("the pieces {first:d} to {last:d} of its output came in order, between running and complete")
def _(context: Any, first: int, last: int) -> None:
    statuses = [update.status.value for update in context.updates]
    assert statuses == ["pending", *["running"] * (last - first + 2), "complete"]
    pieces = [update.partial["piece"] for update in context.updates[2:-1]]
    assert pieces == list(range(first, last + 1)), f"got {pieces}"


@then("its last progress is {current:d} of {total:d}")
def _(context: Any, current: int, total: int) -> None:
    progress = [update.progress for update in context.updates if update.progress]
    assert (progress[-1].current, progress[-1].total) == (current, total)
    assert [one.current for one in progress] == sorted(one.current for one in progress)


@when("the agent begins to read its updates")
def _(context: Any) -> None:
    context.stream = context.handle.updates(timeout=PATIENCE_SECONDS)
    context.updates = [next(context.stream), next(context.stream)]


@when("the agent's connection is cut, again and again, until the call has ended")
def _(context: Any) -> None:
    redis, cut = context.fleet.driver.redis, 0
    end = time.monotonic() + PATIENCE_SECONDS
    while context.fleet.record(context.handle.id)["status"] == "running":
        cut += redis.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        assert time.monotonic() < end, "the call did not end"
    assert cut > 0, "no connection was there to be cut"


@then("the agent sees the rest of its updates")
def _(context: Any) -> None:
    context.updates += list(context.stream)
    context.result = context.updates[-1].result


@then("the first of them says that {count:d} before it were dropped")
def _(context: Any, count: int) -> None:
    first, *others = context.updates
    assert first.dropped == count, f"got {first.dropped}"
    assert not any(update.dropped for update in others)


@then("with those, the last update is number {number:d}")
def _(context: Any, number: int) -> None:
    assert context.updates[-1].seq == number, f"got {context.updates[-1].seq}"
    assert len(context.updates) + context.updates[0].dropped == number


@given("a plain Redis client that subscribes to the channel of call {place:d} of the plan")
def _(context: Any, place: int) -> None:
    channel = f"toolrelay:updates:{tool_call_id(context.plan_id, place)}"
    context.pubsub = context.fleet.driver.redis.pubsub()
    context.add_cleanup(context.pubsub.close)
    context.pubsub.subscribe(channel)
    assert wait_until(lambda: context.pubsub.get_message(timeout=1), "the subscription")["type"] == "subscribe"


def heard(pubsub: PubSub) -> list[Any]:
    """Read messages as JSON, and nothing but JSON, up to the one with a result."""
    messages: list[Any] = []

    def is_over() -> bool:
        message = pubsub.get_message(timeout=1)
        if message is not None:
            messages.append(json.loads(message["data"]))
        return bool(messages) and "result" in messages[-1]

    wait_until(is_over, "a message with a result", PATIENCE_SECONDS)
    return messages


@when("the client has heard of the call's end")
def _(context: Any) -> None:
    context.messages = heard(context.pubsub)


@then("every message is a JSON object with {members:json}")
def _(context: Any, members: Any) -> None:
    assert all(set(members) <= message.keys() for message in context.messages), f"got {context.messages}"
    assert {message["tool_call_id"] for message in context.messages} == {context.handle.id}


@then("their numbers and statuses are")
def _(context: Any) -> None:
    found = [(str(message["seq"]), message["status"]) for message in context.messages]
    assert found == [(row["seq"], row["status"]) for row in context.table], f"got {found}"


@then("only the last has a result, whose output is {output:json}")
def _(context: Any, output: Any) -> None:
    *before, last = context.messages
    assert last["result"]["output"] == output
    assert not any("result" in message for message in before)


@then("they are what an agent reads as updates")
def _(context: Any) -> None:
    read = [StatusUpdate.model_validate(message) for message in context.messages]
    assert read == list(context.handle.updates(timeout=PATIENCE_SECONDS))
