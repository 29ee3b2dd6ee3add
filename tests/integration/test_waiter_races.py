"""A call may end while the answer to its own ENQUEUE is still on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.record import ONCE, Record
from tests.support.waiting import wait_until
from toolrelay.handles import CallHandle
from toolrelay.ids import tool_call_id
from toolrelay.producer import Producer
from toolrelay.protocol.replies import ReplayReply
from toolrelay.session import open_session
from toolrelay.settings import Settings

ADD = {"name": "math/add", "arguments": {"a": 1, "b": 2}}
SOON = 2  # seconds; a wait that was forgotten is found after five


@pytest.fixture
def record(settings: Settings) -> Iterator[Record]:
    """What workers do, done by hand."""
    record = Record(settings, start_ms=None)
    yield record
    record.close()


@pytest.fixture
def before_the_answer(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Has something happen once between the next ENQUEUE and its answer."""
    driver = open_session(settings).driver
    send = driver.run_all

    def arrange(happen: Callable[[], object]) -> None:
        def run_all(commands: Any) -> Any:
            monkeypatch.undo()
            replies = send(commands)
            happen()
            return replies

        monkeypatch.setattr(driver, "run_all", run_all)

    return arrange


def test_an_end_that_comes_before_the_answer_to_enqueue_is_the_end(
    relay: Producer, settings: Settings, record: Record, before_the_answer: Callable[[Callable[[], object]], None]
) -> None:
    call_id = tool_call_id(relay.plan_id, 0)

    def end() -> None:
        record.complete(record.start(call_id), "early")
        wait_until(lambda: open_session(settings).waiter.watch(call_id).is_over, "the end to be heard")

    before_the_answer(end)
    handle = relay.enqueue(ADD)

    assert handle.result(timeout=SOON).output == "early"


def test_two_that_attach_to_a_replayed_call_at_once_both_hear_its_new_end(
    relay: Producer, record: Record, before_the_answer: Callable[[Callable[[], object]], None]
) -> None:
    first = relay.enqueue(ADD, sequence=0)
    record.run(record.commands.give_back(first.id, record.start(first.id, policy=ONCE).fence))
    assert not first.result(timeout=SOON).success
    assert record.run(record.commands.replay(first.id)) is ReplayReply.OK
    handles: list[CallHandle] = []

    before_the_answer(lambda: handles.append(relay.enqueue(ADD, sequence=0)))
    handles.append(relay.enqueue(ADD, sequence=0))
    record.complete(record.start(first.id), "second life")

    assert [handle.result(timeout=SOON).output for handle in handles] == ["second life"] * 2
