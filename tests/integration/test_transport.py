"""What becomes of queue messages that were taken, and of their calls when nobody runs them."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.waiting import wait_until
from tests.support.workers import Workers
from toolrelay.celery_app import make_celery
from toolrelay.drivers import Driver
from toolrelay.models import CallStatus
from toolrelay.producer import Producer
from toolrelay.protocol.keys import Keys
from toolrelay.settings import Settings

CALL = {"name": "math/add", "arguments": {"a": 1, "b": 2}}


@pytest.fixture
def channel(settings: Settings) -> Iterator[Any]:
    """A channel as a worker has it."""
    with make_celery(settings, str(settings.url)).connection() as connection:
        yield connection.channel()


def tags(driver: Driver, queue: str) -> list[str]:
    return [json.loads(message)["properties"]["delivery_tag"] for message in driver.redis.lrange(queue, 0, -1)]


def test_a_doorbell_that_was_lost_with_its_worker_is_rung_again(
    relay: Producer, workers: Workers, driver: Driver, settings: Settings
) -> None:
    handle = relay.enqueue(CALL)
    assert driver.redis.rpop(Keys.of(settings).queue) is not None  # taken, and never claimed

    workers.start()

    assert handle.result(timeout=settings.ring_grace.total_seconds() + 5).attempt == 1


def test_a_doorbell_is_kept_in_memory_and_goes_back_when_its_channel_closes(
    relay: Producer, driver: Driver, settings: Settings, channel: Any
) -> None:
    queue = Keys.of(settings).queue
    relay.enqueue(CALL)
    first, second = tags(driver, queue)[0], relay.enqueue(CALL).id

    taken = channel.basic_get(settings.queue)
    while_held = tags(driver, queue), driver.redis.exists(f"{settings.namespace}:unacked")
    channel.close()

    assert taken.delivery_tag == first
    assert [tag.partition("#")[0] for tag in while_held[0]] == [second]
    assert while_held[1] == 0
    assert tags(driver, queue)[-1] == first  # the next to be taken, as before


def test_an_acknowledged_doorbell_does_not_come_back(
    relay: Producer, driver: Driver, settings: Settings, channel: Any
) -> None:
    relay.enqueue(CALL)

    channel.basic_get(settings.queue).ack()
    channel.close()

    assert tags(driver, Keys.of(settings).queue) == []


def test_a_message_of_another_task_is_kept_in_redis_until_it_is_acknowledged(
    driver: Driver, settings: Settings, channel: Any
) -> None:
    unacked = f"{settings.namespace}:unacked"
    make_celery(settings, str(settings.url)).send_task("their.task")

    message = channel.basic_get(settings.queue)
    held = driver.redis.hlen(unacked)
    message.ack()

    assert held == 1
    assert driver.redis.hlen(unacked) == 0


def test_a_worker_that_was_asked_to_stop_starts_nothing_more(
    relay: Producer, workers: Workers, driver: Driver, settings: Settings
) -> None:
    # The call comes back into the queue while the worker's loop may still wait for its next message.
    (leaving,) = workers.start(1, TOOLRELAY_SHUTDOWN_GRACE="0.1")
    handle = relay.enqueue({"name": "slow/async", "arguments": {"seconds": 60}})
    wait_until(lambda: handle.status() is CallStatus.RUNNING, "the call to run")

    leaving.signal(signal.SIGTERM)

    assert leaving.process.wait(20) == 0
    assert handle.status() is CallStatus.PENDING
    assert {tag.partition("#")[0] for tag in tags(driver, Keys.of(settings).queue)} == {handle.id}
