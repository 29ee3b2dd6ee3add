"""What the record's scripts promise, in plain Python: one method a script, with the reply it must give.

The model says nothing of Redis; fences are whatever CLAIM gave, as long as they rise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

LOG_LENGTH = 256
ELSEWHERE_MS, ELSEWHERE_AT_MOST_MS = 300, 10_000
TERMINAL = {"complete", "error", "cancelled"}


@dataclass
class Policy:
    max_attempts: int
    on_lost: str


@dataclass(frozen=True)
class Update:
    seq: int
    status: str
    reason: str | None = None
    said: int | None = None
    """Which of the attempt's reports this is."""


@dataclass
class Call:
    """One call id; ``status`` is empty while there is no record."""

    id: str
    policy: Policy
    status: str = ""
    arguments: int = 0
    seq: int = 0
    attempt: int = 0
    fence: int = 0
    floor: int = 0
    """The highest fence of the records this id had before."""
    owner: str = ""
    token: object = None
    said: int = 0
    lease: int = 0
    due: int = 0
    rung: int = 0
    elsewhere: int = 0
    """How often a worker without the tool has passed it on since the last attempt."""
    cancel: bool = False
    accepted: int | None = None
    is_dead: bool = False
    is_kept: bool = False  # refused, and may be started later
    watchers: list[str] = field(default_factory=list)
    log: list[Update] = field(default_factory=list)
    starts: int = 0
    """Since it was enqueued or replayed."""
    retries: int = 0
    """How often a worker asked for another attempt."""
    finishes: int = 0
    """How often an outcome was accepted."""

    @property
    def can_be_replayed(self) -> bool:
        return self.is_dead or self.is_kept

    @property
    def is_open(self) -> bool:
        return bool(self.status) and self.status not in TERMINAL


class Model:
    def __init__(self, calls: dict[str, Policy], lease_ms: int, grace_ms: int, now: int) -> None:
        self.calls = {call: Call(call, policy) for call, policy in calls.items()}
        self.lease_ms, self.grace_ms, self.now = lease_ms, grace_ms, now
        #: the doorbells in the queue, the oldest first: whose, and when rung
        self.queue: list[tuple[str, int]] = []
        self.listening: set[str] = set()
        #: what has been published: to everyone, and to each client
        self.published: list[tuple[str, Update]] = []
        self.told: list[tuple[str, str, Update]] = []

    def enqueue(self, call_id: str, arguments: int, client: str, *, refused: bool, kept: bool) -> str:
        call = self.calls[call_id]
        if call.status:
            if call.arguments != arguments:
                return "conflict"
            self._watch(call, client)
            return "duplicate"
        self.calls[call_id] = call = Call(call_id, call.policy, "pending", arguments, floor=call.floor)
        self._watch(call, client)
        self._update(call, "pending")
        if refused:
            self._end(call, "error")
            call.is_kept = kept
        else:
            self._ring(call)
        return "new"

    def claim(self, call_id: str, worker: str, token: object, fence: int, *, has_tool: bool = True) -> str:
        """``fence`` is what the script gave, if it let the worker run the call."""
        call = self.calls[call_id]
        if not call.is_open:
            return "finished" if call.status else "unknown"
        if call.status == "running" and call.token == token:
            assert fence == call.fence
            return "run"
        if call.due > self.now:
            return "early"
        if call.status == "running":
            if call.lease > self.now:
                return "held"
            if not self._lose(call):
                return "given_up"
        if not has_tool:
            call.due, call.rung = self.now + min(ELSEWHERE_MS * 2**call.elsewhere, ELSEWHERE_AT_MOST_MS), 0
            call.elsewhere += 1
            return "elsewhere"
        if call.attempt >= call.policy.max_attempts:
            self._end(call, "error", "worker_lost", dead=True)
            return "given_up"
        assert fence > max(call.fence, call.floor)
        call.attempt += 1
        call.starts += 1
        call.status, call.fence, call.token, call.owner, call.said = "running", fence, token, worker, 0
        call.lease, call.due, call.rung, call.elsewhere = self.now + self.lease_ms, 0, 0, 0
        self._update(call, "running")
        return "run"

    def beat(self, held: list[tuple[str, int]]) -> tuple[list[str], list[str]]:
        lost, cancelled = [], []
        for call_id, fence in held:
            call = self.calls[call_id]
            if call.status != "running" or call.fence != fence:
                lost.append(call_id)
                continue
            call.lease = self.now + self.lease_ms
            if call.cancel:
                cancelled.append(call_id)
        return lost, cancelled

    def progress(self, call_id: str, fence: int, first: int, count: int) -> bool:
        call = self.calls[call_id]
        if call.status != "running" or call.fence != fence:
            return False
        for said in range(max(first, call.said), first + count):
            call.said = said + 1
            self._update(call, "running", said=said)
        return True

    def finish(self, call_id: str, fence: int, kind: str, delay_ms: int = 0) -> str:
        """``kind`` is a terminal status, ``dead`` (an error kept as a dead letter), ``retry`` or ``give_back``."""
        call = self.calls[call_id]
        if not call.status:
            return "unknown"
        if call.fence != fence:
            return "fenced" if call.is_open else "already"
        if not call.is_open:
            return "ok" if call.accepted == fence else "already"
        if kind in ("retry", "give_back"):
            if call.status == "running":
                self._back(call, kind, delay_ms)
            return "ok"
        call.accepted = fence
        call.finishes += 1
        self._end(call, "error" if kind == "dead" else kind, dead=kind == "dead")
        return "ok"

    def _back(self, call: Call, kind: str, delay_ms: int) -> None:
        if kind == "give_back":
            if self._lose(call):
                self._ring(call)
        elif call.cancel:
            self._end(call, "cancelled")
        else:
            call.retries += 1
            call.status, call.due = "pending", self.now + delay_ms
            self._update(call, "pending", "retry")

    def cancel(self, call_id: str) -> str:
        call = self.calls[call_id]
        if not call.is_open:
            return "finished" if call.status else "unknown"
        if call.status == "pending":
            self._end(call, "cancelled")
            return "cancelled"
        call.cancel = True
        return "requested"

    def reap(self) -> list[tuple[str, str]]:
        done = []
        for call in self._due("running", "lease", self.now):
            is_open = self._lose(call)
            if is_open:
                self._ring(call)
            done.append((call.id, "rerun" if is_open else "given_up"))
        for call in self._due("pending", "due", self.now):
            if not call.rung:
                self._ring(call)
                done.append((call.id, "due"))
        horizon = self.now - self.grace_ms
        if self.queue:
            horizon = min(horizon, self.queue[0][1] - 1)
        for call in self._due("pending", "rung", horizon):
            self._ring(call)
            done.append((call.id, "rung"))
        return done

    def _due(self, status: str, when: str, horizon: int) -> list[Call]:
        calls = [call for call in self.calls.values() if call.status == status and 0 < getattr(call, when) <= horizon]
        return sorted(calls, key=lambda call: (getattr(call, when), call.id))

    def replay(self, call_id: str) -> str:
        call = self.calls[call_id]
        if not call.can_be_replayed:
            return "not_dead" if call.status else "unknown"
        call.is_kept = False
        call.is_dead, call.status, call.attempt, call.accepted = False, "pending", 0, None
        call.starts = call.retries = call.finishes = 0
        call.log.clear()
        call.fence += 1  # nobody has this one: whoever ran it before is out
        self._update(call, "pending", "replay")
        self._ring(call)
        return "ok"

    def snapshot(self, call_id: str, seen: int, client: str) -> list[Update]:
        call = self.calls[call_id]
        if call.is_open:
            self._watch(call, client)
        return [update for update in call.log if update.seq > seen]

    def expire(self, call_id: str) -> None:
        call = self.calls[call_id]
        self.calls[call_id] = Call(call_id, call.policy, floor=max(call.fence, call.floor))

    def open(self) -> Iterator[Call]:
        return (call for call in self.calls.values() if call.is_open)

    def _watch(self, call: Call, client: str) -> None:
        if client and call.is_open and client not in call.watchers:
            call.watchers.append(client)

    def _ring(self, call: Call) -> None:
        call.rung = self.now
        self.queue.append((call.id, self.now))

    def _lose(self, call: Call) -> bool:
        if call.policy.on_lost == "fail":
            self._end(call, "error", "worker_lost", dead=True)
        elif call.cancel:
            self._end(call, "cancelled")
        elif call.attempt >= call.policy.max_attempts:
            self._end(call, "error", "worker_lost", dead=True)
        else:
            call.status = "pending"
            self._update(call, "pending", "worker_lost")
        return call.is_open

    def _end(self, call: Call, status: str, reason: str | None = None, *, dead: bool = False) -> None:
        call.status, call.is_dead = status, dead
        call.rung = call.due = call.lease = call.elsewhere = 0
        call.cancel = False
        self._update(call, status, reason)
        call.watchers = []

    def _update(self, call: Call, status: str, reason: str | None = None, said: int | None = None) -> None:
        call.seq += 1
        update = Update(call.seq, status, reason, said)
        call.log = [*call.log, update][-LOG_LENGTH:]
        self.published.append((call.id, update))
        call.watchers = [client for client in call.watchers if client in self.listening]
        self.told += [(client, call.id, update) for client in call.watchers]
