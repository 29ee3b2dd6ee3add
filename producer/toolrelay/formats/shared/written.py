"""Calls on their way out: what every format writes an assistant's message, or a stream of one, from."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from toolrelay.formats.shared.ids import call_id_of, derived_id
from toolrelay.models import CallKind, NormalizedToolRequest
from toolrelay.names import NameMap
from toolrelay.outputs import lenient_json

#: stands around arguments that could not be read, where the wire wants an object
_RAW: Final = "raw_arguments"

#: cuts a call's argument text into the pieces of a stream
Cut = Callable[[str], list[str]]


class WrittenCall(NamedTuple):
    """One call as it goes on the wire; its arguments are always an object."""

    request: NormalizedToolRequest
    call_id: str
    """Never empty: derived where neither the provider nor toolrelay gave one."""
    has_id: bool
    """Whether the provider that wrote the call gave it an id."""
    name: str
    arguments: dict[str, Any]

    @property
    def text(self) -> str:
        """The arguments as JSON text."""
        return json.dumps(self.arguments, ensure_ascii=False)

    @property
    def unreadable(self) -> str | None:
        """The arguments' text where nobody could read it: it stands in them, under a key of ours. Else ``None``."""
        problem = self.request.problem
        return None if problem is None or self.request.arguments else problem.raw_arguments or None

    @property
    def is_custom(self) -> bool:
        """Whether the call's input is free text."""
        return self.request.kind is CallKind.CUSTOM

    @property
    def free_text(self) -> str:
        """A custom call's input."""
        value = self.arguments.get("input", "")
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def echo(self, key: str) -> Any:
        """Give what must go back with the call; ``None`` where there is nothing."""
        return self.request.provider_metadata.get(key)


def written(calls: Sequence[NormalizedToolRequest], names: NameMap | None) -> list[WrittenCall]:
    """Prepare calls for the wire, in this order; one without a name is left out, for every provider refuses it."""
    return [_written(place, call, names) for place, call in enumerate(calls) if call.tool_name]


def _written(place: int, call: NormalizedToolRequest, names: NameMap | None) -> WrittenCall:
    name, arguments = _wire_name(call, names), lenient_json(call.arguments)
    if names is not None and (renamed := names.arguments_of(call.tool_name)) is not None:
        arguments = renamed.encode(arguments)
    draft = WrittenCall(call, "", call.provider_call_id is not None, name, arguments)
    if draft.unreadable is not None:
        arguments = {_RAW: draft.unreadable}
    identity = call_id_of(call.provider_call_id, call.tool_call_id) or derived_id(place, name, arguments)
    return draft._replace(call_id=identity, arguments=arguments)


def _wire_name(call: NormalizedToolRequest, names: NameMap | None) -> str:
    if names is not None and call.tool_name in names.tools:
        return names.encode(call.tool_name)
    name = call.provider_metadata.get("wire_name")
    return name if isinstance(name, str) else call.tool_name


def pieces(text: str, size: int) -> list[str]:
    """Cut text into pieces of this many characters; empty text is no piece."""
    return [text[start : start + size] for start in range(0, len(text), size)]
