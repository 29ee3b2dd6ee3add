"""Which definitions a document must not be written without: those that refer to themselves, and those used so often
that the schema would be many times as large with each of them in place of its references.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from toolrelay.schemas._document import REFERENCES, Document, Located, Schema, subschemas

_MOST_PARTS: Final = 500  # up to that many, a schema is easier to read without references
_MOST_TIMES: Final = 4


@dataclass(slots=True)
class _Use:
    """What a definition is made of; the document's root counts as one."""

    size: int = 0
    targets: list[str] = field(default_factory=list)
    needed: list[str] = field(default_factory=list)
    """Those of the targets that every value of the definition has to have."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Pointers of definitions."""

    recursive: frozenset[str]
    shared: frozenset[str]
    """Used several times, in a schema that would become much larger without."""
    is_endless: bool
    """Whether some recursion goes through nothing that may be left out."""


def sharing_of(document: Document) -> Sharing:
    """Look at all that references reach. Raises ``ToolExportError`` for one that cannot be followed."""
    uses = _uses(document)
    recursive = _in_cycles({pointer: use.targets for pointer, use in uses.items()})
    endless = _in_cycles({pointer: use.needed for pointer, use in uses.items()})
    shared: frozenset[str] = frozenset()
    if len(uses) > 1:
        own = sum(use.size for use in uses.values())
        if _written_out(uses, recursive) > max(_MOST_PARTS, own * _MOST_TIMES):
            counts: dict[str, int] = {}
            for use in uses.values():
                for pointer in use.targets:
                    counts[pointer] = counts.get(pointer, 0) + 1
            shared = frozenset(pointer for pointer, count in counts.items() if count > 1 and uses[pointer].size > 1)
    return Sharing(recursive, shared, bool(endless))


def _uses(document: Document) -> dict[str, _Use]:
    uses: dict[str, _Use] = {}
    waiting = [Located(document.root, "")]
    while waiting:
        definition = waiting.pop()
        if definition.pointer in uses:
            continue
        use = uses[definition.pointer] = _Use()
        for (schema, pointer), is_needed in _inside(definition):
            use.size += 1
            for keyword in REFERENCES & schema.keys():
                target = document.target(schema[keyword], pointer)
                use.targets.append(target.pointer)
                if is_needed:
                    use.needed.append(target.pointer)
                waiting.append(target)
    return uses


def _inside(definition: Located) -> Iterator[tuple[Located, bool]]:
    """Give all schemas of a definition but for the definitions in it, and whether each is of every value."""
    waiting = [(definition, True)] if isinstance(definition.schema, dict) else []
    while waiting:
        found, is_needed = waiting.pop()
        yield found, is_needed
        schema: Schema = {key: value for key, value in found.schema.items() if key not in ("$defs", "definitions")}
        required = schema.get("required", ())
        properties = schema.pop("properties", {})
        waiting += [(inner, is_needed) for inner in subschemas(schema, found.pointer)]
        for name, inner in properties.items():
            if isinstance(inner, dict):
                at = next(subschemas({"properties": {name: inner}}, found.pointer))
                waiting.append((at, is_needed and name in required))


def _in_cycles(targets: dict[str, list[str]]) -> frozenset[str]:
    """Give what is left when all without a target, or without a use, is taken away again and again."""
    forward = {pointer: set(found) for pointer, found in targets.items()}
    backward: dict[str, set[str]] = {pointer: set() for pointer in targets}
    for pointer, found in forward.items():
        for target in found:
            backward[target].add(pointer)
    for edges, reverse in ((forward, backward), (backward, forward)):
        waiting = [pointer for pointer, found in edges.items() if not found]
        while waiting:
            pointer = waiting.pop()
            for other in reverse.pop(pointer, ()):
                edges[other].discard(pointer)
                if not edges[other]:
                    waiting.append(other)
            edges.pop(pointer, None)
    return frozenset(forward)


def _written_out(uses: dict[str, _Use], recursive: frozenset[str]) -> int:
    """Count the parts of the whole with every definition that does not refer to itself in place of its references."""
    sizes = dict.fromkeys(recursive, 1)
    waiting = [""]
    while waiting:
        pointer = waiting[-1]
        open_ones = [target for target in uses[pointer].targets if target not in sizes]
        if open_ones:
            waiting += open_ones
            continue
        sizes[pointer] = uses[pointer].size + sum(sizes[target] for target in uses[pointer].targets)
        waiting.pop()
    return sizes[""]
