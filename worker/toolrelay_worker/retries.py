"""Whether a failed attempt is followed by another one, and when: a function of policy and outcome, without a clock."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from toolrelay.errors import ErrorCategory, ToolrelayError
from toolrelay.models import CallStatus, ExecutionPolicy, OnLost


class ToolRetry(ToolrelayError):
    """What a tool raises when it should be tried again, whatever its policy's ``retry_on`` says.

    ::

        raise ToolRetry("the index is being rebuilt", retry_after=timedelta(seconds=20))

    After the last attempt it is a failure like others, one that the model may retry: it reads the message, without the
    name of this class, and behind the category's name only if the tool gave one.
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after: timedelta | None = None,
        category: ErrorCategory | None = None,
    ) -> None:
        if category is not None and not category.is_retryable:
            raise ValueError(f"category must be one whose failures may pass, got {category.value!r}")
        super().__init__(message)
        self.retry_after = retry_after
        self.category = category


class FailedAttempt(Protocol):
    """What the decision needs to know; an ``Outcome`` is one."""

    @property
    def status(self) -> CallStatus: ...
    @property
    def success(self) -> bool: ...
    @property
    def error_category(self) -> ErrorCategory | None: ...
    @property
    def retry_after_ms(self) -> int | None: ...
    @property
    def retry_requested(self) -> bool: ...


def next_delay(policy: ExecutionPolicy, outcome: FailedAttempt, attempt: int, jitter: float = 1.0) -> timedelta | None:
    """Say how long to wait before the attempt after ``attempt``, counted from 1; ``None`` gives the call up.

    The wait doubles with every attempt up to ``max_retry_delay``. ``jitter`` from 0 to 1 (pass ``random.random()``)
    places it between half and all of that, so that calls which failed together do not return together. It is never
    shorter than what the failed service asked for; who asks for more than ``max_retry_delay`` is not waited for: the
    model is told in ``retry_after_ms``.

    A tool with ``on_lost="fail"`` is never started twice. A cancelled call is never tried again.
    """
    if outcome.success or outcome.status is CallStatus.CANCELLED:
        return None
    if attempt >= policy.max_attempts or policy.on_lost is OnLost.FAIL:
        return None
    if not outcome.retry_requested and outcome.error_category not in policy.retry_on:
        return None
    asked = timedelta(milliseconds=outcome.retry_after_ms or 0)
    if asked > policy.max_retry_delay:
        return None
    doublings = min(attempt - 1, 32)  # far beyond any cap, and far below what timedelta can hold
    longest = policy.max_retry_delay / 2**doublings
    delay = policy.max_retry_delay if policy.retry_delay >= longest else policy.retry_delay * 2**doublings
    return max(asked, delay * (0.5 + 0.5 * min(max(jitter, 0.0), 1.0)))
