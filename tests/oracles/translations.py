"""How a case of a table is translated by another library and by toolrelay, in words that stay the same."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tests.oracles.disagreements import Difference, Judged

Convert = Callable[[Any], Any]


class Way(NamedTuple):
    """From one provider's shape to another's."""

    cases: Mapping[str, Any]
    ours: Convert
    meaning: Callable[[Any], str]
    """What a provider makes of the output, in words."""


class Translator(NamedTuple):
    """One way of one library."""

    library: str
    way: str
    convert: Convert
    only: Mapping[str, Any] | None = None
    """The cases that the library has words for, in its own words; ``None``: all, as they are."""


class Topic(NamedTuple):
    """A table: what is compared, and the disagreements that are known, by the rule that decides."""

    ways: Mapping[str, Way]
    translators: tuple[Translator, ...]
    known: Mapping[str, tuple[Judged, ...]]

    def compared(self) -> Iterator[tuple[Translator, str]]:
        """Give every library with every case that it has words for."""
        for one in self.translators:
            cases = self.ways[one.way].cases if one.only is None else one.only
            yield from ((one, case) for case in cases)

    def differences(self) -> list[Difference]:
        """Give those that are known."""
        return [found for rows in self.known.values() for row in rows for found in row.differences()]

    def difference_of(self, translator: Translator, case: str) -> Difference | None:
        """Translate a case both ways; ``None`` where it comes to the same."""
        way = self.ways[translator.way]
        given = way.cases if translator.only is None else translator.only
        theirs, ours = _said(way, translator.convert, given[case]), _said(way, way.ours, way.cases[case])
        return None if theirs == ours else Difference(f"{translator.way}: {case}", translator.library, theirs, ours)


def _said(way: Way, convert: Convert, given: Any) -> str:
    try:
        output = convert(copy.deepcopy(given))
    except Exception as exc:  # noqa: BLE001 # whatever a library raises for a case is its answer
        return f"raises {type(exc).__name__}"
    return "is left out" if output is None else way.meaning(output)


def is_accepted(accept: Convert, value: Any) -> bool:
    """Whether a provider's own type takes it."""
    try:
        accept(value)
    except ValueError:
        return False
    return True
