"""A worker process's hold on the calls it runs: one heartbeat for all of them, and word of cancellations.

A lease that cannot be renewed is given up before it runs out, so that two workers never believe in the same one: the
process stops its own tools when Redis has been out of reach for almost a lease.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from redis.client import PubSub
from redis.exceptions import RedisError

from toolrelay.drivers import Driver
from toolrelay.errors import BrokerUnavailable, ErrorCategory
from toolrelay.protocol.commands import Commands
from toolrelay.protocol.replies import Beat, Claim
from toolrelay_worker._logs import Seldom, one_line
from toolrelay_worker.stopping import StopSignal

logger = logging.getLogger(__name__)

_BEATS_A_LEASE: Final = 4
_COMPLAINT_SECONDS: Final = 10.0
_NO_REDIS: Final = (
    "this worker cannot use its Redis, and waits for it: start it, or name another one with TOOLRELAY_REDIS_URL; "
    "toolrelay doctor says more"
)
#: Kept in hand before a lease runs out, to stop tools in.
_MARGIN: Final = 0.15


@dataclass(slots=True, eq=False)
class Lease:
    """The right to run one call, and the switch that ends its attempt."""

    claim: Claim
    renewed: float
    """When Redis was last asked for it with success, by this machine's monotonic clock: it runs from then or later."""
    stop: StopSignal = field(default_factory=StopSignal)
    is_lost: bool = False
    """The call is no longer ours: whatever comes out is not to be reported."""

    @property
    def tool_call_id(self) -> str:
        """The call."""
        return str(self.claim.request.tool_call_id)

    def lose(self, why: str) -> None:
        """Give the lease up."""
        self.is_lost = True
        self.stop.stop(ErrorCategory.WORKER_LOST, why)


class LeaseKeeper:
    """Beats on a thread of its own while the process lives.

    ``state`` gives the heartbeat's content as JSON; ``on_beat`` hears of every beat that was answered.
    """

    def __init__(
        self,
        driver: Driver,
        commands: Commands,
        worker: str,
        lease_seconds: float,
        *,
        state: Callable[[], str],
        on_beat: Callable[[Beat], None],
    ) -> None:
        self._driver = driver
        self._commands = commands
        self._worker = worker
        self._lease_seconds = lease_seconds
        self._state = state
        self._on_beat = on_beat
        self._held: dict[str, Lease] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._trouble = Seldom(_COMPLAINT_SECONDS)
        self._has_beaten = False
        self._thread = threading.Thread(target=self._run, name="toolrelay-leases", daemon=True)
        # The beating thread may be blocked by the very network that keeps it from beating; this one never is.
        self._guard = threading.Thread(target=self._watch_reach, name="toolrelay-lease-guard", daemon=True)

    @property
    def held(self) -> int:
        """How many calls the process runs now."""
        return len(self._held)

    def start(self) -> None:
        """Begin to beat."""
        self._thread.start()
        self._guard.start()

    def close(self) -> None:
        """Stop beating; leases that are still held run out by themselves."""
        self._closed.set()

    def hold(self, lease: Lease) -> None:
        """Keep a lease alive from now on."""
        with self._lock:
            self._held[lease.tool_call_id] = lease

    def release(self, lease: Lease) -> None:
        """Keep it no longer."""
        with self._lock:
            if self._held.get(lease.tool_call_id) is lease:
                del self._held[lease.tool_call_id]

    def stop_all(self, why: str) -> None:
        """End every attempt of this process, without giving its call up."""
        for lease in self._leases():
            lease.stop.stop(ErrorCategory.WORKER_LOST, why)

    def _leases(self) -> list[Lease]:
        with self._lock:
            return list(self._held.values())

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                with self._driver.redis.pubsub(ignore_subscribe_messages=True) as pubsub:
                    pubsub.subscribe(self._commands.keys.control(self._worker))
                    self._beat_until_closed(pubsub)
            except (RedisError, BrokerUnavailable, OSError) as error:
                self._complain(error)
                self._closed.wait(min(1.0, self._lease_seconds / _BEATS_A_LEASE))

    def _complain(self, error: Exception) -> None:
        if self._trouble.is_first and not self._has_beaten:
            logger.error("%s", _NO_REDIS)
        if self._trouble.is_due():
            logger.warning("no heartbeat: %s", one_line(str(error)))

    def _beat_until_closed(self, pubsub: PubSub) -> None:
        pause = self._lease_seconds / _BEATS_A_LEASE
        while not self._closed.is_set():
            self._beat()
            until = time.monotonic() + pause
            # A cancellation on the control channel is no more than a reason to beat at once.
            while (left := until - time.monotonic()) > 0 and not self._closed.is_set():
                if self._is_cancellation(pubsub.get_message(timeout=left)):
                    break

    @staticmethod
    def _is_cancellation(message: Any) -> bool:
        return message is not None and message["type"] == "message"

    def _beat(self) -> None:
        held = self._leases()
        pairs = [(lease.tool_call_id, lease.claim.fence) for lease in held]
        asked = time.monotonic()
        beat = self._driver.run(self._commands.beat(self._worker, self._state(), pairs))
        self._has_beaten = True
        self._trouble.forget()
        for lease in held:
            lease.renewed = asked  # it runs from a moment between question and answer, and must not be thought longer
        by_id = {lease.tool_call_id: lease for lease in held}
        for call in beat.lost:
            # It may have ended by itself between the list and the beat: then nobody listens to this any more.
            by_id[call].lose("the lease on this call was lost to another worker")
        for call in beat.cancelled:
            by_id[call].stop.stop(ErrorCategory.CANCELLED, "cancelled while it ran")
        self._on_beat(beat)

    def _watch_reach(self) -> None:
        while not self._closed.wait(self._lease_seconds * _MARGIN / 3):
            oldest = time.monotonic() - self._lease_seconds * (1 - _MARGIN)
            for lease in self._leases():
                if lease.renewed < oldest and not lease.is_lost:
                    logger.warning("stopping %s: Redis has been out of reach for a lease", lease.tool_call_id)
                    lease.lose("Redis was out of reach for longer than the lease")
