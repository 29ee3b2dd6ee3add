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


def words_of(words: FinishWords, *kinds: FinishKind) -> frozenset[str]:
    """Give a provider's words for these kinds."""
    return frozenset(word for kind in kinds for word in words.get(kind, ()))


def why_void(field: str, reason: str | None) -> str:
    """Say why a call must not run that a turn with this end holds; ``field`` is where the provider says how it ended.

    >>> why_void("stop_reason", "refusal")
    "the call was not run: the turn ended with stop_reason 'refusal'"
    """
    return f"the call was not run: the turn ended with {field} {reason!r}"


def why_doubtful(field: str, reason: str | None) -> str:
    """Say why none of a turn's calls may run where a limit stopped the model, and nothing tells which it had ended.

    >>> why_doubtful("stop_reason", "max_tokens")
    "the call may be truncated: the turn ended with stop_reason 'max_tokens'"
    """
    return f"the call may be truncated: the turn ended with {field} {reason!r}"


def why_cut(reason: str | None) -> str:
    """Say why a call must not run that the model could not end.

    >>> why_cut("max_tokens")
    'the call is truncated: the model was stopped (max_tokens) while it wrote it'
    """
    return f"the call is truncated: the model was stopped ({reason}) while it wrote it"


def kind_of(reason: str, words: FinishWords) -> FinishKind | None:
    """Give the kind that a provider's word stands for; ``None`` for a word that it does not use."""
    return next((kind for kind, spelled in words.items() if reason in spelled), None)
