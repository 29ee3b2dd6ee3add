"""Which calls of a conversation nothing has answered yet: a list of messages may reach back over many turns."""

from __future__ import annotations

from collections.abc import Iterable

from toolrelay.formats import FORMATS
from toolrelay.formats.protocol import FoundCall, Wire
from toolrelay.formats.shared.results import FoundResult
from toolrelay.formats.shared.text import as_text
from toolrelay.models import PLAIN_KINDS, ProviderFormat

#: a found call and the format it was found in
Located = tuple[FoundCall, ProviderFormat]
LocatedResult = tuple[FoundResult, ProviderFormat]


def results_in(message: Wire, provider_format: ProviderFormat) -> list[LocatedResult]:
    """Find the results that a message, item, block or part of this format hands in."""
    return [(result, provider_format) for result in FORMATS[provider_format].find_results(message)]


class Pending:
    """The calls that wait for a result, in the model's order."""

    def __init__(self) -> None:
        self.calls: list[Located] = []
        self.answered: list[Located] = []
        self.has_calls = False
        """Whether there were any, answered or not."""

    def add(self, calls: Iterable[FoundCall], provider_format: ProviderFormat) -> None:
        """Take in the calls of a message."""
        self.calls += [(call, provider_format) for call in calls]
        self.has_calls = True

    def answer(self, results: Iterable[LocatedResult]) -> None:
        """Let go of the calls that these results answer, each of one."""
        for result, provider_format in results:
            place = None if result.is_remark else self._place_of(result, provider_format)
            if place is not None:
                self.answered.append(self.calls.pop(place))

    def _place_of(self, result: FoundResult, provider_format: ProviderFormat) -> int | None:
        """Find the call by the result's id; where either has none, by the tool's name and the order."""
        identity = as_text(result.call_id)
        named, unnamed = [], []
        for place, (call, _) in enumerate(self.calls):
            known = _ids_of(call, provider_format)
            if identity is not None and identity in known:
                named.append(place)
            elif (identity is None or not known) and _may_answer(result, call):
                unnamed.append(place)
        same_tool = [place for place in named if self.calls[place][0].name == result.name]
        return next(iter(same_tool or named or unnamed), None)


def _may_answer(result: FoundResult, call: FoundCall) -> bool:
    """Whether nothing tells that this is the result of another call."""
    is_same_kind = result.kind is call.kind or {result.kind, call.kind} <= PLAIN_KINDS
    return is_same_kind and result.name in (None, "", call.name)


def _ids_of(call: FoundCall, provider_format: ProviderFormat) -> set[str]:
    """Give the ids that a result of this format may name the call by: its own, and what they are written as there."""
    own = {text for value in (call.call_id, call.other_id) if (text := as_text(value))}
    return own | {FORMATS[provider_format].CALL_IDS.encode(identity) for identity in own}
