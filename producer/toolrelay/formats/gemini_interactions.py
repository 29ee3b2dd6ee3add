"""Gemini Interactions: ``function_call`` steps. Every other ``…_call`` step is run by Google."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolrelay.formats._output import call_id, error_text, to_json, to_text, wire_name
from toolrelay.formats._plain import as_dict, as_list
from toolrelay.formats._protocol import FoundCall, Wire, cut_off, refuse_all, word
from toolrelay.models import NormalizedToolResult

_DISOWNED: Final = frozenset({"failed", "cancelled"})


def find_call(payload: Wire) -> FoundCall | None:
    """Read a ``function_call`` step or the flat shape; ``None`` for every other kind of step."""
    if payload.get("type", "function_call") != "function_call":
        return None
    return FoundCall(payload.get("name"), payload.get("arguments"), payload.get("id"), raw=payload)


def find_calls(message: Wire) -> list[FoundCall]:
    """Read the steps of an interaction, or a single step."""
    if "steps" not in message:
        call = find_call(message) if "type" in message or "name" in message else None
        return [] if call is None else [call]
    steps = [step for item in as_list(message["steps"]) if (step := as_dict(item))]
    calls = [call for step in steps if "type" in step and (call := find_call(step)) is not None]
    status = word(message, "status")
    if status == "incomplete":
        cut_off(calls, "the call is truncated: the interaction is incomplete")
    elif status in _DISOWNED:
        refuse_all(calls, f"the call is truncated or disowned: the interaction's status is {status!r}")
    return calls


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one ``function_result`` a result, the next interaction's input."""
    return [_function_result(result) for result in results]


def _function_result(result: NormalizedToolResult) -> Wire:
    step: Wire = {"type": "function_result", "call_id": call_id(result), "name": wire_name(result)}
    if not result.success:
        return {**step, "result": error_text(result), "is_error": True}
    # a list would be read as content blocks: everything but an object goes as text
    output = to_json(result.output)
    return {**step, "result": output if isinstance(output, dict) else to_text(output)}
