"""Anthropic Messages: ``tool_use`` blocks. ``server_tool_use`` and ``mcp_tool_use`` look the same and run elsewhere.

A turn's tools are run only if it stopped for them (``stop_reason`` ``tool_use``), as the SDK's own runner does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from toolrelay.formats._blocks import calls_in_content
from toolrelay.formats._output import call_id, text_of
from toolrelay.formats._plain import as_dict
from toolrelay.formats._protocol import FoundCall, Wire, refuse_all, word
from toolrelay.models import NormalizedToolResult

#: the turn goes on: it is sent back as it is, and nothing is run in between
_PAUSED: Final = frozenset({"pause_turn", "compaction"})


def find_call(payload: Wire) -> FoundCall | None:
    """Read a ``tool_use`` block or the flat ``{"name", "input"}``; ``None`` for every other kind of block."""
    if payload.get("type", "tool_use") != "tool_use":
        return None
    metadata: dict[str, Any] = {}
    toolset = payload.get("toolset_name")
    if toolset is not None:
        metadata["toolset"] = toolset
    caller = as_dict(payload.get("caller"))
    if caller is not None and caller.get("type") != "direct":
        metadata["caller"] = caller
    return FoundCall(payload.get("name"), payload.get("input"), payload.get("id"), metadata=metadata, raw=payload)


def find_calls(message: Wire) -> list[FoundCall]:
    """Read the blocks of a message, or a single block."""
    reason = word(message, "stop_reason")
    if reason in _PAUSED:
        return []
    calls = calls_in_content(message, _block)
    if reason is not None and reason != "tool_use":
        refuse_all(calls, f"the call is truncated or disowned: the turn ended with stop_reason {reason!r}")
    return calls


def _block(block: Wire) -> FoundCall | None:
    return find_call(block) if "type" in block or "name" in block or "input" in block else None


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one user message that holds every ``tool_result``: the API wants them all, first, and together."""
    return [{"role": "user", "content": [_tool_result(result) for result in results]}] if results else []


def _tool_result(result: NormalizedToolResult) -> Wire:
    block: Wire = {"type": "tool_result", "tool_use_id": call_id(result), "content": text_of(result)}
    if not result.success:
        block["is_error"] = True
    toolset = result.provider_metadata.get("toolset")
    if toolset is not None:
        block["toolset_name"] = toolset
    return block
