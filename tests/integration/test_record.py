"""The record, script by script: one promise a test, on every server program that is installed."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from billiard.exceptions import WorkerLostError
from celery import Celery
from celery.exceptions import TaskRevokedError
from celery.result import AsyncResult
from redis.exceptions import NoScriptError, ResponseError

from tests.conftest import deployment
from tests.support.record import ONCE, Record, clocked, message_of, request
from tests.support.waiting import wait_until
from toolrelay.drivers import AsyncDriver
from toolrelay.embedded import EmbeddedServer, find_binary
from toolrelay.embedded import server as embedded_server
from toolrelay.errors import BrokerUnavailable, ErrorCategory
from toolrelay.ids import tool_call_id
from toolrelay.models import CallStatus, ExecutionPolicy, NormalizedToolResult
from toolrelay.protocol import replies
from toolrelay.protocol.commands import Command, Refusal, outcome_fragment
from toolrelay.protocol.keys import Keys
from toolrelay.protocol.replies import (
    CancelReply,
    Claim,
    ClaimRefusal,
    Enqueued,
    FinishReply,
    ReplayReply,
    Snapshot,
    Submission,
)
from toolrelay.settings import Settings
from toolrelay_worker.process import WorkerProcess
from toolrelay_worker.registry import ToolRegistry

LEASE_MS, GRACE_MS = 2000, 1000
SCRIPTS = resources.files("toolrelay.protocol") / "scripts"
FAILURE = outcome_fragment(success=False, error="no such order", error_category=ErrorCategory.NOT_FOUND)

#: what a model, a tool or a provider may write: nothing of it may hurt what stands around it
NASTY: dict[str, Any] = {
    "big integer": 2**200,
    "floats": [0.1, -0.0, 1e308, 5e-324],
    "lone surrogate": "\ud800 and \udfff",
    "quotes": 'say "hello", it\'s {"a": 1}',
    "backslashes": "C:\\new\\table \\u0041 \\\\",
    "percent signs": "%1 %% %d %s 100%",
    "Lua patterns": "^[%w]+$ (.-)%f[%A]",
    "control characters": "\x00\x01\n\r\t\x7f\u2028",
    "emoji": "🦦 Käse 数",
    "a doorbell's tag": '"delivery_tag":"tc_0#99999999999999"',
    "keys": {"": 0, "a.b": 1, "%0": 2, "toolrelay:": 3},
}


def program(name: str) -> Path | None:
    found = find_binary() if name == "valkey" else shutil.which("redis-server")
    return Path(found) if found else None


@pytest.fixture(scope="module", params=["valkey", "redis"])
def server(request: pytest.FixtureRequest) -> Iterator[EmbeddedServer]:
    """A server of this file's own, of each program there is."""
    binary = program(request.param)
    if binary is None:
        pytest.skip("no redis-server on the PATH")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded_server, "find_binary", lambda: binary)
        with EmbeddedServer() as server:
            yield server


@pytest.fixture
def settings(server: EmbeddedServer) -> Settings:
    return deployment(server.url, lease=timedelta(milliseconds=LEASE_MS), ring_grace=timedelta(milliseconds=GRACE_MS))


@pytest.fixture
def record(settings: Settings) -> Iterator[Record]:
    record = Record(settings)
    yield record
    record.close()


def known(record: Record, sequence: int = 0, **fields: Any) -> str:
    """Enqueue a call; its id."""
    call = request(sequence, **fields)
    record.enqueue(call)
    return str(call.tool_call_id)


def running(record: Record, sequence: int = 0, policy: ExecutionPolicy | None = None) -> Claim:
    """Enqueue a call and start it."""
    call = known(record, sequence)
    record.ring()
    return record.start(call, policy=policy or ExecutionPolicy())


def id_of(claim: Claim) -> str:
    return str(claim.request.tool_call_id)


def snapshot(record: Record, call: str, seen: int = 0) -> Snapshot:
    found = record.run(record.commands.snapshot(call, seen))
    assert found is not None
    return found


def statuses(record: Record, call: str) -> list[str]:
    return [f"{u.status}{f' {u.reason}' if u.reason else ''}" for u in snapshot(record, call).updates]


def result(record: Record, call: str) -> NormalizedToolResult:
    found = snapshot(record, call).updates[-1].result
    assert found is not None
    return found


def retry(record: Record, claim: Claim, delay_ms: int) -> FinishReply:
    return record.run(record.commands.retry(id_of(claim), claim.fence, timedelta(milliseconds=delay_ms)))


# --- ENQUEUE


def test_a_new_call_is_recorded_and_its_doorbell_rings(record: Record) -> None:
    call = request()

    reply = record.enqueue(call)

    assert reply == Enqueued(Submission.NEW, None)
    assert record.queue == [(call.tool_call_id, record.now)]
    assert statuses(record, str(call.tool_call_id)) == ["pending"]


def test_the_same_call_again_attaches_and_does_not_ring(record: Record) -> None:
    record.enqueue(request())

    again = record.enqueue(request())

    assert again.submission is Submission.DUPLICATE
    assert again.snapshot is not None
    assert again.snapshot.status is CallStatus.PENDING
    assert len(record.queue) == 1


def test_the_same_call_after_its_end_gets_the_stored_result(record: Record) -> None:
    claim = running(record)
    record.complete(claim, 42)

    again = record.enqueue(request())

    assert again.snapshot is not None
    assert again.snapshot.updates[-1].result == result(record, id_of(claim))


def test_the_order_of_arguments_makes_no_other_call(record: Record) -> None:
    record.enqueue(request(arguments={"a": 1, "b": {"c": 2, "d": 3}}))

    again = record.enqueue(request(arguments={"b": {"d": 3, "c": 2}, "a": 1}))

    assert again.submission is Submission.DUPLICATE


@pytest.mark.parametrize("other", [{"arguments": {"a": 2}}, {"tool_name": "math/sub"}, {"kind": "custom"}], ids=str)
def test_another_call_under_the_same_id_is_a_conflict_and_changes_nothing(
    record: Record, other: dict[str, Any]
) -> None:
    call = known(record, arguments={"a": 1})
    before = record.fields(call)

    reply = record.enqueue(request(**{"arguments": {"a": 1}, **other}))

    assert reply == Enqueued(Submission.CONFLICT, None)
    assert record.fields(call) == before
    assert len(record.queue) == 1


def test_a_refused_call_ends_at_once_and_takes_no_place_in_the_queue(record: Record) -> None:
    call = request()

    reply = record.enqueue(call, refusal=Refusal(CallStatus.ERROR, "not_found", FAILURE), validation=True)

    assert reply.submission is Submission.NEW
    assert reply.snapshot is not None
    assert [update.status for update in reply.snapshot.updates] == [CallStatus.PENDING, CallStatus.ERROR]
    ended = result(record, str(call.tool_call_id))
    assert (ended.success, ended.error, ended.attempt, ended.worker, ended.started_at) == (
        False,
        "no such order",
        0,
        None,
        None,
    )
    assert record.queue == []
    assert record.claim(str(call.tool_call_id)) is ClaimRefusal.FINISHED


def test_ten_mebibytes_of_arguments_and_output_come_through_whole(record: Record) -> None:
    text = "ä%1\\" * (10 * 1024 * 1024 // 5)
    call = known(record, arguments={"text": text})

    claim = record.start(call)
    record.complete(claim, text)

    assert claim.request.arguments == {"text": text}
    assert result(record, call).output == text


# --- CLAIM


def test_a_claim_gives_the_request_and_the_first_attempt(record: Record) -> None:
    call = known(record, arguments={"a": 1})

    claim = record.start(call)

    assert claim.request == request(arguments={"a": 1})
    assert claim.attempt == 1
    assert statuses(record, call) == ["pending", "running"]


def test_a_running_call_is_held_against_all_others(record: Record) -> None:
    claim = running(record)

    assert record.claim(id_of(claim), "w2") is ClaimRefusal.HELD
    assert record.claim(id_of(claim), "w1") is ClaimRefusal.HELD  # a doubled doorbell, in the same worker


def test_a_claim_whose_reply_was_lost_is_given_again(record: Record) -> None:
    call = known(record)
    command = record.commands.claim(call, "w1", ONCE)

    first, again = record.run(command), record.run(command)

    assert isinstance(first, Claim)
    assert again == first
    assert statuses(record, call) == ["pending", "running"]


def test_an_ended_call_is_never_started(record: Record) -> None:
    claim = running(record)
    record.complete(claim)

    assert record.claim(id_of(claim)) is ClaimRefusal.FINISHED


def test_a_call_that_nobody_enqueued_is_unknown(record: Record) -> None:
    call = tool_call_id("nobody", 0)

    assert record.claim(call) is ClaimRefusal.UNKNOWN
    assert record.run(record.commands.snapshot(call)) is None
    assert record.run(record.commands.cancel(call)) is CancelReply.UNKNOWN
    assert record.run(record.commands.replay(call)) is ReplayReply.UNKNOWN
    assert record.run(record.commands.give_back(call, 1)) is FinishReply.UNKNOWN
    assert record.run(record.commands.progress(call, 1, 0, [',"partial":1'])) is False
    assert record.run(record.commands.beat("w1", "{}", [(call, 1)])).lost == (call,)
    assert record.fields(call) == {}


@pytest.mark.parametrize("by", ["claim", "reap"])
def test_a_lease_ends_at_its_millisecond_and_not_before(record: Record, by: str) -> None:
    claim = running(record)

    def take_over() -> bool:
        if by == "claim":
            return isinstance(record.claim(id_of(claim), "w2"), Claim)
        return record.run(record.commands.reap()) == [(id_of(claim), "rerun")]

    record.advance(LEASE_MS - 1)
    assert not take_over()
    record.advance(1)
    assert take_over()


def test_a_claim_takes_over_from_a_lost_worker_for_everyone_to_see(record: Record) -> None:
    first = running(record)
    record.advance(LEASE_MS)

    second = record.start(id_of(first), "w2")

    assert second.attempt == 2
    assert second.fence > first.fence
    assert statuses(record, id_of(first)) == ["pending", "running", "pending worker_lost", "running"]


@pytest.mark.parametrize("by", ["claim", "reap"])
def test_a_call_is_given_up_after_its_last_attempt(record: Record, by: str) -> None:
    claim = running(record, policy=ExecutionPolicy(max_attempts=1))
    call = id_of(claim)
    record.advance(LEASE_MS)

    if by == "claim":
        assert record.claim(call, "w2") is ClaimRefusal.GIVEN_UP
    else:
        assert record.run(record.commands.reap()) == [(call, "given_up")]

    ended = result(record, call)
    assert (ended.error_category, ended.retryable, ended.attempt) == (ErrorCategory.WORKER_LOST, True, 1)
    assert record.run(record.commands.dead()) == [call]


@pytest.mark.parametrize("by", ["claim", "reap", "give_back"])
def test_a_call_that_must_not_repeat_is_never_started_twice(record: Record, by: str) -> None:
    claim = running(record, policy=ONCE)
    call = id_of(claim)

    if by == "give_back":
        assert record.run(record.commands.give_back(call, claim.fence)) is FinishReply.OK
    elif by == "claim":
        record.advance(LEASE_MS)
        assert record.claim(call, "w2") is ClaimRefusal.GIVEN_UP
    else:
        record.advance(LEASE_MS)
        assert record.run(record.commands.reap()) == [(call, "given_up")]

    assert result(record, call).error_category is ErrorCategory.WORKER_LOST
    assert record.claim(call, "w2") is ClaimRefusal.FINISHED


@pytest.mark.parametrize("was_lost", [False, True])
def test_a_call_waits_for_a_worker_that_has_its_tool(record: Record, was_lost: bool) -> None:
    record.redis.hset(record.keys.catalogue, "math/add", "{}")
    call = known(record)
    if was_lost:
        record.start(call)
        record.advance(LEASE_MS)
    record.ring()

    asked = record.run(record.commands.claim(call, "old", ExecutionPolicy(), missing=["math/add"]))

    assert asked is ClaimRefusal.ELSEWHERE
    assert record.claim(call) is ClaimRefusal.EARLY
    record.advance(300)
    assert record.run(record.commands.reap()) == [(call, "due")]
    assert record.ring() == call
    assert record.start(call).attempt == (2 if was_lost else 1)


def test_without_any_worker_that_has_the_tool_the_call_is_claimed_all_the_same(record: Record) -> None:
    call = known(record)

    assert isinstance(record.run(record.commands.claim(call, "w1", ExecutionPolicy(), missing=["math/add"])), Claim)


# --- BEAT


def test_one_beat_keeps_every_lease_of_a_worker(record: Record) -> None:
    claims = [running(record, place) for place in range(3)]

    for _ in range(4):
        record.advance(LEASE_MS - 1)
        beat = record.run(record.commands.beat("w1", "{}", [(id_of(claim), claim.fence) for claim in claims]))
        assert (beat.lost, beat.cancelled) == ((), ())

    assert record.run(record.commands.reap()) == []
    assert all(record.claim(id_of(claim), "w2") is ClaimRefusal.HELD for claim in claims)


def test_a_beat_brings_word_of_lost_and_cancelled_calls(record: Record) -> None:
    kept, lost, ended, cancelled = (running(record, place) for place in range(4))
    record.advance(LEASE_MS)
    record.start(id_of(lost), "w2")
    record.complete(ended)
    record.run(record.commands.cancel(id_of(cancelled)))

    beat = record.run(record.commands.beat("w1", "{}", [(id_of(c), c.fence) for c in (kept, lost, ended, cancelled)]))

    assert beat.lost == (id_of(lost), id_of(ended))
    assert beat.cancelled == (id_of(cancelled),)


def test_a_worker_is_seen_while_it_beats(record: Record) -> None:
    record.run(record.commands.beat("w1", '{"pid": 1}', []))
    record.advance(LEASE_MS)
    record.run(record.commands.beat("w2", '{"pid": 2}', []))

    assert record.run(record.commands.workers()) == ["w2"]
    assert record.run(record.commands.worker_states(["w2", "w3"])) == [{"pid": 2}, None]
    assert record.lasting_keys() == set()


def test_a_beat_tells_how_long_the_queue_is(record: Record) -> None:
    for place in range(5):
        known(record, place)

    assert record.run(record.commands.beat("w1", "{}", [])).queue_length == 5


# --- PROGRESS


def test_what_a_tool_says_is_kept_in_order(record: Record) -> None:
    claim = running(record)
    call, commands = id_of(claim), record.commands

    assert record.run(commands.progress(call, claim.fence, 0, [',"partial":"a"', ',"partial":"b"']))
    assert record.run(commands.progress(call, claim.fence, 2, [',"progress":{"current":1.0}']))

    updates = snapshot(record, call).updates[2:]
    assert [update.partial for update in updates] == ["a", "b", None]
    assert updates[2].progress is not None
    assert updates[2].progress.current == 1


def test_what_a_tool_says_is_not_heard_twice_when_a_reply_was_lost(record: Record) -> None:
    claim = running(record)
    call, commands = id_of(claim), record.commands
    first, second, third = (f',"partial":{number}' for number in range(3))

    record.run(commands.progress(call, claim.fence, 0, [first, second]))
    record.run(commands.progress(call, claim.fence, 0, [first, second, third]))  # sent again, with what came since

    assert [update.partial for update in snapshot(record, call).updates[2:]] == [0, 1, 2]


def test_the_next_attempt_counts_its_words_from_the_beginning(record: Record) -> None:
    first = running(record)
    record.run(record.commands.progress(id_of(first), first.fence, 0, [',"partial":"first"']))
    record.advance(LEASE_MS)
    second = record.start(id_of(first), "w2")

    record.run(record.commands.progress(id_of(first), second.fence, 0, [',"partial":"second"']))

    assert [u.partial for u in snapshot(record, id_of(first)).updates if u.partial] == ["first", "second"]


def test_a_worker_that_lost_its_call_is_not_heard(record: Record) -> None:
    stale = running(record)
    record.advance(LEASE_MS)
    record.start(id_of(stale), "w2")

    assert not record.run(record.commands.progress(id_of(stale), stale.fence, 0, [',"partial":1']))
    assert len(snapshot(record, id_of(stale)).updates) == 4


# --- FINISH


def test_the_result_says_who_ran_the_call_and_when(record: Record) -> None:
    call = known(record, provider_metadata={"model": "m"})
    queued = datetime.fromtimestamp(record.now / 1000, UTC)
    record.advance(1500)
    claim = record.start(call, 'wörker "1"\\')
    record.advance(250)

    record.complete(claim, {"sum": 3})

    assert result(record, call) == NormalizedToolResult(
        tool_call_id=call,
        tool_name="math/add",
        provider_format=claim.request.provider_format,
        provider_call_id="call_0",
        success=True,
        output={"sum": 3},
        provider_metadata={"model": "m"},
        attempt=1,
        worker='wörker "1"\\',
        queued_at=queued,
        started_at=queued + timedelta(milliseconds=1500),
        finished_at=queued + timedelta(milliseconds=1750),
        duration_ms=250,
    )


def test_an_outcome_is_accepted_once_and_its_repetition_confirmed(record: Record) -> None:
    claim = running(record)

    assert record.complete(claim, "first") is FinishReply.OK
    assert record.complete(claim, "second") is FinishReply.OK  # the worker cannot know that the first one arrived

    assert result(record, id_of(claim)).output == "first"
    assert statuses(record, id_of(claim)) == ["pending", "running", "complete"]


def test_a_late_outcome_is_refused_while_another_worker_runs_the_call(record: Record) -> None:
    stale = running(record)
    record.advance(LEASE_MS)
    current = record.start(id_of(stale), "w2")

    assert record.complete(stale, "late") is FinishReply.FENCED
    assert record.complete(current, "right") is FinishReply.OK
    assert record.complete(stale, "late") is FinishReply.ALREADY
    assert result(record, id_of(stale)).output == "right"


def test_a_late_outcome_counts_while_nobody_else_has_started(record: Record) -> None:
    claim = running(record)
    record.advance(LEASE_MS)
    record.run(record.commands.reap())

    assert record.complete(claim, "late but right") is FinishReply.OK
    assert record.claim(id_of(claim), "w2") is ClaimRefusal.FINISHED
    assert record.members("waiting") == {}


def test_an_outcome_for_an_expired_record_does_not_end_the_next_one_of_its_id(record: Record) -> None:
    stale = running(record)
    call = id_of(stale)
    record.redis.delete(record.keys.call(call))
    record.advance(1)

    fresh = running(record)

    assert record.complete(stale, "of an earlier life") is FinishReply.FENCED
    assert record.complete(fresh, "right") is FinishReply.OK


def test_a_retry_waits_for_its_time(record: Record) -> None:
    claim = running(record)
    call = id_of(claim)

    assert retry(record, claim, 700) is FinishReply.OK
    assert retry(record, claim, 700) is FinishReply.OK  # its reply was lost
    record.advance(699)
    assert record.claim(call) is ClaimRefusal.EARLY
    assert record.run(record.commands.reap()) == []
    record.advance(1)
    assert record.run(record.commands.reap()) == [(call, "due")]

    assert record.start(call).attempt == 2
    assert statuses(record, call) == ["pending", "running", "pending retry", "running"]


def test_a_call_that_is_given_back_rings_at_once(record: Record) -> None:
    claim = running(record)

    record.run(record.commands.give_back(id_of(claim), claim.fence))

    assert record.ring() == id_of(claim)
    assert record.start(id_of(claim), "w2").attempt == 2


def test_an_ended_call_keeps_its_result_and_nothing_that_is_for_running_it(record: Record) -> None:
    claim = running(record)
    record.run(record.commands.snapshot(id_of(claim), client="c1"))
    record.complete(claim, 1)

    fields = record.fields(id_of(claim))

    assert set(fields) == {
        "status", "seq", "fence", "attempt", "digest", "queued", "validation", "head", "max_attempts", "on_lost",
        "owner", "started", "finished", "accepted",
    }  # fmt: skip
    assert record.lasting_keys() == set()
    assert [record.members(name) for name in ("running", "waiting", "delayed")] == [{}, {}, {}]


# --- the JSON that scripts put together


@pytest.mark.parametrize("value", NASTY.values(), ids=NASTY.keys())
def test_nothing_that_people_write_hurts_what_stands_around_it(record: Record, value: Any) -> None:
    text = value if isinstance(value, str) else "plain"
    call = known(
        record, tool_name=text, arguments={"value": value}, provider_call_id=text, provider_metadata={"value": value}
    )
    follower = record.listen(record.keys.updates(call))

    record.advance(GRACE_MS + 1)
    assert record.ring() == call
    assert record.run(record.commands.reap()) == [(call, "rung")]
    assert record.ring() == call
    claim = record.start(call)
    record.run(record.commands.progress(call, claim.fence, 0, ["," + json.dumps({"partial": value})[1:-1]]))
    outcome = outcome_fragment(success=False, output=value, error=text)
    record.run(record.commands.finish(call, claim.fence, CallStatus.ERROR, "", outcome))
    updates = [replies.update(message) for _, message in follower.heard()]
    follower.close()

    assert claim.request.arguments == {"value": value}
    ended = result(record, call)
    assert updates[-1].result == ended
    assert updates[-2].partial == value
    assert (ended.tool_name, ended.provider_call_id, ended.provider_metadata) == (text, text, {"value": value})
    assert (ended.output, ended.error) == (value, text)
    assert repr(ended.output) == repr(value)  # -0.0 is not 0, 1 is not 1.0


def test_deep_nesting_passes_through(record: Record) -> None:
    deep: Any = 0
    for _ in range(300):
        deep = [deep]
    call = known(record, arguments={"value": deep})

    claim = record.start(call)
    record.complete(claim, deep)

    assert claim.request.arguments == {"value": deep}
    assert result(record, call).output == deep


def test_a_tools_name_cannot_pass_for_a_doorbells_tag(record: Record) -> None:
    name = '"delivery_tag":"tc_0#99999999999999" tc_0#99999999999999'
    known(record, 0, tool_name=name)
    behind = known(record, 1)

    record.advance(GRACE_MS * 2)

    assert record.run(record.commands.reap()) == []
    assert [call for call, _ in record.queue] == [tool_call_id("plan", 0), behind]


def test_the_calendar_is_right_on_every_day_until_2130(record: Record) -> None:
    prelude = "\n".join((SCRIPTS / f"{part}.lua").read_text() for part in ("clock", "prelude"))
    ask = prelude + "\nlocal reply = {}\nfor i = 5, #ARGV do reply[i - 4] = iso(tonumber(ARGV[i])) end\nreturn reply"
    day, shift = 86_400_000, 12_345_679  # a shift that visits every hour, minute, second and millisecond
    moments = [n * day + n * shift % day for n in range(58_500)]
    moments += [n * day - 1 for n in range(1, 58_500)]  # the last millisecond of each day

    answers: list[str] = []
    for start in range(0, len(moments), 5000):
        answers += record.redis.eval(ask, 0, "t:", "", "1", "q", *moments[start : start + 5000])

    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    expected = [
        f'"{(epoch + timedelta(milliseconds=ms)).replace(tzinfo=None).isoformat(timespec="milliseconds")}Z"'
        for ms in moments
    ]
    assert answers == expected


# --- what stock Celery reads


@pytest.fixture
def default_record(server: EmbeddedServer) -> Iterator[Record]:
    """A deployment under the default name: only that one uses Celery's bare result keys."""
    record = Record(Settings.load(redis_url=server.url))
    yield record
    record.redis.flushall()
    record.close()


@pytest.fixture
def stock(server: EmbeddedServer) -> Iterator[Celery]:
    app = Celery("stock", backend=server.url, set_as_current=False)
    yield app
    app.backend.client.close()
    app.close()


def test_stock_celery_reads_the_result(default_record: Record, stock: Celery) -> None:
    claim = running(default_record)
    default_record.complete(claim, {"sum": 3})

    seen: AsyncResult = stock.AsyncResult(id_of(claim))

    assert seen.state == "SUCCESS"
    assert NormalizedToolResult.model_validate(seen.get(timeout=5)) == result(default_record, id_of(claim))
    assert seen.date_done == result(default_record, id_of(claim)).finished_at


def test_stock_celery_waits_for_the_result(default_record: Record, stock: Celery) -> None:
    claim = running(default_record)
    channel = default_record.keys.meta_prefix + id_of(claim)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(stock.AsyncResult(id_of(claim)).get, timeout=10)
        wait_until(lambda: dict(default_record.redis.pubsub_numsub(channel))[channel], "the subscription")
        default_record.complete(claim, 7)

        assert waiting.result(10)["output"] == 7


def test_stock_celery_sees_a_tools_failure_as_a_value(default_record: Record, stock: Celery) -> None:
    claim = running(default_record)
    command = default_record.commands.finish(id_of(claim), claim.fence, CallStatus.ERROR, "not_found", FAILURE)
    default_record.run(command)

    assert stock.AsyncResult(id_of(claim)).get(timeout=5)["error_category"] == "not_found"


def test_stock_celery_sees_a_lost_worker_as_a_failure(default_record: Record, stock: Celery) -> None:
    claim = running(default_record, policy=ONCE)
    default_record.advance(15_000)
    default_record.run(default_record.commands.reap())

    seen = stock.AsyncResult(id_of(claim))

    assert seen.state == "FAILURE"
    with pytest.raises(WorkerLostError, match="the worker was lost"):
        seen.get(timeout=5)


def test_stock_celery_sees_a_cancelled_call_as_revoked(default_record: Record, stock: Celery) -> None:
    call = known(default_record)
    default_record.run(default_record.commands.cancel(call))

    seen = stock.AsyncResult(call)

    assert seen.state == "REVOKED"
    with pytest.raises(TaskRevokedError, match="cancelled"):
        seen.get(timeout=5)


# --- CANCEL


def test_a_waiting_call_is_cancelled_at_once(record: Record) -> None:
    call = known(record)

    assert record.run(record.commands.cancel(call)) is CancelReply.CANCELLED
    assert record.run(record.commands.cancel(call)) is CancelReply.FINISHED
    assert record.claim(call) is ClaimRefusal.FINISHED
    assert statuses(record, call) == ["pending", "cancelled"]
    assert (result(record, call).error_category, result(record, call).attempt) == (ErrorCategory.CANCELLED, 0)


def test_a_call_that_waits_for_a_retry_is_cancelled_at_once(record: Record) -> None:
    claim = running(record)
    retry(record, claim, 700)

    assert record.run(record.commands.cancel(id_of(claim))) is CancelReply.CANCELLED
    record.advance(700)
    assert record.run(record.commands.reap()) == []


def test_the_worker_of_a_running_call_is_told_at_once(record: Record) -> None:
    claim = running(record)
    worker, other = record.keys.control("w1"), record.keys.control("w2")
    ear = record.listen(worker, other)

    assert record.run(record.commands.cancel(id_of(claim))) is CancelReply.REQUESTED
    heard = ear.heard()
    ear.close()

    assert heard == [(worker, id_of(claim))]
    assert statuses(record, id_of(claim)) == ["pending", "running"]


def test_a_tool_that_was_faster_than_its_cancellation_keeps_its_result(record: Record) -> None:
    claim = running(record)
    record.run(record.commands.cancel(id_of(claim)))

    record.complete(claim, "done")

    assert result(record, id_of(claim)).output == "done"


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize("how", ["lost", "retry", "give_back"])
def test_a_cancelled_call_is_not_tried_again(record: Record, how: str, attempts: int) -> None:
    claim = running(record, policy=ExecutionPolicy(max_attempts=attempts))
    call = id_of(claim)
    record.run(record.commands.cancel(call))

    if how == "lost":
        record.advance(LEASE_MS)
        assert record.run(record.commands.reap()) == [(call, "given_up")]
    elif how == "retry":
        retry(record, claim, 1)
    else:
        record.run(record.commands.give_back(call, claim.fence))

    assert statuses(record, call) == ["pending", "running", "cancelled"]
    assert record.run(record.commands.dead()) == []


# --- REAP


def test_a_lost_doorbell_is_rung_again_after_the_grace_time(record: Record) -> None:
    call = known(record)
    record.ring()

    record.advance(GRACE_MS - 1)
    assert record.run(record.commands.reap()) == []
    record.advance(1)
    assert record.run(record.commands.reap()) == [(call, "rung")]
    assert record.run(record.commands.reap()) == []
    assert record.ring() == call


def test_a_lost_doorbell_is_found_in_a_queue_that_never_empties(record: Record) -> None:
    lost = known(record, 0)
    record.ring()
    record.advance(1)
    rescued: list[tuple[str, str]] = []

    for place in range(1, 40):  # one call comes, one is taken, and three always wait
        known(record, place)
        if place > 3:
            record.start(str(record.ring()))
        record.advance(100)
        found = record.run(record.commands.reap())
        rescued += found
        if (lost, "rung") in rescued:
            break

    assert (lost, "rung") in rescued
    assert len(record.queue) >= 3


def test_a_doorbell_that_still_waits_its_turn_is_not_doubled(record: Record) -> None:
    for place in range(50):
        known(record, place)
    record.advance(GRACE_MS * 100)

    assert record.run(record.commands.reap()) == []
    assert len(record.queue) == 50


def fill(record: Record, count: int) -> None:
    """Let ``count`` calls wait."""
    template = message_of(request(0, "backlog"))
    first = str(request(0, "backlog").tool_call_id)
    for start in range(0, count, 500):
        batch = [request(place, "backlog") for place in range(start, start + 500)]
        record.driver.run_all(
            [record.commands.enqueue(call, template.replace(first, str(call.tool_call_id))) for call in batch]
        )


def commands_of_a_pass(record: Record) -> dict[str, int]:
    record.redis.config_resetstat()
    record.run(record.commands.reap())
    stats = record.redis.info("commandstats")
    return {name: stat["calls"] for name, stat in stats.items() if name != "cmdstat_config|resetstat"}


def test_a_long_backlog_costs_no_scan_and_hides_nothing(record: Record) -> None:
    claim = running(record, 0)
    record.run(record.commands.reap())  # the script is loaded
    quiet = commands_of_a_pass(record)
    fill(record, 10_000)
    record.advance(LEASE_MS - 1)

    busy = commands_of_a_pass(record)

    assert busy == quiet
    assert record.redis.llen(record.keys.queue) == 10_000
    record.advance(1)
    assert record.run(record.commands.reap()) == [(id_of(claim), "rerun")]


def test_two_reapers_rescue_each_call_once(record: Record) -> None:
    claims = [running(record, place) for place in range(500)]
    record.advance(LEASE_MS)
    barrier = threading.Barrier(2)

    def reap(_: int) -> list[tuple[str, str]]:
        rescued: list[tuple[str, str]] = []
        barrier.wait()
        while found := record.run(record.commands.reap()):
            rescued += found
        return rescued

    with ThreadPoolExecutor(2) as pool:
        rescued = [one for each in pool.map(reap, range(2)) for one in each]

    assert sorted(rescued) == sorted((id_of(claim), "rerun") for claim in claims)
    assert len(record.queue) == 500


# --- dead letters


def test_dead_letters_are_capped_and_expire(record: Record) -> None:
    newest = record.now
    record.redis.zadd(record.keys.dead, {f"tc_{number:024x}": newest - number for number in range(10_000)})
    week = int(record.settings.dead_letter_ttl.total_seconds() * 1000)
    record.redis.zadd(record.keys.dead, {"tc_expired": newest - week - 1})
    record.advance(LEASE_MS)
    claim = running(record, policy=ONCE)
    record.advance(LEASE_MS)

    record.run(record.commands.reap())

    assert record.redis.zcard(record.keys.dead) == 10_000
    assert record.run(record.commands.dead(1)) == [id_of(claim)]
    assert record.redis.zscore(record.keys.dead, "tc_expired") is None
    assert record.redis.zscore(record.keys.dead, f"tc_{9_999:024x}") is None  # the oldest made room
    for key in (record.keys.dead, record.keys.call(id_of(claim)), record.keys.meta_prefix + id_of(claim)):
        assert record.redis.pttl(key) > week - 60_000


def test_a_dead_letter_is_replayed_under_its_id_with_new_attempts(record: Record) -> None:
    claim = running(record, policy=ONCE)
    call = id_of(claim)
    record.advance(LEASE_MS)
    record.run(record.commands.reap())

    assert record.run(record.commands.replay(call)) is ReplayReply.OK
    assert record.run(record.commands.replay(call)) is ReplayReply.NOT_DEAD
    assert record.complete(claim, "of the life before") is FinishReply.FENCED
    assert record.redis.exists(record.keys.meta_prefix + call) == 0
    assert record.ring() == call
    again = record.start(call, policy=ONCE)
    record.complete(again, "alive")

    assert (again.attempt, again.request) == (1, claim.request)
    assert result(record, call).output == "alive"
    assert record.run(record.commands.dead()) == []
    assert record.lasting_keys() == set()


def test_who_subscribes_after_a_replay_sees_what_follows_and_how_much_is_gone(record: Record) -> None:
    claim = running(record, policy=ONCE)
    record.advance(LEASE_MS)
    record.run(record.commands.reap())
    record.run(record.commands.replay(id_of(claim)))

    seen = snapshot(record, id_of(claim))

    assert [(update.seq, update.status, update.reason) for update in seen.updates] == [
        (4, CallStatus.PENDING, "replay")
    ]


def test_a_call_that_was_refused_with_its_message_can_be_replayed(record: Record) -> None:
    call = request()
    refusal = Refusal(CallStatus.ERROR, "not_found", FAILURE)
    record.run(record.commands.enqueue(call, message_of(call), refusal=refusal))
    assert record.queue == []

    assert record.run(record.commands.replay(str(call.tool_call_id))) is ReplayReply.OK
    assert record.ring() == call.tool_call_id
    claim = record.start(str(call.tool_call_id))
    record.complete(claim, "there it is")

    assert (claim.attempt, claim.request.arguments) == (1, call.arguments)
    assert result(record, str(call.tool_call_id)).output == "there it is"
    assert record.run(record.commands.replay(str(call.tool_call_id))) is ReplayReply.NOT_DEAD
    assert record.lasting_keys() == set()


def test_only_what_was_kept_can_be_replayed(record: Record) -> None:
    refused = request(1)
    record.enqueue(refused, refusal=Refusal(CallStatus.ERROR, "schema", FAILURE))
    assert record.run(record.commands.replay(str(refused.tool_call_id))) is ReplayReply.NOT_DEAD
    claim = running(record)
    assert record.run(record.commands.replay(id_of(claim))) is ReplayReply.NOT_DEAD
    record.complete(claim)
    assert record.run(record.commands.replay(id_of(claim))) is ReplayReply.NOT_DEAD


# --- SNAPSHOT and who is told


def test_a_snapshot_holds_what_was_missed_from_any_update_on(record: Record) -> None:
    claim = running(record)
    record.run(record.commands.progress(id_of(claim), claim.fence, 0, [f',"partial":{n}' for n in range(5)]))
    record.complete(claim, 1)

    for seen in range(9):
        assert [u.seq for u in snapshot(record, id_of(claim), seen).updates] == list(range(seen + 1, 9))


def test_the_log_keeps_the_last_updates_and_always_the_terminal_one(record: Record) -> None:
    claim = running(record)
    record.run(record.commands.progress(id_of(claim), claim.fence, 0, [f',"partial":{n}' for n in range(1000)]))
    record.complete(claim, "end")

    updates = snapshot(record, id_of(claim)).updates

    assert [update.seq for update in updates] == list(range(1003 - 255, 1004))
    assert updates[-1].result is not None


def test_a_client_is_told_until_it_no_longer_listens(record: Record) -> None:
    channel = record.keys.reply("c1")
    ear = record.listen(channel)
    call = request()
    record.enqueue(call, client="c1")
    claim = record.start(str(call.tool_call_id))

    assert len(ear.heard()) == 2
    ear.unsubscribe(channel)
    record.run(record.commands.progress(id_of(claim), claim.fence, 0, [',"partial":1']))
    assert record.fields(id_of(claim))["watchers"] == ""
    ear.subscribe(channel)
    record.run(record.commands.snapshot(id_of(claim), 2, "c1"))
    record.complete(claim)
    heard = [replies.update(message).seq for _, message in ear.heard()]
    ear.close()

    assert heard == [4]
    assert "watchers" not in record.fields(id_of(claim))


# --- a server in trouble


def test_scripts_are_loaded_again_after_the_server_forgot_them(record: Record) -> None:
    claim = running(record)
    record.redis.script_flush()

    assert record.complete(claim, 1) is FinishReply.OK


async def test_a_batch_in_the_middle_of_which_scripts_are_forgotten_is_whole(record: Record) -> None:
    calls = [request(place) for place in range(20)]
    commands: list[Command[Any]] = [record.commands.enqueue(call, message_of(call)) for call in calls]
    commands.insert(10, Command(("SCRIPT", "FLUSH"), bool))
    record.driver.run(record.commands.snapshot("tc_0"))

    # The flush stands in the batch, so that the first sending fails half-way; the second finds the scripts again …
    with pytest.raises(NoScriptError, match="No matching script"):
        record.driver.run_all(commands)
    # … and what was enqueued the first time is a duplicate now, never a second call.
    del commands[10]
    found = record.driver.run_all(commands)
    assert {reply.submission for reply in found} <= {Submission.NEW, Submission.DUPLICATE}
    assert len(record.queue) == 20

    driver = AsyncDriver(str(record.settings.url), record.settings.command_timeout)
    record.redis.script_flush()
    again = await driver.run_all([clocked(command) for command in commands])
    record.redis.script_flush()
    last = await driver.run(clocked(commands[0]))
    await driver.close()
    assert {reply.submission for reply in [*again, last]} == {Submission.DUPLICATE}


@pytest.fixture
def full_memory(record: Record) -> Iterator[None]:
    yield
    record.redis.config_set("maxmemory", 0)


def test_with_full_memory_new_calls_are_refused_and_accepted_ones_go_on_to_their_end(
    record: Record, full_memory: None
) -> None:
    first, second, third, fourth = (running(record, place) for place in range(4))
    waiting, doomed = known(record, 4), known(record, 5)
    everyone = [(id_of(claim), claim.fence) for claim in (first, second, third, fourth)]
    record.redis.config_set("maxmemory", 1)

    with pytest.raises(BrokerUnavailable, match="takes no writes"):
        record.driver.run(record.commands.enqueue(request(9), message_of(request(9))), timedelta(seconds=0.1))

    assert record.run(record.commands.beat("w1", "{}", everyone)).lost == ()
    assert record.complete(first, "kept") is FinishReply.OK
    assert retry(record, second, 1) is FinishReply.OK
    assert record.run(record.commands.cancel(id_of(third))) is CancelReply.REQUESTED
    assert record.run(record.commands.give_back(id_of(fourth), fourth.fence)) is FinishReply.OK
    assert record.run(record.commands.cancel(doomed)) is CancelReply.CANCELLED
    assert isinstance(record.claim(waiting), Claim)
    assert record.run(record.commands.snapshot(waiting, 0, "c1")) is not None
    assert "c1" in record.fields(waiting)["watchers"]
    set_clock(record, LEASE_MS * 2)
    rescued = record.run(record.commands.reap())
    assert sorted(rescued) == sorted([(id_of(second), "due"), (id_of(third), "given_up"), (waiting, "rerun")])
    assert id_of(fourth) in [call for call, _ in record.queue]
    assert result(record, id_of(first)).output == "kept"


@pytest.mark.parametrize("word", ["OOM", "MISCONF", "READONLY", "NOREPLICAS"])
def test_a_refusal_is_the_same_from_within_a_script_of_redis_6(
    record: Record, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    told = f"Error running script (call to f_0): @user_script:14: @user_script: 14: -{word} not now"

    def refuse(*_: object) -> None:
        raise ResponseError(told)

    monkeypatch.setattr(record.redis, "execute_command", refuse)

    with pytest.raises(BrokerUnavailable, match="takes no writes"):
        record.run(record.commands.snapshot("tc_0"))


def set_clock(record: Record, ms: int) -> None:
    """Let time pass on a server that takes no writes."""
    record.redis.config_set("maxmemory", 0)
    record.advance(ms)
    record.redis.config_set("maxmemory", 1)


def test_every_script_says_what_it_needs_in_its_head() -> None:
    """The scripts are also the reference for other languages."""
    for path in SCRIPTS.iterdir():
        if path.name not in ("clock.lua", "prelude.lua"):
            head = path.read_text()
            assert head.startswith(f"-- {path.name.removesuffix('.lua').upper()}: ")
            assert "-- ARGV: prefix, meta prefix, result ttl, queue, " in head
            assert "-- Returns " in head


DOCS = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()
KEYS = Keys("P ", "P celery-task-meta-", "calls")


@pytest.mark.parametrize(
    "name",
    [
        KEYS.call("<id>"), f"{KEYS.prefix}log:<id>", f"{KEYS.meta_prefix}<id>", "P running", "P waiting", "P delayed",
        KEYS.dead, KEYS.queue, KEYS.catalogue, KEYS.workers, KEYS.worker("<name>"), KEYS.rejected,
        KEYS.updates("<id>"), KEYS.reply("<client>"), KEYS.control("<worker>"),
    ],
)  # fmt: skip
def test_the_protocols_page_describes_every_name_in_redis(name: str) -> None:
    assert f"`{name}`" in DOCS


def test_the_protocols_page_describes_every_script_and_reply() -> None:
    scripts = [path.name.removesuffix(".lua") for path in SCRIPTS.iterdir()]
    rows = {row.split("|")[1].strip(): row for row in DOCS.splitlines() if row.startswith("| ") and row.count("|") == 4}

    assert {name.upper() for name in scripts} - {"CLOCK", "PRELUDE"} <= set(rows)
    for name, kind in {
        "ENQUEUE": Submission,
        "CLAIM": ClaimRefusal,
        "FINISH": FinishReply,
        "CANCEL": CancelReply,
        "REPLAY": ReplayReply,
    }.items():
        assert all(f"`{reply}`" in rows[name] for reply in kind), name


def test_every_field_of_a_record_is_described(record: Record) -> None:
    claim = running(record)
    call = id_of(claim)
    record.run(record.commands.snapshot(call, client="c1"))
    record.run(record.commands.progress(call, claim.fence, 0, [',"partial":1']))
    record.run(record.commands.cancel(call))
    fields = set(record.fields(call))
    record.complete(claim)
    fields |= set(record.fields(call))
    other = running(record, 1)
    retry(record, other, 5)
    fields |= set(record.fields(id_of(other)))

    assert {field for field in fields if f"`{field}`" not in DOCS} == set()


def test_the_protocols_examples_are_what_is_sent(settings: Settings) -> None:
    update, heartbeat = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", DOCS, re.DOTALL))
    process = WorkerProcess(settings, str(settings.url), ToolRegistry(), on_unfit=lambda _: None)

    read = replies.update(json.dumps(update))

    assert set(heartbeat) == set(json.loads(process._state()))
    assert read.result is not None
    assert set(update["result"]) == set(read.result.model_dump(mode="json"))
    process.close()
