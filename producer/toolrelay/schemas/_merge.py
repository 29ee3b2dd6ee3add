"""Two schemas that both hold, as one: what ``allOf`` and a keyword beside ``$ref`` mean.

Where one schema cannot say both, the second's keyword is dropped and named: the result may accept more, never less.
Schemas inside are not merged but put side by side in an ``allOf``, which is merged in turn when it is come to.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

from toolrelay.schemas._document import Schema

_CONFLICT: Final = object()
_MAX_BRANCHES: Final = 36  # six by six; more alternatives would describe the parameter to nobody

#: marks, in a schema that stands for a definition inside of itself, that what is below has the names of the whole
CUT: Final = "$cut"

#: keywords that say something to the reader, and refuse no value
ANNOTATIONS: Final = frozenset(
    {
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("$comment", "$schema", "$id", CUT),
    }
)
#: where definitions stand and how they are called: followed, and then of no more use
BOOKKEEPING: Final = frozenset({"$defs", "definitions", "$anchor", "$dynamicAnchor", "$vocabulary", "discriminator"})


class Beside(list[Any]):
    """Members of an ``allOf`` that was not in the document: they stand where the whole stands."""


def merge(first: Schema, second: Schema) -> tuple[Schema, list[str]]:
    """Give the schema of what both accept, and the keywords of the second that had to be dropped for it.

    Annotations of the first win.
    """
    merged = dict(first)
    dropped: list[str] = []
    if "properties" in second or "additionalProperties" in second:
        merged |= _objects(first, second)
        if _opens(first, second) or _opens(second, first):
            dropped.append("additionalProperties")
    if "prefixItems" in first or "prefixItems" in second:
        merged |= _tuples(first, second)
    for keyword, value in second.items():
        if keyword in ("properties", "additionalProperties", "prefixItems"):
            continue
        if keyword == "items" and "prefixItems" in merged:
            continue
        if keyword not in merged:
            merged[keyword] = value
        elif keyword not in ANNOTATIONS and keyword not in BOOKKEEPING and merged[keyword] != value:
            joined = _RULES.get(keyword, _conflict)(merged[keyword], value)
            if joined is _CONFLICT:
                dropped.append(keyword)
            else:
                merged[keyword] = joined
    return merged, dropped


def both(first: Any, second: Any) -> Any:
    """Give a schema that asks for two schemas."""
    if first is True or first == {} or first == second:
        return second
    return first if second is True or second == {} else {"allOf": Beside([first, second])}


def _objects(first: Schema, second: Schema) -> Schema:
    mine, theirs = first.get("properties", {}), second.get("properties", {})
    my_rest, their_rest = first.get("additionalProperties", True), second.get("additionalProperties", True)
    properties = {
        # a closed schema beside another one would forbid the other's properties: then nothing fits, and nobody means it
        name: both(mine.get(name, my_rest or True), theirs.get(name, their_rest or True))
        for name in {**mine, **theirs}
    }
    result: Schema = {"properties": properties} if properties or "properties" in first else {}
    if my_rest is not True or their_rest is not True:
        result["additionalProperties"] = False if my_rest is False or their_rest is False else both(my_rest, their_rest)
    return result


def _opens(closed: Schema, other: Schema) -> bool:
    """Whether a closed schema gets properties that it does not have from the one beside it."""
    names = other.get("properties", {}).keys() - closed.get("properties", {}).keys()
    return closed.get("additionalProperties") is False and bool(names)


def _tuples(first: Schema, second: Schema) -> Schema:
    mine, theirs = first.get("prefixItems", []), second.get("prefixItems", [])
    my_rest, their_rest = first.get("items", True), second.get("items", True)
    places = [
        both(
            mine[index] if index < len(mine) else my_rest,
            theirs[index] if index < len(theirs) else their_rest,
        )
        for index in range(max(len(mine), len(theirs)))
    ]
    rest = both(my_rest, their_rest)
    return {"prefixItems": places} if rest is True else {"prefixItems": places, "items": rest}


def _conflict(_: Any, __: Any) -> Any:
    return _CONFLICT


def _types(first: Any, second: Any) -> Any:
    mine = first if isinstance(first, list) else [first]
    theirs = second if isinstance(second, list) else [second]
    kept = [name for name in mine if name in theirs or (name == "integer" and "number" in theirs)]
    kept += [name for name in theirs if name == "integer" and "number" in mine and name not in kept]
    return kept[0] if len(kept) == 1 else kept


def same(first: Any, second: Any) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, and is not ``true``."""
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


def _values(first: Any, second: Any) -> Any:
    return [value for value in first if any(same(value, other) for other in second)]


def _constants(first: Any, second: Any) -> Any:
    return first if same(first, second) else _CONFLICT


def _multiples(first: Any, second: Any) -> Any:
    larger, smaller = max(first, second), min(first, second)
    return larger if Fraction(larger) % Fraction(smaller) == 0 else _CONFLICT  # exact, however large


def _named_schemas(first: Any, second: Any) -> Any:
    return {**first, **{name: both(first.get(name, True), schema) for name, schema in second.items()}}


def _named_lists(first: Any, second: Any) -> Any:
    return {**second, **{name: list(dict.fromkeys([*names, *second.get(name, [])])) for name, names in first.items()}}


def _alternatives(first: Any, second: Any) -> Any:
    if len(first) * len(second) > _MAX_BRANCHES:
        return _CONFLICT
    return [both(mine, theirs) for mine in first for theirs in second]


_RULES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "type": _types,
    "enum": _values,
    "const": _constants,
    "required": lambda first, second: list(dict.fromkeys([*first, *second])),
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
    "multipleOf": _multiples,
    "uniqueItems": lambda first, second: first or second,
    **dict.fromkeys(("items", "propertyNames"), both),
    **dict.fromkeys(("patternProperties", "dependentSchemas"), _named_schemas),
    "dependentRequired": _named_lists,
    "anyOf": _alternatives,
    "not": lambda first, second: {"anyOf": [first, second]},
}
