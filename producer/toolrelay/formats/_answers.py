"""Which calls a conversation has already answered: a list of messages may reach back over many turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from toolrelay.formats._plain import as_dict, as_list
from toolrelay.formats._protocol import FoundCall, Wire, pick

_OUTPUTS: Final = ("_call_output", "function_result", "tool_search_output")
_ROLES: Final = ("tool", "function")


class Answer(NamedTuple):
    """What names the call: its id or, where calls have none, the tool's name."""

    call_id: Any = None
    name: Any = None


def answers_in(message: Wire) -> list[Answer]:
    """Read the tool results of a message, item or part, in any provider's shape."""
    own = _answer(message)
    if own is not None:
        return [own]
    inside = as_list(message.get("content")) or as_list(message.get("parts"))
    return list(_of_blocks(inside))


def _of_blocks(blocks: list[Any]) -> Iterator[Answer]:
    for item in blocks:
        block = as_dict(item)
        answer = None if block is None else _answer(block)
        if answer is not None:
            yield answer


def _answer(block: Wire) -> Answer | None:
    kind = block.get("type")
    if kind == "tool_result":
        return Answer(pick(block, "tool_use_id", "toolUseId"))
    if block.get("role") in _ROLES or kind == "tool":
        return Answer(block.get("tool_call_id"), block.get("name"))
    if isinstance(kind, str) and kind.endswith(_OUTPUTS):
        return Answer(block.get("call_id"), block.get("name"))
    response = as_dict(pick(block, "functionResponse", "function_response"))
    if response is not None:
        return Answer(response.get("id"), response.get("name"))
    result = as_dict(block.get("toolResult"))
    return None if result is None else Answer(result.get("toolUseId"))


def is_answered_by(call: FoundCall, answer: Answer) -> bool:
    """Whether the answer names this call."""
    if answer.call_id is None or call.call_id in (None, ""):
        return answer.name is not None and call.name == answer.name and call.call_id in (None, "")
    return bool(call.call_id == answer.call_id)
