"""Gemini Interactions: ``function_call`` steps. Every other ``…_call`` step is run by Google."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolrelay.formats._indexed import Blocks
from toolrelay.formats._output import call_id, error_text, to_json, to_text, wire_name
from toolrelay.formats._plain import as_dict, as_list
from toolrelay.formats._protocol import FoundCall, Wire, cut_off, pick, refuse_all, word
from toolrelay.formats._stream import Drafts, fault_of
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


class Stream:
    """``step.*`` events of an interaction."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._blocks = Blocks(drafts)

    def feed(self, event: Wire) -> None:
        """Read one event."""
        kind = pick(event, "event_type", "type")
        index = event.get("index")
        if kind == "step.delta":
            delta = as_dict(event.get("delta")) or {}
            if delta.get("type") == "arguments_delta":
                self._blocks.write(index, delta.get("arguments"))
        elif kind == "step.start":
            step = as_dict(event.get("step")) or {}
            self._blocks.start(index, find_call(step) if "type" in step else None)
        elif kind == "step.stop":
            self._blocks.stop(index)
        elif kind == "error":
            self._drafts.fail(fault_of(event, as_dict(event.get("error"))))
        else:
            self._status(as_dict(event.get("interaction")) or event)

    def _status(self, interaction: Wire) -> None:
        status = word(interaction, "status")
        if status in ("requires_action", "completed"):
            self._drafts.seal_all()
        elif status == "incomplete":
            self._blocks.cut_off("the call is truncated: the interaction is incomplete")
        elif status in _DISOWNED:
            self._drafts.refuse_all(f"the call is truncated or disowned: the interaction's status is {status!r}")
        else:
            return  # it is still going on
        self._drafts.is_ended = True

    def close(self) -> None:
        """The connection is gone: what is not whole never will be."""
        self._drafts.seal_rest()


def open_stream(drafts: Drafts) -> Stream:
    """Read a stream of an interaction's events."""
    return Stream(drafts)


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
