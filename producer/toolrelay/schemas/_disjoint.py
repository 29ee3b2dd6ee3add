"""Whether no value fits two of several schemas: then ``oneOf`` and ``anyOf`` are the same."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Final

from toolrelay.schemas._document import Schema
from toolrelay.schemas._merge import same

_MAX_COMPARED: Final = 100


def are_disjoint(schemas: list[Schema]) -> bool:
    """Whether types, fixed values or a required discriminator keep every two of the schemas apart.

    Of very many schemas it is not asked: each would have to be compared with each.
    """
    return len(schemas) <= _MAX_COMPARED and all(_apart(first, second) for first, second in combinations(schemas, 2))


def _apart(first: Schema, second: Schema) -> bool:
    mine, theirs = _values(first), _values(second)
    if mine is not None and theirs is not None:
        return not any(same(one, other) for one in mine for other in theirs)
    common = _types(first) & _types(second)
    if common - {"object"}:
        return False
    shared = set(first.get("required", ())) & set(second.get("required", ()))
    return not common or any(_apart(_property(first, name), _property(second, name)) for name in shared)


def _values(schema: Schema) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _types(schema: Schema) -> set[str]:
    declared = schema.get("type", ["null", "boolean", "object", "array", "number", "string"])
    # 3 is an integer and a number
    return {"number" if name == "integer" else name for name in ([declared] if isinstance(declared, str) else declared)}


def _property(schema: Schema, name: str) -> Schema:
    found = schema.get("properties", {}).get(name)
    return found if isinstance(found, dict) else {}
