"""What else a message or a stream's event holds besides the client's calls: calls that the provider runs, and text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolrelay.formats import FORMATS
from toolrelay.formats.protocol import Places, Wire
from toolrelay.formats.shared.plain import as_dict
from toolrelay.formats.shared.served import ServerCall
from toolrelay.models import ProviderFormat

_DEEPEST: Final = 12


def server_calls(message: Wire, provider_format: ProviderFormat) -> Iterator[ServerCall]:
    """Give the calls in it that are not the client's, in order; an event of a stream may tell of one again."""
    wire = FORMATS[provider_format]
    for block in _blocks_in(message, wire.PLACES):
        found = wire.find_server_call(block)
        if found is not None:
            yield found


def has_text(message: Wire, provider_format: ProviderFormat) -> bool:
    """Whether the model said something besides its calls, its reasoning included."""
    places = FORMATS[provider_format].PLACES
    return any(
        isinstance(block.get(key), str) and block[key] for block in _blocks_in(message, places) for key in places.texts
    )


def _blocks_in(message: Wire, places: Places, depth: int = 0) -> Iterator[Wire]:
    """Give a message and everything in it that may be one of the turn's parts."""
    yield message
    if depth == _DEEPEST:
        return
    for key in places.holders:
        value = message.get(key)
        for item in value if isinstance(value, (list, tuple)) else (value,):
            inner = as_dict(item)
            if inner is not None:
                yield from _blocks_in(inner, places, depth + 1)
