"""Failures of what stands upstream, a provider or a service: what they are, and whether and when to try again."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

from toolrelay.errors import ErrorCategory, classify_error

_WAIT: Final = re.compile(r"retry[-_ ]?after['\"]?\s*[:=]?\s*(\d+(?:\.\d+)?)\s*(ms\b)?", re.IGNORECASE)
#: Google's and others' own word for it, within an error's body: "retryDelay": "7s"
_DELAY: Final = re.compile(r"retry[-_ ]?delay['\"]?\s*[:=]?\s*['\"]?(\d+(?:\.\d+)?)s", re.IGNORECASE)
_MAX_TEXT: Final = 20_000


class Failure(NamedTuple):
    """What a failure means for whoever might try again."""

    category: ErrorCategory
    retryable: bool
    """Whether the very same request may succeed later."""
    retry_after_ms: int | None = None
    """How long to wait at least; ``None`` when nobody said."""


def read_failure(error: BaseException | Mapping[str, Any] | str, *, now: datetime | None = None) -> Failure:
    """Read an SDK's exception, ``{"status": …, "headers": {…}, "message": …}`` or a text.

    429, 408 and 5xx, lost connections and timeouts are worth another try; every other refusal would come again.

    >>> read_failure("HTTP 429 with Retry-After: 7")
    Failure(category=<ErrorCategory.RATE_LIMIT: 'rate_limit'>, retryable=True, retry_after_ms=7000)
    """
    category = classify_error(_described(error) if isinstance(error, Mapping) else error)
    return Failure(category, category.is_retryable, retry_after_ms(error, now=now))


def _described(error: Mapping[str, Any]) -> str:
    inside = error.get("error")
    body = inside if isinstance(inside, Mapping) else error
    status = error.get("status_code", error.get("status", body.get("code")))
    said = " ".join(str(body[key])[:_MAX_TEXT] for key in ("type", "message") if isinstance(body.get(key), str))
    return f"HTTP {status} {said}" if isinstance(status, int) and 100 <= status < 600 else said


def retry_after_ms(error: BaseException | Mapping[str, Any] | str, *, now: datetime | None = None) -> int | None:
    """Read how many milliseconds a failure asks to wait; ``None`` when it does not say, or says nonsense.

    An exception's own ``retry_after`` (seconds or ``timedelta``) comes first, then the headers of its response,
    ``retry-after-ms`` and ``Retry-After`` in seconds or as a date (RFC 9110, 10.2.3), then its text.
    """
    if isinstance(error, str):
        return _in_text(error)
    own = _milliseconds(getattr(error, "retry_after", None))
    if own is not None:
        return own
    holder = error if isinstance(error, Mapping) else getattr(error, "response", error)
    headers = holder.get("headers") if isinstance(holder, Mapping) else getattr(holder, "headers", None)
    found = _in_headers(headers, now)
    return _in_text(str(error)[:_MAX_TEXT]) if found is None else found


def _in_headers(headers: Any, now: datetime | None) -> int | None:
    items = getattr(headers, "items", None)
    if not callable(items):
        return None
    lower = {str(name).lower(): value for name, value in items()}
    precise = _milliseconds(lower.get("retry-after-ms"), scale=1)
    if precise is not None:
        return precise
    value = lower.get("retry-after")
    seconds = _milliseconds(value)
    return _until(value, now) if seconds is None and isinstance(value, str) else seconds


def _until(value: str, now: datetime | None) -> int | None:
    try:
        moment = parsedate_to_datetime(value)  # RFC 9110, 10.2.3
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0, math.ceil((moment - (now or datetime.now(UTC))).total_seconds() * 1000))


def _in_text(text: str) -> int | None:
    match = _WAIT.search(text)
    if match is not None:
        return _milliseconds(match[1], scale=1 if match[2] else 1000)
    match = _DELAY.search(text)
    return None if match is None else _milliseconds(match[1])


def _milliseconds(value: Any, scale: int = 1000) -> int | None:
    if isinstance(value, timedelta):
        value, scale = value.total_seconds(), 1000
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value) * scale
    except (ValueError, OverflowError):
        return None
    return math.ceil(number) if math.isfinite(number) and number >= 0 else None
