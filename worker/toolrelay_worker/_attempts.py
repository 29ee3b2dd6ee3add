"""One run of a tool, seen from the thread that waits for it: settled once, by the tool, the clock or a stop."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

from toolrelay_worker.stopping import StopReason


@dataclass(frozen=True, slots=True)
class Returned:
    """The tool returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """The tool raised; any ``BaseException``, ``SystemExit`` and ``CancelledError`` too."""

    exception: BaseException


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The time limit passed. The tool may still be running."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Somebody stopped the attempt. The tool may still be running, or was never started."""

    reason: StopReason


Ended = Returned | Raised | TimedOut | Stopped
"""How an attempt came to its end."""


class Attempt:
    """A place for one ``Ended``, with a gate that opens when it is there.

    A lock that is released by another thread than the one that took it is the cheapest gate CPython has: one futex each
    way, where an ``Event`` or a ``Future`` brings a condition and a list of waiters.
    """

    __slots__ = ("_gate", "_lock", "abandoned_at", "ended", "is_finished")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gate = threading.Lock()
        self._gate.acquire()
        self.ended: Ended | None = None
        self.is_finished = False
        """Whether the tool has really come to its end, which may be long after ``ended``."""
        self.abandoned_at: float | None = None

    def settle(self, ended: Ended) -> bool:
        """Set how the attempt ended and open the gate; ``False`` when somebody was faster."""
        with self._lock:
            if self.ended is not None:
                return False
            self.ended = ended
        self._gate.release()
        return True

    def finish(self, ended: Ended) -> None:
        """What the thread or task that ran the tool does last."""
        self.is_finished = True
        self.settle(ended)

    def stop(self, reason: StopReason) -> None:
        """Settle on behalf of a ``StopSignal``."""
        self.settle(Stopped(reason))

    def wait(self, seconds: float) -> Ended:
        """Block until the attempt has ended, at most so long: then it has ended with ``TimedOut``."""
        if not self._gate.acquire(timeout=min(max(seconds, 0.0), threading.TIMEOUT_MAX)):
            self.settle(TimedOut())
        assert self.ended is not None  # noqa: S101 - either the gate was opened by settle(), or we settled above
        return self.ended

    def abandon(self) -> None:
        """Note that nobody waits for the tool any more."""
        self.abandoned_at = time.monotonic()

    def is_hung(self, grace: float) -> bool:
        """Whether the tool goes on although it was abandoned more than ``grace`` seconds ago."""
        return not self.is_finished and self.abandoned_at is not None and time.monotonic() - self.abandoned_at >= grace
