"""Every exception that toolrelay raises; ``ErrorCategory`` and ``classify_error`` are for failures that are values.

A tool that fails is a value (``NormalizedToolResult.success``), never an exception. What is raised is sorted by who
acts::

    ToolrelayError
    ├── InvalidCallError (ValueError)      the sender: the call cannot be read
    │   ├── InvalidPayloadError            the payload has the wrong shape ("must be a dict")
    │   ├── MissingNameError               the call names no tool
    │   └── InvalidArgumentsError          the arguments cannot be read ("parse error", "must be a dict")
    ├── SchemaMismatchError (ValueError)   the model: arguments or output do not fit the tool's JSON Schema
    ├── UnknownProviderFormatError (ValueError)   the developer: no such ``provider_format``
    ├── InvalidResultsError (ValueError)   the developer: these results cannot go back as one answer
    ├── InvalidToolError (ValueError)      the developer: a provider's tool definition that cannot be read
    ├── ToolExportError (ValueError)       the developer: a tool that this provider cannot be told of
    ├── ToolChoiceError (ValueError)       the developer: a choice that this provider cannot be told
    │   └── UndeclaredToolError (LookupError)  the choice names a tool that is not declared
    ├── RegistrationError (ValueError)     the developer: a tool's definition is wrong or its name is taken
    ├── ToolLoadError (ImportError)        the operator: the module that holds the tools cannot be loaded
    ├── SettingsError (ValueError)         the operator: a setting is wrong; names its variable
    ├── CallConflictError (ValueError)     the agent: the same ``tool_call_id`` with another tool or other arguments
    ├── UnknownCall (LookupError)          no record of this ``tool_call_id``: never enqueued, or expired
    ├── ResultTimeout (TimeoutError)       the call is still open; ask again
    └── BrokerUnavailable (ConnectionError)  the operator: Redis or the broker cannot be reached
"""

from __future__ import annotations

from typing import Final

from toolrelay._categories import ErrorCategory as ErrorCategory
from toolrelay._categories import classify_error as classify_error


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


class SchemaMismatchError(ToolrelayError, ValueError):
    """Arguments or an output that the tool's JSON Schema refuses, or that JSON cannot hold.

    The message is for the model: where, what was expected, and never a whole rejected value.
    """

    #: the category that an error result made of this exception carries
    category = ErrorCategory.SCHEMA


class UnknownProviderFormatError(ToolrelayError, ValueError):
    """``provider_format`` is none of the formats toolrelay speaks."""


class InvalidResultsError(ToolrelayError, ValueError):
    """The results cannot go back as one answer to their calls.

    One is there twice, belongs to no call, or is missing; or they belong to different formats.
    """


class InvalidToolError(ToolrelayError, ValueError):
    """A provider's tool definition cannot be read; the message says which one of the list it is."""


class ToolExportError(ToolrelayError, ValueError):
    """A tool cannot be written for this provider. Nothing that the provider would refuse is sent in its place."""

    #: the category that an error result made of this exception carries
    category = ErrorCategory.SCHEMA

    def __init__(self, why: str, *, pointer: str = "", tool: str = "") -> None:
        self.why = why
        #: JSON pointer into the tool's input schema; ``""`` is the whole
        self.pointer = pointer
        #: the tool's own name; ``""`` where only a schema was converted
        self.tool = tool
        where = f"at {pointer}: " if pointer else ""
        super().__init__(f"tool {tool!r}: {where}{why}" if tool else f"{where}{why}")


class ToolChoiceError(ToolrelayError, ValueError):
    """This provider cannot be told this choice, and the nearest one would let the model do something else."""

    #: the category that an error result made of this exception carries
    category = ErrorCategory.SCHEMA


class UndeclaredToolError(ToolChoiceError, LookupError):
    """The choice names a tool that is not declared: it was left out, could not be exported, or is misspelt."""

    category = ErrorCategory.NOT_FOUND


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


NO_SUCH_CALL: Final = "no such call; it was never enqueued, or its result has expired"


class UnknownCall(ToolrelayError, LookupError):
    """There is no record of this ``tool_call_id``: it was never enqueued, or its result has expired."""

    @classmethod
    def of(cls, *call_ids: str) -> UnknownCall:
        """Give the exception about these calls, in the same words everywhere."""
        return cls(f"{', '.join(call_ids)}: {NO_SUCH_CALL}")


class ResultTimeout(ToolrelayError, TimeoutError):
    """The call is still open after the time the caller was willing to wait; it goes on, and can be waited for again."""


class BrokerUnavailable(ToolrelayError, ConnectionError):
    """Redis or the broker could not be reached within the caller's timeout."""
