"""Failures of what stands upstream, a provider or a service: what they are, and whether and when to try again."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

from toolrelay._categories import attribute_of, category_of_codes, category_of_status, codes_in, status_in, text_of
from toolrelay.errors import ErrorCategory, classify_error

_NUMBER: Final = r"[0-9]+(?:\.[0-9]+)?"
_UNIT: Final = r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b|(?:ms|s|m|h)(?=[0-9])"
#: "Retry-After: 7", "retryDelay": "7s" (Google), "try again in 6m20s" (OpenAI), "retry after 26 seconds" (Azure)
_WAIT: Final = re.compile(
    r"(?:retry[-_ ]?(?:after|delay)|\b(?:re)?try(?: again)? in)['\"]?\s*(?:[:=]\s*)?['\"]?"
    rf"((?:{_NUMBER}\s*(?:{_UNIT})\s*)+|{_NUMBER})(?![0-9_])",
    re.IGNORECASE,
)
_SPAN: Final = re.compile(rf"({_NUMBER})\s*({_UNIT})?", re.IGNORECASE)
#: milliseconds in a unit, by its first letters
_UNITS: Final = (("ms", 1), ("mil", 1), ("m", 60_000), ("h", 3_600_000), ("s", 1000))
#: the same as Google's RetryInfo has it in Python and in protobuf's text: {"seconds": 7, "nanos": 500000000}
_RETRY_INFO: Final = re.compile(
    r"retry[-_ ]?delay\W{1,40}seconds\W{1,4}([0-9]{1,15})(?![0-9])(?:\W{1,40}nanos\W{1,4}([0-9]{1,9})\b)?",
    re.IGNORECASE,
)
_PLAIN_NUMBER: Final = re.compile(_NUMBER)
#: more than the longest refusal that says when to come back; what follows is data
_MAX_TEXT: Final = 5000
_MAX_HEADER: Final = 100


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
    category = _category_of_body(error) if isinstance(error, Mapping) else classify_error(error)
    return Failure(category, category.is_retryable, retry_after_ms(error, now=now))


def _category_of_body(error: Mapping[str, Any]) -> ErrorCategory:
    return category_of_codes(codes_in(error)) or category_of_status(status_in(error)) or classify_error(_message(error))


def _message(error: Mapping[str, Any]) -> str:
    inside = error.get("error", error.get("Error"))
    body = inside if isinstance(inside, Mapping) else error
    texts = (inside, *(body.get(key) for key in ("type", "message", "Message")))
    return " ".join(text[:_MAX_TEXT] for text in texts if isinstance(text, str))


def retry_after_ms(error: BaseException | Mapping[str, Any] | str, *, now: datetime | None = None) -> int | None:
    """Read how many milliseconds a failure asks to wait; ``None`` when it does not say, or says nonsense.

    An exception's own ``retry_after`` (seconds or ``timedelta``) comes first, then the headers of its response,
    ``retry-after-ms`` and ``Retry-After`` in seconds or as a date (RFC 9110, 10.2.3), then its text.
    """
    if isinstance(error, str):
        return _in_text(error)
    own = _milliseconds(attribute_of(error, "retry_after"))
    if own is not None:
        return own
    found = _in_headers(_headers_of(error), now)
    return _in_text(text_of(error)) if found is None else found


def _headers_of(error: BaseException | Mapping[str, Any]) -> Any:
    holder = error if isinstance(error, Mapping) else attribute_of(error, "response", error)
    if not isinstance(holder, Mapping):
        return attribute_of(holder, "headers")
    metadata = holder.get("ResponseMetadata")  # botocore's
    return metadata.get("HTTPHeaders") if isinstance(metadata, Mapping) else holder.get("headers")


def _in_headers(headers: Any, now: datetime | None) -> int | None:
    lower = _lower(headers)
    precise = _milliseconds(lower.get("retry-after-ms"), scale=1)
    if precise is not None:
        return precise
    value = lower.get("retry-after")
    seconds = _milliseconds(value)
    return _until(value, now) if seconds is None and isinstance(value, str) else seconds


def _lower(headers: Any) -> dict[str, Any]:
    """Give the headers by their names in lower case; none where they cannot be listed."""
    items = attribute_of(headers, "items")
    if not callable(items):
        return {}
    try:
        return {str(name).lower(): value for name, value in items()}
    except Exception:  # noqa: BLE001 - some client library's own code runs here
        return {}


def _until(value: str, now: datetime | None) -> int | None:
    try:
        moment = parsedate_to_datetime(value[:_MAX_HEADER])  # RFC 9110, 10.2.3
    except (ValueError, OverflowError):  # no date, or one in a time zone that is centuries away
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0, math.ceil((moment - (now or datetime.now(UTC))).total_seconds() * 1000))


def _in_text(text: str) -> int | None:
    text = text[:_MAX_TEXT]
    info = _RETRY_INFO.search(text)
    if info is not None:
        return _milliseconds(int(info[1])) if info[2] is None else _rounded(int(info[1]) * 1000 + int(info[2]) / 1e6)
    match = _WAIT.search(text)
    if match is None:
        return None
    return _rounded(sum(float(span[1]) * _unit(span[2]) for span in _SPAN.finditer(match[1])))


def _unit(name: str | None) -> int:
    word = (name or "s").lower()
    return next(size for start, size in _UNITS if word.startswith(start))


def _milliseconds(value: Any, scale: int = 1000) -> int | None:
    if isinstance(value, timedelta):
        value, scale = value.total_seconds(), 1000
    if isinstance(value, str):  # float() takes more than a header may say: "1_000", "infinity"
        value = float(value) if _PLAIN_NUMBER.fullmatch(value.strip()) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return _rounded(value * scale)
    except OverflowError:
        return None


def _rounded(milliseconds: float) -> int | None:
    return math.ceil(milliseconds) if math.isfinite(milliseconds) and milliseconds >= 0 else None
