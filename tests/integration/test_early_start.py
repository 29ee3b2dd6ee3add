"""Calls that start while the model is still writing, on real workers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import wait_until
from tests.support.workers import Workers
from toolrelay.errors import BrokerUnavailable, ErrorCategory, InvalidPayloadError
from toolrelay.handles import CallHandle
from toolrelay.models import CallStatus
from toolrelay.producer import AsyncProducer, Producer
from toolrelay.protocol.commands import Commands
from toolrelay.protocol.replies import CancelReply
from toolrelay.settings import Settings

Event = dict[str, Any]


def block(index: int, name: str, arguments: object) -> list[Event]:
    """Give the events of one Anthropic call, its arguments in two pieces."""
    text = json.dumps(arguments)
    start = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *(
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "input_json_delta", "partial_json": piece},
            }
            for piece in (text[:5], text[5:])
        ),
        {"type": "content_block_stop", "index": index},
    ]


END: list[Event] = [
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    {"type": "message_stop"},
]
READING = block(0, "math/add", {"a": 1, "b": 2})  # read_only, so it may start early
WRITING = block(1, "test/mark", {"word": "written"})


def effects(folder: Path) -> list[str]:
    log = folder / "effects.log"
    return log.read_text().splitlines() if log.exists() else []


def test_a_read_only_call_is_answered_before_the_model_has_finished_and_others_wait(
    relay: Producer, workers: Workers
) -> None:
    workers.start(1)
    streaming = relay.stream([*READING, *WRITING, *END], "anthropic")

    for event in streaming:
        if event == READING[-1]:
            early = streaming.handles[0].result(timeout=20)
            assert early.output == 3
        if event == WRITING[-1]:
            assert len(streaming.handles) == 1
            assert effects(workers.folder) == []
    messages = streaming.turn.messages(timeout=20)

    assert [part["tool_use_id"] for part in messages[0]["content"]] == ["toolu_0", "toolu_1"]
    assert len(effects(workers.folder)) == 1
    assert [handle.request.sequence for handle in streaming.turn if handle.request] == [0, 1]
    assert relay.next_sequence == 2


def test_a_tool_says_itself_whether_it_starts_early(relay: Producer, workers: Workers) -> None:
    """Under their names on the wire, without the map of names: they are found all the same."""
    workers.start(1)
    streaming = relay.stream([*block(0, "test_eager", {}), *block(1, "test_patient", {}), *END], "anthropic")

    for event in streaming:
        if event.get("index") == 0 and event["type"] == "content_block_stop":
            assert streaming.handles[0].result(timeout=20).output == "eager"
        if event.get("index") == 1:
            assert len(streaming.handles) == 1
    results = streaming.turn.results(timeout=20)

    assert [result.tool_name for result in results] == ["test/eager", "test/patient"]
    assert len(effects(workers.folder)) == 1


def test_the_whole_message_submitted_again_runs_nothing_twice(relay: Producer, workers: Workers) -> None:
    workers.start(1)
    first = relay.stream([*READING, *WRITING, *END], "anthropic").turn.results(timeout=20)
    message = {
        "role": "assistant",
        "stop_reason": "tool_use",
        "content": [
            {"type": "tool_use", "id": "toolu_0", "name": "math/add", "input": {"a": 1, "b": 2}},
            {"type": "tool_use", "id": "toolu_1", "name": "test/mark", "input": {"word": "written"}},
        ],
    }

    again = relay.submit(message, sequence=0).results(timeout=20)

    assert again == first
    assert len(effects(workers.folder)) == 1


class Broken(Exception):
    """What the connection to the model raises."""


def test_what_was_started_is_cancelled_when_the_stream_fails(relay: Producer, workers: Workers) -> None:
    workers.start(1)

    def events() -> Iterator[Event]:
        yield from block(0, "slow/reading", {"seconds": 30})
        raise Broken

    streaming = relay.stream(events(), "anthropic")
    with pytest.raises(Broken):
        for _ in streaming:
            pass
    (started,) = streaming.handles

    wait_until(lambda: started.status() is CallStatus.CANCELLED, "the call to be cancelled")
    with pytest.raises(RuntimeError, match="broken off"):
        _ = streaming.turn
    assert relay.next_sequence == 1  # the place stays taken


def test_a_cancel_that_fails_keeps_no_other_call_running_and_no_place_taken(
    relay: Producer, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers.start(1)
    cancel = CallHandle.cancel

    def cancel_all_but_the_last(handle: CallHandle) -> CancelReply:
        if handle.id != streaming.handles[-1].id:
            raise BrokerUnavailable("the connection went away")
        return cancel(handle)

    def events() -> Iterator[Event]:
        yield from [*block(0, "slow/reading", {"seconds": 30}), *block(1, "slow/reading", {"seconds": 30})]
        raise Broken

    monkeypatch.setattr(CallHandle, "cancel", cancel_all_but_the_last)
    streaming = relay.stream(events(), "anthropic")
    with pytest.raises(BrokerUnavailable):
        for _ in streaming:
            pass
    first, last = streaming.handles

    wait_until(lambda: last.status() is CallStatus.CANCELLED, "the other call to be cancelled")
    assert relay.next_sequence == 2
    cancel(first)


def test_a_stream_that_stops_before_its_end_came_starts_nothing_more(relay: Producer, workers: Workers) -> None:
    workers.start(1)
    streaming = relay.stream([*block(0, "slow/reading", {"seconds": 30}), *WRITING], "anthropic")

    early, late = streaming.turn.results(timeout=20)

    assert streaming.failure == "the stream stopped before the end of the model's turn came"
    assert early.error_category is ErrorCategory.CANCELLED
    assert late.error is not None
    assert late.error.startswith("the stream stopped before the end of the model's turn came. Nothing was run.")
    assert effects(workers.folder) == []
    assert relay.next_sequence == 2


@pytest.mark.parametrize(
    ("events", "named", "message"),
    [
        ([*READING, *END], "openai", "these are the events of 'anthropic', not of 'openai'"),
        ([], "openai", "the stream stopped before"),
        (
            [{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}],
            "anthropic",
            "overloaded_error",
        ),
    ],
    ids=["another format", "nothing", "an error"],
)
def test_a_stream_that_failed_before_any_call_has_no_turn(
    relay: Producer, events: list[Event], named: str, message: str
) -> None:
    with pytest.raises(InvalidPayloadError, match=message):
        _ = relay.stream(events, named).turn
    assert relay.next_sequence == 0


def test_who_leaves_a_stream_cancels_what_it_had_started(relay: Producer, workers: Workers) -> None:
    workers.start(1)

    with relay.stream([*block(0, "slow/reading", {"seconds": 30}), *WRITING, *END], "anthropic") as streaming:
        for _ in streaming:
            if streaming.handles:
                break
    (started,) = streaming.handles

    wait_until(lambda: started.status() is CallStatus.CANCELLED, "the call to be cancelled")
    with pytest.raises(RuntimeError, match="broken off"):
        _ = streaming.turn
    assert effects(workers.folder) == []
    assert relay.next_sequence == 1


def test_a_stream_that_was_read_to_its_end_is_left_alone(relay: Producer, workers: Workers) -> None:
    workers.start(1)

    with relay.stream([*READING, *END], "anthropic") as streaming:
        turn = streaming.turn

    assert [result.output for result in turn.results(timeout=20)] == [3]


def test_a_stream_that_was_never_read_gives_its_place_back(relay: Producer) -> None:
    with relay.stream([*READING, *END], "anthropic"):
        pass

    assert relay.next_sequence == 0
    relay.enqueue({"name": "math/add", "arguments": {}})


def test_a_call_that_the_stream_takes_back_is_cancelled_or_never_started(relay: Producer, workers: Workers) -> None:
    workers.start(1)
    calls = [
        {"id": "keep", "name": "test/mark", "args": {"word": "kept"}},
        {"id": "early", "name": "slow/reading", "args": {"seconds": 30}},
        {"id": "late", "name": "test/mark", "args": {"word": "gone"}},
    ]
    events = [{"toolCall": {"functionCalls": calls}}, {"toolCallCancellation": {"ids": ["early", "late"]}}]

    turn = relay.stream(events, "gemini").turn
    results = {result.provider_call_id: result for result in turn.results(timeout=20)}

    assert results["keep"].success
    assert [results[name].success for name in ("early", "late")] == [False, False]
    assert len(effects(workers.folder)) == 1


def test_while_a_stream_is_open_no_other_place_is_given(relay: Producer, settings: Settings) -> None:
    streaming = relay.stream([*READING, *END], "anthropic")
    events = iter(streaming)
    next(events)

    with pytest.raises(RuntimeError, match="sequence"):
        relay.enqueue({"name": "math/add", "arguments": {}})

    assert len(streaming.turn) == 1
    assert relay.enqueue({"name": "math/add", "arguments": {}}).request is not None
    assert relay._session.driver.run(Commands(settings).queue_length()) == 2


async def test_the_async_twin_starts_early_too(settings: Settings, workers: Workers) -> None:
    workers.start(1)

    async def events() -> AsyncIterator[Event]:
        for event in [*READING, *WRITING, *END]:
            yield event

    async with AsyncProducer("plan", settings=settings) as relay:
        streaming = relay.stream(events(), "anthropic")
        async for event in streaming:
            if event == READING[-1]:
                assert (await streaming.handles[0].result(timeout=20)).output == 3
        messages = await (await streaming.turn()).messages(timeout=20)

    assert [part["tool_use_id"] for part in messages[0]["content"]] == ["toolu_0", "toolu_1"]
    assert len(effects(workers.folder)) == 1
