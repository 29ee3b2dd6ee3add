"""How turns end: one set of kinds for all; each format's module has the provider's words for them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


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


#: a provider's words for each kind. The first one is written, all are read; a word that several kinds have is read as
#: the first of these kinds. A format without words is an empty mapping.
FinishWords = Mapping[FinishKind, tuple[str, ...]]


class FoundFinish(NamedTuple):
    """A provider's word for the end of a turn."""

    reason: str
    kind: FinishKind | None = None
    """What it means where the place it stands in says so; ``None`` leaves it to the format's words."""


def kind_of(reason: str, words: FinishWords) -> FinishKind | None:
    """Give the kind that a provider's word stands for; ``None`` for a word that it does not use."""
    return next((kind for kind, spelled in words.items() if reason in spelled), None)
