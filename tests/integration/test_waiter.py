"""Whoever waits for a call misses nothing: not late, not after a lost connection, not in another process."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import OwnThreads, deployment
from tests.support.proxy import BOTH, Proxy
from tests.support.record import ONCE, Record, message_of
from tests.support.waiting import wait_until
from toolrelay import waiter
from toolrelay.embedded import EmbeddedServer, shared_address
from toolrelay.errors import BrokerUnavailable, ResultTimeout, ToolrelayError, UnknownCall
from toolrelay.handles import CallHandle
from toolrelay.ids import tool_call_id
from toolrelay.models import CallStatus, NormalizedToolResult, StatusUpdate
from toolrelay.producer import AsyncProducer, Producer
from toolrelay.protocol.commands import Command, outcome_fragment
from toolrelay.protocol.replies import Claim, ReplayReply, Submission
from toolrelay.session import close_session, open_session
from toolrelay.settings import URL_VARIABLES, Settings
from toolrelay.waiter import Watch

ADD = {"name": "math/add", "arguments": {"a": 1, "b": 2}}
_numbers = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    """A server of this file's own: it is asked who is connected, and connections are cut."""
    with EmbeddedServer() as server:
        yield server


@pytest.fixture
def settings(server: EmbeddedServer) -> Settings:
    return deployment(server.url, lease=timedelta(minutes=1))


@pytest.fixture
def record(settings: Settings) -> Iterator[Record]:
    """What workers do, done by hand."""
    record = Record(settings, start_ms=None)
    yield record
    record.close()


@pytest.fixture
def quick_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is noticed after a moment."""
    monkeypatch.setattr(waiter, "_SILENCE_SECONDS", 0.1)
    monkeypatch.setattr(waiter, "_TICK_SECONDS", 0.05)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is not noticed: what is found is found by other means."""
    monkeypatch.setattr(waiter, "_SILENCE_SECONDS", 3600.0)


def stranger(settings: Settings) -> Producer:
    """A producer with a session of its own, as in another process."""
    return Producer("stranger", settings=settings.model_copy(update={"max_hung_tools": 100 + next(_numbers)}))


def start(record: Record, call: str) -> Claim:
    return record.start(call, policy=ONCE)


def say(record: Record, claim: Claim, first: int, number: int = 1) -> Command[bool]:
    fragments = [f',"partial":{n}' for n in range(first, first + number)]
    return record.commands.progress(str(claim.request.tool_call_id), claim.fence, first, fragments)


def in_one_breath(record: Record, *commands: Command[Any] | Sequence[Any]) -> None:
    """Run commands with nothing in between: no client can connect again before the last one."""
    with record.redis.pipeline(transaction=True) as pipe:
        for command in commands:
            if isinstance(command, Command):
                assert command.script is not None
                pipe.script_load(command.script.text)
                pipe.execute_command("EVALSHA", command.script.sha, 0, *command.args)
            else:
                pipe.execute_command(*command)
        pipe.execute()


KILL_SUBSCRIBERS = ("CLIENT", "KILL", "TYPE", "pubsub")


class Follower:
    """Collects a call's updates on a thread, until the last."""

    def __init__(self, handle: CallHandle, timeout: float = 20) -> None:
        self.updates: list[StatusUpdate] = []
        self._handle, self._timeout = handle, timeout
        self._pool = ThreadPoolExecutor(1)
        self._done = self._pool.submit(self._follow)

    def _follow(self) -> None:
        for update in self._handle.updates(timeout=self._timeout):
            self.updates.append(update)

    def has_seen(self, seq: int) -> bool:
        return bool(self.updates) and self.updates[-1].seq >= seq

    def all(self) -> list[StatusUpdate]:
        """What it saw, after the end."""
        try:
            self._done.result()
        finally:
            self._pool.shutdown()
        return self.updates


def seqs(updates: list[StatusUpdate]) -> list[int]:
    return [update.seq for update in updates]


# --- late, early, and many


def test_a_subscriber_that_comes_at_any_moment_sees_everything_in_order(
    relay: Producer, settings: Settings, record: Record
) -> None:
    handle = relay.enqueue(ADD)
    claim = record.start(handle.id)
    retry = record.commands.retry(handle.id, claim.fence, timedelta(milliseconds=1))
    second: list[Claim] = []
    steps: list[Callable[[], object]] = [
        lambda: record.run(say(record, claim, 0)),
        lambda: record.run(say(record, claim, 1, 3)),
        lambda: record.run(retry),
        lambda: second.extend(wait_until(lambda: claimed(record, handle.id), "the retry")),
        lambda: record.run(say(record, second[0], 0)),
        lambda: record.complete(second[0], "end"),
    ]
    producers = [stranger(settings) for _ in range(len(steps) + 1)]
    followers = []

    for producer, step in zip(producers, [*steps, None], strict=True):
        followers.append(Follower(producer.call(handle.id)))
        wait_until(lambda: followers[-1].updates, "the first update")
        if step is not None:
            step()
    seen = [follower.all() for follower in followers]

    assert seqs(seen[0]) == list(range(1, 11))
    assert [u.status.value for u in seen[0]] == [
        "pending",
        *["running"] * 5,
        "pending",
        "running",
        "running",
        "complete",
    ]
    assert all(updates == seen[0] for updates in seen)
    assert [bool(update.result) for update in seen[0]] == [False] * 9 + [True]
    assert handle.result(timeout=5) == seen[0][-1].result
    for producer in producers:
        producer.close()


def claimed(record: Record, call: str) -> list[Claim]:
    claim = record.claim(call)
    return [claim] if isinstance(claim, Claim) else []


def test_more_updates_than_are_kept_are_counted_as_dropped(relay: Producer, settings: Settings, record: Record) -> None:
    handle = relay.enqueue(ADD)
    claim = start(record, handle.id)
    record.run(say(record, claim, 0, 1000))
    producer = stranger(settings)

    late = Follower(producer.call(handle.id))
    wait_until(lambda: late.has_seen(1002), "the log")
    record.complete(claim)
    updates = late.all()

    assert updates[0].dropped == 1002 - 256
    assert seqs(updates) == list(range(747, 1004))
    assert sum(update.dropped for update in updates) + len(updates) == 1003
    producer.close()


async def test_a_thousand_waits_share_one_subscription(
    settings: Settings, record: Record, own_threads: OwnThreads
) -> None:
    async with AsyncProducer("thousand", settings=settings) as relay:
        calls = [{"id": f"c{n}", "type": "function", "function": {"name": "t", "arguments": "{}"}} for n in range(1000)]
        turn = await relay.submit({"role": "assistant", "tool_calls": calls})
        waits = [asyncio.create_task(handle.result(30)) for handle in turn]
        client = open_session(settings).waiter.client

        await asyncio.to_thread(finish_all, record, [handle.id for handle in turn])
        results = await asyncio.gather(*waits)

        assert [result.output for result in results] == list(range(1000))
        assert record.redis.pubsub_numsub(record.keys.reply(client)) == [(record.keys.reply(client), 1)]
        assert own_threads().count("toolrelay-waiter") == 1


def finish_all(record: Record, ids: list[str]) -> None:
    for start in range(0, len(ids), 250):
        batch = ids[start : start + 250]
        claims: list[Any] = record.driver.run_all([record.commands.claim(call, "w1", ONCE) for call in batch])
        record.driver.run_all(
            [
                record.commands.finish(
                    call, claim.fence, CallStatus.COMPLETE, "", outcome_fragment(success=True, output=place)
                )
                for place, (call, claim) in enumerate(zip(batch, claims, strict=True), start)
            ]
        )


# --- the subscription fails


def test_updates_during_a_lost_subscription_are_read_afterwards(relay: Producer, record: Record, patient: None) -> None:
    handle = relay.enqueue(ADD)
    claim = start(record, handle.id)
    follower = Follower(handle)

    for piece in range(4):
        in_one_breath(record, KILL_SUBSCRIBERS, say(record, claim, 2 * piece))
        record.run(say(record, claim, 2 * piece + 1))
        wait_until(lambda piece=piece: follower.has_seen(2 * piece + 4), "both pieces")  # type: ignore[misc]  # mypy cannot type a lambda's default
    outcome = outcome_fragment(success=True, output="end")
    finish = record.commands.finish(handle.id, claim.fence, CallStatus.COMPLETE, "", outcome)
    in_one_breath(record, KILL_SUBSCRIBERS, finish)
    updates = follower.all()

    assert seqs(updates) == list(range(1, 12))
    assert [update.partial for update in updates[2:-1]] == list(range(8))
    assert updates[-1].result is not None
    assert not any(update.dropped for update in updates)


def test_what_the_log_lost_during_a_lost_subscription_is_counted(relay: Producer, record: Record) -> None:
    handle = relay.enqueue(ADD)
    claim = start(record, handle.id)
    follower = Follower(handle)
    wait_until(lambda: follower.has_seen(2), "running")

    in_one_breath(record, KILL_SUBSCRIBERS, say(record, claim, 0, 600))
    wait_until(lambda: follower.has_seen(602), "the rest of the log")
    record.complete(claim)
    updates = follower.all()

    assert seqs(updates) == [1, 2, *range(347, 604)]
    assert [update.dropped for update in updates if update.dropped] == [344]


def test_an_update_that_was_not_published_to_us_is_read_when_the_next_one_comes(
    relay: Producer, record: Record, patient: None
) -> None:
    handle = relay.enqueue(ADD)
    claim = start(record, handle.id)
    follower = Follower(handle)
    wait_until(lambda: follower.has_seen(2), "running")
    key, client = record.keys.call(handle.id), open_session(relay.settings).waiter.client

    in_one_breath(record, ("HSET", key, "watchers", ""), say(record, claim, 0), ("HSET", key, "watchers", client))
    record.run(say(record, claim, 1))
    wait_until(lambda: follower.has_seen(4), "the gap to close")
    record.complete(claim)

    assert seqs(follower.all()) == [1, 2, 3, 4, 5]


def test_an_end_that_nobody_was_told_of_is_found_in_the_silence(
    relay: Producer, record: Record, quick_to_look: None
) -> None:
    handle = relay.enqueue(ADD)
    claim = start(record, handle.id)

    forget = ("HSET", record.keys.call(handle.id), "watchers", "")
    outcome = outcome_fragment(success=True, output="end")
    in_one_breath(record, forget, record.commands.finish(handle.id, claim.fence, CallStatus.COMPLETE, "", outcome))

    assert handle.result(timeout=10).output == "end"


@pytest.mark.parametrize(
    ("ways", "timeout"), [(BOTH, 5), (("to client",), 1)], ids=["both ways", "replies only, shorter timeout"]
)
def test_the_end_is_seen_within_twenty_seconds_although_every_connection_is_half_open(
    server: EmbeddedServer, ways: Any, timeout: float
) -> None:
    with Proxy(server.url) as proxy:
        settings = deployment(proxy.url, command_timeout=timedelta(seconds=timeout))
        record = Record(settings.model_copy(update={"redis_url": deployment(server.url).redis_url}), start_ms=None)
        relay = Producer("half-open", settings=settings)
        handle = relay.enqueue(ADD)
        claim = start(record, handle.id)
        follower = Follower(handle, timeout=30)
        wait_until(lambda: follower.has_seen(2), "running")

        open_session(settings).waiter._driver.redis.ping()  # what it asks with is connected too
        proxy.swallow(*ways)
        began = time.monotonic()
        record.complete(claim, "end")
        result = handle.result(timeout=30)

        assert result.output == "end"
        assert time.monotonic() - began < 20
        assert seqs(follower.all()) == [1, 2, 3]
        relay.close()
        record.close()


def test_the_longest_silence_leaves_time_to_find_a_dead_connection_and_ask_again() -> None:
    watch = Watch("tc_0")
    for _ in range(50):
        watch.silent_until(0.0)
        longest = watch.look_at

        assert longest + waiter._TICK_SECONDS + 5 + waiter._RECONNECT_SECONDS < 20
    assert waiter._DEAF_SECONDS + waiter._TICK_SECONDS + waiter._RECONNECT_SECONDS < 20


def test_an_enqueue_whose_reply_was_lost_is_one_call(server: EmbeddedServer) -> None:
    with Proxy(server.url) as proxy:
        settings = deployment(proxy.url)
        record = Record(settings.model_copy(update={"redis_url": deployment(server.url).redis_url}), start_ms=None)
        relay = Producer("cut", settings=settings)
        relay.tools()  # connected
        cuts: list[bytes] = []

        def cut(way: str, data: bytes) -> bool:
            if way == "to client" and b"\r\nnew\r\n" in data and not cuts:
                cuts.append(data)
                return True
            return False

        proxy.cut_when = cut
        handle = relay.enqueue(ADD)
        record.complete(start(record, handle.id), 3)

        assert handle.result(timeout=10).output == 3
        assert len(cuts) == 1
        assert record.queue == [(handle.id, record.queue[0][1])]
        relay.close()
        record.close()


# --- what cannot be read


@pytest.mark.parametrize("text", ["not JSON", "[]", '{"tool_call_id":"tc_0"}', '{"seq":"x","status":"unheard of"}'])
def test_what_cannot_be_read_on_the_reply_channel_ends_no_wait(relay: Producer, record: Record, text: str) -> None:
    handle = relay.enqueue(ADD)
    client = open_session(relay.settings).waiter.client

    assert record.redis.publish(record.keys.reply(client), text) == 1
    record.complete(start(record, handle.id), 1)

    assert handle.result(timeout=3).output == 1


def test_a_result_of_a_newer_version_ends_its_own_wait_only(
    relay: Producer, record: Record, quick_to_look: None
) -> None:
    strange, plain = relay.enqueue(ADD), relay.enqueue(ADD)
    claim = start(record, strange.id)
    outcome = outcome_fragment(success=False, error="?").replace('"error_category":null', '"error_category":"of 2031"')

    record.run(record.commands.finish(strange.id, claim.fence, CallStatus.ERROR, "", outcome))
    with pytest.raises(ToolrelayError, match=f"{strange.id}.*cannot read"):
        strange.result(timeout=10)
    record.complete(start(record, plain.id), 1)

    assert plain.result(timeout=10).output == 1


# --- errors in waiting


def test_an_id_that_nobody_enqueued_is_unknown_at_once(relay: Producer) -> None:
    handle = relay.call(tool_call_id("nobody", 0))

    for ask in (handle.status, handle.result, lambda: list(handle.updates())):
        with pytest.raises(UnknownCall, match="never enqueued"):
            ask()


async def test_an_id_that_nobody_enqueued_is_unknown_to_async_handles_too(settings: Settings) -> None:
    async with AsyncProducer("unknown", settings=settings) as relay:
        handle = relay.call(tool_call_id("nobody", 0))

        with pytest.raises(UnknownCall):
            await handle
        with pytest.raises(UnknownCall):
            await handle.status()
        with pytest.raises(UnknownCall):
            async for _ in handle.updates():
                pass


def test_a_record_that_goes_away_ends_the_wait(relay: Producer, record: Record, quick_to_look: None) -> None:
    handle = relay.enqueue(ADD)
    follower = Follower(handle)
    wait_until(lambda: follower.has_seen(1), "pending")

    record.redis.delete(record.keys.call(handle.id))

    with pytest.raises(UnknownCall, match="gone"):
        handle.result(timeout=10)
    with pytest.raises(UnknownCall):
        follower.all()


def test_a_wait_does_not_go_on_with_another_record_of_the_same_id(
    relay: Producer, record: Record, quick_to_look: None
) -> None:
    handle = relay.enqueue(ADD, sequence=0)
    claim = start(record, handle.id)
    record.run(say(record, claim, 0, 5))
    follower = Follower(handle)
    wait_until(lambda: follower.has_seen(7), "all of it")
    assert handle.request is not None

    keys = record.keys
    again = record.commands.enqueue(handle.request, message_of(handle.request))
    in_one_breath(record, ("DEL", keys.call(handle.id), f"{keys.prefix}log:{handle.id}"), again)

    with pytest.raises(UnknownCall, match="anew"):
        follower.all()


def test_a_handle_finds_its_call_again_after_it_was_unknown(
    relay: Producer, record: Record, quick_to_look: None
) -> None:
    handle = relay.enqueue(ADD, sequence=0)
    record.redis.delete(record.keys.call(handle.id))
    with pytest.raises(UnknownCall):
        handle.result(timeout=10)

    relay.enqueue(ADD, sequence=0)
    record.complete(start(record, handle.id), 1)

    assert handle.result(timeout=5).output == 1


def test_a_call_that_takes_longer_than_the_wait_goes_on(relay: Producer, record: Record) -> None:
    handle = relay.enqueue(ADD)

    with pytest.raises(ResultTimeout, match=handle.id):
        handle.result(timeout=0.05)
    with pytest.raises(ResultTimeout, match=handle.id):
        list(handle.updates(timeout=timedelta(seconds=0.05)))
    record.complete(start(record, handle.id), 1)

    assert handle.result(timeout=5).output == 1


def test_without_redis_the_wait_says_so_and_afterwards_goes_on() -> None:
    with EmbeddedServer() as server:
        settings = deployment(server.url, command_timeout=timedelta(seconds=0.5))
        relay, record = Producer("away", settings=settings), Record(settings, start_ms=None)
        handle, done = relay.enqueue(ADD), relay.enqueue(ADD)
        record.complete(start(record, done.id), "kept")
        assert done.result(timeout=5).output == "kept"
        patient = Follower(handle)
        wait_until(lambda: patient.has_seen(1), "pending")

        server.stop()
        wait_until(lambda: not open_session(settings).waiter.is_connected, "the loss to be noticed")
        with pytest.raises(BrokerUnavailable):
            handle.result(timeout=0.1)
        with pytest.raises(BrokerUnavailable):
            handle.status()
        with pytest.raises(BrokerUnavailable):
            relay.enqueue(ADD)
        assert done.result(timeout=0.1).output == "kept"  # known here, so Redis is not needed
        server.start()
        record.complete(start(record, handle.id), "after all")

        assert handle.result(timeout=10).output == "after all"
        assert seqs(patient.all()) == [1, 2, 3]
        relay.close()
        record.close()


def test_a_call_that_was_replayed_has_its_new_end(relay: Producer, record: Record) -> None:
    first = relay.enqueue(ADD, sequence=0)
    claim = start(record, first.id)
    record.run(record.commands.give_back(first.id, claim.fence))
    assert not first.result(timeout=5).success
    assert record.run(record.commands.replay(first.id)) is ReplayReply.OK

    again = relay.enqueue(ADD, sequence=0)
    record.complete(start(record, again.id), "second life")

    assert again.result(timeout=5).output == "second life"
    assert not first.result(timeout=5).success  # a handle keeps the end that it has seen


# --- event loops


async def test_an_awaited_handle_is_its_result_and_updates_come_as_they_happen(
    settings: Settings, record: Record
) -> None:
    async with AsyncProducer("async", settings=settings) as relay:
        handle = await relay.enqueue(ADD)
        seen: list[CallStatus] = []

        claim: Claim | None = None
        async for update in handle.updates(timeout=10):
            seen.append(update.status)
            if update.status is CallStatus.PENDING:
                claim = await asyncio.to_thread(start, record, handle.id)
            elif update.status is CallStatus.RUNNING and claim is not None:
                await asyncio.to_thread(record.complete, claim, 7)

        assert seen == [CallStatus.PENDING, CallStatus.RUNNING, CallStatus.COMPLETE]
        assert (await handle).output == 7


async def test_a_task_that_no_longer_waits_hurts_no_other(settings: Settings, record: Record) -> None:
    async with AsyncProducer("cancelled", settings=settings) as relay:
        handle = await relay.enqueue(ADD)
        impatient, patient = asyncio.create_task(handle.result()), asyncio.create_task(handle.result(20))
        second = asyncio.create_task(relay.call(handle.id).result(20))
        await asyncio.sleep(0)

        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        with pytest.raises(ResultTimeout):
            await handle.result(0.01)
        await asyncio.to_thread(lambda: record.complete(start(record, handle.id), 1))

        assert (await patient, await second) == (await handle, await handle)


def test_a_result_for_a_loop_that_is_gone_troubles_nobody(
    settings: Settings, record: Record, caplog: pytest.LogCaptureFixture
) -> None:
    relay = AsyncProducer("loops", settings=settings)

    async def wait_a_moment() -> str:
        handle = await relay.enqueue(ADD)
        with pytest.raises(ResultTimeout):
            await handle.result(0.01)
        updates = handle.updates()
        await anext(updates)  # and never asked again
        kept.append((handle, updates))
        return handle.id

    kept: list[Any] = []
    with caplog.at_level(logging.INFO):
        loop = asyncio.new_event_loop()
        call = loop.run_until_complete(wait_a_moment())
        loop.run_until_complete(open_session(settings).async_driver.close())
        loop.close()
        record.complete(start(record, call), 1)
        result = asyncio.run(wait_for(relay, call))

    assert result.output == 1
    assert [entry.getMessage() for entry in caplog.records if entry.levelno >= logging.WARNING] == []
    asyncio.run(relay.close())


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # what a user gets who never closes
def test_connections_of_loops_that_are_gone_do_not_pile_up(settings: Settings, record: Record) -> None:
    relay = AsyncProducer("loops", settings=settings)

    async def ask() -> None:
        with pytest.raises(UnknownCall):
            await relay.call(tool_call_id("nobody", 0)).status()

    for _ in range(8):
        asyncio.run(ask())
    gc.collect()

    assert len(record.redis.client_list()) <= 4
    asyncio.run(relay.close())
    relay.call("tc_0")  # the session is gone, and with it the last of them
    gc.collect()


async def wait_for(relay: AsyncProducer, call: str) -> NormalizedToolResult:
    return await relay.call(call).result(10)


async def test_the_blocking_producer_works_inside_a_running_loop(relay: Producer, record: Record) -> None:
    handle = relay.enqueue(ADD)
    with ThreadPoolExecutor(1) as pool:
        finished: Future[Any] = pool.submit(lambda: record.complete(start(record, handle.id), 5))

        assert handle.result(timeout=10).output == 5
        assert [update.status.value for update in handle.updates(timeout=5)] == ["pending", "running", "complete"]
        finished.result(5)


# --- processes, and what is left behind


def test_a_forked_child_waits_on_connections_of_its_own(relay: Producer, settings: Settings, record: Record) -> None:
    handle, other = relay.enqueue(ADD), relay.enqueue(ADD)
    parent = open_session(settings).waiter.client
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forking with threads: our very case
        child = os.fork()
    if child == 0:
        _in_child(relay, settings, handle, other, parent, writing)
    os.close(writing)

    record.complete(start(record, handle.id), "for both")
    with os.fdopen(reading) as pipe:
        told = json.loads(pipe.read())
    _, status = os.waitpid(child, 0)

    assert status == 0
    assert told["client"] != parent
    assert told["output"] == handle.result(timeout=10).output == "for both"
    assert told["own"] == Submission.NEW
    record.complete(start(record, other.id), "the parent's connections still work")
    assert other.result(timeout=10).output == "the parent's connections still work"


def _in_child(
    relay: Producer, settings: Settings, handle: CallHandle, other: CallHandle, parent: str, writing: int
) -> None:
    status = 1
    try:
        own = relay.enqueue(ADD, sequence=40)
        told = {
            "client": open_session(settings).waiter.client,
            "output": handle.result(timeout=20).output,
            "own": "new" if own.status() is CallStatus.PENDING else "lost",
        }
        os.write(writing, json.dumps(told).encode())
        status = 0
    finally:
        os._exit(status)


def test_nothing_is_left_after_closing(
    server: EmbeddedServer, settings: Settings, record: Record, own_threads: OwnThreads
) -> None:
    record.redis.ping()
    wait_until(lambda: len(record.redis.client_list()) == 1, "other tests' connections to go")
    with Producer("closing", settings=settings) as relay:
        handle = relay.enqueue(ADD)
        record.complete(start(record, handle.id))
        handle.result(timeout=5)
        still_open = relay.enqueue(ADD)  # held, but nobody waits for it
        assert len(record.redis.client_list()) > 1

    assert own_threads() == []
    wait_until(lambda: len(record.redis.client_list()) == 1, "the connections to close")
    record.complete(start(record, still_open.id), "afterwards")
    assert still_open.result(timeout=5).output == "afterwards"  # by connections of its own again
    close_session(settings)


def test_closing_waits_for_those_who_wait(relay: Producer, settings: Settings, record: Record) -> None:
    handle = relay.enqueue(ADD)
    follower = Follower(relay.call(handle.id))
    wait_until(lambda: follower.has_seen(1), "the follower")

    relay.close()
    record.complete(start(record, handle.id), 1)

    assert seqs(follower.all()) == [1, 2, 3]


def test_who_waits_when_the_connections_are_closed_all_the_same_is_told(relay: Producer, record: Record) -> None:
    handle = relay.enqueue(ADD)
    follower = Follower(handle)
    wait_until(lambda: follower.has_seen(1), "the follower")

    open_session(relay.settings).close()

    with pytest.raises(BrokerUnavailable, match="closed"):
        follower.all()


async def test_nothing_is_left_after_closing_an_async_producer(
    settings: Settings, record: Record, own_threads: OwnThreads
) -> None:
    record.redis.ping()
    wait_until(lambda: len(record.redis.client_list()) == 1, "other tests' connections to go")
    async with AsyncProducer("closing", settings=settings) as relay:
        handle = await relay.enqueue(ADD)
        await asyncio.to_thread(lambda: record.complete(start(record, handle.id)))
        await handle

    assert own_threads() == []
    wait_until(lambda: len(record.redis.client_list()) == 1, "the connections to close")


def test_closing_a_session_that_never_waited_opens_nothing(settings: Settings, record: Record) -> None:
    record.redis.ping()
    wait_until(lambda: len(record.redis.client_list()) == 1, "other tests' connections to go")
    made = int(record.redis.info("stats")["total_connections_received"])
    open_session(settings)

    close_session(settings)

    assert int(record.redis.info("stats")["total_connections_received"]) == made


async def test_closing_an_async_producer_that_was_not_used_starts_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLRELAY_HOME", str(tmp_path))
    for name in URL_VARIABLES:
        monkeypatch.delenv(name, raising=False)

    async with AsyncProducer("unused"):
        pass

    assert shared_address() is None
