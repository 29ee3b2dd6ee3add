"""No provider's format: a dict with a name, and the arguments under one of the usual keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolrelay.formats._arguments import read_arguments
from toolrelay.formats._output import call_id, text_of, wire_name
from toolrelay.formats._protocol import FoundCall, Wire, pick
from toolrelay.formats._stream import Drafts, WholeMessages
from toolrelay.models import NormalizedToolResult

#: where arguments stand, in the order in which they are looked for
ARGUMENT_KEYS: Final = ("arguments", "parameters", "input", "args")


def find_call(payload: Wire) -> FoundCall | None:
    """Read the first of the usual keys that holds a usable object; unusable ones are passed over for a later one."""
    found = FoundCall(payload.get("name"), call_id=pick(payload, "id", "call_id", "tool_call_id"), raw=payload)
    present = [payload[key] for key in ARGUMENT_KEYS if payload.get(key) not in (None, "")]
    usable = next((value for value in present if read_arguments(value).problem is None), None)
    found.arguments = usable if usable is not None else next(iter(present), None)
    return found


def find_calls(message: Wire) -> list[FoundCall]:
    """Read a single call: a message of an unknown format cannot be taken apart."""
    call = find_call(message) if "name" in message else None
    return [] if call is None else [call]


def open_stream(drafts: Drafts) -> WholeMessages:
    """Read calls that come one by one."""
    return WholeMessages(drafts, find_calls)


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one plain dict a result."""
    return [
        {
            "tool_call_id": call_id(result),
            "name": wire_name(result),
            "content": text_of(result),
            "is_error": not result.success,
        }
        for result in results
    ]
