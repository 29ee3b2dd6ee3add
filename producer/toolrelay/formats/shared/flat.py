"""A call that stands alone, outside of any message; messages, results and definitions have names as well."""

from __future__ import annotations

from typing import Final

from toolrelay.formats.protocol import Wire
from toolrelay.formats.shared.plain import as_dict

#: where arguments stand in a flat call, in the order in which they are looked for where no format says it
ARGUMENT_KEYS: Final = ("arguments", "parameters", "input", "args")
#: messages, results and definitions have one of these, whoever wrote them; a call has none
_NO_CALL: Final = (
    *("role", "content", "parts", "output", "result", "response", "is_error", "isError"),
    *("description", "input_schema", "inputSchema", "args_schema", "parametersJsonSchema", "parameters_json_schema"),
)
#: what somebody's flat call may say that it is; other types are messages, results, and calls that are run elsewhere
_TYPES: Final = (None, "function", "function_call", "tool_call", "tool_use")


def is_flat_call(payload: Wire, *keys: str) -> bool:
    """Whether a dict without a wrapper is a call: it has a name, or arguments under one of these keys.

    A call may come without arguments, but not with another format's: it would be run without them.
    """
    if payload.get("type") not in _TYPES or any(payload.get(key) is not None for key in _NO_CALL):
        return False
    if any(key in payload for key in keys):
        return not _is_schema(payload.get("parameters"))
    return "name" in payload and not any(key in payload for key in ARGUMENT_KEYS)


def is_definition(function: Wire) -> bool:
    """Whether this tells a model what a function takes, and calls nothing."""
    return "arguments" not in function and ("description" in function or _is_schema(function.get("parameters")))


def _is_schema(value: object) -> bool:
    schema = as_dict(value)
    kind = None if schema is None else schema.get("type")
    if schema is None or not isinstance(kind, str) or kind.lower() != "object":
        return False
    return "properties" in schema or schema.keys() <= {"type", "additionalProperties", "required"}
