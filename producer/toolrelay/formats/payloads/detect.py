"""Telling the formats apart by the keys they alone use. Where markers meet, ``type`` decides, then the wrappers' keys,
then ``arguments``, ``input``, ``args``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from toolrelay.formats.payloads.bodies import TURNS, turns_of
from toolrelay.formats.protocol import Wire, pick
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.models import ProviderFormat as Format

_BY_TYPE: Final = {
    "function": Format.OPENAI,
    "custom": Format.OPENAI,
    **dict.fromkeys(
        (
            "custom_tool_call",
            "shell_call",
            "local_shell_call",
            "apply_patch_call",
            "computer_call",
            "tool_search_call",
            "web_search_call",
            "file_search_call",
            "code_interpreter_call",
            "image_generation_call",
            "mcp_call",
            "mcp_list_tools",
            "mcp_approval_request",
            "program",
            "program_output",
            "reasoning",
            "function_call_output",
            "custom_tool_call_output",
            "shell_call_output",
            "local_shell_call_output",
            "apply_patch_call_output",
            "computer_call_output",
            "tool_search_output",
            "compaction",
        ),
        Format.OPENAI_RESPONSES,
    ),
    **dict.fromkeys(("tool_use", "server_tool_use", "mcp_tool_use", "tool_result", "thinking"), Format.ANTHROPIC),
    **dict.fromkeys(
        (
            "thought",
            "mcp_server_tool_call",
            "mcp_server_tool_result",
            "code_execution_call",
            "google_search_call",
            "google_maps_call",
            "url_context_call",
            "retrieval_call",
            "processing_call",
            "function_result",
        ),
        Format.GEMINI_INTERACTIONS,
    ),
    **dict.fromkeys(
        (
            "tool_call",
            "invalid_tool_call",
            "server_tool_call",
            "server_tool_result",
            "ai",
            "AIMessage",
            "AIMessageChunk",
            "tool",
            "human",
            "system",
            "constructor",
        ),
        Format.LANGCHAIN,
    ),
}

#: members of what an MCP server answers: no calls, but no stranger's message either
_MCP_ANSWERS: Final = (
    *("isError", "is_error", "structuredContent", "structured_content", "resultType", "result_type"),
    *("inputRequests", "input_requests", "task", "tools"),
)
#: how a sampled turn ends in MCP, where Anthropic says "tool_use", "end_turn", "max_tokens"
_SAMPLING_STOPS: Final = ("toolUse", "endTurn", "maxTokens")


def detect(payload: Wire) -> Format:
    """Say whose shape a call, a block, an item or a whole message has; ``unknown`` when nothing tells."""
    kind = payload.get("type")
    if isinstance(kind, str):
        found = _by_type(kind, payload)
        if found is not None:
            return found
    for key, answer in _BY_KEY:
        value = payload.get(key)
        if value is not None:
            by_key = answer(payload, value) if callable(answer) else answer
            if by_key is not None:
                return by_key
    for key, flat in _FLAT:
        if key in payload:
            return flat
    return Format.OPENAI if isinstance(payload.get("role"), str) else Format.UNKNOWN


def _by_type(kind: str, payload: Wire) -> Format | None:
    found = _BY_TYPE.get(kind)
    if found is not None:
        return Format.MCP if kind == "tool_result" and "toolUseId" in payload else found
    if kind == "function_call":
        is_step = "call_id" not in payload and as_dict(payload.get("arguments")) is not None
        return Format.GEMINI_INTERACTIONS if is_step else Format.OPENAI_RESPONSES
    if kind == "message":
        return _by_content(payload, payload.get("content")) or Format.ANTHROPIC
    return Format.OPENAI_RESPONSES if kind.startswith("response.") else None


def _by_tool_calls(payload: Wire, calls: Any) -> Format:
    first = next((call for item in as_list(calls) if (call := as_dict(item))), {})
    is_langchain = "args" in first or "invalid_tool_calls" in payload or "additional_kwargs" in payload
    return Format.LANGCHAIN if is_langchain else Format.OPENAI


def _by_function_call(payload: Wire, call: Any) -> Format:
    # the deprecated field of a Chat message has the name of Gemini's part in the SDK's spelling
    inside = as_dict(call) or {}
    is_chat = "arguments" in inside or "role" in payload or "content" in payload
    return Format.OPENAI if is_chat else Format.GEMINI


def _by_turns(payload: Wire, _: Any) -> Format | None:
    """Tell a request's body by its conversation: by the first message that is more than a role and a text."""
    turns = turns_of(payload)
    if turns is None:
        return None
    # one level: a body in a body is nobody's, however deep it goes
    inside = [_without_turns(entry) for turn in turns if (entry := as_dict(turn))]
    plain = next(found for key, found in _PLAIN_TURNS if key in payload)
    return next((found for entry in inside if (found := detect(entry)) not in (Format.OPENAI, Format.UNKNOWN)), plain)


def _without_turns(entry: Wire) -> Wire:
    return {key: value for key, value in entry.items() if key not in TURNS}


def _by_tool_call_id(payload: Wire, _: Any) -> Format | None:
    return Format.UNKNOWN if "is_error" in payload and "role" not in payload else None


def _by_message(_: Wire, message: Any) -> Format | None:
    inside = as_dict(message)
    # one level: a message in a message in a message is nobody's, however deep it goes
    found = Format.UNKNOWN if inside is None else detect({**inside, "message": None})
    return None if found is Format.UNKNOWN else found


def _by_output(_: Wire, output: Any) -> Format | None:
    if as_dict(output) is not None:
        return Format.BEDROCK
    return Format.OPENAI_RESPONSES if isinstance(output, (list, tuple)) else None


def _by_content(payload: Wire, content: Any) -> Format | None:
    inside = as_dict(content)
    if inside is not None and "parts" in inside:
        return Format.GEMINI
    blocks = [inside] if inside is not None else [block for item in as_list(content) if (block := as_dict(item))]
    for block in blocks:
        if pick(block, "toolUse", "toolResult") is not None:
            return Format.BEDROCK
        kind = block.get("type")
        if kind == "tool_result" and "toolUseId" in block:
            return Format.MCP
        if kind == "tool_use" and pick(payload, "stopReason", "stop_reason") in _SAMPLING_STOPS:
            return Format.MCP
        if kind in ("output_text", "input_text", "input_image", "refusal"):
            return Format.OPENAI_RESPONSES
        found = _BY_TYPE.get(kind) if isinstance(kind, str) else None
        if found is not None:
            return found
    return Format.ANTHROPIC if "stop_reason" in payload else None


def _by_method(payload: Wire, method: Any) -> Format | None:
    return Format.MCP if "params" in payload or method == "tools/call" else None


#: whose a body is whose messages say nothing
_PLAIN_TURNS: Final = (
    ("messages", Format.OPENAI),
    ("contents", Format.GEMINI),
    ("input", Format.OPENAI_RESPONSES),
)
_BY_KEY: Final[tuple[tuple[str, Format | Callable[[Wire, Any], Format | None]], ...]] = (
    ("choices", Format.OPENAI),  # in no request's body, and what is read most
    *((key, _by_turns) for key, _ in _PLAIN_TURNS),
    ("tool_calls", _by_tool_calls),
    ("invalid_tool_calls", Format.LANGCHAIN),
    ("function", Format.OPENAI),
    ("custom", Format.OPENAI),
    ("candidates", Format.GEMINI),
    ("functionCall", Format.GEMINI),
    ("function_call", _by_function_call),
    ("functionResponse", Format.GEMINI),
    ("parts", Format.GEMINI),
    ("toolCall", Format.GEMINI),
    ("tool_call", Format.GEMINI),
    ("toolResponse", Format.GEMINI),
    ("tool_response", Format.GEMINI),
    ("toolCallCancellation", Format.GEMINI),
    ("tool_call_cancellation", Format.GEMINI),
    ("toolUse", Format.BEDROCK),
    ("toolUseId", Format.BEDROCK),
    ("toolResult", Format.BEDROCK),
    ("functionCalls", Format.GEMINI),
    ("function_calls", Format.GEMINI),
    ("promptFeedback", Format.GEMINI),
    ("prompt_feedback", Format.GEMINI),
    ("serverContent", Format.GEMINI),
    ("server_content", Format.GEMINI),
    ("lc", Format.LANGCHAIN),
    ("steps", Format.GEMINI_INTERACTIONS),
    ("jsonrpc", Format.MCP),
    ("method", _by_method),
    ("message", _by_message),
    ("output", _by_output),
    ("tool_call_id", _by_tool_call_id),
    ("content", _by_content),
    *((key, Format.MCP) for key in _MCP_ANSWERS),
    ("usageMetadata", Format.GEMINI),
    ("usage_metadata", Format.GEMINI),
)
_FLAT: Final = (("arguments", Format.OPENAI), ("input", Format.ANTHROPIC), ("args", Format.LANGCHAIN))
