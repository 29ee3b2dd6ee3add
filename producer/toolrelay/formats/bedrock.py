"""Amazon Bedrock Converse: ``toolUse`` blocks, answered by ``toolResult`` blocks in one user message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolrelay.formats._blocks import calls_in_content
from toolrelay.formats._output import call_id, text_of, to_json
from toolrelay.formats._plain import as_dict
from toolrelay.formats._protocol import FoundCall, Wire, pick, refuse_all, word
from toolrelay.models import NormalizedToolResult

#: some of the models behind Converse stop with ``end_turn`` and mean their calls; these stop for another reason
_DISOWNED: Final = frozenset(
    {"max_tokens", "model_context_window_exceeded", "guardrail_intervened", "content_filtered"}
)


def find_call(payload: Wire) -> FoundCall | None:
    """Read a ``toolUse`` block, its inside, or the flat ``{"name", "input"}``."""
    use = as_dict(pick(payload, "toolUse", "tool_use")) or payload
    if use.get("type") == "server_tool_use":
        return None
    return FoundCall(use.get("name"), use.get("input"), pick(use, "toolUseId", "tool_use_id", "id"), raw=payload)


def find_calls(message: Wire) -> list[FoundCall]:
    """Read a Converse response, its message, or a single block."""
    output = as_dict(message.get("output")) or message
    calls = calls_in_content(as_dict(output.get("message")) or output, _block)
    reason = word(message, "stopReason", "stop_reason")
    if reason in _DISOWNED:
        refuse_all(calls, f"the call is truncated or disowned: the turn ended with stopReason {reason!r}")
    return calls


def _block(block: Wire) -> FoundCall | None:
    return find_call(block) if pick(block, "toolUse", "tool_use", "name", "toolUseId") is not None else None


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one user message that holds every ``toolResult``."""
    return [{"role": "user", "content": [_tool_result(result) for result in results]}] if results else []


def _tool_result(result: NormalizedToolResult) -> Wire:
    status = "success" if result.success else "error"
    return {"toolResult": {"toolUseId": call_id(result), "content": [_content(result)], "status": status}}


def _content(result: NormalizedToolResult) -> Wire:
    # the json member takes objects only
    output = to_json(result.output) if result.success else None
    return {"json": output} if isinstance(output, dict) else {"text": text_of(result)}
