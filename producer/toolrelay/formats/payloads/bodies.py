"""Requests' bodies: an agent may hand over all that it is about to send, and its conversation is in there."""

from __future__ import annotations

from typing import Any, Final

from toolrelay.formats import FORMATS
from toolrelay.formats.protocol import Wire
from toolrelay.formats.shared.plain import as_dict

#: members that hold a conversation, whoever's body it is
TURNS: Final = tuple(dict.fromkeys(key for wire in FORMATS.values() for key in wire.PLACES.turns))
TURN_KEYS: Final = frozenset(TURNS)
#: a call, a message or a response may have a member of that name, and has one of these too; no body has
_NO_BODY: Final = frozenset({"type", "name", "role", "choices", "candidates", "output", "steps", "content", "parts"})
_MESSAGE: Final = ("role", "type", "parts", "kwargs")


def turns_of(payload: Wire) -> list[Any] | None:
    """Give the conversation of a request's body, ``[]`` for a bare text; ``None`` for what is no body."""
    if TURN_KEYS.isdisjoint(payload):
        return None
    for key in TURNS:
        if key in payload and not payload.keys() & _NO_BODY:
            value = payload[key]
            if isinstance(value, str):
                return [] if "model" in payload else None
            if isinstance(value, (list, tuple)) and ("model" in payload or any(map(_is_message, value))):
                return list(value)
    return None


def _is_message(entry: Any) -> bool:
    members = as_dict(entry)
    return members is not None and any(key in members for key in _MESSAGE)
