"""Gemini's own schema message, read as JSON Schema: types in upper case, ``nullable``, numbers written as text."""

from __future__ import annotations

import math
from typing import Any, Final

from toolrelay.schemas._document import Schema, replace_subschemas

_COUNTS: Final = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
#: more would be the number of nothing, and Python may refuse to read it
_MAX_DIGITS: Final = 300
#: members of the message as the SDK spells them
_SPELLINGS: Final = {
    "any_of": "anyOf",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "additional_properties": "additionalProperties",
    "property_ordering": "propertyOrdering",
    "ref": "$ref",
    "defs": "$defs",
}


def from_gemini(schema: Any) -> Any:
    """Give the JSON Schema of a ``Schema`` message; what is no object is given back as it is."""
    return _read(schema) if isinstance(schema, dict) else schema


def _read(schema: Schema) -> Schema:
    spelled = {_SPELLINGS.get(keyword, keyword): value for keyword, value in schema.items() if value is not None}
    if "const" in schema:
        spelled["const"] = schema["const"]
    result = replace_subschemas(spelled, _read)
    result.pop("propertyOrdering", None)
    if isinstance(schema.get("ref"), str):
        result["$ref"] = schema["ref"].replace("#/defs/", "#/$defs/", 1)
    if "example" in result:
        result["examples"] = [result.pop("example")]
    kind = result.get("type")
    if isinstance(kind, str):
        result["type"] = kind.lower()
        if result["type"] == "type_unspecified":
            del result["type"]
    for keyword in _COUNTS:
        value = result.get(keyword)
        if isinstance(value, str) and value.isdecimal() and len(value) <= _MAX_DIGITS:
            result[keyword] = int(value)
    if result.get("type") in ("integer", "number") and isinstance(result.get("enum"), list):
        result["enum"] = [_number(value) for value in result["enum"]]
    return _nullable(result) if result.pop("nullable", False) is True else result


def _number(value: Any) -> Any:
    if not isinstance(value, str) or len(value) > _MAX_DIGITS:
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    if not math.isfinite(number):
        return value
    return int(value) if value.lstrip("-").isdecimal() else number


def _nullable(schema: Schema) -> Schema:
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    if "anyOf" in schema:
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    elif isinstance(schema.get("type"), str) and schema["type"] != "null":
        schema["type"] = [schema["type"], "null"]
    return schema
