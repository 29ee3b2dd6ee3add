"""Calls and their results brought together, before anything is sent: each call answered once, nothing else answered.

Providers refuse a turn in which a call has no result, or a result has no call; a queue may deliver late, or twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from toolrelay.errors import ErrorCategory, InvalidResultsError
from toolrelay.formats.shared.ids import derived_id
from toolrelay.models import NormalizedToolRequest, NormalizedToolResult, ProviderFormat
from toolrelay.translate import format_results

_NO_RESULT = "no result was produced for this call"


class Matched(NamedTuple):
    """What became of the calls of one turn."""

    results: list[NormalizedToolResult]
    """One a call, in the calls' order; for a call without a result, an error that says so."""
    missing: list[NormalizedToolRequest]
    """Calls that have no result."""
    unknown: list[NormalizedToolResult]
    """Results of calls that are not of this turn: stale, or somebody else's. They are not in ``results``."""
    repeated: list[NormalizedToolResult]
    """Results of calls that had one already; the first counts."""

    @property
    def faults(self) -> list[str]:
        """What is wrong, a sentence each; empty for a turn that can be sent as it is."""
        return [
            *(f"no result for {_name(call)}" for call in self.missing),
            *(f"a result for {result.tool_call_id!r}, which is no call of this turn" for result in self.unknown),
            *(f"another result for {result.tool_call_id!r}" for result in self.repeated),
        ]


def match_results(calls: Sequence[NormalizedToolRequest], results: Iterable[NormalizedToolResult]) -> Matched:
    """Bring calls and results together, by ``tool_call_id`` or, where a call has none yet, by the provider's id.

    Never raises: what does not fit is listed. A call that carries a ``problem`` needs no result; its answer is made of
    the problem.
    """
    places: dict[tuple[str, str], list[int]] = {}
    for place, call in enumerate(calls):
        for key in _keys(call):
            places.setdefault(key, []).append(place)
    found: dict[int, NormalizedToolResult] = {}
    unknown: list[NormalizedToolResult] = []
    repeated: list[NormalizedToolResult] = []
    for result in results:
        known = _places_of(result, places)
        free = next((place for place in known if place not in found), None)
        if free is not None:
            found[free] = result
        else:
            (repeated if known else unknown).append(result)
    missing = [call for place, call in enumerate(calls) if place not in found and call.problem is None]
    answers = [found.get(place) or _unanswered(place, call) for place, call in enumerate(calls)]
    return Matched(answers, missing, unknown, repeated)


def format_answers(
    calls: Sequence[NormalizedToolRequest],
    results: Iterable[NormalizedToolResult],
    provider_format: ProviderFormat | str | None = None,
    *,
    max_bytes: int | None = None,
) -> list[dict[str, Any]]:
    """Write the answer to one turn, as ``format_results`` does, if every call has one result and every result a call.

    Raises ``InvalidResultsError``, which names them all, for calls without a result, for results of calls that were
    never made, and for a second result. To send what there is instead, pass ``match_results(…).results`` to
    ``format_results``.
    """
    matched = match_results(calls, results)
    if matched.faults:
        raise InvalidResultsError(f"the results do not answer the calls: {'; '.join(matched.faults)}")
    return format_results(matched.results, provider_format, max_bytes=max_bytes)


def _keys(call: NormalizedToolRequest) -> list[tuple[str, str]]:
    if call.tool_call_id:
        return [("ours", call.tool_call_id)]
    return [("provider", call.provider_call_id)] if call.provider_call_id else []


def _places_of(result: NormalizedToolResult, places: dict[tuple[str, str], list[int]]) -> list[int]:
    known = places.get(("ours", result.tool_call_id))
    if known is None and result.provider_call_id:
        known = places.get(("provider", result.provider_call_id))  # two calls may have one id: the results keep order
    return known or []


def _unanswered(place: int, call: NormalizedToolRequest) -> NormalizedToolResult:
    problem = call.problem
    return NormalizedToolResult(
        tool_call_id=call.tool_call_id or derived_id(place, call.tool_name, call.arguments),
        tool_name=call.tool_name,
        provider_format=call.provider_format,
        provider_call_id=call.provider_call_id,
        provider_metadata=call.provider_metadata,
        kind=call.kind,
        repairs=call.repairs,
        success=False,
        error=_NO_RESULT if problem is None else problem.message,
        error_category=ErrorCategory.UNKNOWN if problem is None else problem.category,
    )


def _name(call: NormalizedToolRequest) -> str:
    return repr(call.tool_call_id or call.provider_call_id or call.tool_name)
