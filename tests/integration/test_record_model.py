"""The record under anything that may happen to it, in any order: every reply and every key as the model says.

``make test`` walks the same paths every time; ``TOOLRELAY_TEST_PROFILE=chaos``, as ``make chaos``, walks many new ones.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.conftest import deployment
from tests.support.record import Record, message_of, request, scores
from tests.support.record_model import LOG_LENGTH, TERMINAL, Call, Model, Policy, Update
from toolrelay.embedded import EmbeddedServer
from toolrelay.models import CallStatus, ExecutionPolicy, NormalizedToolRequest, OnLost
from toolrelay.protocol import replies
from toolrelay.protocol.commands import Command, Refusal, outcome_fragment, script
from toolrelay.protocol.replies import Beat, Claim
from toolrelay.waiter import Watch

T = TypeVar("T")

PROFILES = {
    "test": settings(
        max_examples=80,
        stateful_step_count=80,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],  # a failure is shown as it is found: to shrink it takes minutes
        suppress_health_check=list(HealthCheck),
    ),
    "chaos": settings(
        max_examples=600,
        stateful_step_count=120,
        print_blob=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    ),
}

LEASE_MS, GRACE_MS = 2000, 1000
#: far less than any result is kept, and more than a call has attempts
EXPIRY_MS = 100
POLICIES = (Policy(3, "rerun"), Policy(1, "rerun"), Policy(3, "fail"), Policy(2, "rerun"))
CALLS = [str(request(place).tool_call_id) for place in range(len(POLICIES))]
WORKERS, CLIENTS = ("w1", "w2", "w3"), ("c1", "c2")
SUCCESS = outcome_fragment(success=True, output={"sum": 3})
FAILURE = outcome_fragment(success=False, error="no such order")
REFUSAL = Refusal(CallStatus.ERROR, "schema", FAILURE)
#: comes with the message that can ring for the call later
UNKNOWN = Refusal(CallStatus.ERROR, "not_found", FAILURE)
OUTCOMES = {"complete": SUCCESS, "error": FAILURE, "dead": FAILURE, "cancelled": FAILURE}

calls = st.sampled_from(CALLS)
workers = st.sampled_from(WORKERS)
clients = st.sampled_from(CLIENTS)
clients_or_none = st.sampled_from(["", *CLIENTS])
outcomes = st.sampled_from([*OUTCOMES, "complete", "retry", "retry", "give_back"])
#: which one, counted from the newest, of those there are
whiches = st.integers(0, 3)
#: around every boundary that counts, and none
spans = st.sampled_from([1, 10, GRACE_MS - 1, GRACE_MS, GRACE_MS + 1, LEASE_MS - 1, LEASE_MS, LEASE_MS + 1, 5000])
#: how often a command is sent: twice when its first reply was lost
sendings = st.sampled_from([1, 1, 1, 2])


@dataclass(frozen=True)
class Sent:
    """A command that may arrive once more, much later."""

    command: Command[Any]
    check: Callable[[Any], None]


@dataclass(frozen=True)
class Run:
    """What a worker holds, or believes to hold."""

    call: str
    fence: int
    worker: str


def asked(place: int, arguments: int) -> NormalizedToolRequest:
    return request(place, arguments={"a": arguments})


class RecordMachine(RuleBasedStateMachine):
    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.record = Record(
            deployment(self.url, lease=timedelta(milliseconds=LEASE_MS), ring_grace=timedelta(milliseconds=GRACE_MS))
        )
        policies = dict(zip(CALLS, POLICIES, strict=True))
        self.model = Model(policies, LEASE_MS, GRACE_MS, self.record.now)
        channels = [self.record.keys.updates(call) for call in CALLS]
        self.ear = self.record.listen(*channels)
        self.runs: list[Run] = []
        self.log: list[Sent] = []
        #: each client's view of the calls it follows, kept by the waiter's own rules
        self.views: dict[tuple[str, str], Watch] = {}
        self.history: dict[str, list[dict[str, Any]]] = {call: [] for call in CALLS}
        self.record.redis.hset(self.record.keys.catalogue, "math/add", "{}")
        self.record.redis.expire(self.record.keys.catalogue, 3600)
        self.steps = 0

    # --- what producers do

    @initialize(client=clients_or_none, listening=st.booleans())
    def begin(self, client: str, listening: bool) -> None:
        if listening:
            for each in CLIENTS:
                self.listen_or_hang_up(each)
        for call in CALLS[:3]:
            self._enqueue(call, 0, client, None, 1)

    @precondition(lambda self: self._calls(""))
    @rule(which=whiches, client=clients_or_none, refusal=st.sampled_from([None, None, REFUSAL, UNKNOWN]), sent=sendings)
    def enqueue(self, which: int, client: str, refusal: Refusal | None, sent: int) -> None:
        self._enqueue(_pick(self._calls(""), which), 0, client, refusal, sent)

    @rule(call=calls, arguments=st.integers(0, 1), client=clients_or_none, refusal=st.sampled_from([None, REFUSAL]))
    def enqueue_again(self, call: str, arguments: int, client: str, refusal: Refusal | None) -> None:
        self._enqueue(call, arguments, client, refusal, 1)

    def _enqueue(self, call: str, arguments: int, client: str, refusal: Refusal | None, sent: int) -> None:
        what = asked(CALLS.index(call), arguments)
        is_kept = refusal is UNKNOWN
        message = "" if refusal and not is_kept else message_of(what)

        def check(reply: replies.Enqueued) -> None:
            expected = self.model.enqueue(call, arguments, client, refused=refusal is not None, kept=is_kept)
            assert reply.submission == expected
            if expected == "duplicate" or (expected == "new" and refusal):
                self._same_updates(reply.snapshot, self.model.calls[call].log)

        self._send(self.record.commands.enqueue(what, message, client=client, refusal=refusal), check, sent)

    @precondition(lambda self: self._calls("pending", "running"))
    @rule(which=whiches, sent=sendings)
    def cancel(self, which: int, sent: int) -> None:
        self._cancel(_pick(self._calls("pending", "running"), which), sent)

    def _cancel(self, call: str, sent: int) -> None:
        self._send(self.record.commands.cancel(call), lambda reply: _equal(self.model.cancel(call), reply), sent)

    @precondition(lambda self: any(call.can_be_replayed for call in self.model.calls.values()))
    @rule(which=whiches, sent=sendings)
    def replay(self, which: int, sent: int) -> None:
        self._replay(_pick([call.id for call in self.model.calls.values() if call.can_be_replayed], which), sent)

    def _replay(self, call: str, sent: int) -> None:
        def check(reply: str) -> None:
            assert reply == self.model.replay(call)
            if reply == "ok":
                self._forget_views(call)

        self._send(self.record.commands.replay(call), check, sent)

    @rule(client=clients)
    def listen_or_hang_up(self, client: str) -> None:
        channel = self.record.keys.reply(client)
        if client in self.model.listening:
            self.ear.unsubscribe(channel)
            self.model.listening.remove(client)
        else:
            self.ear.subscribe(channel)
            self.model.listening.add(client)
            for follower, call in list(self.views):
                if follower == client:
                    self._look(client, call)

    @precondition(lambda self: self.model.listening)
    @rule(call=calls)
    def follow(self, call: str) -> None:
        for client in sorted(self.model.listening):
            self.views.setdefault((client, call), Watch(call))
            self._look(client, call)

    def _look(self, client: str, call: str) -> None:
        view = self.views[client, call]
        snapshot = self.record.run(self.record.commands.snapshot(call, view.seen, client))
        self._same_updates(snapshot, self.model.snapshot(call, view.seen, client))
        if snapshot is None:
            del self.views[client, call]
        else:
            view.catch_up(snapshot)

    # --- what workers do

    @precondition(lambda self: self.model.queue)
    @rule(worker=workers, sent=sendings)
    def take(self, worker: str, sent: int) -> None:
        call = self.record.ring()
        assert call == self.model.queue.pop(0)[0]
        self._claim(str(call), worker, sent)

    @precondition(lambda self: self._calls("pending", "running"))
    @rule(which=whiches, worker=workers, sent=sendings, has_tool=st.sampled_from([True, True, False]))
    def hear_an_old_doorbell(self, which: int, worker: str, sent: int, has_tool: bool) -> None:
        call = _pick(self._calls("pending", "running"), which)
        self._claim(call, worker, sent, missing=() if has_tool else ["math/add"])

    def _claim(self, call: str, worker: str, sent: int, missing: Sequence[str] = ()) -> None:
        policy = self.model.calls[call].policy
        token = object()

        def check(reply: Any) -> None:
            fence = reply.fence if isinstance(reply, Claim) else 0
            expected = self.model.claim(call, worker, token, fence, has_tool=not missing)
            assert ("run" if isinstance(reply, Claim) else reply) == expected
            if isinstance(reply, Claim):
                modelled = self.model.calls[call]
                assert reply.attempt == modelled.attempt
                assert reply.request == asked(CALLS.index(call), modelled.arguments)
                run = Run(call, fence, worker)
                if run not in self.runs:
                    self.runs.append(run)

        rules = ExecutionPolicy(max_attempts=policy.max_attempts, on_lost=OnLost(policy.on_lost))
        self._send(self.record.commands.claim(call, worker, rules, missing=missing), check, sent)

    @precondition(lambda self: self._current())
    @rule(which=whiches, kind=outcomes, delay=spans, sent=sendings)
    def finish(self, which: int, kind: str, delay: int, sent: int) -> None:
        self._finish(_pick(self._current(), which), kind, delay, sent)

    @precondition(lambda self: self._stale())
    @rule(which=whiches, kind=outcomes, delay=spans)
    def finish_late(self, which: int, kind: str, delay: int) -> None:
        self._finish(_pick(self._stale(), which), kind, delay, 1)

    def _finish(self, run: Run, kind: str, delay: int, sent: int) -> None:
        commands = self.record.commands
        if kind == "retry":
            command = commands.retry(run.call, run.fence, timedelta(milliseconds=delay))
        elif kind == "give_back":
            command = commands.give_back(run.call, run.fence)
        else:
            status = CallStatus("error" if kind == "dead" else kind)
            command = commands.finish(run.call, run.fence, status, "", OUTCOMES[kind], dead=kind == "dead")
        self._send(command, lambda reply: _equal(self.model.finish(run.call, run.fence, kind, delay), reply), sent)

    @precondition(lambda self: self._current())
    @rule(which=whiches, first=st.integers(0, 3), count=st.sampled_from([1, 2, LOG_LENGTH + 44]), sent=sendings)
    def progress(self, which: int, first: int, count: int, sent: int) -> None:
        self._progress(_pick(self._current(), which), first, count, sent)

    @precondition(lambda self: self._stale())
    @rule(which=whiches, first=st.integers(0, 3))
    def progress_late(self, which: int, first: int) -> None:
        self._progress(_pick(self._stale(), which), first, 2, 1)

    def _progress(self, run: Run, first: int, count: int, sent: int) -> None:
        fragments = [f',"partial":{said}' for said in range(first, first + count)]
        command = self.record.commands.progress(run.call, run.fence, first, fragments)
        self._send(command, lambda reply: _equal(self.model.progress(run.call, run.fence, first, count), reply), sent)

    @precondition(lambda self: self.runs)
    @rule(worker=workers, sent=sendings)
    def beat(self, worker: str, sent: int) -> None:
        held = {run.call: run.fence for run in self.runs if run.worker == worker}

        def check(reply: Beat) -> None:
            assert (list(reply.lost), list(reply.cancelled)) == self.model.beat(list(held.items()))
            assert reply.queue_length == len(self.model.queue)

        self._send(self.record.commands.beat(worker, "{}", held.items()), check, sent)

    @rule(sent=sendings)
    def reap(self, sent: int) -> None:
        self._send(self.record.commands.reap(), lambda reply: _equal(self.model.reap(), reply), sent)

    @rule(which=whiches, do=st.sampled_from(["cancel", "replay", "claim"]))
    def ask_for_what_is_over_or_unknown(self, which: int, do: str) -> None:
        over = self._calls("", *TERMINAL)
        if over and do == "cancel":
            self._cancel(_pick(over, which), 1)
        elif over and do == "replay":
            self._replay(_pick(over, which), 1)
        elif over and do == "claim":
            self._claim(_pick(over, which), "w1", 1)

    # --- what happens by itself

    @rule(ms=spans)
    def time_passes(self, ms: int) -> None:
        self._advance(ms)

    @precondition(lambda self: self._deadlines())
    @rule(which=whiches, by=st.integers(-1, 1))
    def a_deadline_comes(self, which: int, by: int) -> None:
        """A lease's, a retry's or a doorbell's, to the millisecond."""
        self._advance(_pick(self._deadlines(), which) + by - self.model.now)

    @precondition(lambda self: self.model.queue)
    @rule()
    def a_message_is_lost(self) -> None:
        assert self.record.ring() == self.model.queue.pop(0)[0]

    @precondition(lambda self: self.model.queue)
    @rule(is_next=st.booleans())
    def a_message_is_doubled(self, is_next: bool) -> None:
        keys, message = self.record.keys, self.record.redis.lindex(self.record.keys.queue, -1)
        if is_next:
            self.record.redis.rpush(keys.queue, str(message))
            self.model.queue.insert(0, self.model.queue[0])
        else:
            self.record.redis.lpush(keys.queue, str(message))
            self.model.queue.append(self.model.queue[0])

    @precondition(lambda self: self.log)
    @rule(which=st.integers(0, 20))
    def a_command_arrives_once_more(self, which: int) -> None:
        sent = _pick(self.log, which)
        sent.check(self.record.run(sent.command))

    @precondition(lambda self: self._calls(*TERMINAL))
    @rule(which=whiches, leaves_log=st.booleans())
    def a_result_expires(self, which: int, leaves_log: bool) -> None:
        call, record = _pick(self._calls(*TERMINAL), which), self.record
        self._advance(EXPIRY_MS)
        log, own = f"{record.keys.prefix}log:{call}", [record.keys.call(call), record.keys.meta_prefix + call]
        assert all(record.redis.ttl(key) > 0 for key in (log, *own))
        record.redis.delete(*own, *([] if leaves_log else [log]))
        record.redis.zrem(record.keys.dead, call)
        self.model.expire(call)
        self.views = {key: view for key, view in self.views.items() if key[1] != call}
        self.history[call] = []

    # --- what must be true at any time

    @invariant()
    def published_is_what_happened(self) -> None:
        public: list[tuple[str, Update]] = []
        told: list[tuple[str, str, Update]] = []
        for channel, text in self.ear.heard():
            update = replies.update(text)
            seen = Update(update.seq, update.status.value, update.reason, update.partial)
            assert (update.result is not None) == update.status.is_terminal
            if channel == self.record.keys.updates(update.tool_call_id):
                public.append((update.tool_call_id, seen))
                self._append(update.tool_call_id, update.seq, is_last=update.status.is_terminal)
                continue
            client = channel.removeprefix(self.record.keys.reply(""))
            told.append((client, update.tool_call_id, seen))
            view = self.views.setdefault((client, update.tool_call_id), Watch(update.tool_call_id))
            if not view.apply(update):
                self._look(client, update.tool_call_id)
        assert public == self.model.published
        assert sorted(told, key=_by_client_and_call) == sorted(self.model.told, key=_by_client_and_call)
        self.model.published, self.model.told = [], []
        self._nobody_who_follows_misses_anything()

    def _append(self, call: str, seq: int, *, is_last: bool) -> None:
        history = self.history[call]
        expected = history[-1]["seq"] + 1 if history else 1
        assert seq == expected
        assert not (history and history[-1]["is_last"]), "something was published after the terminal update"
        history.append({"seq": seq, "is_last": is_last})

    @invariant()
    def the_record_is_as_the_model_says(self) -> None:
        self.steps += 1
        calls, keys = list(self.model.calls.values()), self.record.keys
        seen = [self.steps * 7 % (call.seq + 1) for call in calls]
        commands: list[Command[Any]] = [self.record.commands.record(call.id) for call in calls]
        commands += [
            Command(self.record.commands.snapshot(call.id, after).args, list, script("snapshot"))
            for call, after in zip(calls, seen, strict=True)
        ]
        commands += [
            Command(("ZRANGE", keys.prefix + name, 0, -1, "WITHSCORES"), scores)
            for name in ("running", "waiting", "delayed", "dead")
        ]
        commands.append(Command(("EXISTS", *(keys.meta_prefix + call.id for call in calls)), int))
        answers = self.record.driver.run_all(commands)
        count = len(calls)
        for call, fields in zip(calls, answers[:count], strict=True):
            _same_fields(call, fields)
        for call, after, reply in zip(calls, seen, answers[count : 2 * count], strict=True):
            _same_snapshot(call, after, reply)
        running, waiting, delayed, dead, results = answers[2 * count :]
        assert running == {call.id: call.lease for call in calls if call.status == "running"}
        assert waiting == {call.id: call.rung for call in calls if call.rung}
        assert delayed == {call.id: call.due for call in calls if call.due and not call.rung}
        assert set(dead) == {call.id for call in calls if call.is_dead}
        assert results == sum(call.status in TERMINAL for call in calls)
        assert self.record.queue == self.model.queue

    @invariant()
    def promises_hold(self) -> None:
        for call in self.model.calls.values():
            assert call.finishes <= 1
            assert call.starts <= call.policy.max_attempts
            if call.policy.on_lost == "fail":
                assert call.starts <= 1 + call.retries
            if call.is_open:  # somebody will look at it
                assert (call.status == "running") + bool(call.rung) + bool(call.due and not call.rung) == 1

    def _nobody_who_follows_misses_anything(self) -> None:
        for (client, call), view in self.views.items():
            last, dropped = 0, 0
            for update in view.updates:
                assert update.seq == last + 1 + update.dropped
                last, dropped = update.seq, dropped + update.dropped
                assert (update.result is not None) == update.status.is_terminal
            assert [update.seq for update in view.updates if update.status.is_terminal] in ([], [last])
            modelled = self.model.calls[call]
            if client in modelled.watchers and client in self.model.listening:
                assert last == modelled.seq

    # --- the end

    def teardown(self) -> None:
        try:
            if sys.exception() is None:
                self._come_to_an_end()
        finally:
            self.ear.close()
            self.record.close()

    def _come_to_an_end(self) -> None:
        """One worker does all that is left: every accepted call ends, and nothing stays behind."""
        self._advance(LEASE_MS + max(GRACE_MS, 5000))
        accepted = {call.id for call in self.model.open()}
        for _ in range(20):
            self.reap(1)
            while self.model.queue:
                self.take("w1", 1)
                for run in self._current():
                    self._finish(run, "complete", 1, 1)
            self._advance(GRACE_MS + 1)
            if not any(self.model.open()):
                break
        for check in (self.published_is_what_happened, self.the_record_is_as_the_model_says, self.promises_hold):
            check()
        assert all(self.model.calls[call].status in TERMINAL for call in accepted)
        assert self.record.lasting_keys() == set()
        for client in CLIENTS:
            if client not in self.model.listening:
                self.listen_or_hang_up(client)
        self._nobody_who_follows_misses_anything()
        for (_, call), view in self.views.items():
            assert view.seen == self.model.calls[call].seq
            assert view.is_over

    def _calls(self, *statuses: str) -> list[str]:
        return [call.id for status in statuses for call in self.model.calls.values() if call.status == status]

    def _current(self) -> list[Run]:
        """What workers hold, and nobody else believes to hold."""
        return [run for run in self.runs if self._is_current(run)]

    def _stale(self) -> list[Run]:
        """What was taken from a worker that does not know it yet, those last whose calls go on without it."""
        stale = [run for run in self.runs if not self._is_current(run)]
        return sorted(stale, key=lambda run: self.model.calls[run.call].is_open)

    def _is_current(self, run: Run) -> bool:
        call = self.model.calls[run.call]
        return call.status == "running" and call.fence == run.fence

    def _deadlines(self) -> list[int]:
        calls = list(self.model.calls.values())
        ends = [call.lease for call in calls] + [call.due for call in calls]
        ends += [call.rung + GRACE_MS for call in calls if call.rung]
        return sorted((end for end in ends if end > self.model.now), reverse=True)

    def _send(self, command: Command[Any], check: Callable[[Any], None], sent: int) -> None:
        for _ in range(sent):
            check(self.record.run(command))
        self.log.append(Sent(command, check))

    def _advance(self, ms: int) -> None:
        self.record.advance(ms)
        self.model.now = self.record.now

    def _forget_views(self, call: str) -> None:
        """Let those who saw the end go; a replay is a new life, and who still follows sees both."""
        self.views = {key: view for key, view in self.views.items() if key[1] != call or not view.is_over}
        self.history[call] = [{**entry, "is_last": False} for entry in self.history[call]]

    @staticmethod
    def _same_updates(snapshot: replies.Snapshot | None, expected: list[Update]) -> None:
        updates = snapshot.updates if snapshot else ()
        assert [Update(u.seq, u.status.value, u.reason, u.partial) for u in updates] == expected


def _pick(things: Sequence[T], which: int) -> T:
    return things[-1 - which % len(things)]


def _equal(expected: object, reply: object) -> None:
    assert reply == expected


def _by_client_and_call(told: tuple[str, str, Update]) -> tuple[str, str, int]:
    return told[0], told[1], told[2].seq


def _same_fields(call: Call, fields: dict[str, str]) -> None:
    assert fields.get("status", "") == call.status
    if not call.status:
        return
    assert (int(fields["seq"]), int(fields["attempt"])) == (call.seq, call.attempt)
    assert ("cancel" in fields) == call.cancel
    assert fields.get("watchers", "").split() == call.watchers
    if call.status == "running":
        assert (fields["owner"], int(fields["fence"]), int(fields["lease"])) == (call.owner, call.fence, call.lease)
    assert ("rest" in fields) == (call.is_open or call.can_be_replayed)


def _same_snapshot(call: Call, seen: int, reply: list[str]) -> None:
    if not call.status:
        assert reply == []
        return
    expected = [update for update in call.log if update.seq > seen]
    assert (reply[0], int(reply[1]), bool(reply[2])) == (call.status, call.seq, call.status in TERMINAL)
    found = [json.loads(text) for text in reply[3:]]
    assert [Update(u["seq"], u["status"], u.get("reason"), u.get("partial")) for u in found] == expected
    assert all("result" not in update for update in found)


def walk(url: str, profile: str) -> None:
    machine = type("Machine", (RecordMachine,), {"url": url})
    run_state_machine_as_test(machine, settings=PROFILES[profile])


def test_the_record_keeps_every_promise_in_any_order_of_events(server: EmbeddedServer) -> None:
    walk(server.url, os.environ.get("TOOLRELAY_TEST_PROFILE", "test"))
