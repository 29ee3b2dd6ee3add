"""Every exception that toolrelay raises, and the categories of failure that a result can carry.

A tool that fails is a value (``NormalizedToolResult.success``), never an exception. What is raised is sorted by who
acts::

    ToolrelayError
    ├── InvalidCallError (ValueError)      the sender: the call cannot be read
    │   ├── InvalidPayloadError            the payload has the wrong shape ("must be a dict")
    │   ├── MissingNameError               the call names no tool
    │   └── InvalidArgumentsError          the arguments cannot be read ("parse error", "must be a dict")
    ├── UnknownProviderFormatError (ValueError)   the developer: no such ``provider_format``
    ├── RegistrationError (ValueError)     the developer: a tool's definition is wrong or its name is taken
    ├── ToolLoadError (ImportError)        the operator: the module that holds the tools cannot be loaded
    ├── SettingsError (ValueError)         the operator: a setting is wrong; names its variable
    ├── CallConflictError (ValueError)     the agent: the same ``tool_call_id`` with another tool or other arguments
    ├── UnknownCall (LookupError)          no record of this ``tool_call_id``: never enqueued, or expired
    ├── ResultTimeout (TimeoutError)       the call is still open; ask again
    └── BrokerUnavailable (ConnectionError)  the operator: Redis or the broker cannot be reached
"""

from __future__ import annotations

from enum import StrEnum


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


class ToolrelayError(Exception):
    """Root of everything toolrelay raises on purpose."""


class InvalidCallError(ToolrelayError, ValueError):
    """A tool call that cannot be read; the message shows where and what is wrong."""

    #: the category that an error result made of this exception carries
    category = ErrorCategory.PARSE


class InvalidPayloadError(InvalidCallError):
    """The payload has the wrong shape, for instance a list where one call is asked for."""


class MissingNameError(InvalidCallError):
    """The call names no tool."""


class InvalidArgumentsError(InvalidCallError):
    """The arguments are not one JSON object, and cannot be made one without inventing anything."""


class UnknownProviderFormatError(ToolrelayError, ValueError):
    """``provider_format`` is none of the formats toolrelay speaks."""


class RegistrationError(ToolrelayError, ValueError):
    """A tool cannot be registered: its name is taken, or its signature has no JSON Schema."""


class ToolLoadError(ToolrelayError, ImportError):
    """The module that should register the tools cannot be imported, or registers none."""


class SettingsError(ToolrelayError, ValueError):
    """A setting is missing or wrong; the message names the environment variable."""


class CallConflictError(ToolrelayError, ValueError):
    """The ``tool_call_id`` is taken by a call with another tool or other arguments.

    Choose another ``plan_id``, or a ``first_sequence`` after the calls that the plan already made.
    """


class UnknownCall(ToolrelayError, LookupError):
    """There is no record of this ``tool_call_id``: it was never enqueued, or its result has expired."""


class ResultTimeout(ToolrelayError, TimeoutError):
    """The call is still open after the time the caller was willing to wait; it goes on, and can be waited for again."""


class BrokerUnavailable(ToolrelayError, ConnectionError):
    """Redis or the broker could not be reached within the caller's timeout."""
