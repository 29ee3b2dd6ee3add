"""The categories of failure that a result can carry, and how a failure is sorted: by type first, by its words last.

Types are told apart by name where they belong to libraries that toolrelay does not depend on.
"""

from __future__ import annotations

import errno
import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final


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
#: {"response": {"error": {"code": …}}} is the deepest that any provider sends
_MAX_BODY_DEPTH: Final = 3
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
    "APIConnectionError": ErrorCategory.RESOURCE,
    "ReadTimeoutError": ErrorCategory.TIMEOUT,
    "ConnectTimeoutError": ErrorCategory.TIMEOUT,
    # the connection was never made, or was lost on the way: the next one may hold
    **dict.fromkeys(
        (
            *("ConnectError", "ConnectionError", "NewConnectionError", "NetworkError", "ServerDisconnectedError"),
            *("ReadError", "WriteError", "CloseError", "RemoteProtocolError", "ProtocolError", "ClientOSError"),
            *("ClientPayloadError", "IncompleteRead", "IncompleteReadError", "ChunkedEncodingError"),
            *("ConnectionClosed", "ConnectionClosedError", "WebSocketConnectionClosedError", "ResponseStreamingError"),
        ),
        ErrorCategory.RESOURCE,
    ),
    # of the same families, but it would come again
    **dict.fromkeys(
        ("LocalProtocolError", "UnsupportedProtocol", "SSLError", "ClientSSLError", "ClientConnectorCertificateError"),
        ErrorCategory.EXECUTION,
    ),
    "WorkerLostError": ErrorCategory.WORKER_LOST,
    "TaskRevokedError": ErrorCategory.CANCELLED,
    "CancelledError": ErrorCategory.CANCELLED,  # asyncio's, by name: it is dear to import
}

#: the providers' own words for what went wrong, in lower case, without signs and without "Exception" or "Error":
#: ``rate_limit_error`` (Anthropic), ``rate_limit_exceeded`` (OpenAI), ``RESOURCE_EXHAUSTED`` (Google, gRPC),
#: ``ThrottlingException`` (AWS)
_CODES: Final = {
    **dict.fromkeys(
        (
            *("ratelimit", "ratelimited", "ratelimitexceeded", "toomanyrequests", "requestlimitexceeded"),
            *("resourceexhausted", "throttling", "throttled", "slowdown", "provisionedthroughputexceeded"),
        ),
        ErrorCategory.RATE_LIMIT,
    ),
    **dict.fromkeys(
        ("timeout", "deadlineexceeded", "requesttimeout", "gatewaytimeout", "modeltimeout"), ErrorCategory.TIMEOUT
    ),
    **dict.fromkeys(
        (
            *("api", "server", "internal", "internalserver", "internalfailure", "serviceunavailable", "unavailable"),
            *("overloaded", "serveroverloaded", "modelnotready", "modelstream", "badgateway"),
        ),
        ErrorCategory.RESOURCE,
    ),
    # what was paid for is used up: no wait helps, somebody has to act
    **dict.fromkeys(
        (
            *("accessdenied", "authentication", "permission", "permissiondenied", "unauthenticated", "unauthorized"),
            *("invalidapikey", "unrecognizedclient", "expiredtoken", "invalidsignature", "forbidden"),
            *("insufficientquota", "billing", "billingnotactive", "billinghardlimitreached"),
        ),
        ErrorCategory.PERMISSION,
    ),
    **dict.fromkeys(("notfound", "resourcenotfound", "modelnotfound"), ErrorCategory.NOT_FOUND),
    **dict.fromkeys(("invalidrequest", "invalidargument", "badrequest"), ErrorCategory.EXECUTION),
}
#: words of such a look may be codes in any text: ``RESOURCE_EXHAUSTED``, ``api_error``, ``ThrottlingException``
_CODE_IN_TEXT: Final = re.compile(r"(?<![\w/-])([A-Za-z]+_\w++|[A-Za-z]+(?:Exception|Error))(?![./-]*\w)")
_NO_LETTERS: Final = re.compile(r"[^a-z]")

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
    r"\b(?:(?:http|status)(?:/[\d.]+)?(?: (?:status|code|error))*[ :=]*|error code[ :=]+)([45]\d\d)\b"
    r"|error \(([45]\d\d)(?=[,)])|^([45]\d\d)(?-i:(?= [A-Z][A-Z_]+\b| (?:Client|Server) Error:))",
    re.IGNORECASE,
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
    return _by_text(text_of(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if current is None:
            return
        yield current
        current = current.__cause__


def _by_exception(error: BaseException) -> ErrorCategory | None:
    category = _by_itself(error)
    return _by_members(error) if category is None and isinstance(error, BaseExceptionGroup) else category


def _by_itself(error: BaseException) -> ErrorCategory | None:
    own = attribute_of(error, "category")
    if isinstance(own, ErrorCategory):
        return own
    if isinstance(error, BaseExceptionGroup):
        return None
    return category_of_codes(_codes_of(error)) or category_of_status(_status_of(error)) or _by_type(error)


def _by_members(group: BaseExceptionGroup[BaseException]) -> ErrorCategory | None:
    """Sort by what all members have in common, and all of theirs; ``None`` where they differ.

    ``raise group.exceptions[0] from group`` makes a circle: each exception is asked once.
    """
    categories: set[ErrorCategory] = set()
    seen: set[int] = set()
    waiting: list[BaseException] = [group]
    while waiting and len(categories) < 2:
        member = waiting.pop()
        if id(member) in seen:
            continue
        seen.add(id(member))
        category, inside = _opened(member)
        unseen = [exception for exception in inside if id(exception) not in seen]
        if category is None and unseen:
            waiting += unseen
        elif category is not None or not isinstance(member, BaseExceptionGroup):
            categories.add(category or _by_text(text_of(member)))
    return categories.pop() if len(categories) == 1 else None


def _opened(error: BaseException) -> tuple[ErrorCategory | None, Sequence[BaseException]]:
    """Sort an exception by itself and its causes, and give what may sort it instead: members, or groups among those."""
    if isinstance(error, BaseExceptionGroup):
        return _by_itself(error), error.exceptions
    causes = list(_causes(error))
    category = next((found for cause in causes if (found := _by_itself(cause)) is not None), None)
    return category, [cause for cause in causes if isinstance(cause, BaseExceptionGroup)]


def _codes_of(error: BaseException) -> Iterator[Any]:
    """Give what may be a provider's word: of the SDKs' exceptions, or of the body that they keep."""
    for name in ("body", "details", "response"):
        holder = attribute_of(error, name)
        if isinstance(holder, Mapping):
            yield from codes_in(holder)
    for name in ("code", "type", "status"):
        yield attribute_of(error, name)


def codes_in(body: Mapping[str, Any], depth: int = 0) -> Iterator[Any]:
    """Give what may be a provider's word in an error's body or event, the innermost first."""
    for name, inside in body.items():
        if isinstance(inside, Mapping) and name in ("error", "Error", "response") and depth < _MAX_BODY_DEPTH:
            yield from codes_in(inside, depth + 1)
        elif isinstance(inside, Mapping):  # an event of Bedrock's: {"throttlingException": {"message": …}}
            yield name
    for name in ("code", "Code", "type", "status", "__type"):
        yield body.get(name)


def category_of_codes(codes: Iterable[Any]) -> ErrorCategory | None:
    """Sort by the first of these that is a provider's word for a failure; ``None`` if none is."""
    for code in codes:
        category = _CODES.get(_plain_code(code)) if isinstance(code, str) else None
        if category is not None:
            return category
    return None


def _plain_code(code: str) -> str:
    letters = _NO_LETTERS.sub("", code[:100].lower())
    return letters.removesuffix("exception").removesuffix("error")


def _status_of(error: BaseException) -> int | None:
    response = attribute_of(error, "response")
    if isinstance(response, Mapping):  # botocore's
        return status_in(response)
    for holder in (error, response):
        for name in ("status_code", "status", "code"):
            status = _as_status(attribute_of(holder, name))
            if status is not None:
                return status
    return None


def status_in(body: Mapping[str, Any]) -> int | None:
    """Give the HTTP status that an error's body, or what is around it, tells; ``None`` if it does not."""
    insides = (body.get(name) for name in ("error", "response", "ResponseMetadata"))
    for holder in (body, *(inside for inside in insides if isinstance(inside, Mapping))):
        for name in ("status_code", "status", "code", "HTTPStatusCode"):
            status = _as_status(holder.get(name))
            if status is not None:
                return status
    return None


def _as_status(value: Any) -> int | None:
    if isinstance(value, str) and len(value) == 3 and value.isdecimal():
        value = int(value)
    return int(value) if isinstance(value, int) and 400 <= value <= 599 else None


def category_of_status(status: int | None) -> ErrorCategory | None:
    """Sort by an HTTP status; ``None`` for none."""
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


def attribute_of(holder: object, name: str, default: object = None) -> Any:
    """Give an attribute, or the default also where somebody's property raises."""
    try:
        return getattr(holder, name, default)
    except Exception:  # noqa: BLE001 - a tool's or a library's own code runs here
        return default


def text_of(error: object) -> str:
    """Give an exception or an error's body as text; empty where it has none to give."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a tool's own __str__ runs here
        return ""


def _by_text(text: str) -> ErrorCategory:
    unquoted = _QUOTED.sub(" ", text[:_MAX_MESSAGE_CHARS])
    status = _STATUS_IN_TEXT.search(unquoted)
    if status is not None:
        is_spent = "insufficient_quota" in text  # in quotes, where Python shows an error's body
        number = int(status[1] or status[2] or status[3])
        return ErrorCategory.PERMISSION if is_spent else category_of_status(number) or ErrorCategory.EXECUTION
    category = category_of_codes(match[1] for match in _CODE_IN_TEXT.finditer(unquoted))
    if category is not None:
        return category
    for category, pattern in _patterns():
        if pattern.search(unquoted):
            return category
    return ErrorCategory.EXECUTION
