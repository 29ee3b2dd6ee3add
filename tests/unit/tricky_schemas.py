"""Thirty-one schemas on which converters stumble, each with arguments that it takes and that it refuses."""

from __future__ import annotations

from typing import Any, NamedTuple

TEXT: dict[str, Any] = {"type": "string"}
NAMES = (
    "title",
    "const",
    "examples",
    "type",
    "ref",
    "description",
    "enum",
    "default",
    "required",
    "$ref",
    "properties",
)


class Tricky(NamedTuple):
    schema: dict[str, Any]
    taken: list[dict[str, Any]]
    refused: list[dict[str, Any]]


def takes(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        **more,
    }


PERSON = takes({"a": TEXT}, description="a person")
CARD = takes({"kind": {"const": "card"}, "number": TEXT})
CASH = takes({"kind": {"const": "cash"}})
TREE = takes({"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}})

TRICKY: dict[str, Tricky] = {
    "plain": Tricky(takes({"a": TEXT, "n": {"type": "integer"}}), [{"a": "x", "n": 1}], [{"a": 1, "n": 1}]),
    "an optional property": Tricky(
        takes({"a": TEXT, "b": TEXT}, ["a"]), [{"a": "x"}, {"a": "x", "b": "y"}], [{"b": "y"}]
    ),
    "a list of types with null": Tricky(
        takes({"x": {"type": ["string", "null"]}}), [{"x": None}, {"x": "a"}], [{"x": 1}]
    ),
    "anyOf with null": Tricky(
        takes({"x": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None, "description": "d"}}),
        [{"x": None}, {"x": 3}],
        [{"x": "a"}],
    ),
    "anyOf of two types": Tricky(
        takes({"x": {"anyOf": [TEXT, {"type": "integer"}]}}), [{"x": "a"}, {"x": 3}], [{"x": []}]
    ),
    "a list of two types": Tricky(takes({"x": {"type": ["string", "integer"]}}), [{"x": "a"}, {"x": 3}], [{"x": []}]),
    "oneOf with a discriminator": Tricky(
        takes({"p": {"oneOf": [CARD, CASH]}}),
        [{"p": {"kind": "card", "number": "1"}}, {"p": {"kind": "cash"}}],
        [{"p": {"kind": "gold"}}],
    ),
    "allOf of two objects": Tricky(
        takes({"p": {"allOf": [takes({"a": TEXT}), takes({"b": TEXT})]}}),
        [{"p": {"a": "1", "b": "2"}}],
        [{"p": {"a": "1"}}],
    ),
    "a reference": Tricky(
        {**takes({"p": {"$ref": "#/$defs/P"}}), "$defs": {"P": PERSON}}, [{"p": {"a": "1"}}], [{"p": {}}]
    ),
    "a description beside a reference": Tricky(
        {**takes({"p": {"$ref": "#/$defs/P", "description": "the payer"}}), "$defs": {"P": PERSON}},
        [{"p": {"a": "1"}}],
        [{"p": {}}],
    ),
    "definitions of draft 7": Tricky(
        takes({"p": {"$ref": "#/definitions/P"}}, definitions={"P": PERSON}), [{"p": {"a": "1"}}], [{"p": {}}]
    ),
    "a recursion through what is required": Tricky(
        {**takes({"t": {"$ref": "#/$defs/T"}}), "$defs": {"T": TREE}},
        [{"t": {"v": 1, "kids": [{"v": 2, "kids": []}]}}],
        [{"t": {"v": 1, "kids": [{"v": "x", "kids": []}]}}],
    ),
    "properties called like keywords": Tricky(
        takes(dict.fromkeys(NAMES, TEXT)), [dict.fromkeys(NAMES, "x")], [{"title": "x"}]
    ),
    "a const without a type": Tricky(takes({"k": {"const": "v1"}}), [{"k": "v1"}], [{"k": "v2"}]),
    "a const of an integer": Tricky(takes({"k": {"const": 3, "type": "integer"}}), [{"k": 3}], [{"k": 4}]),
    "an enum of integers": Tricky(takes({"k": {"type": "integer", "enum": [1, 2, 3]}}), [{"k": 2}], [{"k": 9}]),
    "an enum with null and empty text": Tricky(
        takes({"k": {"type": ["string", "null"], "enum": ["a", "", None]}}),
        [{"k": "a"}, {"k": ""}, {"k": None}],
        [{"k": "z"}],
    ),
    "bounds of a number": Tricky(
        takes({"n": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10, "multipleOf": 2}}),
        [{"n": 8}],
        [{"n": 0}, {"n": 10}, {"n": 3}],
    ),
    "limits of text": Tricky(
        takes(
            {"s": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"}, "u": {"type": "string", "format": "uri"}}
        ),
        [{"s": "ab", "u": "http://x"}],
        [{"s": "A", "u": "http://x"}],
    ),
    "limits of a list": Tricky(
        takes({"a": {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 3, "uniqueItems": True}}),
        [{"a": ["x", "y"]}],
        [{"a": ["x"]}, {"a": ["x", "x"]}],
    ),
    "a tuple": Tricky(
        takes({"a": {"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "minItems": 2, "items": False}}),
        [{"a": ["x", 1]}],
        [{"a": [1, "x"]}],
    ),
    "a map": Tricky(
        takes({"m": {"type": "object", "additionalProperties": {"type": "integer"}}}),
        [{"m": {"a": 1}}],
        [{"m": {"a": "x"}}],
    ),
    "a free object": Tricky(takes({"m": {"type": "object"}}), [{"m": {"a": 1}}, {"m": {}}], [{"m": 1}]),
    "anything": Tricky(
        takes({"v": {}, "w": {"description": "any"}}), [{"v": 1, "w": [1]}, {"v": {"a": 1}, "w": None}], []
    ),
    "a list of anything": Tricky(takes({"a": {"type": "array"}}), [{"a": [1, "x", None]}], [{"a": 1}]),
    "no parameters": Tricky({"type": "object", "properties": {}}, [{}], []),
    "nothing said": Tricky({}, [{}], []),
    "alternatives at the root": Tricky(
        {"type": "object", "anyOf": [takes({"id": TEXT}), takes({"name": TEXT})]}, [{"id": "1"}, {"name": "n"}], [{}]
    ),
    "not": Tricky(takes({"x": {"type": "string", "not": {"enum": ["root"]}}}), [{"x": "a"}], [{"x": "root"}]),
    "odd names": Tricky(
        takes(dict.fromkeys(("user-name", "a.b", "naïve", "1st", "$top", "filter[name]"), TEXT)),
        [dict.fromkeys(("user-name", "a.b", "naïve", "1st", "$top", "filter[name]"), "x")],
        [{}],
    ),
    "a default that looks like a schema": Tricky(
        takes(
            {"n": {"type": "integer", "default": 5}, "o": {"type": "object", "default": {"title": "x", "const": 1}}},
            ["n"],
        ),
        [{"n": 1, "o": {}}, {"n": 1}],
        [{"o": {}}],
    ),
}
