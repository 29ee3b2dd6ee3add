"""What a conversion cost, as data: nothing is lost without saying so."""

from __future__ import annotations

from typing import NamedTuple


class Loss(NamedTuple):
    """One thing that a provider is not told, or is told differently."""

    pointer: str
    """JSON pointer into the tool's input schema; ``""`` is the schema, or the tool, as a whole."""
    what: str
    """The keyword or feature, such as ``"multipleOf"`` or ``"strict"``."""
    why: str
    tool: str = ""
    """The tool's own name; ``""`` where only a schema was converted."""


class Losses(list[Loss]):
    """A list that grows while a schema is converted; the same thing at the same place is said once."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[Loss] = set()

    def add(self, pointer: str, what: str, why: str) -> None:
        """Record a loss."""
        loss = Loss(pointer, what, why)
        if loss not in self._said:
            self._said.add(loss)
            self.append(loss)
