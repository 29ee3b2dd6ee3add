"""How one thread ends the attempt that another waits for: a cancelled call, a lost lease, a worker that shuts down."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from toolrelay.errors import ErrorCategory


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why an attempt was ended from outside; category and message become those of the outcome."""

    category: ErrorCategory
    message: str


class StopSignal:
    """A switch that is thrown at most once. One signal belongs to one attempt.

    >>> signal = StopSignal()
    >>> signal.stop(ErrorCategory.CANCELLED, "the agent gave up"), signal.stop(ErrorCategory.WORKER_LOST, "too late")
    (True, False)
    >>> signal.reason.message
    'the agent gave up'
    """

    __slots__ = ("_callbacks", "_lock", "_reason")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: StopReason | None = None
        self._callbacks: list[Callable[[StopReason], object]] = []

    @property
    def is_set(self) -> bool:
        """Whether somebody has stopped the attempt."""
        return self._reason is not None

    @property
    def reason(self) -> StopReason | None:
        """The first reason given; ``None`` until then."""
        return self._reason

    def stop(self, category: ErrorCategory, message: str) -> bool:
        """End the attempt; safe from any thread. ``False`` when it had been stopped before: the first reason stays."""
        with self._lock:
            if self._reason is not None:
                return False
            reason = self._reason = StopReason(category, message)
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(reason)
        return True

    def on_stop(self, callback: Callable[[StopReason], object]) -> None:
        """Have ``callback`` called once, by the thread that stops; at once if one has. It must not block."""
        with self._lock:
            reason = self._reason
            if reason is None:
                self._callbacks.append(callback)
        if reason is not None:
            callback(reason)

    def forget(self, callback: Callable[[StopReason], object]) -> None:
        """Take a callback back; no error when it has been called already."""
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)
