"""What a payload looks like that is not what was asked for: words for whoever passed the wrong file."""

from __future__ import annotations

from typing import Any, Final

from toolrelay.formats import FORMATS
from toolrelay.formats.payloads.detect import detect
from toolrelay.formats.protocol import Wire
from toolrelay.formats.shared.plain import as_dict
from toolrelay.models import ProviderFormat

_KEYS_SHOWN: Final = 5
_SPEAKERS: Final = frozenset({"assistant", "model", "ai"})
_OTHERS_TYPES: Final = frozenset({"human", "system", "tool", "developer"})
_SCHEMAS: Final = (
    *("parameters", "parametersJsonSchema", "parameters_json_schema", "input_schema", "inputSchema", "args_schema"),
    *("toolSpec", "tool_spec", "functionDeclarations", "function_declarations"),
)
_ARGUMENTS: Final = ("arguments", "args", "input")
#: what only messages, calls and results have, never a tool's definition
_SAID: Final = (
    *("role", "jsonrpc", "choices", "candidates", "tool_calls", "functionCall", "function_call", "functionResponse"),
    *("toolUse", "toolUseId", "toolResult", "tool_use_id", "tool_call_id", "call_id", "content", "parts", "steps"),
)
_SAID_TYPES: Final = ("_call", "_output", "_result", "tool_use", "message", "ai", "human", "reasoning", "thinking")
#: what tells a request's body; a response may repeat its tools
_ASKED: Final = ("tools", "functions", "messages", "contents", "tool_choice", "toolConfig", "toolChoice", "prompt")
_ANSWERED: Final = ("choices", "candidates", "output", "content", "parts", "steps", "tool_calls", "message", "role")


def likeness(value: Any) -> str:
    """Say what a payload looks like, as in "it looks like …".

    >>> likeness({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "clock"}})
    'an MCP tools/call message'
    >>> likeness([]), likeness({"weather": 1})
    ('an empty list', "an object with the keys 'weather'")
    >>> likeness([[], [[[]]]])
    'a list: an empty list, a list'
    """
    if isinstance(value, (list, tuple)):
        return _list_likeness(value)
    entry = as_dict(value)
    if entry is None:
        return "null" if value is None else f"a value of type {type(value).__name__}"
    if not entry:
        return "an empty object"
    if isinstance(entry.get("method"), str):
        return f"an MCP {entry['method']} message"
    if not is_said(entry) and _hands_in(entry):
        return "tool results"
    if is_request(entry):
        return f"a request's body ({', '.join(key for key in entry if key in _ASKED)})"
    if _has_schema(entry):
        return "a tool's definition"
    return _message_likeness(entry)


def _list_likeness(entries: list[Any] | tuple[Any, ...]) -> str:
    seen = list(dict.fromkeys(map(_entry_likeness, entries[:_KEYS_SHOWN])))
    return f"a list: {', '.join(seen)}" if seen else "an empty list"


def _entry_likeness(entry: Any) -> str:
    # one level: what is in a list in a list tells nothing, however deep it goes
    return "a list" if entry and isinstance(entry, (list, tuple)) else likeness(entry)


def _message_likeness(entry: Wire) -> str:
    whose = detect(entry)
    if whose is ProviderFormat.UNKNOWN:
        return f"an object with the keys {', '.join(map(repr, list(entry)[:_KEYS_SHOWN]))}"
    if FORMATS[whose].find_calls(entry):
        return f"tool calls of {whose}"
    role = entry.get("role")
    return f"a message of the role {role!r}" if isinstance(role, str) else f"a message of {whose}"


def may_be_definition(entry: Wire) -> bool:
    """Whether an entry of a list of tools may be one: any provider's, also of a kind that nobody knows yet."""
    if _has_schema(entry):
        return True
    kind = entry.get("type")
    is_said = any(key in entry for key in _SAID) or (isinstance(kind, str) and kind.endswith(_SAID_TYPES))
    inside = as_dict(entry.get("function")) or entry
    return not is_said and not any(key in inside for key in _ARGUMENTS)


def _has_schema(entry: Wire) -> bool:
    inside = as_dict(entry.get("function")) or as_dict(entry.get("custom")) or entry
    return any(key in entry or key in inside for key in _SCHEMAS)


def _hands_in(entry: Wire) -> bool:
    return bool(FORMATS[detect(entry)].find_results(entry))


def is_request(entry: Wire) -> bool:
    """Whether this is what a model is sent, not what it said."""
    if any(key in entry for key in _ANSWERED):
        return False
    is_prompt = "model" in entry and "input" in entry and "name" not in entry
    return is_prompt or any(key in entry for key in _ASKED)


def is_said(entry: Wire) -> bool:
    """Whether a model can have said this; not so for what others say, for results, requests and definitions."""
    role, kind = entry.get("role"), entry.get("type")
    if isinstance(role, str):
        return role in _SPEAKERS
    if (isinstance(kind, str) and kind in _OTHERS_TYPES) or _hands_in(entry):
        return False
    if "jsonrpc" in entry or isinstance(entry.get("method"), str):
        return False
    return bool(entry) and not is_request(entry) and not _has_schema(entry)
