"""Gemini's history, repaired: what it wrote into its calls and another format had no place for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolrelay.formats.protocol import Wire, pick
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.formats.shared.text import as_text
from toolrelay.models import NormalizedToolRequest, ProviderFormat
from toolrelay.names import NameMap


def restore_signatures(
    contents: Iterable[Any], calls: Iterable[NormalizedToolRequest], *, names: NameMap | None = None
) -> list[Wire]:
    """Give Gemini's history back what it has lost on its way through another format: thought signatures, and its ids.

    Gemini signs the first call of each step and refuses a history without that signature. ``calls`` are all calls of
    the conversation, in order, as they were read or as ``PendingCalls.add`` gave them back: each belongs to the next
    part with its id or, where there is none, with its name and arguments. ``names``, the map of Gemini's tools, tells
    parameters that are called otherwise on the wire. A part that has a signature keeps it; an id that Gemini did not
    send goes, from the call and from its response. Nothing that is passed in is changed.
    """
    signer = _Signer(list(calls), names)
    return [signer.content(content) for item in contents if (content := as_dict(item)) is not None]


class _Signer:
    """Goes through a history once; each call is used once."""

    def __init__(self, waiting: list[NormalizedToolRequest], names: NameMap | None) -> None:
        self._waiting = waiting
        self._names = names
        self._own_ids: dict[str, str | None] = {}
        """What Gemini calls the calls that have another id in this history; ``None`` where it sent none."""

    def content(self, content: Wire) -> Wire:
        parts = [part for item in as_list(content.get("parts")) if (part := as_dict(item)) is not None]
        return {**content, "parts": [self._part(part) for part in parts]} if parts else dict(content)

    def _part(self, part: Wire) -> Wire:
        for key in ("functionResponse", "function_response"):
            if (response := as_dict(part.get(key))) is not None:
                return {**part, key: self._with_own_id(response)}
        for key in ("functionCall", "function_call"):
            if (function := as_dict(part.get(key))) is not None:
                return self._call(part, key, function)
        return part

    def _call(self, part: Wire, key: str, function: Wire) -> Wire:
        place = next((place for place, call in enumerate(self._waiting) if self._is_part_of(function, call)), None)
        if place is None:
            return part
        call = self._waiting.pop(place)
        identity = as_text(function.get("id"))
        if identity is not None and call.provider_format is ProviderFormat.GEMINI:
            self._own_ids[identity] = call.provider_metadata.get("provider_id", call.provider_call_id)
        restored = {**part, key: self._with_own_id(function)}
        signature = call.provider_metadata.get("thought_signature")
        if signature is None or pick(part, "thoughtSignature", "thought_signature") is not None:
            return restored
        return {**restored, "thoughtSignature": signature}

    def _with_own_id(self, members: Wire) -> Wire:
        identity = as_text(members.get("id"))
        own = identity if identity is None else self._own_ids.get(identity, identity)
        rest = {key: value for key, value in members.items() if key != "id"}
        return rest if own is None else {**rest, "id": own}

    def _is_part_of(self, function: Wire, call: NormalizedToolRequest) -> bool:
        identity = as_text(function.get("id"))
        known = [one for one in (call.provider_call_id, call.provider_metadata.get("provider_id")) if one is not None]
        if identity is not None and known:
            return identity in known
        is_name = function.get("name") in self._names_of(call)
        return is_name and (function.get("args") or {}) in self._arguments_of(call)

    def _names_of(self, call: NormalizedToolRequest) -> list[Any]:
        own = call.tool_name
        wire_name = self._names.encode(own) if self._names is not None and own in self._names.tools else own
        return [own, wire_name, call.provider_metadata.get("wire_name")]

    def _arguments_of(self, call: NormalizedToolRequest) -> list[Wire]:
        """Give the arguments as the tool calls its parameters, and as the wire does, as far as that is known."""
        renamed = None if self._names is None else self._names.arguments_of(call.tool_name)
        raw = as_dict(call.raw) or {}
        sent = as_dict((as_dict(pick(raw, "functionCall", "function_call")) or raw).get("args"))
        encoded = call.arguments if renamed is None else renamed.encode(call.arguments)
        return [call.arguments, encoded, *([] if sent is None else [sent])]
