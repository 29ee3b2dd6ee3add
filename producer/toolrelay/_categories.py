"""The categories of failure that a result can carry, and how a failure is sorted: by type first, by its words last.

Types are told apart by name where they belong to libraries that toolrelay does not depend on.
"""

from __future__ import annotations

import errno
import functools
import json
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final


class ErrorCategory(StrEnum):
    """Why a call was not successful. The category decides what the model is told and whether a rerun can help."""

    TIMEOUT = "timeout"
    """The time limit passed."""
    PERMISSION = "permission"
    """The tool, or what it called, refused access."""
    NOT_FOUND = "not_found"
    """No such tool, or the tool did not find what it was asked for."""
    RESOURCE = "resource"
    """Memory, disk, connections: something ran out."""
    SCHEMA = "schema"
    """Arguments or output do not match the tool's schema."""
    PARSE = "parse"
    """The call or its arguments could not be read."""
    EXECUTION = "execution"
    """The tool raised, and nothing more is known."""
    RATE_LIMIT = "rate_limit"
    """What the tool called asked for fewer requests."""
    CANCELLED = "cancelled"
    """Somebody cancelled the call."""
    WORKER_LOST = "worker_lost"
    """The worker that ran the call disappeared."""
    UNKNOWN = "unknown"
    """Failed without saying why."""

    @property
    def is_retryable(self) -> bool:
        """Whether a rerun can help when nothing more is known than the category."""
        return self in _RETRYABLE


_RETRYABLE = frozenset(
    {ErrorCategory.TIMEOUT, ErrorCategory.RATE_LIMIT, ErrorCategory.RESOURCE, ErrorCategory.WORKER_LOST}
)


#: a chain of causes longer than this says nothing new
_MAX_CAUSES: Final = 8
#: what follows in a longer message is data, not a reason
_MAX_MESSAGE_CHARS: Final = 2000

_STATUSES: Final = {
    401: ErrorCategory.PERMISSION,
    403: ErrorCategory.PERMISSION,
    404: ErrorCategory.NOT_FOUND,
    407: ErrorCategory.PERMISSION,
    408: ErrorCategory.TIMEOUT,
    410: ErrorCategory.NOT_FOUND,
    429: ErrorCategory.RATE_LIMIT,
    504: ErrorCategory.TIMEOUT,
}

#: the first row that fits decides, so a subclass stands before its base
_TYPES: Final[tuple[tuple[type[BaseException], ErrorCategory], ...]] = (
    (TimeoutError, ErrorCategory.TIMEOUT),
    (PermissionError, ErrorCategory.PERMISSION),
    (FileNotFoundError, ErrorCategory.NOT_FOUND),
    (ProcessLookupError, ErrorCategory.NOT_FOUND),
    (MemoryError, ErrorCategory.RESOURCE),
    (ConnectionError, ErrorCategory.RESOURCE),
    (BlockingIOError, ErrorCategory.RESOURCE),
    (json.JSONDecodeError, ErrorCategory.PARSE),
    (UnicodeError, ErrorCategory.PARSE),
    (LookupError, ErrorCategory.EXECUTION),
)

#: class names of other libraries (Celery, billiard, httpx, requests, the providers' SDKs, pydantic, jsonschema …)
_TYPE_NAMES: Final = {
    "SoftTimeLimitExceeded": ErrorCategory.TIMEOUT,
    "TimeLimitExceeded": ErrorCategory.TIMEOUT,
    "Timeout": ErrorCategory.TIMEOUT,
    "TimeoutException": ErrorCategory.TIMEOUT,
    "TimeoutError": ErrorCategory.TIMEOUT,
    "APITimeoutError": ErrorCategory.TIMEOUT,
    "RateLimitError": ErrorCategory.RATE_LIMIT,
    "AuthenticationError": ErrorCategory.PERMISSION,
    "PermissionDeniedError": ErrorCategory.PERMISSION,
    "NotFoundError": ErrorCategory.NOT_FOUND,
    "ValidationError": ErrorCategory.SCHEMA,
    "ConnectError": ErrorCategory.RESOURCE,
    "ConnectionError": ErrorCategory.RESOURCE,
    "APIConnectionError": ErrorCategory.RESOURCE,
    "WorkerLostError": ErrorCategory.WORKER_LOST,
    "TaskRevokedError": ErrorCategory.CANCELLED,
    "CancelledError": ErrorCategory.CANCELLED,  # asyncio's, by name: it is dear to import
}

_OUT_OF: Final = frozenset(
    {errno.ENOMEM, errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.EDQUOT, errno.ENOBUFS, errno.EAGAIN}
)

#: whole words; the first row that fits decides: the narrow reasons stand before the wide ones
_WORDS: Final[tuple[tuple[ErrorCategory, tuple[str, ...]], ...]] = (
    (ErrorCategory.RATE_LIMIT, ("rate limit", "rate limited", "rate-limit", "rate_limit", "too many requests")),
    (ErrorCategory.WORKER_LOST, ("worker lost", "worker was lost", "worker exited", "worker disappeared")),
    (
        ErrorCategory.TIMEOUT,
        ("timed out", "timeout", "time out", "time limit", "timelimit", "deadline exceeded", "took too long"),
    ),
    (
        ErrorCategory.PERMISSION,
        ("permission", "permissions", "denied", "forbidden", "unauthorized", "unauthorised", "not allowed"),
    ),
    (
        ErrorCategory.NOT_FOUND,
        ("not found", "no such", "does not exist", "doesn't exist", "unknown tool", "could not find"),
    ),
    (
        ErrorCategory.RESOURCE,
        (
            "memory",
            "resource",
            "resources",
            "disk",
            "no space",
            "quota",
            "exhausted",
            "overloaded",
            "unavailable",
            "too many open files",
            "connection refused",
            "connection reset",
        ),
    ),
    (ErrorCategory.SCHEMA, ("schema", "validation", "invalid argument", "invalid arguments", "missing required")),
    (ErrorCategory.PARSE, ("parse", "parsing", "parsed", "unparsable", "decode", "decoding", "malformed", "json")),
    (ErrorCategory.CANCELLED, ("cancelled", "canceled", "revoked")),
)


@functools.cache  # compiled when a text is first read: no failure, no patterns
def _patterns() -> tuple[tuple[ErrorCategory, re.Pattern[str]], ...]:
    return tuple(
        (category, re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, words)) + r")(?!\w)", re.IGNORECASE))
        for category, words in _WORDS
    )


_STATUS_IN_TEXT: Final = re.compile(
    r"\b(?:http|status)(?:/[\d.]+)?(?: (?:status|code|error))*[ :=]*([45]\d\d)\b", re.IGNORECASE
)
#: a quote opens at the start or after a space, and closes before anything but a letter: "can't parse" opens none
_QUOTED: Final = re.compile(r"(?<!\S)(?:(['\"`]).*?\1|\u2018.*?\u2019|\u201c.*?\u201d)(?!\w)", re.DOTALL)


def classify_error(error: str | BaseException | None) -> ErrorCategory:
    """Say why something failed.

    An exception's own ``category``, its HTTP status, its type and then those of its ``__cause__`` decide before any
    text does. In a text, quoted parts do not count: they name things, not reasons.

    >>> classify_error("Tool 'schema/parse' not found")
    <ErrorCategory.NOT_FOUND: 'not_found'>

    ``unknown`` is only for ``None`` and an empty text; a failure that says something else is ``execution``.
    """
    if error is None:
        return ErrorCategory.UNKNOWN
    if isinstance(error, str):
        return _by_text(error) if error.strip() else ErrorCategory.UNKNOWN
    for exception in _causes(error):
        category = _by_exception(exception)
        if category is not None:
            return category
    return _by_text(_text_of(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if current is None:
            return
        yield current
        current = current.__cause__


def _by_exception(error: BaseException) -> ErrorCategory | None:
    own = getattr(error, "category", None)
    if isinstance(own, ErrorCategory):
        return own
    if isinstance(error, BaseExceptionGroup):
        return _by_members(error)
    return _by_status(_status_of(error)) or _by_type(error)


def _by_members(group: BaseExceptionGroup[BaseException]) -> ErrorCategory | None:
    categories = {classify_error(member) for member in group.exceptions}
    return categories.pop() if len(categories) == 1 else None


def _status_of(error: BaseException) -> int | None:
    holders = (error, getattr(error, "response", None))
    for holder in holders:
        for name in ("status_code", "status", "code"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and 400 <= status <= 599:
                return status
    return None


def _by_status(status: int | None) -> ErrorCategory | None:
    if status is None:
        return None
    return _STATUSES.get(status) or (ErrorCategory.RESOURCE if status >= 500 else ErrorCategory.EXECUTION)


def _by_type(error: BaseException) -> ErrorCategory | None:
    for kind, category in _TYPES:
        if isinstance(error, kind):
            return category
    if isinstance(error, OSError) and error.errno in _OUT_OF:
        return ErrorCategory.RESOURCE
    for kind in type(error).__mro__:
        named = _TYPE_NAMES.get(kind.__name__)
        if named is not None:
            return named
    return None


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a tool's own __str__ runs here
        return ""


def _by_text(text: str) -> ErrorCategory:
    unquoted = _QUOTED.sub(" ", text[:_MAX_MESSAGE_CHARS])
    status = _STATUS_IN_TEXT.search(unquoted)
    if status is not None:
        return _by_status(int(status[1])) or ErrorCategory.EXECUTION
    for category, pattern in _patterns():
        if pattern.search(unquoted):
            return category
    return ErrorCategory.EXECUTION
