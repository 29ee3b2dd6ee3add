"""Schemas come from strangers: what the conversions lean on is checked once, with a pointer to what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolrelay.errors import ToolExportError
from toolrelay.schemas._document import APPLICATORS, Document, Schema
from toolrelay.schemas._losses import Losses

_TYPES: Final = frozenset({"null", "boolean", "object", "array", "number", "string", "integer"})


def check_sanity(document: Document, losses: Losses) -> None:
    """Mend, in place, what can only mean one thing; raise ``ToolExportError`` for the first keyword that is broken.

    What is left is valid by the 2020-12 metaschema, or was by that of an older draft.
    """
    for node, pointer in document.parts():
        for keyword in node.keys() & _CHECKS.keys():
            is_right, wanted = _CHECKS[keyword]
            value = node[keyword]
            if is_right(value):
                continue
            mended = _NOTHING if value is None else _MENDS.get(keyword, _refuse)(value)
            if mended is _BROKEN:
                raise ToolExportError(
                    f"the schema is broken: {keyword!r} must be {wanted}, got {value!r:.60}",
                    pointer=f"{pointer}/{keyword}",
                )
            if mended is not _NOTHING:
                node[keyword] = mended
                continue
            del node[keyword]
            if keyword in _MARKS and value is not None:
                losses.add(f"{pointer}/{keyword}", keyword, f"left out: it must be {wanted}, and is {value!r:.60}")
        if not _OLD_NAMES.isdisjoint(node):
            _rename(node)


def _rename(node: Schema) -> None:
    identity, recursive = node.get("$id"), node.pop("$recursiveRef", None)
    if isinstance(identity, str) and "#" in identity[:-1]:
        place = node.pop("$id").partition("#")[2]
        if _is_anchor(place):
            node.setdefault("$anchor", place)
    if isinstance(recursive, str):
        node.setdefault("$ref", recursive)
    if "$recursiveAnchor" in node:
        del node["$recursiveAnchor"]


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_schema_map(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values()))


def _is_schema_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _is_items(value: Any) -> bool:
    return _is_schema(value) or _is_schema_list(value)  # a list is draft 7's way to write a tuple


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value)


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and _is_text_list(names) and _TYPES.issuperset(names)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_bound(value: Any) -> bool:
    return isinstance(value, int | float)  # draft 4 has a boolean there


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_dependencies(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_schema(inner) or _is_text_list(inner) for inner in value.values())


def _is_text_list_map(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text_list, value.values()))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_anchor(value: Any) -> bool:
    return isinstance(value, str) and _ANCHOR.fullmatch(value) is not None


def _refuse(_: Any) -> Any:
    return _BROKEN


def _left_out(_: Any) -> Any:
    return _NOTHING


def _left_out_if_empty(value: Any) -> Any:
    return _NOTHING if value == [] else _BROKEN


def _unique(names: Any) -> Any:
    is_named = isinstance(names, list) and names and all(isinstance(name, str) for name in names)
    return list(dict.fromkeys(names)) if is_named else _BROKEN


def _unique_type(names: Any) -> Any:
    found = _unique(names)
    return found if found is not _BROKEN and _is_type(found) else _BROKEN


def _unique_lists(lists: Any) -> Any:
    found = {name: names if _is_text_list(names) else _unique(names) for name, names in lists.items()}
    return _BROKEN if _BROKEN in found.values() else found


def _in_list(value: Any) -> Any:
    return [value]


def _as_boolean(value: Any) -> Any:
    return {"true": True, "false": False}.get(value, _BROKEN) if isinstance(value, str) else _BROKEN


_BROKEN: Final = object()
_NOTHING: Final = object()
_ANCHOR: Final = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")
_OLD_NAMES: Final = frozenset({"$id", "$recursiveRef", "$recursiveAnchor"})
#: notes to the reader, which say something even where they say it wrongly
_MARKS: Final = frozenset({"deprecated", "readOnly", "writeOnly"})

_MENDS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "required": _unique,
    "type": _unique_type,
    "dependentRequired": lambda value: _unique_lists(value) if isinstance(value, dict) else _BROKEN,
    "examples": _in_list,
    "uniqueItems": _as_boolean,
    **dict.fromkeys(("allOf", "prefixItems", "items"), _left_out_if_empty),
    **dict.fromkeys(("$anchor", "$dynamicAnchor", "$vocabulary", "$comment", *_MARKS), _left_out),
}


_Check = tuple[Callable[[Any], bool], str]
_MAP: Final[_Check] = (_is_schema_map, "an object of schemas")
_LIST: Final[_Check] = (_is_schema_list, "a list of schemas, at least one")
_NUMBER: Final[_Check] = (_is_number, "a number")
_BOUND: Final[_Check] = (_is_bound, "a number")
_COUNT: Final[_Check] = (_is_count, "an integer from 0 up")
_TEXT: Final[_Check] = (_is_text, "text")
_BOOLEAN: Final[_Check] = (_is_boolean, "true or false")
_PLACE: Final[_Check] = (_is_anchor, "a name")

_CHECKS: Final[Mapping[str, _Check]] = {
    **dict.fromkeys(APPLICATORS, (_is_schema, "a schema")),
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"), _MAP),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _LIST),
    "items": (_is_items, "a schema"),
    "type": (_is_type, f"one of {', '.join(sorted(_TYPES))}, or a list of them"),
    "required": (_is_text_list, "a list of names"),
    **dict.fromkeys(("enum", "examples"), (_is_list, "a list")),
    **dict.fromkeys(("uniqueItems", *_MARKS), _BOOLEAN),
    **dict.fromkeys(("$anchor", "$dynamicAnchor"), _PLACE),
    "$vocabulary": (lambda value: isinstance(value, dict) and all(map(_is_boolean, value.values())), "an object"),
    **dict.fromkeys(("minimum", "maximum"), _NUMBER),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _BOUND),
    **dict.fromkeys(
        (
            *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
            *("minContains", "maxContains"),
        ),
        _COUNT,
    ),
    **dict.fromkeys(("pattern", "format", "description", "title", "contentEncoding", "contentMediaType"), _TEXT),
    **dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef", "$id", "$schema", "$comment"), _TEXT),
    "dependencies": (_is_dependencies, "an object of schemas or lists of names"),
    "dependentRequired": (_is_text_list_map, "an object of lists of names"),
}
