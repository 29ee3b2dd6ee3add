"""How turns end: each provider's words for it, and one for all."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from toolrelay.errors import ErrorCategory
from toolrelay.formats._gemini_stream import LIVE_BLOCKED, block_reason, live_reason
from toolrelay.formats._plain import as_dict, as_list
from toolrelay.formats._protocol import Wire, word
from toolrelay.models import CallProblem, ProblemKind, ProviderFormat


class FinishKind(StrEnum):
    """The ways in which a turn ends."""

    TOOL_CALLS = "tool_calls"
    STOP = "stop"
    LENGTH = "length"
    """A limit was reached: what was written last may not be whole."""
    CONTENT_FILTER = "content_filter"
    PAUSE = "pause"
    """The provider wants the turn back unchanged, to go on with it."""
    MALFORMED = "malformed"
    """The model failed to form a call."""
    ERROR = "error"
    UNKNOWN = "unknown"
    """There is no word, or none that is known."""


class Finish(NamedTuple):
    """How a turn ended."""

    kind: FinishKind
    reason: str | None = None
    """The provider's word, unchanged: a limit is never told as a call."""
    problem: CallProblem | None = None
    """Why nothing of the turn may run; ``None`` where its calls decide for themselves."""
    is_retryable: bool = False
    """Whether asking the model again is worth it."""


_OPENAI: Final = {
    FinishKind.TOOL_CALLS: "tool_calls",
    FinishKind.STOP: "stop",
    FinishKind.LENGTH: "length",
    FinishKind.CONTENT_FILTER: "content_filter",
    FinishKind.PAUSE: "stop",
    FinishKind.MALFORMED: "stop",
    FinishKind.ERROR: "stop",
}
_RESPONSES: Final = {
    FinishKind.TOOL_CALLS: "completed",
    FinishKind.STOP: "completed",
    FinishKind.LENGTH: "incomplete",
    FinishKind.CONTENT_FILTER: "incomplete",
    FinishKind.PAUSE: "completed",
    FinishKind.MALFORMED: "failed",
    FinishKind.ERROR: "failed",
}
_ANTHROPIC: Final = {
    FinishKind.TOOL_CALLS: "tool_use",
    FinishKind.STOP: "end_turn",
    FinishKind.LENGTH: "max_tokens",
    FinishKind.CONTENT_FILTER: "refusal",
    FinishKind.PAUSE: "pause_turn",
    FinishKind.MALFORMED: "end_turn",
    FinishKind.ERROR: "end_turn",
}
_GEMINI: Final = {
    FinishKind.TOOL_CALLS: "STOP",
    FinishKind.STOP: "STOP",
    FinishKind.LENGTH: "MAX_TOKENS",
    FinishKind.CONTENT_FILTER: "SAFETY",
    FinishKind.PAUSE: "STOP",
    FinishKind.MALFORMED: "MALFORMED_FUNCTION_CALL",
    FinishKind.ERROR: "OTHER",
}
_INTERACTIONS: Final = {**_RESPONSES, FinishKind.TOOL_CALLS: "requires_action"}
_BEDROCK: Final = {
    **_ANTHROPIC,
    FinishKind.CONTENT_FILTER: "content_filtered",
    FinishKind.PAUSE: "end_turn",
}
_MCP: Final = {
    FinishKind.TOOL_CALLS: "toolUse",
    FinishKind.STOP: "endTurn",
    FinishKind.LENGTH: "maxTokens",
    FinishKind.CONTENT_FILTER: "endTurn",
    FinishKind.PAUSE: "endTurn",
    FinishKind.MALFORMED: "endTurn",
    FinishKind.ERROR: "endTurn",
}
_WORDS: Final[dict[ProviderFormat, dict[FinishKind, str]]] = {
    ProviderFormat.OPENAI: _OPENAI,
    ProviderFormat.OPENAI_RESPONSES: _RESPONSES,
    ProviderFormat.ANTHROPIC: _ANTHROPIC,
    ProviderFormat.GEMINI: _GEMINI,
    ProviderFormat.GEMINI_INTERACTIONS: _INTERACTIONS,
    ProviderFormat.LANGCHAIN: _OPENAI,
    ProviderFormat.MCP: _MCP,
    ProviderFormat.BEDROCK: _BEDROCK,
}

#: every provider's words; none of them means one thing here and another there
_KINDS: Final[dict[str, FinishKind]] = {
    **dict.fromkeys(("tool_calls", "function_call", "tool_use", "toolUse", "requires_action"), FinishKind.TOOL_CALLS),
    **dict.fromkeys(("stop", "end_turn", "endTurn", "STOP", "stop_sequence", "stopSequence"), FinishKind.STOP),
    **dict.fromkeys(("completed", "idle"), FinishKind.STOP),
    **dict.fromkeys(
        ("length", "max_tokens", "maxTokens", "MAX_TOKENS", "model_length", "max_output_tokens"), FinishKind.LENGTH
    ),
    **dict.fromkeys(("model_context_window_exceeded", "incomplete", "CONTINUATION"), FinishKind.LENGTH),
    **dict.fromkeys(("requires_continuation", "budget_exceeded"), FinishKind.LENGTH),
    **dict.fromkeys(
        ("content_filter", "refusal", "content_filtered", "guardrail_intervened"), FinishKind.CONTENT_FILTER
    ),
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE"),
        FinishKind.CONTENT_FILTER,
    ),
    **dict.fromkeys(
        ("IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "ESCALATION", "PUP_LIMITED_DISABLED"),
        FinishKind.CONTENT_FILTER,
    ),
    **dict.fromkeys(LIVE_BLOCKED, FinishKind.CONTENT_FILTER),
    **dict.fromkeys(("pause_turn", "compaction"), FinishKind.PAUSE),
    "NEED_MORE_INPUT": FinishKind.STOP,
    **dict.fromkeys(("RESPONSE_REJECTED", "MAX_REGENERATION_REACHED"), FinishKind.ERROR),
    **dict.fromkeys(
        ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "malformed_tool_use", "malformed_model_output"),
        FinishKind.MALFORMED,
    ),
    **dict.fromkeys(("UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"), FinishKind.MALFORMED),
    "function_call_filter": FinishKind.MALFORMED,
    **dict.fromkeys(("failed", "cancelled", "canceled", "error", "OTHER", "IMAGE_OTHER", "NO_IMAGE"), FinishKind.ERROR),
    **dict.fromkeys(("abort", "aborted", "insufficient_system_resource"), FinishKind.ERROR),
}
_REASONS: Final = ("finish_reason", "done_reason", "stop_reason", "stopReason", "finishReason")


def wire_reason(kind: FinishKind, provider_format: ProviderFormat) -> str | None:
    """Give the provider's word for this kind of end."""
    return _WORDS.get(provider_format, {}).get(kind)


def finish_of(message: Wire, provider_format: ProviderFormat) -> Finish:
    """Read how the turn ended that a message holds."""
    blocked = block_reason(message)
    if blocked is not None:
        return Finish(FinishKind.CONTENT_FILTER, blocked)
    reason = live_reason(message) or _reason_in(message)
    kind = FinishKind.UNKNOWN if reason is None else _KINDS.get(reason.partition(":")[0], FinishKind.UNKNOWN)
    if kind is not FinishKind.MALFORMED:
        return Finish(kind, reason)
    problem = CallProblem(
        kind=ProblemKind.INVALID_PAYLOAD,
        category=ErrorCategory.PARSE,
        message=f"the model failed to form a call ({provider_format}: {reason}); nothing was run. Ask it again.",
    )
    return Finish(kind, reason, problem, is_retryable=True)


def _reason_in(message: Wire) -> str | None:
    found = word(message, *_REASONS)
    if found is not None:
        return found
    response = as_dict(message.get("response"))
    if response is not None:
        return _reason_in(response)
    for key in ("choices", "candidates"):
        for item in as_list(message.get(key)):
            choice = as_dict(item)
            if choice is not None:
                return word(choice, *_REASONS)
    metadata = as_dict(message.get("response_metadata"))
    return word(message, "status") if metadata is None else word(metadata, *_REASONS, "status")
