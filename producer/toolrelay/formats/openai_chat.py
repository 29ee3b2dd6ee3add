"""OpenAI Chat Completions, and the many servers that speak it with an accent.

Met in the wild and read here: arguments as an object (Ollama), no ``id`` and no ``type`` (Ollama, old vLLM), the
deprecated ``function_call``, free-text ``custom`` calls, the flat ``{"name", "arguments"}``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from toolrelay.formats._output import call_id, flagless_text, wire_name
from toolrelay.formats._plain import as_dict, as_list
from toolrelay.formats._protocol import FoundCall, Wire, cut_off, pick, word
from toolrelay.models import CallKind, NormalizedToolResult

#: the model was stopped by a limit or a filter: what it wrote last may not be whole
_CUT_OFF: Final = frozenset({"length", "max_tokens", "model_length", "content_filter"})
_LEGACY: Final = "legacy_function_call"


def find_call(payload: Wire) -> FoundCall | None:
    """Read a function call, a custom call or the flat shape."""
    identity = pick(payload, "id", "call_id")
    custom = as_dict(payload.get("custom"))
    if custom is not None:
        return FoundCall(custom.get("name"), custom.get("input"), identity, CallKind.CUSTOM, raw=payload)
    function = as_dict(payload.get("function"))
    if function is None:
        function = payload
    return FoundCall(function.get("name"), function.get("arguments"), identity, raw=payload)


def find_calls(message: Wire) -> list[FoundCall]:
    """Read the calls of a completion, a choice, a message, or a single call."""
    choices = message.get("choices")
    if choices is None:
        return _in_choice(message)
    found: list[FoundCall] = []
    several = len(as_list(choices)) > 1
    for position, choice in enumerate(map(as_dict, as_list(choices))):
        if choice is None:
            continue
        calls = _in_choice(choice)
        if several:
            _number(calls, choice.get("index", position))
        found += calls
    return found


def _number(calls: list[FoundCall], index: Any) -> None:
    for call in calls:
        call.metadata["choice"] = index


def _in_choice(choice: Wire) -> list[FoundCall]:
    message = as_dict(choice.get("message"))
    calls = _in_message(choice if message is None else message)
    reason = word(choice, "finish_reason", "done_reason")
    if reason in _CUT_OFF:
        cut_off(calls, f"the call is truncated: the model was stopped ({reason}) while it wrote it")
    return calls


def _in_message(message: Wire) -> list[FoundCall]:
    calls = [call for item in as_list(message.get("tool_calls")) if (call := _in_list(item)) is not None]
    legacy = as_dict(message.get("function_call"))
    if legacy is not None and not calls:
        calls.append(FoundCall(legacy.get("name"), legacy.get("arguments"), metadata={_LEGACY: True}, raw=legacy))
    if not calls and ("function" in message or "custom" in message or "name" in message or "arguments" in message):
        return _alone(message)
    return calls


def _in_list(item: Any) -> FoundCall | None:
    payload = as_dict(item)
    return FoundCall(None, raw=item) if payload is None else find_call(payload)


def _alone(payload: Wire) -> list[FoundCall]:
    if "role" in payload:  # a message may have a "name": its author's
        return []
    call = find_call(payload)
    return [] if call is None else [call]


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one ``role: tool`` message a result; the API has text there and no error flag."""
    return [_message(result) for result in results]


def _message(result: NormalizedToolResult) -> Wire:
    if result.provider_metadata.get(_LEGACY):
        return {"role": "function", "name": wire_name(result), "content": flagless_text(result)}
    return {"role": "tool", "tool_call_id": call_id(result), "content": flagless_text(result)}
