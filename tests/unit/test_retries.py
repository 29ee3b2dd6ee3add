from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import pytest

from toolrelay.errors import ErrorCategory
from toolrelay.models import CallStatus, ExecutionPolicy, OnLost
from toolrelay.upstream import retry_after_ms
from toolrelay_worker.execution import Outcome
from toolrelay_worker.retries import ToolRetry, next_delay

POLICY = ExecutionPolicy(
    max_attempts=10,
    retry_on=frozenset({ErrorCategory.RATE_LIMIT}),
    retry_delay=timedelta(seconds=1),
    max_retry_delay=timedelta(seconds=60),
)


def failed(category: ErrorCategory = ErrorCategory.RATE_LIMIT, **more: Any) -> Outcome:
    return Outcome(CallStatus.ERROR, False, error="no", error_category=category, **more)


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (9, 60)])
def test_the_wait_doubles_with_every_attempt_up_to_a_cap(attempt: int, seconds: int) -> None:
    assert next_delay(POLICY, failed(), attempt) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("outcome", "attempt", "policy"),
    [
        pytest.param(Outcome(CallStatus.COMPLETE, True), 1, POLICY, id="it succeeded"),
        pytest.param(failed(), 10, POLICY, id="that was the last attempt"),
        pytest.param(failed(ErrorCategory.EXECUTION), 1, POLICY, id="not a failure that is retried"),
        pytest.param(failed(), 1, ExecutionPolicy(), id="nothing is retried by itself"),
        pytest.param(
            failed(), 1, POLICY.model_copy(update={"on_lost": OnLost.FAIL}), id="the tool is never started twice"
        ),
        pytest.param(
            failed(retry_requested=True), 1, ExecutionPolicy(on_lost=OnLost.FAIL), id="not even if it asks for it"
        ),
        pytest.param(
            Outcome(CallStatus.CANCELLED, False, error="no", error_category=ErrorCategory.CANCELLED),
            1,
            POLICY.model_copy(update={"retry_on": frozenset(ErrorCategory)}),
            id="it was cancelled",
        ),
        pytest.param(failed(retry_after_ms=60_001), 1, POLICY, id="asked to wait longer than the policy waits"),
    ],
)
def test_a_call_is_given_up(outcome: Outcome, attempt: int, policy: ExecutionPolicy) -> None:
    assert next_delay(policy, outcome, attempt) is None


def test_a_tool_that_asks_for_a_retry_gets_one_without_a_policy() -> None:
    assert next_delay(ExecutionPolicy(), failed(retry_requested=True), 1) == timedelta(seconds=1)


def test_the_wait_is_never_shorter_than_what_was_asked_for() -> None:
    assert next_delay(POLICY, failed(retry_after_ms=7_000), 1, jitter=0.0) == timedelta(seconds=7)


@pytest.mark.parametrize(("jitter", "seconds"), [(0.0, 2.0), (0.5, 3.0), (1.0, 4.0)])
def test_jitter_places_the_wait_between_half_and_all(jitter: float, seconds: float) -> None:
    assert next_delay(POLICY, failed(), 3, jitter) == timedelta(seconds=seconds)


def test_a_late_attempt_of_a_patient_policy_does_not_overflow() -> None:
    policy = POLICY.model_copy(update={"max_attempts": 10_000, "max_retry_delay": timedelta.max})

    assert next_delay(policy, failed(), 9_000) == timedelta(seconds=2**32)


NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def with_headers(**headers: str) -> Exception:
    exc = Exception("no")
    exc.response = SimpleNamespace(  # type: ignore[attr-defined] # as httpx and the providers' SDKs have it
        headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    return exc


class Busy(Exception):
    def __init__(self, retry_after: Any) -> None:
        super().__init__("busy")
        self.retry_after = retry_after


@pytest.mark.parametrize(
    ("exception", "expected"),
    [
        (Busy(7), 7000),
        (Busy(0.25), 250),
        (Busy("3"), 3000),
        (Busy(timedelta(seconds=2)), 2000),
        (Busy(-1), None),
        (Busy(float("inf")), None),
        (Busy(True), None),
        (Busy("soon"), None),
        (ToolRetry("later", retry_after=timedelta(milliseconds=1)), 1),
        (ToolRetry("later"), None),
        (with_headers(Retry_After="7"), 7000),
        (with_headers(retry_after="7"), 7000),
        (with_headers(retry_after="7", retry_after_ms="120"), 120),
        (with_headers(Retry_After=format_datetime(NOW + timedelta(seconds=90), usegmt=True)), 90_000),
        (with_headers(Retry_After=format_datetime(NOW - timedelta(seconds=90), usegmt=True)), 0),
        (with_headers(Retry_After="tomorrow"), None),
        (with_headers(), None),
        (ValueError("no"), None),
        (ValueError("429 Too Many Requests, Retry-After: 3"), 3000),
    ],
    ids=repr,
)
def test_how_long_an_exception_asks_to_wait(exception: BaseException, expected: int | None) -> None:
    assert retry_after_ms(exception, now=NOW) == expected


def test_a_retry_is_only_asked_for_what_may_pass() -> None:
    with pytest.raises(ValueError, match="category"):
        ToolRetry("never", category=ErrorCategory.PERMISSION)
