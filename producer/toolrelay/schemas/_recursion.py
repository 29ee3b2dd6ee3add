"""How much a validator has to say of a value that does not fit alternatives which contain themselves.

To tell what is wrong it looks into every alternative, and there again into every one: what it lists doubles, or worse,
with each level of the value. Whether a value fits is found out without that.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Final

from toolrelay.errors import ToolExportError
from toolrelay.schemas._document import REFERENCES, Document, Schema, subschemas

_UNIONS: Final = ("anyOf", "oneOf")


def recursive_alternatives(schema: Mapping[str, Any]) -> int:
    """Count the alternatives of one union that lead back to it; of several unions the greatest number counts.

    1 means that no errors are repeated: a list that ends, or an optional child, has one way on.
    """
    document = Document(dict(schema))
    inside = {id(found.schema): _leads_to(document, found.schema, found.pointer) for found in document.parts()}
    unions = [found.schema[word] for found in document.parts() for word in _UNIONS if word in found.schema]
    return max((_ways_back(branches, inside) for branches in unions if isinstance(branches, list)), default=1)


def errors_at_worst(value: Any, alternatives: int) -> int:
    """Estimate how many errors there are to list of a value, whose every level multiplies those of the one below it."""
    total, waiting = 0, [(value, 1)]
    while waiting:
        node, weight = waiting.pop()
        children = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
        total += 0 if children else weight
        waiting += [(child, weight * alternatives) for child in children]
    return total


def _leads_to(document: Document, schema: Schema, pointer: str) -> list[Schema]:
    found = [inner.schema for inner in subschemas(schema, pointer)]
    for keyword in REFERENCES & schema.keys():
        with contextlib.suppress(ToolExportError):
            found.append(document.target(schema[keyword], pointer).schema)
    return found


def _ways_back(branches: list[Any], inside: Mapping[int, list[Schema]]) -> int:
    starts = {id(branch) for branch in branches}
    return max(1, sum(_reaches(branch, starts, inside) for branch in branches))


def _reaches(branch: Any, starts: set[int], inside: Mapping[int, list[Schema]]) -> bool:
    seen: set[int] = set()
    waiting = list(inside.get(id(branch), ()))
    while waiting:
        schema = waiting.pop()
        if id(schema) in starts:
            return True
        if id(schema) not in seen:
            seen.add(id(schema))
            waiting += inside.get(id(schema), ())
    return False
