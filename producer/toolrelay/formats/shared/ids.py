"""The ids that calls have on the wire: a provider's own where it sent one, else one that is derived and stays."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

_OURS: Final = re.compile(r"tc_([0-9a-f]{24})")
_DIGITS: Final = 24

#: begins the ids that had to be rewritten; legal ids that begin with it are rewritten too, so that no two meet
_MARK: Final = "esc"


def call_id_of(provider_call_id: str | None, tool_call_id: str | None) -> str | None:
    """Give the id that a call and its answer have on the wire; ``None`` if the call has no identity yet.

    A provider that sent no id gets ``call_`` and the 24 digits of ours.
    """
    if provider_call_id or not tool_call_id:
        return provider_call_id or None
    ours = _OURS.fullmatch(tool_call_id)
    return tool_call_id if ours is None else f"call_{ours[1]}"


def derived_id(place: int, name: str, arguments: dict[str, Any]) -> str:
    """Make an id of what a call says and where it stands: the same whenever the same message is written."""
    text = json.dumps([place, name, arguments], sort_keys=True, default=str)
    return "call_" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


class IdAlphabet:
    """What a provider allows in a call's id; ``encode`` writes any other id so that no two become one.

    >>> IdAlphabet("a-zA-Z0-9_-").encode("functions.lookup:0")
    'esc-functions-2elookup-3a0'
    """

    def __init__(self, characters: str | None = None, max_length: int = 64) -> None:
        """``characters`` is the inside of a regular expression's ``[…]``; it holds letters, digits and ``-``.

        Without it, any id is taken as it is.
        """
        self._max_length = max_length
        self._legal = None if characters is None else re.compile(f"[{characters}]{{1,{max_length}}}")
        self._escaped = re.compile(f"[^{characters}]|-")

    def encode(self, identity: str) -> str:
        """Give the id as this provider takes it; the same for the same id, whenever and wherever it is asked."""
        if self._legal is None or (self._legal.fullmatch(identity) and not identity.startswith(_MARK)):
            return identity
        spelled = f"{_MARK}-{self._escaped.sub(_escape, identity)}"
        if len(spelled) <= self._max_length:
            return spelled
        digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{_MARK}h-{digest[:40]}"


def _escape(match: re.Match[str]) -> str:
    # a dash is written twice, so that what stands behind a single one is always a code
    char = match[0]
    if char == "-":
        return "--"
    code = ord(char)
    return f"-{code:02x}" if code < 0x100 else f"-u{code:06x}"


#: for providers that take any id
ANY_IDS: Final = IdAlphabet()
