"""Habits of older drafts, written as JSON Schema 2020-12 says it today.

https://json-schema.org/draft/2020-12/release-notes
"""

from __future__ import annotations

from typing import Any, Final

from toolrelay.schemas._document import Schema

_OLD: Final = frozenset({"dependencies", "additionalItems", "exclusiveMinimum", "exclusiveMaximum", "items"})


def modern(schema: Schema) -> Schema:
    """Give the schema, without what is inside of it, in today's words: the same object where nothing is old."""
    if schema.keys().isdisjoint(_OLD):
        return schema
    result = dict(schema)
    if isinstance(result.get("items"), list):
        result["prefixItems"] = result.pop("items")
        if "additionalItems" in result:
            result["items"] = result["additionalItems"]
    result.pop("additionalItems", None)
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(result.get(exclusive), bool):
            _from_draft_4(result, bound, exclusive)
    if "dependencies" in result:
        _split_dependencies(result)
    return result


def _from_draft_4(schema: Schema, bound: str, exclusive: str) -> None:
    if schema.pop(exclusive) and bound in schema:
        schema[exclusive] = schema.pop(bound)


def _split_dependencies(schema: Schema) -> None:
    dependencies: dict[str, Any] = schema.pop("dependencies")
    for keyword, kind in (("dependentRequired", list), ("dependentSchemas", (dict, bool))):
        found = {name: value for name, value in dependencies.items() if isinstance(value, kind)}
        if found:
            schema[keyword] = {**found, **schema.get(keyword, {})}
