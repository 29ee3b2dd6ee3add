"""Schemas come from strangers: what the conversions lean on is checked once, with a pointer to what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from toolrelay.errors import ToolExportError
from toolrelay.schemas._document import APPLICATORS, Schema, walk

_TYPES: Final = frozenset({"null", "boolean", "object", "array", "number", "string", "integer"})


def check_sanity(schema: Schema) -> None:
    """Raise ``ToolExportError`` for the first keyword whose value cannot be what JSON Schema wants there."""
    for node, pointer in walk(schema):
        for keyword in node.keys() & _CHECKS.keys():
            is_right, wanted = _CHECKS[keyword]
            if not is_right(node[keyword]):
                raise ToolExportError(
                    f"the schema is broken: {keyword!r} must be {wanted}, got {node[keyword]!r:.60}",
                    pointer=f"{pointer}/{keyword}",
                )


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_schema_map(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values()))


def _is_schema_list(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_schema, value))


def _is_items(value: Any) -> bool:
    return _is_schema(value) or _is_schema_list(value)  # a list is draft 7's way to write a tuple


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)


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


_Check = tuple[Callable[[Any], bool], str]
_MAP: Final[_Check] = (_is_schema_map, "an object of schemas")
_LIST: Final[_Check] = (_is_schema_list, "a list of schemas")
_NUMBER: Final[_Check] = (_is_number, "a number")
_BOUND: Final[_Check] = (_is_bound, "a number")
_COUNT: Final[_Check] = (_is_count, "an integer from 0 up")
_TEXT: Final[_Check] = (lambda value: isinstance(value, str), "text")

_CHECKS: Final[Mapping[str, _Check]] = {
    **dict.fromkeys(APPLICATORS, (_is_schema, "a schema")),
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"), _MAP),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _LIST),
    "items": (_is_items, "a schema"),
    "type": (_is_type, f"one of {', '.join(sorted(_TYPES))}, or a list of them"),
    "required": (_is_text_list, "a list of names"),
    "enum": (lambda value: isinstance(value, list), "a list"),
    **dict.fromkeys(("minimum", "maximum"), _NUMBER),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _BOUND),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        _COUNT,
    ),
    **dict.fromkeys(("pattern", "format", "description", "title"), _TEXT),
    "dependencies": (_is_dependencies, "an object of schemas or lists of names"),
    "dependentRequired": (_is_text_list_map, "an object of lists of names"),
}
