"""Which calls of a conversation nothing has answered yet: a list of messages may reach back over many turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

from toolrelay.formats import FORMATS
from toolrelay.formats.protocol import FoundCall, Wire
from toolrelay.formats.shared.results import FoundResult
from toolrelay.formats.shared.text import as_text
from toolrelay.models import PLAIN_KINDS, ProblemKind, ProviderFormat

#: the ways in which providers spell ids; most take any as it is
_ALPHABETS: Final = tuple(dict.fromkeys(wire.CALL_IDS for wire in FORMATS.values()))
#: what a call may be looked up by: an id as it is spelled in an alphabet, a kind, with or without the tool's name
_Key = tuple[object, ...]

#: a found call and the format it was found in
Located = tuple[FoundCall, ProviderFormat]
LocatedResult = tuple[FoundResult, ProviderFormat]


def results_in(message: Wire, provider_format: ProviderFormat) -> list[LocatedResult]:
    """Find the results that a message, item, block or part of this format hands in."""
    return [(result, provider_format) for result in FORMATS[provider_format].find_results(message)]


class Pending:
    """The calls that wait for a result, in the model's order.

    A conversation may hold thousands: each is filed once under all that a result can name it by, so that no result has
    to look at every call.
    """

    def __init__(self) -> None:
        self.answered: list[Located] = []
        self._open: dict[int, Located] = {}
        self._count = 0
        self._unfiled: list[int] = []
        self._places: dict[_Key, deque[int]] = {}
        """In the model's order; places of calls that are answered go when they are met."""

    @property
    def calls(self) -> list[Located]:
        """The calls that nothing has answered."""
        return list(self._open.values())

    @property
    def is_waiting(self) -> bool:
        """Whether there are any of these."""
        return bool(self._open)

    @property
    def has_calls(self) -> bool:
        """Whether there were any calls, answered or not."""
        return self._count > 0

    def add(self, calls: Iterable[FoundCall], provider_format: ProviderFormat) -> None:
        """Take in the calls of a message."""
        for call in calls:
            self._open[self._count] = call, provider_format
            self._unfiled.append(self._count)
            self._count += 1

    def answer(self, results: Iterable[LocatedResult]) -> None:
        """Let go of the calls that these results answer, each of one."""
        for result, provider_format in results:
            place = None if result.is_remark else self._place_of(result, provider_format)
            if place is not None:
                self.answered.append(self._open.pop(place))

    def cancel(self, identities: Iterable[Any], provider_format: ProviderFormat) -> None:
        """Keep the calls of this format with these ids from being run: the model no longer wants them."""
        for identity in identities:
            for place in self._filed((FORMATS[provider_format].CALL_IDS, as_text(identity))):
                call, found_in = self._open.get(place, _NOBODYS)
                if found_in is provider_format and call.call_id == identity:
                    call.metadata["cancelled"] = True
                    call.refuse("the call was cancelled by the model", ProblemKind.CANCELLED)

    def _place_of(self, result: FoundResult, provider_format: ProviderFormat) -> int | None:
        """Find the call by the result's id; where either has none, by the tool's name and the order."""
        identity, name, kind = as_text(result.call_id), as_text(result.name), _kind_of(result)
        keys: list[_Key] = [(_ANY_CALL, kind, name)]
        if identity is not None:
            alphabet = FORMATS[provider_format].CALL_IDS
            keys = [(alphabet, identity, name), (alphabet, identity), (_WITHOUT_ID, kind, name)]
        return next((place for key in keys if (place := self._first(key)) is not None), None)

    def _first(self, key: _Key) -> int | None:
        """Give the first open call of those that are filed under the key."""
        places = self._filed(key)
        while places and places[0] not in self._open:
            places.popleft()
        return places[0] if places else None

    def _filed(self, key: _Key) -> deque[int]:
        for place in self._unfiled:
            for known in _keys_of(self._open[place][0]):
                self._places.setdefault(known, deque()).append(place)
        self._unfiled.clear()
        return self._places.get(key, deque())


_ANY_CALL: Final = "any call"
_WITHOUT_ID: Final = "a call without an id"
_NOBODYS: Final = FoundCall(None), None


def _keys_of(call: FoundCall) -> Iterator[_Key]:
    """Give all that a result may name a call by: its ids, its own and as they are written elsewhere, and its tool."""
    name, kind = as_text(call.name), _kind_of(call)
    own = {text for value in (call.call_id, call.other_id) if (text := as_text(value))}
    for alphabet in _ALPHABETS:
        for identity in own | set(map(alphabet.encode, own)):
            yield alphabet, identity
            yield alphabet, identity, name
    for whose in (_ANY_CALL,) if own else (_ANY_CALL, _WITHOUT_ID):
        yield from ((whose, kind, known) for known in {None, name})


def _kind_of(found: FoundCall | FoundResult) -> object:
    """Give what has to be the same for a call and its result."""
    return PLAIN_KINDS if found.kind in PLAIN_KINDS else found.kind
